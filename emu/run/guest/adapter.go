package guest

import (
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/unit"
)

// This file is the part of an RDMA adapter that a guest with software RoCEv2 (Linux' rdma_rxe)
// lacks: a rate limiter and a reaction point for each queue pair that it sends to, and notification
// points. The adapter reads the guest's device without delay, and keeps the packets: they never
// wait for those of another queue pair.
//
// A CNP names the queue pair of the sender, which data packets do not. It follows from the ACKs: an
// ACK to a queue pair has the PSN of data that came from there. Until then, as without ACKs (UC),
// the data is not answered. A CNP that overtakes the first ACK waits for it. A packet with a wrong
// checksum, ICRC or length tells an adapter nothing: it is counted where it comes, and a CNP ends
// there, while others go to the guest, whose kernel drops them.

// The bounds of an adapter, for each other guest.
const (
	mostPairs = 1024        // queue pairs with a limiter and a reaction point, or with a notification point; early CNPs
	idlePair  = unit.Second // after this time without packets a queue pair may lose its place to another; an early CNP is ignored
	tries     = 16          // places that are looked at for that
	psnWindow = 1 << 12     // packets that an ACK may lag behind
)

// The slots of a lane besides those of queue pairs. CNPs come first, and then whatever has waited
// for longest.
const (
	cnpSlot   = 0
	firstPair = 1
	otherSlot = firstPair + mostPairs
	laneSlots = otherSlot + 1
)

// RoCECounts are the counters of an adapter, as those of hardware are called.
type RoCECounts struct {
	CNPSent    int64 `json:"np_cnp_sent"`
	ECNMarked  int64 `json:"np_ecn_marked_roce_packets"`
	CNPHandled int64 `json:"rp_cnp_handled"`
	CNPIgnored int64 `json:"rp_cnp_ignored"` // to a queue pair that sends nothing, or that no ACK has named in time
	OutOfPairs int64 `json:"out_of_pairs"`   // packets of queue pairs beyond mostPairs, which are not paced or not answered
	Discards   int64 `json:"tx_discards"`    // packets of the guest, and CNPs, for which there was no room
	Pairs      int   `json:"queue_pairs"`    // that it sends to, at the end

	Damaged int64 `json:"rx_icrc_encapsulated"` // packets that came with a wrong ICRC, checksum or length

	Pauses map[string]int64 `json:"rx_pause"` // PFC frames that came: rx_prio3_pause and so on
}

// adapter is a guest's adapter.
type adapter struct {
	guest *guest
	count RoCECounts
	kept  int      // packets that wait
	free  [][]byte // memory of packets
	peers map[int]*peer
	point rp.Answerer // the first notification point
}

// peer is what an adapter knows about another guest.
type peer struct {
	*adapter
	out, in table
	lanes   []*lane
	cnps    *lane          // by which CNPs go there
	points  *agenda.Agenda // of notification points, by their place
	early   []early        // CNPs to queue pairs that no ACK has named yet, the oldest first
}

// early is a CNP that came before the first ACK to its queue pair.
type early struct {
	to pairKey
	at unit.Time
}

// pairKey is a queue pair at an address.
type pairKey struct {
	at [16]byte
	qp uint32
}

// table has the queue pairs that packets in one direction go to.
type table struct {
	all      []*pair
	to       map[pairKey]*pair
	from     map[pairKey]*pair // the same by the queue pair at their other end, once it is known
	unpaired []*pair
	hand     int
}

// pair is a queue pair to which packets go.
type pair struct {
	to     pairKey
	sender uint32 // its other end, once it is known
	known  bool
	place  int       // in table.all
	last   unit.Time // when a packet came
	psn    uint32    // of the last data
	data   bool      // there was some

	lane       *lane // of those that the guest sends to
	waiting    []waiting
	limiter    node.RateLimiter // nil: none
	controller rp.Controller    // nil: none
	rate       unit.Rate

	point  rp.Answerer     // of those at the guest; nil: none
	latest wire.RoCEPacket // what its CNPs answer
	header []byte          // in front of it, from the sender's side
	kind   uint16          // of its body
}

// waiting is a packet that waits.
type waiting struct {
	body   wire.Body
	length unit.Size // on the link
	paced  bool
}

// lane is the packets of a guest with an adapter for a flow. It is the flow's node.BodyTimer.
type lane struct {
	*queue
	flow   *fabric.Flow
	peer   *peer
	line   unit.Rate
	ready  *agenda.Agenda
	timers *agenda.Agenda // of reaction points, by place
	fresh  []*pair        // that had no packet before
	others pair
	cnp    pair
	out    []byte // the packet that was taken last
	random uint64
}

