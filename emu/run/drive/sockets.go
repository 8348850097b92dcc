package drive

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// sockets carries frames over real links. A frame is encoded when its node sends it, and the node
// at the other end receives the decoded bytes. The bytes themselves wait for their instant, leave
// then, and must come back as they were: each is compared. So the kernel decides nothing about the
// order of events, and every byte crosses it at its time.
type sockets struct {
	*order
	pace.Meter
	runClock
	stamps pace.Stamps // of the kernel; none on other clocks than the system's
	now    int64       // the last reading of the wall clock
	floor  int64       // 5 % of the shortest T, in ns: the floor counts waits that end later
	stop   atomic.Bool
	// behind: the loop is late. It calls the nodes itself, and reads frames at once, while the
	// bytes are in the cache of the CPU.
	behind bool
	most   int // frames that leave at a time, at most

	tracks  []track
	dirty   []int32 // tracks into which something was put
	tapped  []int32 // parcels that leave now, for a Tap
	unread  []int32 // tracks to read when there is time
	routes  []route // by path
	parcels []parcel
	unused  []int32 // parcels that are free
	queue   list    // parcels that wait for their instant
	shown   []shown // by parcel, for a Tap
}

// route is where the frames of a path leave.
type route struct {
	track   int32 // none: they leave elsewhere
	wire    int32
	waiting int32 // parcels that wait for their instant
	t       int64 // T in ns
	off     int64 // gaps between data frames that were off by more than 5 % of T
	// Of the last data frame that has left:
	sent        bool  // there is one
	early, late int64 // by how much it left late: that is between these
	held        int64 // how long the clock had been held then
}

// track is a path through the kernel, in one direction: of one path, or of all.
type track struct {
	out, in link.Batch
	stamper link.Stamper // of in; nil: there are no time stamps
	leaving list         // parcels that the next calls send
	away    list         // parcels that have left and not come back
	room    int          // the bytes that they take of the receiver's buffer
	lost    int64
	looks   int // without a result, since a parcel has come back
	dirty   bool
	unread  bool // something was sent since it was last read
}

// parcel is the bytes of a frame, from when it is encoded until they have come back.
type parcel struct {
	bytes []byte
	at    int64     // the wall time at which it is to leave
	start unit.Time // the same in model time
	left  [2]int64  // readings of the clock before and after the call that sent it
	held  int64     // how long the clock had been held then
	next  int32
	slot  int32 // its path
	seq   uint32
	data  bool
}

// shown is a frame as a Tap receives it when the frame leaves.
type shown struct {
	sent port.Transmission
	body wire.Body
	now  unit.Time
	late int64 // the wall time by which it left late
}

// list is a queue of parcels.
type list struct {
	first, last int32
	count       int
}

const (
	// datagramCost is the room that a datagram takes in a socket's receive buffer in addition to
	// its bytes, about. The loop reads when roomMost is taken, even if there is no time. A buffer
	// has 128 KiB at the least by default, and the kernel takes twice that.
	datagramCost = 1 << 10
	roomMost     = 64 << 10
	// The loop also reads when more than awayMost frames are away.
	awayMost = 32
	// trainMost is how many frames leave at a time at most: as many as one train has. Where each
	// link has trains of its own, there are apartMost times as many.
	trainMost = 64
	apartMost = 4
	// lostAfter is the time in ns after which datagrams that have not come back are lost, if the
	// track was read lostLooks times without a result: a loop that was away for that time has not
	// looked.
	lostAfter = 50_000_000
	lostLooks = 2000
	// refusedAfter is the time after which a datagram that the kernel does not take is lost, after
	// lostLooks tries.
	refusedAfter = time.Second
	// At the end the loop looks so often for what is still in flight, and sleeps between two looks.
	settleLooks = 50
	settleEvery = time.Millisecond
	// strays is how often in a row a link may report a stranger's work, a datagram that is too
	// long or an ICMP message, before the loop continues to something else.
	strays = 16
)

func (l *list) push(all []parcel, i int32) {
	if l.count == 0 {
		l.first = i
	} else {
		all[l.last].next = i
	}
	l.last = i
	l.count++
}

func (l *list) pop(all []parcel) (i int32) {
	i = l.first
	l.first = all[i].next
	l.count--
	return i
}

