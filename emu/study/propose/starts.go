package propose

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/host/doctor"
	"fabemu/emu/scenario"
)

// Starts is how late packets start under actual timing at a dilation: by how much later than
// their rate limiters let them, and than their instants they leave. It is measured.
type Starts struct {
	Dilation int64   `json:"dilation"`
	Packets  int64   `json:"packets"`          // measured packets
	Late     float64 `json:"late"`             // share of packets, 0 to 1, that start or leave more than 5 % of a packet time late
	P50Us    float64 `json:"p50_us"`           // in wall time
	P99Us    float64 `json:"p99_us"`           // the same
	P99T     float64 `json:"p99_packet_times"` // the same in packet times
}

const (
	startsWall  = 400 * time.Millisecond // at most, for one dilation
	fewPackets  = 30                     // fewer are too few for a result
	startsShare = 0.99                   // share of the packets below P99
)

// StartsAt runs the begin of a scenario with actual timing at a dilation, for less than half a
// second, and returns how late its packets start. The result is nil if there are too few packets, and for a
// scenario with real hosts, which are not started for a measurement.
func StartsAt(ctx context.Context, s *scenario.Scenario, dilation int64) (*Starts, error) {
	if all, _ := s.Guests(); all > 0 {
		return nil, nil
	}
	s = early(s)
	s.Wall.Dilation = dilation
	limited, cancel := context.WithTimeout(ctx, startsWall)
	defer cancel()
	r, err := emu.Run(limited, s, emu.Options{Timing: emu.ActualTiming, Verify: emu.VerifyOff})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := r.Verdict.Starts
	if v == nil || v.Packets < fewPackets || !r.Verdict.Pace.LateShare.Known() {
		return nil, nil
	}
	return &Starts{
		Dilation: dilation, Packets: v.Packets, Late: min(1, float64(v.LateShare+r.Verdict.Pace.LateShare)),
		P50Us: float64(v.LatenessUs.P50), P99Us: float64(v.LatenessUs.P99), P99T: float64(v.LatenessPacketTimes.P99),
	}, nil
}

// Measure adds to p how late packets start at some dilations, where enough packets start.
func (p *Proposal) Measure(ctx context.Context, s *scenario.Scenario, dilations ...int64) error {
	for _, d := range dilations {
		at, err := StartsAt(ctx, s, d)
		if err != nil {
			return err
		}
		if at != nil {
			p.Starts = append(p.Starts, *at)
		}
	}
	return nil
}

// ForActual sets the dilation of p so that packets of the scenario start in time under actual timing, but for
// a share lateWanted. It tries rising dilations, beginning at ForRate, for some seconds in all. If none is high
// enough it keeps the last.
func (p *Proposal) ForActual(ctx context.Context, s *scenario.Scenario) error {
	p.Dilation, p.ForLateness, p.Steady = p.ForRate, 0, false
	for _, d := range friendly() {
		if d < p.ForRate || d > max(sensible, p.ForRate) {
			continue
		}
		before := len(p.Starts)
		if err := p.Measure(ctx, s, d); err != nil {
			return err
		}
		if len(p.Starts) == before {
			continue
		}
		p.Dilation, p.ForLateness = d, d
		if p.Steady = p.Starts[before].Late <= lateWanted; p.Steady {
			break
		}
	}
	p.Reason = p.startsReason()
	return nil
}

// startsReason gives the reasons in sentences.
func (p *Proposal) startsReason() string {
	if len(p.Starts) == 0 {
		return fmt.Sprintf("The rate asks for %d; too few packets start during the measurement of their lateness.", p.ForRate)
	}
	var b strings.Builder
	for i := max(0, len(p.Starts)-2); i < len(p.Starts); i++ {
		b.WriteString(p.Starts[i].String() + " ")
	}
	fmt.Fprintf(&b, "The rate asks for %d, and %s of the packets may be late.", p.ForRate, doctor.Percent(lateWanted))
	if !p.Steady {
		fmt.Fprintf(&b, " No dilation up to %d makes it good: end other work on this computer and ask again.", p.Dilation)
	}
	return b.String()
}

// String describes how late packets start.
func (s *Starts) String() string {
	return fmt.Sprintf("With actual timing at a dilation of %d, %s of the packets start or leave more than 5 %% of a packet time late; half of them start at most %.3g us late, and %s at most %.3g us (%.2g packet times).",
		s.Dilation, doctor.Percent(s.Late), s.P50Us, doctor.Percent(startsShare), s.P99Us, s.P99T)
}