// newAdapter makes the adapter of a guest with all its flows.
func newAdapter(x *guest, flows map[*queue]*fabric.Flow) *adapter {
	a := &adapter{guest: x, peers: map[int]*peer{}}
	for _, q := range x.flows {
		p := a.peers[q.to]
		if p == nil {
			newTable := func() table { return table{to: map[pairKey]*pair{}, from: map[pairKey]*pair{}} }
			p = &peer{adapter: a, out: newTable(), in: newTable(), points: agenda.New(mostPairs)}
			a.peers[q.to] = p
		}
		l := &lane{queue: q, flow: flows[q], peer: p, ready: agenda.New(laneSlots), timers: agenda.New(mostPairs)}
		l.others, l.cnp = pair{lane: l, place: otherSlot - firstPair}, pair{lane: l, place: cnpSlot - firstPair}
		q.lane, p.lanes = l, append(p.lanes, l)
		if priority, listed := x.scene.DSCP.Priority(x.scene.CNPDSCP); p.cnps == nil || listed && l.priority == priority {
			p.cnps = l
		}
	}
	return a
}

// find returns the queue pair to which a packet goes; nil if there is no place for one more.
func (t *table) find(now unit.Time, to pairKey) *pair {
	p := t.to[to]
	switch {
	case p != nil:
	case len(t.all) < mostPairs:
		p = &pair{to: to, place: len(t.all)}
		t.all = append(t.all, p)
		t.to[to], t.unpaired = p, append(t.unpaired, p)
	default:
		for range tries {
			t.hand = (t.hand + 1) % mostPairs
			if old := t.all[t.hand]; len(old.waiting) == 0 && now.Sub(old.last) > idlePair {
				t.forget(old)
				delete(t.to, old.to)
				p = &pair{to: to, place: old.place}
				t.all[p.place], t.to[to], t.unpaired[slices.Index(t.unpaired, old)] = p, p, p
				break
			}
		}
	}
	if p != nil {
		p.last = max(p.last, now)
	}
	return p
}

// forget ends what is known of the other end of a queue pair.
func (t *table) forget(p *pair) {
	if p.known {
		delete(t.from, pairKey{p.to.at, p.sender})
		p.known, t.unpaired = false, append(t.unpaired, p)
	}
}

// join makes known which queue pair sends to p.
func (t *table) join(p *pair, qp uint32) {
	if p.known && p.sender == qp {
		return
	}
	t.forget(p)
	if old := t.from[pairKey{p.to.at, qp}]; old != nil {
		t.forget(old)
	}
	p.sender, p.known = qp, true
	t.from[pairKey{p.to.at, qp}] = p
	if i := slices.Index(t.unpaired, p); i >= 0 {
		t.unpaired = slices.Delete(t.unpaired, i, i+1)
	}
}

// acknowledged takes in an ACK from an address to the queue pair that has sent the data, and
// returns the queue pair whose other end is known by that; nil: none. Data that several queue pairs
// may have got with this PSN tells nothing.
func (t *table) acknowledged(at [16]byte, qp, psn uint32) (only *pair) {
	within := func(p *pair) bool { return p.data && p.to.at == at && (p.psn-psn)&0xFFFFFF < psnWindow }
	if p := t.from[pairKey{at, qp}]; p != nil && within(p) {
		return nil
	}
	for _, p := range t.unpaired {
		if within(p) {
			if only != nil {
				return nil
			}
			only = p
		}
	}
	if only != nil {
		t.join(only, qp)
	}
	return only
}

// saw takes in data.
func (p *pair) saw(t *table, r *wire.RoCEPacket) {
	p.psn, p.data = r.PSN, true
	if r.Sender != 0 {
		t.join(p, r.Sender)
	}
}

// push takes a packet that the guest sends.
func (l *lane) push(b wire.Body) {
	a, to, w := l.peer.adapter, &l.others, waiting{length: l.length(b)}
	switch r, ok := b.RoCE(); {
	case !ok || r.Damaged: // it may be of any queue pair
	case r.Opcode == wire.RoCENotification:
		to = &l.cnp
	default:
		now := l.guests.at
		p := l.peer.out.find(now, pairKey{r.To, r.DestQP})
		switch {
		case p == nil:
			a.count.OutOfPairs++
		case p.lane == nil:
			l.begin(p)
			fallthrough
		default:
			to = p
		}
		if r.Acknowledges() {
			l.peer.in.acknowledged(r.To, r.DestQP, r.PSN)
		} else if w.paced = true; p != nil {
			p.saw(&l.peer.out, &r)
		}
	}
	if len(to.waiting) >= l.guest.scene.Queue-a.kept { // a share that leaves room for others
		a.count.Discards++
		return
	}
	to.lane.add(to, b, w)
}