// newSockets returns the carrier of an order. Ends of links that are elsewhere are nil.
func (w *Wall) newSockets(o *order) *sockets {
	s := &sockets{order: o, Meter: pace.NewMeter(o.fabric.End), runClock: runClock{clock: w.Clock, factor: w.Dilation}, routes: make([]route, len(o.paths))}
	if w.system {
		s.stamps = pace.NewStamps(s.clock)
	}
	if s.most = trainMost; w.Trunk != nil {
		s.tracks = []track{{out: w.Trunk[0], in: w.Trunk[1], stamper: s.stamper(w.Trunk[1])}}
	}
	for i := range o.paths {
		n := int(o.paths[i].number)
		r := &s.routes[i]
		*r = route{track: none, wire: int32(n / 2), t: max(1, Dilate(unit.Time(w.Longest[n/2]), w.Dilation))}
		if t := r.t / 20; s.floor == 0 || t < s.floor {
			s.floor = t
		}
		switch {
		case w.Trunk != nil:
			r.track = 0
		case w.Links[n/2][n%2] != nil:
			r.track = int32(len(s.tracks))
			tr := track{out: link.Batched(w.Links[n/2][n%2], 2*MaxDatagram)}
			if _, ok := tr.out.(*link.Train); ok {
				s.most = apartMost * trainMost
			}
			if in := w.Links[n/2][1-n%2]; in != nil {
				tr.in = link.Batched(in, 2*MaxDatagram)
				tr.stamper = s.stamper(in)
			}
			s.tracks = append(s.tracks, tr)
		}
	}
	return s
}

// stamper returns where the time stamps of an end are; nil where it has none.
func (s *sockets) stamper(l link.Link) link.Stamper {
	if x := link.StamperOf(l); s.stamps.Known() && x != nil && x.StampArrivals() == nil {
		return x
	}
	return nil
}

// start begins the run: model time 0 is at a wall time.
func (s *sockets) start(began int64, holds bool, shared Hold, shown *Measured) {
	s.began, s.shared = began, shared
	if holds {
		s.tight, s.loose = bounds(20*s.floor, shown != nil, shared != nil, s.most > trainMost)
		s.bound = s.tight
	}
	if shown != nil {
		*shown = Measured{run: s}
	}
}

// post takes a frame that a node sends: its bytes are to leave at their instant. The trailer holds
// the promise: the earliest due time of the next frame.
func (s *sockets) post(slot int32, t *port.Transmission, body wire.Body, seq uint32, promise unit.Time) *parcel {
	if len(s.unused) == 0 {
		s.grow()
	}
	last := len(s.unused) - 1
	i := s.unused[last]
	s.unused = s.unused[:last]
	p := &s.parcels[i]
	p.bytes = s.fabric.encode(p.bytes[:0], t, body, &s.paths[slot], seq, promise)
	p.at, p.start, p.slot, p.seq, p.data = s.wallOf(t.Start), t.Start, slot, seq, t.Frame.Kind.Traffic()
	s.queue.push(s.parcels, i)
	s.routes[slot].waiting++
	if s.fabric.Tap != nil {
		x := &s.shown[i]
		x.sent, x.now = *t, s.order.now
		x.body = wire.Body{Type: body.Type, Bytes: append(x.body.Bytes[:0], body.Bytes...)}
	}
	return p
}

// grow makes some more parcels, each with room for any datagram.
func (s *sockets) grow() {
	some := max(16, len(s.parcels)) // as many again: a run in its course makes none
	room := make([]byte, some*MaxDatagram)
	for range some {
		s.unused = append(s.unused, int32(len(s.parcels)))
		s.parcels = append(s.parcels, parcel{bytes: room[:0:MaxDatagram]})
		room = room[MaxDatagram:]
	}
	if s.fabric.Tap != nil {
		s.shown = append(s.shown, make([]shown, some)...)
	}
}

// carry sends a frame to a node of this driver.
func (s *sockets) carry(slot int32, t *port.Transmission) error {
	p := &s.paths[slot]
	seq := p.seq + uint32(p.count)
	sent := s.post(slot, t, s.fabric.Bodies.Of(&t.Frame), seq, t.Due)
	return s.arrive(t, slot, sent.bytes, seq)
}

