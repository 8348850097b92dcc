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
	gaps   atomic.Int64
	off    atomic.Int64
	silent atomic.Pointer[[]Silent]
}

// Now returns the model time that the run has reached.
func (p *Progress) Now() unit.Time { return unit.Time(p.now.Load()) }

// Counts are how many data frames have left later than 5 % of their duration, how many gaps between
// data frames there were, and how many of those were off by more than 5 % of it.
type Counts struct{ Late, Gaps, Off int64 }

// Add adds the counts of another part of the run.
func (c *Counts) Add(o Counts) { c.Late, c.Gaps, c.Off = c.Late+o.Late, c.Gaps+o.Gaps, c.Off+o.Off }

// Counts returns the counts so far.
func (p *Progress) Counts() Counts {
	return Counts{Late: p.late.Load(), Gaps: p.gaps.Load(), Off: p.off.Load()}
}

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

// CountGap counts a gap between data frames, which may be off.
func (p *Progress) CountGap(off bool) {
	if p == nil {
		return
	}
	p.gaps.Add(1)
	if off {
		p.off.Add(1)
	}
}

// Set sets how far the run is: for one whose parts run in other processes.
func (p *Progress) Set(now unit.Time, c Counts) {
	if p != nil {
		p.now.Store(int64(now))
		p.late.Store(c.Late)
		p.gaps.Store(c.Gaps)
		p.off.Store(c.Off)
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
	Left     time.Duration // wall time to go, at the pace of the last seconds
	Counts                 // on the wall clock
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
		var left Remaining
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			report(p.status(end, dilation, time.Since(begin), &left))
		}
	}()
	return func() error { close(quit); <-ended; return err }
}

func (p *Progress) status(end unit.Time, dilation int64, wall time.Duration, left *Remaining) Status {
	s := Status{Now: p.Now(), End: end, Wall: wall, Counts: p.Counts(), Silent: p.Silent()}
	var known bool
	if s.Left, known = left.Estimate(wall, s.Now, end); !known {
		s.Left = time.Duration(s.End.Sub(s.Now).Seconds()*float64(dilation)*1e3) * time.Millisecond
	}
	return s
}

// Remaining estimates how long a run still takes, from its pace in the last seconds. The zero value
// is that of a run that begins.
type Remaining struct {
	seen []reading // at which it had moved; the first is the beginning of the last seconds
}

// reading is how far a run was, in wall time since its beginning and in model time.
type reading struct {
	wall time.Duration
	now  unit.Time
}

// recent is how long the last seconds are; where a run stands, those before that.
const recent = 5 * time.Second

// Estimate returns the wall time that a run takes from now to its end. known is false if it has not
// moved yet.
func (r *Remaining) Estimate(wall time.Duration, now, end unit.Time) (left time.Duration, known bool) {
	if r.seen == nil {
		r.seen = append(r.seen, reading{})
	}
	if now > r.seen[len(r.seen)-1].now {
		r.seen = append(r.seen, reading{wall, now})
		for len(r.seen) > 2 && wall-r.seen[1].wall >= recent {
			r.seen = r.seen[1:]
		}
	}
	moved := now.Sub(r.seen[0].now)
	if moved <= 0 {
		return 0, false
	}
	return time.Duration(float64(wall-r.seen[0].wall) * (float64(end.Sub(now)) / float64(moved))), true
}
