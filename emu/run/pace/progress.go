package pace

import (
	"fmt"
	"sync/atomic"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/wire/unit"
)

// Progress shows other goroutines how far a run is.
type Progress struct {
	now    atomic.Int64
	late   atomic.Int64
	silent atomic.Pointer[[]Silent]
}

// Now returns the model time that the run has reached.
func (p *Progress) Now() unit.Time { return unit.Time(p.now.Load()) }

// Late returns how many data frames have left later than 5 % of their duration.
func (p *Progress) Late() int64 { return p.late.Load() }

// Reach sets the model time that the run has reached. Without a watcher p is nil.
func (p *Progress) Reach(t unit.Time) {
	if p != nil {
		p.now.Store(int64(t))
	}
}

// CountLate counts a data frame that has left late.
func (p *Progress) CountLate() {
	if p != nil {
		p.late.Add(1)
	}
}

// Set sets how far the run is: for one whose parts run in other processes.
func (p *Progress) Set(now unit.Time, late int64) {
	if p != nil {
		p.now.Store(int64(now))
		p.late.Store(late)
	}
}

// Silent is a part of a run that does not answer: its process is stopped, or gets no processor.
type Silent struct {
	Part string
	For  time.Duration // in wall time
}

func (s Silent) String() string {
	return fmt.Sprintf("%s has not answered for %.1f s", s.Part, s.For.Seconds())
}

// Miss sets the parts of the run that do not answer now.
func (p *Progress) Miss(list []Silent) {
	if p != nil {
		p.silent.Store(&list)
	}
}

// Silent returns which parts of the run do not answer.
func (p *Progress) Silent() []Silent {
	if list := p.silent.Load(); list != nil {
		return *list
	}
	return nil
}

// Status is how far a run is.
type Status struct {
	Now, End unit.Time     // model time
	Wall     time.Duration // wall time since the start
	Left     time.Duration // wall time to go; on the virtual clock, as it looks
	Late     int64         // data frames that left later than 5 % of their duration
	Silent   []Silent      // parts in other processes that do not answer
}

// Follow calls report from time to time, from another goroutine, until stop is called. The
// run ends at an instant, and has a dilation, or 0 on the virtual clock. report may be nil. If it
// panics, stop returns the panic.
func (p *Progress) Follow(end unit.Time, dilation int64, report func(Status)) (stop func() error) {
	if report == nil {
		return func() error { return nil }
	}
	begin := time.Now()
	quit, ended := make(chan struct{}), make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		defer errs.Into(&err)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			report(p.status(end, dilation, time.Since(begin)))
		}
	}()
	return func() error { close(quit); <-ended; return err }
}

func (p *Progress) status(end unit.Time, dilation int64, wall time.Duration) Status {
	s := Status{Now: p.Now(), End: end, Wall: wall, Late: p.Late(), Silent: p.Silent()}
	if dilation > 0 {
		s.Left = time.Duration(s.End.Sub(s.Now).Seconds()*float64(dilation)*1e3) * time.Millisecond
	} else if s.Now > 0 {
		s.Left = time.Duration(float64(wall) * (float64(s.End)/float64(s.Now) - 1))
	}
	return s
}
