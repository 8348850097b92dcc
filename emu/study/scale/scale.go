package scale

import (
	"fmt"
	"math"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/metrics"
	"fabemu/emu/run/guest"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// Of returns a scenario, named as for emu.Open, on the scale of time on which its fastest link
// has a rate. Its error is a *errs.Mistake.
func Of(name string, to unit.Rate) (*resolve.Scaled, error) {
	src, file, err := builtin.Find(name)
	if err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	s, err := resolve.Load(file, src, nil, resolve.CheckMetrics(metrics.Checker()))
	if err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	x, err := resolve.Scale(s, to, metrics.Checker(), metrics.TimeOf)
	if err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	for i := range x.Flows {
		if p, ok := x.Flows[i].Control.Params.(rp.CCAParams); ok && x.Num != x.Den {
			x.Left = append(x.Left,
				fmt.Sprintf("ccti-timer counts units of 1.024us: it is %d as it was, where %.4g would be in proportion",
					p.Timer, float64(p.Timer)*float64(x.Den)/float64(x.Num)))
			break
		}
	}
	all, real := x.Guests()
	if real > 0 {
		x.Left = append(x.Left, realTime(x)...)
	}
	if all > real {
		x.Left = append(x.Left, "the times of gVisor's TCP, such as its least RTO of 200ms, stay as they are")
	}
	return x, nil
}

// noticeable is the propagation below which the round trip of guests is longer than their
// links make it: the program adds a tenth of a millisecond or two (docs/guide/guests.md).
const noticeable = 200 * unit.Microsecond

// realTime lists the parts of a scaled scenario with guests that keep to real time.
func realTime(x *resolve.Scaled) (left []string) {
	factor := float64(x.Den) / float64(x.Num)
	var times []string
	for _, k := range guest.KernelTimes(1) {
		was := time.Duration(math.Round(float64(k.Usual) / factor)).Round(time.Microsecond)
		times = append(times, fmt.Sprintf("%s %v (as %v was)", k.What, k.Usual, was))
	}
	if factor != 1 {
		left = append(left, "the kernels of guests keep to real time: "+strings.Join(times, ", "),
			"CUBIC and BBR depend on real time; tcp: reno depends on round trips",
			fmt.Sprintf("processors keep their speed, %.4g times as fast relative to the fabric as before", factor))
	}
	var short []string
	for i := range x.Links {
		if l := &x.Links[i]; l.Propagation < noticeable {
			short = append(short, l.Name)
		}
	}
	if len(short) > 0 {
		left = append(left,
			fmt.Sprintf("the delay that this program adds to a round trip of guests, up to %v on an idle machine; it matters where the propagation is shorter: %s",
				noticeable, strings.Join(short, ", ")))
	}
	return left
}
