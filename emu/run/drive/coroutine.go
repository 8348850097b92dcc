package drive

import (
	"iter"

	"fabemu/emu/base/errs"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// coroutine gives a node its own goroutine, which runs when it is called
// and is parked otherwise. A goroutine that waits on a channel would be woken tens
// of microseconds late; a coroutine is resumed in a tenth of one. That is still a tenth of what a
// frame costs, so a loop that is late calls the node itself until it has caught up.
type coroutine struct {
	Node
	late     *bool  // of the loop
	order    *order // of a node that shares its agenda; nil: it has its own
	do       uint8
	now      unit.Time
	port     port.ID
	arrival  *port.Arrival
	change   port.Change
	advanced bool // Receive has done the work of Advance
	resume   func() (struct{}, bool)
}

const (
	doReceive = iota
	doAdvance
	doApply
)

// start moves a node of the order into a goroutine, which stop ends. The loop calls the node itself
// while it is late.
func (o *order) start(s *slotted, late *bool) (stop func()) {
	m, c := s.Node, &coroutine{Node: s.Node, late: late}
	if s.shares {
		c.order = o
	}
	c.resume, stop = iter.Pull(func(yield func(struct{}) bool) {
		defer errs.Again()
		for yield(struct{}{}) {
			switch c.do {
			case doReceive:
				m.Receive(c.now, c.port, c.arrival)
				// To continue at once saves a second call of the goroutine, which is a tenth of a
				// frame's cost.
				if o := c.order; o != nil && m.Deadline() <= c.now && !o.keyed && o.alone(c.now) {
					m.Advance(c.now)
					c.advanced = true
				}
			case doAdvance:
				m.Advance(c.now)
			case doApply:
				m.Apply(c.now, c.port, c.change)
			}
		}
	})
	c.resume() // up to the first yield: from now on a resume is a call
	s.Node = c
	return stop
}

func (c *coroutine) Receive(now unit.Time, p port.ID, a *port.Arrival) {
	if *c.late {
		c.Node.Receive(now, p, a)
		return
	}
	c.do, c.now, c.port, c.arrival = doReceive, now, p, a
	c.resume()
}

func (c *coroutine) Advance(now unit.Time) {
	if c.advanced {
		c.advanced = false
		return
	}
	if *c.late {
		c.Node.Advance(now)
		return
	}
	c.do, c.now = doAdvance, now
	c.resume()
}

func (c *coroutine) Apply(now unit.Time, p port.ID, change port.Change) {
	c.do, c.now, c.port, c.change = doApply, now, p, change
	c.resume()
}

// Deadline is now where Receive has done the work of Advance: its frames are to be carried.
func (c *coroutine) Deadline() unit.Time {
	if c.advanced {
		return c.now
	}
	return c.Node.Deadline()
}
