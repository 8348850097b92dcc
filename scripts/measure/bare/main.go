// Command bare does the least that an event-driven simulation can do: a heap of events, packets,
// ports with a queue, and counters, of the dumbbell that scripts/lab/peers.sh runs fabemu on.
// It has no protocol, no checks and no results, so that it is a measure of the machine, not of
// a program that does the work of one.
//
//	bare SENDERS MS
//
// Senders of 2068 bytes each load one link to 94 %; links of 1 GB/s, 500 ns long. A packet takes
// two events on each of its three links: the end of its transmission, and its arrival.
package main

import (
	"fmt"
	"os"
	"strconv"
)

const (
	size        = 2068
	serialise   = size * 1000 // ps at 1 GB/s
	propagation = 500_000     // ps
)

// event is one in the heap: at an instant something comes to a port.
type event struct {
	at     int64
	kind   uint8
	port   int32
	packet int32
}

// The kinds of events, in their order at one instant.
const (
	arrived uint8 = iota // a packet has come to the switch or the sink behind the port
	sent                 // the port has sent the first packet of its queue
	made                 // the sender of the port has another packet
)

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.kind < f.kind }

// heap has four children to a node.
type heap []event

func (h *heap) push(e event) {
	*h = append(*h, e)
	q := *h
	i := len(q) - 1
	for ; i > 0 && e.before(&q[(i-1)/4]); i = (i - 1) / 4 {
		q[i] = q[(i-1)/4]
	}
	q[i] = e
}

func (h *heap) pop() event {
	q := *h
	first, e := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	i := 0
	for {
		child := 4*i + 1
		if child >= len(q) {
			break
		}
		for k := child + 1; k < min(4*i+5, len(q)); k++ {
			if q[k].before(&q[child]) {
				child = k
			}
		}
		if !q[child].before(&e) {
			break
		}
		q[i] = q[child]
		i = child
	}
	if len(q) > 0 {
		q[i] = e
	}
	return first
}

// packet is one on its path.
type packet struct {
	flow int32
	next int32 // in the queue of its port
}

// port sends the packets that wait for it, in order.
type port struct {
	head, tail int32 // -1: nothing waits
	bytes      int64 // that wait
	most       int64
	frames     int64
}

// dumbbell has a port for each sender, one between the switches, and one for each sink.
type dumbbell struct {
	senders int32
	now     int64
	events  heap
	ports   []port
	packets []packet
	free    []int32
	hops    int64
	got     []int64
}

// send queues a packet at a port.
func (d *dumbbell) send(at, p int32) {
	o := &d.ports[at]
	d.packets[p].next = -1
	o.bytes += size
	o.most = max(o.most, o.bytes)
	if o.head < 0 {
		o.head, o.tail = p, p
		d.events.push(event{d.now + serialise, sent, at, p})
		return
	}
	d.packets[o.tail].next = p
	o.tail = p
}

func (d *dumbbell) step(e event, period int64) {
	d.now = e.at
	switch e.kind {
	case made:
		if len(d.free) == 0 {
			d.free = append(d.free, int32(len(d.packets)))
			d.packets = append(d.packets, packet{})
		}
		p := d.free[len(d.free)-1]
		d.free = d.free[:len(d.free)-1]
		d.packets[p].flow = e.port
		d.events.push(event{e.at + period, made, e.port, 0})
		d.send(e.port, p)
	case sent:
		o := &d.ports[e.port]
		d.events.push(event{e.at + propagation, arrived, e.port, o.head})
		o.head = d.packets[o.head].next
		o.bytes -= size
		o.frames++
		if o.head >= 0 {
			d.events.push(event{e.at + serialise, sent, e.port, o.head})
		}
	case arrived:
		d.hops++
		switch flow := d.packets[e.packet].flow; {
		case e.port < d.senders:
			d.send(d.senders, e.packet)
		case e.port == d.senders:
			d.send(d.senders+1+flow, e.packet)
		default:
			d.got[flow]++
			d.free = append(d.free, e.packet)
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bare SENDERS MS")
		os.Exit(2)
	}
	n, err := strconv.Atoi(os.Args[1])
	ms, err2 := strconv.ParseInt(os.Args[2], 10, 64)
	if err != nil || err2 != nil || n < 1 || ms < 1 {
		fmt.Fprintln(os.Stderr, "bare: SENDERS and MS are numbers from 1 on")
		os.Exit(2)
	}
	d := dumbbell{senders: int32(n), ports: make([]port, 2*n+1), got: make([]int64, n)}
	for i := range d.ports {
		d.ports[i].head = -1
	}
	period := int64(float64(serialise*n) / 0.94)
	for i := range n {
		d.events.push(event{period * int64(i) / int64(n), made, int32(i), 0})
	}
	for end := ms * 1e9; d.events[0].at < end; {
		d.step(d.events.pop(), period)
	}
	delivered := int64(0)
	for _, n := range d.got {
		delivered += n
	}
	fmt.Printf("delivered %d hops %d\n", delivered, d.hops)
}
