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

// Tell sets how far the run is: for one whose parts run in other processes.
func (p *Progress) Tell(now unit.Time, late int64) {
	p.now.Store(int64(now))
	p.late.Store(late)
}
