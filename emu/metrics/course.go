package metrics

import (
	"sync/atomic"

	"fabemu/wire/unit"
)

// A Course is how the figures of a run have gone so far, for reading while the run goes on, by
// any goroutine. It shares the rows with the run, which writes into a copy where it still
// changes one of them.
type Course struct{ c Collector }

// Series is Collector.Series of the run so far.
func (x *Course) Series() []Series { return x.counted().Series() }

// Outline is Collector.Outline of the run so far.
func (x *Course) Outline() []Series { return x.counted().Outline() }

// counted returns what has been counted, with places in the rows: the run leaves it to who reads
// to find them.
func (x *Course) counted() *Collector {
	c := x.c
	c.rows.place = make([]int32, len(c.now))
	for k, i := range c.rows.used {
		c.rows.place[i] = int32(k) + 1
	}
	return &c
}

// asked is a request of another goroutine for the course of a run.
type asked struct {
	pending atomic.Bool
	courses chan *Course  // has room for one: nobody asks again before it is taken
	settle  unit.Duration // a bin that ended so long ago has all of its frames
}

// Courses returns how another goroutine is handed the course of the run: it calls ask and then
// receives one, once a bin has ended of which there is one. Nothing comes when the run is over.
// Courses is called before the run begins, once.
func (c *Collector) Courses() (ask func(), courses <-chan *Course) {
	a := &asked{courses: make(chan *Course, 1), settle: c.settling()}
	c.asked = a
	return func() { a.pending.Store(true) }, a.courses
}

// answer hands the course to who has asked for it.
func (c *Collector) answer() {
	a := c.asked
	if a == nil || !a.pending.Load() {
		return
	}
	last := c.settled(a.settle)
	if last == 0 {
		return
	}
	a.pending.Store(false)
	a.courses <- c.course(last)
}

// Course returns the course of a run that is over. The caller is its goroutine.
func (c *Collector) Course() *Course { return c.course(c.cur) }

// course returns the course up to an edge.
func (c *Collector) course(last int) *Course {
	x := &Course{*c}
	x.c.cur, x.c.edges, x.c.rows = last, c.edges[:last+1], c.rows.lend(last+1)
	return x
}

// settling returns how long after its end a bin has all of its frames.
func (c *Collector) settling() (longest unit.Duration) {
	for _, d := range c.fabric.Longest() {
		longest = max(longest, d)
	}
	return longest
}

// settled returns the last edge up to which all frames have been counted.
func (c *Collector) settled(settle unit.Duration) int {
	k := c.cur
	for k > 0 && c.edges[k].Add(settle) > c.lo {
		k--
	}
	return k
}
