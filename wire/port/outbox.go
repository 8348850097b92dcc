package port

import "fabemu/wire"

// Outbox is the queue of a node's transmissions, in the order in which they were started. The driver empties it
// after each call, so all nodes of a driver can share one, which then stays in the cache even in a large fabric.
// The nodes also share the kinds of their links through it, and the bodies of their frames.
type Outbox struct {
	Bodies wire.Bodies

	queue []Transmission // the waiting transmissions are those from next to before end
	next  int
	end   int
	media media
}

// place returns where to write the next transmission. The memory still holds an earlier one.
func (o *Outbox) place() *Transmission {
	n := o.end
	if n == len(o.queue) {
		o.queue = append(o.queue, Transmission{})
	}
	o.end = n + 1
	return &o.queue[n]
}

// Poll takes the next transmission. It is valid until a node is called again.
func (o *Outbox) Poll() (*Transmission, bool) {
	if o.next == o.end { // the next transmission is written to the same memory again
		o.next, o.end = 0, 0
		return nil, false
	}
	t := &o.queue[o.next]
	o.next++
	return t, true
}
