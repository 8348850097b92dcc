// Command limiter puts a rate limiter of its own into the scenario incast.yaml, and runs
// it on the virtual clock, where every run is the same, and over sockets in real time,
// where the limiter is told when it really is. Its exit status is 1 when the verdict on a
// run is that its figures do not stand.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/node"
	"fabemu/wire/unit"
)

// pairs lets packets leave two at a time, and then makes up for both.
type pairs struct {
	rate unit.Rate
	last unit.Time // when the second of the last pair started
	size unit.Size // what the pair has sent so far
	sent int       // packets of it
}

func (l *pairs) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.sent < 2 {
		return now
	}
	return max(now, l.last.Add(l.rate.Serialise(l.size)))
}

func (l *pairs) Sent(now unit.Time, n unit.Size) {
	if l.sent == 2 {
		l.sent, l.size = 0, 0
	}
	l.last, l.size, l.sent = now, l.size+n, l.sent+1
}

func (l *pairs) SetRate(_ unit.Time, r unit.Rate) { l.rate = r }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "limiter:", err)
		os.Exit(1)
	}
}

func run() error {
	var doubts []error
	own := emu.Schemes{Limiter: func(_ *fabric.Flow, line unit.Rate) node.RateLimiter { return &pairs{rate: line} }}
	for _, o := range []emu.Options{
		{Clock: emu.VirtualClock},
		{Clock: emu.VirtualClock, Schemes: own},
		{Clock: emu.WallClock, Timing: emu.ActualTiming, Schemes: own},
	} {
		s, err := emu.Open("docs/examples/incast.yaml")
		if err != nil {
			return err
		}
		r, err := emu.Run(context.Background(), s, o)
		if err != nil {
			return err
		}
		limiter := "the scenario's limiter"
		if o.Schemes.Limiter != nil {
			limiter = "packets in pairs"
		}
		marked, frames := int64(0), int64(0)
		for _, f := range r.Flows {
			marked, frames = marked+f.Marked, frames+f.Frames
		}
		verdict := string(r.Verdict.Level)
		if !r.Verdict.Level.Strict() {
			verdict += ": do not trust this line"
			doubts = append(doubts, fmt.Errorf("the run with %s is %s: %s; try again on a quieter computer, or with a larger dilation in incast.yaml", limiter, r.Verdict.Level, r.Verdict.Reason))
		}
		fmt.Printf("%-22s  %-7s clock  bystander %4.1f %%  %4.1f %% of the packets marked  %s\n",
			limiter, r.Clock, 100*float64(r.Checks[0].Value), 100*float64(marked)/float64(frames), verdict)
	}
	return errors.Join(doubts...)
}
