package drive

import (
	"errors"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// transmit sends a frame, not before its time, and notes that there is something
// to read at the other end.
func (r *wallRun) transmit(m int, tr *port.Transmission) error {
	slot := int(r.leavingBy(m, tr.Port))
	p, _ := r.send(&r.seats[m], tr)
	route := &r.routes[slot]
	body := r.fabric.Bodies.Of(&tr.Frame)
	r.buf = r.fabric.encode(r.buf[:0], tr, body, p, p.seq+uint32(p.count)-1)
	if err := r.depart(p, route, tr, body); err != nil {
		return err
	}
	return r.sentTo(slot)
}

// sentTo notes that there is something to read at the end of a path.
func (r *wallRun) sentTo(slot int) error {
	route := &r.routes[slot]
	route.pending++
	if !route.unread {
		route.unread = true
		r.unread = append(r.unread, int32(slot))
	}
	if route.room += len(r.buf) + datagramCost; route.room > roomMost {
		route.room = 0
		return r.collect(slot) // a long link, and no time to read: the socket would overflow
	}
	return nil
}

// What a datagram takes of a socket's receive buffer beside its bytes, about, and how
// much is taken before what has come is read, even if there is no time. A buffer has
// 128 KiB at the least by default, and the kernel takes twice that.
const (
	datagramCost = 1 << 10
	roomMost     = 64 << 10
)

// depart sends the datagram in buf, which holds tr, and notes how late it is. The body
// ends with it.
func (r *wallRun) depart(p *path, route *route, tr *port.Transmission, body wire.Body) error {
	due := r.epoch + Dilate(tr.Start, r.wall.Dilation)
	now := r.clock()
	late := now - due
	if late < 0 {
		r.Early++
	}
	if tr.Frame.Kind.Traffic() {
		r.Data++
		r.moment.Data++
		r.moment.Worst = max(r.moment.Worst, late)
		r.Lateness.RecordValue(max(late, 0))
		inT := max(late, 0) * 1000 / route.t
		r.LatenessT.RecordValue(inT)
		r.Latest = max(r.Latest, inT)
		if late > route.t/20 {
			r.Late++
			r.moment.Late++
			route.late++
			if r.fabric.Progress != nil {
				r.fabric.Progress.late.Add(1)
			}
			if late > route.t {
				r.LateT++
			}
		}
	}
	if err := r.put(route); err != nil {
		return fmt.Errorf("%s: %w", r.name(p), err)
	}
	if r.fabric.Tap != nil {
		r.fabric.Tap.Sent(int(p.number), tr, body, r.order.now, now-r.epoch, late)
	}
	r.fabric.Bodies.Free(&tr.Frame)
	r.Sent++
	return nil
}

// read reads what has come on the paths that something was sent on, as long as
// there is time until target: what leaves at an instant does not wait for what
// arrives after it.
func (r *wallRun) read(t unit.Time, target int64) error {
	for len(r.unread) > 0 && r.now < target {
		slot := r.unread[len(r.unread)-1]
		r.unread = r.unread[:len(r.unread)-1]
		r.routes[slot].unread = false
		if err := r.collect(int(slot)); err != nil {
			return err
		}
		r.look(t, 0)
	}
	return nil
}

func (r *wallRun) name(p *path) string {
	return fmt.Sprintf("wire %d, from machine %d to %d", p.number/2, r.from(p).Machine, p.machine)
}

// collect reads the datagrams that wait at the end of a path, while any of those
// sent has not been seen.
func (r *wallRun) collect(slot int) error {
	route, p := &r.routes[slot], &r.paths[slot]
	for route.pending > 0 {
		n, err := r.receive(route, p)
		if n == 0 || err != nil {
			return err
		}
		seq, a, body, err := r.fabric.decode(r.in[:n], p)
		if err != nil {
			r.refuse(err)
			continue
		}
		i := seq - p.seq
		if i >= uint32(p.count) && r.share != nil {
			r.share.takeIn() // another loop has sent it, and this one has not looked yet
		}
		if i >= uint32(p.count) {
			r.Foreign++ // seen before, or given up
			continue
		}
		flight := r.at(p, int(i))
		if flight.arrived {
			r.Foreign++ // seen before
			continue
		}
		r.arrive(flight, a, body)
		route.pending--
		r.Received++
	}
	return nil
}

// strays is how often in a row a link may report what others have done to it, a datagram
// that is too long or an ICMP message, before the loop goes on to something else.
const strays = 16

// put sends the datagram in buf. An ICMP message that has come is reported in place of
// the sending: it is tried again. A datagram that does not leave is missed at its end.
func (r *wallRun) put(route *route) (err error) {
	for range strays {
		err = route.send.Send(r.buf)
		switch {
		case err == nil, errors.Is(err, link.ErrFull):
			return nil
		case !link.IsICMP(err):
			return err
		}
		r.Unreachable++
	}
	return nil
}

// receive reads a datagram into in; n is 0 where none waits.
func (r *wallRun) receive(route *route, p *path) (int, error) {
	for range strays {
		n, err := route.recv.Recv(r.in)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, link.ErrTooLong):
			r.TooLong++
		case link.IsICMP(err):
			r.Unreachable++
		default:
			return 0, fmt.Errorf("%s: %w", r.name(p), err)
		}
	}
	return 0, nil
}

// refuse counts a datagram that is dropped.
func (r *wallRun) refuse(err error) {
	var bad *wire.ParseError
	if errors.As(err, &bad) {
		r.Refused[bad.Reason]++
	} else {
		r.Foreign++
	}
}

// The loop calls a datagram lost that it has sent and needs when it has waited for
// it for lostAfter, in ns of wall time, and has looked for it lostLooks times: a
// loop that was away for the time has not waited.
const (
	lostAfter = 50_000_000
	lostLooks = 2000
)

// await waits for the datagram of a path's first frame. It reports false when it
// has not come.
func (r *wallRun) await(slot int) (bool, error) {
	begin := r.clock()
	for looks := 0; looks < lostLooks || r.clock()-begin <= lostAfter; looks++ {
		if r.stop.Load() {
			return false, errStopped
		}
		if r.share != nil && r.share.unsent() {
			begin, looks = r.clock(), 0 // another loop is to send it yet
		}
		if err := r.collect(slot); err != nil {
			return false, err
		}
		if r.at(&r.paths[slot], 0).arrived {
			return true, nil
		}
	}
	return false, nil
}