// add has a packet wait.
func (l *lane) add(p *pair, b wire.Body, w waiting) {
	a := l.peer.adapter
	var memory []byte
	if last := len(a.free) - 1; last >= 0 {
		memory, a.free = a.free[last], a.free[:last]
	}
	w.body = wire.Body{Type: b.Type, Bytes: append(memory[:0], b.Bytes...)}
	a.kept++
	if p.waiting = append(p.waiting, w); len(p.waiting) == 1 {
		l.fresh = append(l.fresh, p)
	}
}

// length returns the length of a packet on the link.
func (l *lane) length(b wire.Body) unit.Size {
	f := wire.Frame{Kind: wire.Data, Family: wire.Guest, Lane: l.priority, Payload: wire.Guest.PayloadOf(b)}
	return l.guests.fabric.Scenario.Model.Framing.Length(&f)
}

// begin gives a queue pair that the guest sends to its limiter and its reaction point, if its flow
// has an algorithm.
func (l *lane) begin(p *pair) {
	p.lane = l
	algorithm := l.guests.fabric.Scenario.Algorithm(l.flow.Flow)
	if algorithm.Feedback == rp.Nothing && l.flow.RateLimit == 0 {
		return
	}
	r, err := algorithm.New(l.flow.Control.Params, l.site())
	if err != nil {
		l.guests.failed = err
		return
	}
	p.controller, p.rate = r.Controller, r.Rate()
	p.limiter = assemble.Limiter(l.flow, p.rate)
}

// site returns the site of one more algorithm.
func (l *lane) site() rp.Site {
	l.random++
	f := l.guests.fabric
	frame := f.Frame(l.flow)
	return rp.Site{Line: l.line, Length: f.Scenario.Model.Framing.Length(&frame), Random: unit.NewRandom(f.Scenario.Model.Seed, uint64(l.flow.QP)<<32|l.random)}
}

// schedule finds out when the first packet of a queue pair may leave.
func (l *lane) schedule(now unit.Time, p *pair) {
	at := now
	switch {
	case len(p.waiting) == 0:
		at = unit.Never
	case p == &l.cnp:
		at = 0
	case p.limiter != nil && p.waiting[0].paced:
		at = p.limiter.Next(now, p.waiting[0].length)
	}
	l.ready.Set(firstPair+p.place, at)
}

// Ready returns when a packet may leave.
func (l *lane) Ready(now unit.Time) unit.Time {
	l.guests.at = now
	for _, p := range l.fresh {
		l.schedule(now, p)
	}
	l.fresh = l.fresh[:0]
	return l.ready.Next()
}

// Take returns the packet that may leave since the longest time.
func (l *lane) Take(now unit.Time, _ int) (wire.Body, bool) {
	if l.Ready(now) > now {
		return wire.Body{}, false
	}
	slot, _ := l.ready.First()
	p := &l.others
	switch slot {
	case cnpSlot:
		p = &l.cnp
	case otherSlot:
	default:
		p = l.peer.out.all[slot-firstPair]
	}
	w := p.waiting[0]
	if p.waiting = p.waiting[1:]; len(p.waiting) == 0 {
		p.waiting = nil
	}
	if w.paced && p.controller != nil {
		p.limiter.Sent(now, w.length)
		p.controller.Sent(now, w.length)
		l.settle(now, p)
	}
	l.schedule(now, p)
	a := l.peer.adapter
	if a.kept--; l.out != nil {
		a.free = append(a.free, l.out)
	}
	l.out = w.body.Bytes
	if l.under != nil {
		l.under.enter(now, w.body)
	}
	return w.body, true
}

// settle takes over what a reaction point has decided.
func (l *lane) settle(now unit.Time, p *pair) {
	if rate := p.controller.Rate(); rate != p.rate {
		p.rate = rate
		p.limiter.SetRate(now, rate)
		l.schedule(now, p)
	}
	l.timers.Set(p.place, p.controller.Deadline())
}

// Advance runs the timers of reaction points and notification points, and of the guest's own stack.
func (l *lane) Advance(now unit.Time) {
	l.guests.at = now
	if stack := l.guest.stack; stack != nil {
		stack.Advance(now)
		l.guests.mustRead(l.guest)
	}
	for l.timers.Next() <= now {
		place, _ := l.timers.First()
		p := l.peer.out.all[place]
		if p.controller == nil || p.lane != l {
			l.timers.Unset(place) // another has had its place
			continue
		}
		p.controller.Advance(now)
		l.settle(now, p)
	}
	for l.peer.points.Next() <= now {
		place, _ := l.peer.points.First()
		l.peer.notify(now, l.peer.in.all[place])
	}
}

// Deadline returns when Advance has something to do.
func (l *lane) Deadline() unit.Time {
	at := min(l.timers.Next(), l.peer.points.Next())
	if l.guest.stack != nil {
		at = min(at, l.guest.stack.Deadline())
	}
	return at
}

