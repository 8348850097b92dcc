package drive

import (
	"iter"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// coroutine gives a machine a goroutine of its own, which runs when it is called
// and is parked otherwise. A goroutine that waits on a channel would be woken tens
// of microseconds late; a coroutine is resumed in a tenth of one.
type coroutine struct {
	Machine
	call   call
	resume func() (struct{}, bool)
	stop   func()
}

// call is what the machine is to do when it is resumed.
type call struct {
	do      uint8
	now     unit.Time
	port    port.ID
	arrival port.Arrival
	event   port.Event
}

const (
	doReceive = iota
	doAdvance
	doApply
)

// newCoroutine starts the machine's goroutine. stop ends it.
func newCoroutine(m Machine) *coroutine {
	c := &coroutine{Machine: m}
	c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
			switch c.call.do {
			case doReceive:
				m.Receive(c.call.now, c.call.port, &c.call.arrival)
			case doAdvance:
				m.Advance(c.call.now)
			case doApply:
				m.Apply(c.call.now, c.call.event)
			}
		}
	})
	c.resume() // up to the first yield: from now on a resume is a call
	return c
}

func (c *coroutine) Receive(now unit.Time, p port.ID, a *port.Arrival) {
	c.call.do, c.call.now, c.call.port, c.call.arrival = doReceive, now, p, *a
	c.resume()
}

func (c *coroutine) Advance(now unit.Time) {
	c.call.do, c.call.now = doAdvance, now
	c.resume()
}

func (c *coroutine) Apply(now unit.Time, e port.Event) {
	c.call.do, c.call.now, c.call.event = doApply, now, e
	c.resume()
}
