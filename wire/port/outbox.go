package port

import "fabemu/wire"

// Outbox is the queue of a machine's transmissions, in the order in which they
// were started. The driver empties it after each call, so that all machines of a
// driver can share one, which then stays in the cache in a large fabric. With it they share
// what it knows of their links, and the bodies of their frames.
type Outbox struct {
	Bodies wire.Bodies

	queue []Transmission
	next  int
	media media
}

// place returns where the next transmission is written; what was there before still is.
func (o *Outbox) place() *Transmission {
	n := len(o.queue)
	if o.next == n { // all taken: begin again, in the same memory
		n, o.next = 0, 0
	}
	if n == cap(o.queue) {
		o.queue = append(o.queue[:n], Transmission{})
	} else {
		o.queue = o.queue[:n+1]
	}
	return &o.queue[n]
}

// Poll takes the next transmission. It is there until a machine is called again.
func (o *Outbox) Poll() (*Transmission, bool) {
	if o.next == len(o.queue) {
		return nil, false
	}
	t := &o.queue[o.next]
	o.next++
	return t, true
}