// first returns the wall time at which the next parcel leaves.
func (s *sockets) first() int64 {
	if s.queue.count == 0 {
		return int64(unit.Never)
	}
	return s.parcels[s.queue.first].at
}

// depart sends the parcels whose instant has come by until, in their order.
func (s *sockets) depart(until int64) error {
	if s.queue.count == 0 || s.parcels[s.queue.first].at > until {
		return nil
	}
	for n := 0; n < s.most && s.queue.count > 0; n++ {
		i := s.queue.first
		p := &s.parcels[i]
		if p.at > until {
			break
		}
		s.queue.pop(s.parcels)
		r := &s.routes[p.slot]
		r.waiting--
		tr := &s.tracks[r.track]
		if err := tr.out.Put(p.bytes); err != nil {
			return fmt.Errorf("%s: %w", s.name(int(p.slot)), err)
		}
		tr.leaving.push(s.parcels, i)
		if s.fabric.Tap != nil {
			s.tapped = append(s.tapped, i)
		}
		if !tr.dirty {
			tr.dirty = true
			s.dirty = append(s.dirty, r.track)
		}
	}
	for _, i := range s.dirty {
		tr := &s.tracks[i]
		if !tr.unread && tr.in != nil {
			tr.unread, s.unread = true, append(s.unread, i)
		}
		if err := s.flush(tr); err != nil {
			return err
		}
	}
	for _, i := range s.tapped { // in the model's order, whichever track went first
		p, x := &s.parcels[i], &s.shown[i]
		s.fabric.Tap.Sent(int(s.paths[p.slot].number), &x.sent, x.body, x.now, p.left[0]-s.began, x.late)
	}
	s.dirty, s.tapped = s.dirty[:0], s.tapped[:0]
	return nil
}

// left counts a parcel that has left by a call, between two readings of the clock.
func (s *sockets) left(tr *track, i int32, before, after int64) {
	p := &s.parcels[i]
	p.left, p.held = [2]int64{before, after}, s.held
	s.Sent++
	late := before - p.at
	if late < 0 {
		s.Early++
	}
	tr.away.push(s.parcels, i)
	tr.room += len(p.bytes)
	if s.fabric.Tap != nil {
		s.shown[i].late = late
	}
}

// date counts how late a parcel left, and the gap before it, as an observer on the link sees them:
// by the kernel's time stamp, if there is one (0: none). A link in this process that has none has
// no observer but its receiver, which has the parcel when the call returns. Otherwise the parcel
// left at some instant during the call, and the worst counts.
func (s *sockets) date(tr *track, p *parcel, stamp int64) {
	if !p.data {
		return
	}
	first, last := p.left[0], p.left[1]
	if at, ok := s.stamps.At(stamp, first, max(last, s.now)); ok {
		first, last = at, at
	} else if tr.in != nil && tr.stamper == nil {
		first = last
	}
	r := &s.routes[p.slot]
	early, late := first-p.at, last-p.at
	if s.Depart(p.start, late, r.t) {
		s.fabric.Progress.CountLate()
	}
	if r.sent {
		off := s.Gap(early-r.late, late-r.early, p.held-r.held, r.t)
		if off {
			r.off++
		}
		s.fabric.Progress.CountGap(off)
	}
	r.sent, r.early, r.late, r.held = true, early, late, p.held
}