// receive takes in a packet that has come by a flow from the other guest. It reports whether it was
// for the adapter.
func (r *peer) receive(now unit.Time, flow *fabric.Flow, b *wire.Body) bool {
	packet, ok := b.RoCE()
	switch {
	case !ok:
		return false
	case packet.Damaged:
		r.count.Damaged++
		return packet.Opcode == wire.RoCENotification
	case packet.Opcode == wire.RoCENotification:
		r.ignore(now.Add(-idlePair))
		if to := (pairKey{packet.From, packet.DestQP}); r.out.from[to] != nil {
			r.notified(now, r.out.from[to])
		} else if len(r.early) < mostPairs {
			r.early = append(r.early, early{to, now})
		} else {
			r.count.CNPIgnored++
		}
		return true
	case packet.Acknowledges():
		if p := r.out.acknowledged(packet.From, packet.DestQP, packet.PSN); p != nil {
			r.named(now, p)
		}
		return false
	}
	if b.Marked {
		r.count.ECNMarked++
	}
	p := r.in.find(now, pairKey{packet.From, packet.DestQP})
	if p == nil {
		r.count.OutOfPairs++
		return false
	}
	p.saw(&r.in, &packet)
	algorithm := r.guest.flows[0].guests.fabric.Scenario.Algorithm(flow.Flow)
	if !p.known || algorithm.Answer == nil {
		return false
	}
	if p.point == nil {
		site := r.cnps.site()
		site.Beside = r.point
		point, err := algorithm.Answer(flow.Control.Params, site)
		if err != nil {
			r.cnps.guests.failed = err
			return false
		}
		if p.point = point; r.point == nil {
			r.point = point
		}
	}
	if b.Marked {
		p.latest, p.kind = packet, b.Type
		p.header = append(p.header[:0], b.Bytes[:packet.Head]...)
	}
	p.point.Receive(now, wire.Frame{Kind: wire.Data, Family: wire.RoCEv2, FECN: b.Marked})
	r.notify(now, p)
	return false
}

// notified takes in a CNP to a queue pair.
func (r *peer) notified(now unit.Time, p *pair) {
	if p.controller == nil {
		r.count.CNPIgnored++
		return
	}
	r.count.CNPHandled++
	p.controller.Feedback(now, wire.Frame{Kind: wire.CNP, Family: wire.RoCEv2})
	p.lane.settle(now, p)
}

// named takes in the CNPs that came before the first ACK to a queue pair.
func (r *peer) named(now unit.Time, p *pair) {
	r.ignore(now.Add(-idlePair))
	r.early = slices.DeleteFunc(r.early, func(e early) bool {
		its := e.to == pairKey{p.to.at, p.sender}
		if its {
			r.notified(now, p)
		}
		return its
	})
}

// ignore gives early CNPs up that came before an instant.
func (r *peer) ignore(before unit.Time) {
	for len(r.early) > 0 && r.early[0].at < before {
		r.early = r.early[1:]
		r.count.CNPIgnored++
	}
}

// notify sends the CNPs of a queue pair that are due.
func (r *peer) notify(now unit.Time, p *pair) {
	if p.point == nil {
		r.points.Unset(p.place)
		return
	}
	for {
		if _, due := p.point.Send(now); !due {
			break
		}
		if len(r.cnps.cnp.waiting) >= mostPairs { // the link is stopped, and there is one for each queue pair
			r.count.Discards++
			continue
		}
		body := wire.Body{Type: p.kind, Bytes: slices.Clone(p.header)}
		if p.kind == wholeFrame { // back to where it came from
			copy(body.Bytes, p.header[6:12])
			copy(body.Bytes[6:], p.header[:6])
		}
		body.Bytes = p.latest.AppendCNP(body.Bytes, p.sender, r.guest.scene.CNPDSCP)
		r.count.CNPSent++
		r.cnps.add(&r.cnps.cnp, body, waiting{length: r.cnps.length(body)})
	}
	r.points.Set(p.place, p.point.Deadline())
}

// Adapter has the counters of a guest's adapter, except Pauses.
type Adapter struct {
	Node int
	RoCECounts
}

// Adapters appends the adapters of all guests to a slice, in the order of the endpoints.
func (g *Guests) Adapters(all []Adapter) []Adapter {
	if g == nil {
		return all
	}
	for _, x := range g.all {
		if x.nic == nil {
			continue
		}
		a := Adapter{x.node, x.nic.count}
		for _, p := range x.nic.peers {
			a.Pairs += len(p.out.to)
		}
		all = append(all, a)
	}
	return all
}

// adapted returns the lane of a flow that leaves an adapter, which paces it; nil: of another.
func (g *Guests) adapted(f *fabric.Flow) *lane {
	if q := g.queues[f]; q != nil {
		return q.lane
	}
	return nil
}
