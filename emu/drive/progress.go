package drive

import (
	"sync/atomic"

	"fabemu/wire/unit"
)

// Progress tells other goroutines how far a run is.
type Progress struct {
	now  atomic.Int64
	late atomic.Int64
}

// Now returns the model time that the run has reached.
func (p *Progress) Now() unit.Time { return unit.Time(p.now.Load()) }

// Late returns how many data frames have left later than 5 % of their duration.
func (p *Progress) Late() int64 { return p.late.Load() }

func (p *Progress) at(t unit.Time) {
	if p != nil {
		p.now.Store(int64(t))
	}
}