// flush sends the parcels of a track, by as many calls as that takes. If the kernel has no room, it
// reads and tries again. A datagram that the kernel does not take for refusedAfter is lost, and
// ends the run.
func (s *sockets) flush(tr *track) error {
	tr.dirty = false
	for tries, since := 0, s.now; tr.leaving.count > 0; tries++ {
		s.look(0)
		s.keep(s.now, s.lastLeaving())
		left, err := tr.out.Flush()
		tr.room += datagramCost
		if tr.leaving.count > left {
			before := s.now
			s.look(0)
			for tries, since = 0, before; tr.leaving.count > left; {
				s.left(tr, tr.leaving.pop(s.parcels), before, s.now)
			}
		}
		switch {
		case err == nil && tr.in == nil: // the receiver is elsewhere
			for tr.away.count > 0 {
				i := tr.away.pop(s.parcels)
				s.date(tr, &s.parcels[i], 0)
				s.unused = append(s.unused, i)
			}
			tr.room = 0
		case err == nil && (s.behind || tr.room > roomMost || tr.away.count > awayMost):
			if err := s.collect(tr); err != nil {
				return err
			}
		case err == nil:
		case errors.Is(err, link.ErrFull):
			if s.Full++; s.stop.Load() {
				return errStopped
			}
			if tries > lostLooks && s.now-since > refusedAfter.Nanoseconds() {
				p := &s.parcels[tr.leaving.first]
				s.wrong(&s.Lost, pace.Missing, p)
				return fmt.Errorf("%s: the kernel has taken no datagram for %v: look for an interface with a small MTU, or a limit of its queue (ip link, tc qdisc)",
					s.name(int(p.slot)), refusedAfter)
			}
			if err := s.collect(tr); err != nil {
				return err
			}
		case link.IsICMP(err) && tries < strays:
			s.Unreachable++
		case link.IsICMP(err) && tr.in == nil:
			return nil // the other process may be started again: the rest leaves with the next
		default:
			return fmt.Errorf("%s: %w", s.name(int(s.parcels[tr.leaving.first].slot)), err)
		}
	}
	return nil
}

// lastLeaving returns the latest instant of the parcels that leave now: none of them may become
// early.
func (s *sockets) lastLeaving() (at int64) {
	for _, i := range s.dirty {
		if l := &s.tracks[i].leaving; l.count > 0 {
			at = max(at, s.parcels[l.last].at)
		}
	}
	return at
}

// readLast collects the datagrams of the track that something was sent on last.
func (s *sockets) readLast() error {
	last := len(s.unread) - 1
	tr := &s.tracks[s.unread[last]]
	tr.unread, s.unread = false, s.unread[:last]
	return s.collect(tr)
}

// collect compares the datagrams that have come back by a track with those that left.
func (s *sockets) collect(tr *track) error {
	if tr.in == nil {
		return nil // it is received elsewhere
	}
	for stray := 0; tr.away.count > 0; {
		b, err := tr.in.Next()
		switch {
		case err == nil && b == nil:
			s.miss(tr)
			return nil
		case err == nil && s.compare(tr, b):
			continue
		case err == nil:
		case errors.Is(err, link.ErrTooLong):
			s.TooLong++
		case link.IsICMP(err):
			s.Unreachable++
		default:
			return fmt.Errorf("%s: %w", s.name(int(s.parcels[tr.away.first].slot)), err)
		}
		if stray++; stray >= strays {
			s.miss(tr)
			return nil
		}
	}
	tr.room = 0
	return nil
}

// miss records that a track was read without a result.
func (s *sockets) miss(tr *track) {
	if tr.looks++; tr.looks > lostLooks {
		s.giveUp(tr, s.clock()-lostAfter)
	}
}

// giveUp gives up the first parcels of a track, those that left before an instant: a wait for one
// is a wait for all.
func (s *sockets) giveUp(tr *track, before int64) {
	for ; tr.away.count > 0 && s.parcels[tr.away.first].left[0] < before; tr.looks = 0 {
		s.lose(tr)
	}
}

// compare compares a datagram with the parcel that should come next, and reports whether it is any
// of those that have left.
func (s *sockets) compare(tr *track, b []byte) bool {
	p := &s.parcels[tr.away.first]
	if !bytes.Equal(b, p.bytes) {
		return s.other(tr, b)
	}
	s.back(tr, tr.away.pop(s.parcels))
	tr.looks = 0
	return true
}

// back ends a parcel that has come back.
func (s *sockets) back(tr *track, i int32) {
	s.Received++
	stamp := int64(0)
	if tr.stamper != nil {
		stamp = tr.stamper.Stamp()
	}
	s.date(tr, &s.parcels[i], stamp)
	s.free(tr, i)
}

// free ends a parcel, which may have come back.
func (s *sockets) free(tr *track, i int32) {
	tr.room -= len(s.parcels[i].bytes)
	s.unused = append(s.unused, i)
}

