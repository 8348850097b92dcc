package report

import (
	"fmt"

	"fabemu/emu/run/pace"
)

// Programs is what real programs see of the timing of a run at dilation 1: by how much longer than
// in the model their packets took from one device to the other. A packet never takes less time.
type Programs struct {
	Packets int64       `json:"packets"`        // that were compared
	ErrorMs Percentiles `json:"delay_error_ms"` // by how much longer they took
}

// ProgramsOf puts the errors of the delays of packets, in ns, into a Programs; nil if there are
// none.
func ProgramsOf(h pace.Histogram) *Programs {
	if h.Histogram == nil || h.TotalCount() == 0 {
		return nil
	}
	return &Programs{h.TotalCount(), percentiles(h, 1e6)}
}

// rate returns by what share a rate over a second is off at most: packets that should have come in
// this second come later by no more than the largest error.
func (p *Programs) rate() Number { return p.ErrorMs.Max / 1000 }

// served reports whether the packets of programs keep the limits.
func (l *limits) served(p *Programs) bool {
	return keeps(p.ErrorMs.P99, l.delay) && keeps(p.rate(), l.rate)
}

// NotExact reports whether programs see more than the level exact allows.
func (p *Programs) NotExact() bool { return !limitsOf()[0].served(p) }

// Brief describes what programs see, in a line of progress.
func (p *Programs) Brief() string {
	return fmt.Sprintf("99 %% of the packets of programs took at most %s ms longer than in the model", p.ErrorMs.P99.Short())
}

// words describes what programs see.
func (p *Programs) words() string {
	return fmt.Sprintf("from device to device, 99 %% of the packets of programs took at most %s ms longer than in the model, and all at most %s ms: round trips are right to %s ms, and rates over a second to %s",
		p.ErrorMs.P99.Short(), p.ErrorMs.Max.Short(), (2 * p.ErrorMs.P99).Short(), p.rate().Percent())
}
