package metrics

import "slices"

// A Course is how the figures of a run have gone so far, for reading while the run runs, by
// any goroutine. It shares the rows with the run, which writes into a copy where it still
// changes one of them.
type Course struct{ c Collector }

// Series is Collector.Series of the run so far.
func (x *Course) Series() []Series { return x.counted().Series() }

// Outline is Collector.Outline of the run so far.
func (x *Course) Outline() []Series { return x.counted().Outline() }

// counted returns the collector, with the places of the counters in the rows.
func (x *Course) counted() *Collector {
	c := x.c
	c.rows.index(nil, len(c.now))
	return &c
}

// Courses returns how another goroutine is handed the course of the run: it calls ask and then
// receives one, once a bin has ended of which there is one. Nothing comes when the run is over.
// Courses is called before the run begins, once.
func (c *Collector) Courses() (ask func(), courses <-chan *Course) {
	c.longest = slices.Max(c.fabric.Longest())
	c.asked, c.courses = make(chan struct{}, 1), make(chan *Course, 1)
	return func() {
		select {
		case c.asked <- struct{}{}:
		default: // it was asked for already
		}
	}, c.courses
}

// answer sends the course if it was asked for.
func (c *Collector) answer() {
	if len(c.asked) == 0 {
		return
	}
	if last := c.settled(); last > 0 {
		<-c.asked
		c.courses <- c.course(last)
	}
}

// Course returns the course of a run that is over. The caller is its goroutine.
func (c *Collector) Course() *Course { return c.course(c.cur) }

// course returns the course up to an edge.
func (c *Collector) course(last int) *Course {
	x := &Course{*c}
	x.c.works = copyWorks(nil, c.works)
	x.c.cur, x.c.edges, x.c.rows = last, c.edges[:last+1], c.rows.lend(last+1)
	return x
}

// settled returns the last edge up to which all frames have been counted.
func (c *Collector) settled() int {
	k := c.cur
	for k > 0 && !c.closed && c.edges[k].Add(c.longest) > c.lo {
		k--
	}
	return k
}