// other takes a datagram that is not the next parcel of a track: of a stranger, one that came
// before, or one that the kernel has changed, or has taken out of order. It reports whether that is
// a parcel.
func (s *sockets) other(tr *track, b []byte) bool {
	var (
		t    wire.Trailer
		a    port.Arrival
		body wire.Body
	)
	err := s.fabric.decode(b, &t, &a, &body)
	changed := err != nil && err != errForeign
	before, i := none, tr.away.first
	overtakes := false
	for n := tr.away.count; n > 0; n-- {
		p := &s.parcels[i]
		if changed && len(b) == len(p.bytes) && bytes.Equal(b[len(b)-wire.TrailerSize:], p.bytes[len(b)-wire.TrailerSize:]) ||
			err == nil && int(t.Port) == int(s.paths[p.slot].number) && t.Seq == p.seq {
			break
		}
		overtakes = overtakes || err == nil && int(t.Port) == int(s.paths[p.slot].number)
		if before, i = i, p.next; n == 1 {
			i = none
		}
	}
	if i == none {
		s.refuse(err)
		return false
	}
	p := &s.parcels[i]
	switch {
	case !bytes.Equal(b, p.bytes):
		s.wrong(&s.Changed, pace.Altered, p)
	case overtakes:
		s.wrong(&s.Reordered, pace.OutOfOrder, p)
	}
	if before == none {
		tr.away.pop(s.parcels)
	} else {
		s.parcels[before].next = p.next
		if tr.away.count--; tr.away.last == i {
			tr.away.last = before
		}
	}
	left := p.left[0]
	if s.back(tr, i); before != none { // the track keeps its order: those that left long before it will not come
		s.giveUp(tr, left-lostAfter)
	}
	return true
}

// lose gives up the first parcel of a track.
func (s *sockets) lose(tr *track) {
	p := &s.parcels[tr.away.first]
	s.wrong(&s.Lost, pace.Missing, p)
	tr.lost++
	s.date(tr, p, 0)
	s.free(tr, tr.away.pop(s.parcels))
}

// wrong counts a fault of the kernel.
func (s *sockets) wrong(count *int64, kind pace.FaultKind, p *parcel) {
	if *count++; len(s.Faults) < pace.MaxFaults {
		s.Faults = append(s.Faults, pace.Fault{Kind: kind, Path: int(s.paths[p.slot].number), Seq: p.seq})
	}
}

// look reads the clock. Between two looks, or from wake on where the loop slept until then, lies
// one event or a few datagrams.
func (s *sockets) look(wake int64) {
	before := max(s.now, wake)
	s.now = s.clock()
	s.gap = max(s.gap, s.now-before)
}

// refuse counts a datagram that is dropped.
func (s *sockets) refuse(err error) {
	var bad *wire.ParseError
	if errors.As(err, &bad) {
		s.Refused[bad.Reason]++
	} else {
		s.Foreign++
	}
}

func (s *sockets) name(slot int) string {
	p := &s.paths[slot]
	return fmt.Sprintf("wire %d, from node %d to %d", p.number/2, s.from(p).Node, p.node)
}

// reached notes how far the run has come: to an instant of model time.
func (s *sockets) reached(t unit.Time) {
	s.Wall, s.Record.Held, s.Hops = s.now-s.began, s.held, s.hops
	s.Reached = t
}

// ended notes how far the run has come at its end.
func (s *sockets) ended() {
	t := min(s.fabric.End, s.order.now)
	if s.now >= s.wallOf(s.fabric.End) && !s.stop.Load() { // one that was stopped may lag behind
		t = s.fabric.End
	}
	s.reached(t)
}

// settle reads the datagrams that are still in flight at the end, and takes stock: all must have
// come back. It waits for all of them together no longer than settleLooks * settleEvery.
func (s *sockets) settle() {
	for look, missing := 0, true; look < settleLooks && missing; look++ {
		missing = false
		for i := range s.tracks {
			tr := &s.tracks[i]
			missing = s.collect(tr) == nil && tr.in != nil && tr.away.count > 0 || missing
		}
		if missing {
			time.Sleep(settleEvery)
		}
	}
	for i := range s.tracks {
		tr := &s.tracks[i]
		for tr.away.count > 0 {
			s.lose(tr)
		}
		s.Trains += int64(tr.out.Counts().Trains)
	}
	var worst int64
	for i := range s.routes {
		if s.routes[i].off > worst {
			worst, s.Worst = s.routes[i].off, int(s.routes[i].wire)
		}
	}
}
