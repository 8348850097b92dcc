package dump

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/trace"
)

// This file follows packets from their source to their destination, in whatever order they come:
// those of RoCEv2 and of UET, and of all flows if the frames of one may take several paths.

// Delivery is what a capture shows of the packets of a flow.
type Delivery struct {
	QP       uint32
	Packets  int // that the source has sent, each counted once
	Early    int // that came ahead of their turn, each counted once
	Farthest int // how many packets one was ahead of its turn at most

	Lost     int // retransmissions of packets of which each copy had been dropped
	Needless int // of packets that had come
	Hasty    int // of packets that were on their way
	Again    int // packets that came once more
	Missing  int // packets that were dropped and that the capture shows no retransmission of
}

// Retransmitted returns how many packets the source has retransmitted.
func (d *Delivery) Retransmitted() int { return d.Lost + d.Needless + d.Hasty }

// add adds the counts of another flow, or of an earlier one with the same queue pair.
func (d *Delivery) add(o *Delivery) {
	d.Packets += o.Packets
	d.Early += o.Early
	d.Farthest = max(d.Farthest, o.Farthest)
	d.Lost += o.Lost
	d.Needless += o.Needless
	d.Hasty += o.Hasty
	d.Again += o.Again
	d.Missing += o.Missing
}

// ends are the nodes at the ends of the link of an interface: its own, and the one there; 0:
// unknown.
type ends struct{ here, there wire.LID }

// layout is what the section of a run says about its fabric.
type layout struct {
	ends     []ends                // by interface
	last     map[wire.LID]wire.LID // the node before an endpoint
	starts   map[wire.LID]bool     // the nodes whose own ports are captured
	byPacket bool                  // frames of a flow may take several paths
	whole    bool                  // no port and no flow was left out
}

// layoutOf reads the names of the interfaces: "right:0 <- R1" is a port of right.
func layoutOf(in *pcapng.Reader, names Names) layout {
	l := layout{last: map[wire.LID]wire.LID{}, starts: map[wire.LID]bool{}, byPacket: slices.Contains(in.Comments, pcapng.ByPacket), whole: true}
	if in.Program != program {
		return l
	}
	lids := map[string]wire.LID{}
	for lid, name := range names.nodes {
		lids[name] = lid
	}
	for i := range in.Interfaces {
		port, peer, _ := strings.Cut(in.Interfaces[i].Name, " <- ")
		node := port[:max(strings.LastIndexByte(port, ':'), 0)]
		e := ends{lids[node], lids[peer]}
		l.ends = append(l.ends, e)
		l.starts[e.here] = true
		l.last[e.there], l.last[e.here] = e.here, e.there
		l.whole = l.whole && in.Interfaces[i].Filter == ""
	}
	return l
}

// travel is the state of the packets of a flow.
type travel struct {
	Delivery
	earlier   Delivery // of flows that had the queue pair before
	src, dst  wire.LID
	answered  bool // by ACKs: RoCEv2 and UET
	ultra     *context
	unclear   bool // the capture lacks the begin, or an end, of the flow
	selective bool // an ACK has named a packet
	both      bool // frames are recorded where they come in, too

	next    uint64 // the first packet that was not sent
	turn    uint64 // the first that has not come
	first   uint64 // of parcels
	parcels []parcel
	queues  map[int][]uint64 // by interface, the packets that have gone to the last node and have not left it

	transit int64    // the shortest time from the source to the record behind it, in ns; 0: unknown
	acks    []answer // on their way to the source
	heard   bool     // what comes to the source is recorded there
	known   uint64   // the source knows that all packets before it have come
	blamed  uint64   // the last missing packet that an ACK said had come, plus one
}

// answer is an ACK on the last link to the source.
type answer struct {
	psn      uint32 // of its frame
	at       int64  // when it began there, in ns
	before   uint64 // all packets before it have come
	selected uint64 // this one too, plus one; 0: none

	base, bitmap uint64 // UET: the packets of the bits that are set, from base on
	wanted       uint64 // UET: a NACK asks for this one, plus one; 0: none
	again        bool   // and answers a retransmission of it
}

// parcel is a packet of a flow.
type parcel struct {
	sent, arrived uint16 // copies
	recorded      uint16 // where they come in
	dropped       uint16 // anywhere
	refused       uint16 // of those that arrived
	headers       uint16 // of copies that a switch has trimmed, which have begun to arrive
	headersIn     uint16 // recorded where they come in
	refusals      uint16 // UET: NACKs for these
	stray         uint16 // UET, ordered: copies ahead of their turn, of which no report says that they were dropped
	cut           bool   // what has gone to the destination last are headers
	left          bool   // the last node
	acked         bool   // the source knows that it has come
	owed          bool   // UET: the source knows that it is to be sent again
	early         uint32 // how many packets it was ahead of its turn
	toward        wire.LID
	via           int   // the interface by which it went there
	sentAt        int64 // ns
}

// came reports whether a copy has come, and was not dropped.
func (p *parcel) came() bool { return p.arrived > p.refused }

// remembered is how many packets before the first missing one stay known.
const remembered = 1 << 17

// of returns the parcel with a number; nil: it was not sent, or is very old.
func (t *travel) of(number int64) *parcel {
	if i := number - int64(t.first); i >= 0 && i < int64(len(t.parcels)) {
		return &t.parcels[i]
	}
	return nil
}

// numberOf returns the number of a PSN: the one that is nearest to another number. PSNs have 32
// bits with UET, else 24.
func (t *travel) numberOf(psn uint32, near uint64) int64 {
	const bits = 24
	if t.ultra != nil {
		return int64(near) + int64(int32(psn-uint32(near)))
	}
	return int64(near) + int64(int32((psn-uint32(near))<<(32-bits))>>(32-bits))
}

// advance finds the first packet that has not come.
func (t *travel) advance() {
	for p := t.of(int64(t.turn)); p != nil && p.came(); p = t.of(int64(t.turn)) {
		t.turn++
	}
	if old := int(min(t.turn, t.known)) - remembered - int(t.first); old > remembered {
		t.parcels = append(t.parcels[:0], t.parcels[old:]...)
		t.first += uint64(old)
	}
}

// follow follows a frame of a flow at a port.
func (c *Checker) follow(p *Packet) {
	f := &p.Frame
	answers := f.Family == wire.RoCEv2 || f.Family == wire.UET
	if p.Carried || p.again || f.Kind != wire.Data && f.Kind != wire.Ack && f.Kind != wire.Trimmed && f.Kind != wire.UETControl || f.Family == wire.Guest || !answers && !c.layout.byPacket ||
		p.BadSum != "" && !p.corrupted() || f.Kind == wire.Ack && !answers {
		return
	}
	t, known := c.travels[f.QP]
	if !known {
		if t = c.begin(p); t == nil {
			return
		}
	}
	e := c.endsOf(p)
	switch out := p.Direction == pcapng.Outbound; {
	case t.unclear:
		c.Gaps[NotFollowed]++
	case (f.Family == wire.UET) != (t.ultra != nil):
		t.unclear = true
	case f.Kind == wire.UETControl:
		c.controls(p, t)
	case f.Kind != wire.Ack && (f.Src != t.src || f.Dst != t.dst), f.Kind == wire.Ack && (f.Src != t.dst || f.Dst != t.src):
		t.unclear = true
	case f.Kind == wire.Ack && out && e.here == t.dst:
		c.answers(p, t)
	case f.Kind == wire.Ack && (out && e.there == t.src || !out && e.here == t.src):
		c.returns(p, t, t.answerOf(p))
	case f.Kind == wire.Ack:
	case f.Kind == wire.Trimmed:
		if out && e.there == t.dst && !t.both {
			c.headers(p, t)
		} else if !out && e.here == t.dst {
			c.recordedHeaders(p, t)
		}
	case out && e.here == t.src:
		c.leaves(p, t)
		if e.there == t.dst {
			c.arrives(p, t)
		}
	case out && e.there == t.dst:
		c.measure(p, t)
		c.passes(p, t)
		if !t.both {
			c.arrives(p, t)
		}
	case out:
		c.measure(p, t)
	case e.here == t.dst:
		c.recorded(p, t)
	case strings.Contains(p.Comment, "dropped: "):
		c.droppedAt(p, "", f.QP, f.PSN)
	}
	if x := t.of(t.numberOf(f.PSN, t.next)); x != nil && !t.unclear && f.Kind == wire.Data && p.Direction == pcapng.Outbound {
		x.toward, x.via = e.there, p.Interface
		if e.there == c.layout.last[t.dst] && c.layout.whole && !c.disturbed {
			if t.queues == nil {
				t.queues = map[int][]uint64{}
			}
			q := append(t.queues[p.Interface], uint64(t.numberOf(f.PSN, t.next)))
			t.queues[p.Interface] = q[max(len(q)-remembered, 0):] // no switch holds so many
		}
	}
}

func (c *Checker) endsOf(p *Packet) ends {
	if p.Interface < len(c.layout.ends) {
		return c.layout.ends[p.Interface]
	}
	return ends{}
}

// begin begins to follow the flow of a frame. It is nil if nothing can be said about it.
func (c *Checker) begin(p *Packet) *travel {
	f := &p.Frame
	if len(c.layout.ends) == 0 {
		return nil
	}
	t := &travel{src: f.Src, dst: f.Dst, answered: f.Family == wire.RoCEv2 || f.Family == wire.UET}
	if t.QP = f.QP; f.Family == wire.UET {
		t.ultra = new(context)
	}
	first := f.Kind == wire.Data && f.PSN == 0
	if f.Kind == wire.UETControl && f.UET().Code == wire.UETCredit { // it may come before all packets
		t.src, t.dst, first = f.Dst, f.Src, true
	}
	_, ends := c.layout.last[t.dst]
	t.unclear = !first || p.Direction != pcapng.Outbound || c.endsOf(p).here != f.Src || !ends || !c.layout.starts[t.src]
	if c.travels == nil {
		c.travels = map[uint32]*travel{}
	}
	c.travels[f.QP] = t
	return t
}

// leaves takes a packet that its source sends.
func (c *Checker) leaves(p *Packet, t *travel) {
	f := &p.Frame
	fresh := f.PSN == 0 && t.ultra != nil && f.UET().Flags&wire.UETRetransmitted == 0 // all before it is over
	for len(t.acks) > 0 && t.transit > 0 && (fresh || t.acks[0].at+2*t.transit <= p.Time) {
		t.learn(&t.acks[0])
		t.acks = t.acks[1:]
	}
	if f.PSN == 0 && t.next > 0 && t.known >= t.next && t.answered && !t.selectedBehind() && t.numberOf(0, t.next) < int64(t.next) {
		t.again()
	}
	n := t.numberOf(f.PSN, t.next)
	c.Checked[Deliveries]++
	if t.ultra != nil {
		c.leavesUltra(p, t, n)
	}
	switch x := t.of(n); {
	case n > int64(t.next):
		c.found(p, Deliveries, "%s sends packet %d, and has not sent %d", c.flowName(t.QP), n, t.next)
		if t.unclear = n-int64(t.next) > remembered; t.unclear {
			return
		}
		for uint64(n) >= t.next { // they are reported once
			t.send(p)
		}
	case n == int64(t.next):
		t.send(p)
	case x == nil: // very old
	default:
		switch {
		case x.acked && t.selective:
			c.found(p, Deliveries, "%s retransmits packet %d, whose ACK had come", c.flowName(t.QP), n)
			t.Needless++
		case x.dropped >= x.sent:
			t.Lost++
		case x.came():
			t.Needless++
		default:
			t.Hasty++
		}
		x.sent++
		x.sentAt = p.Time
	}
}

// selectedBehind reports whether ACKs are on their way that say more than is known.
func (t *travel) selectedBehind() bool { return len(t.acks) > 0 }

// again begins with another flow that has the queue pair.
func (t *travel) again() {
	t.end()
	was := t.Delivery
	t.earlier.add(&was)
	ultra := t.ultra
	if ultra != nil {
		ultra = new(context)
	}
	*t = travel{src: t.src, dst: t.dst, answered: t.answered, ultra: ultra, both: t.both, heard: t.heard, transit: t.transit, earlier: t.earlier}
	t.QP = was.QP
}

// end counts the packets that are missing.
func (t *travel) end() {
	t.Missing = 0
	for i := range t.parcels {
		if x := &t.parcels[i]; !x.came() && x.dropped >= x.sent && x.sent > 0 {
			t.Missing++
		}
	}
}

func (t *travel) send(p *Packet) {
	t.parcels = append(t.parcels, parcel{sent: 1, sentAt: p.Time})
	t.next++
	t.Packets++
}

// returns takes an answer on the last link to the source, where it leaves and where it comes in. If
// only the former is recorded, when it comes is not known where a fault delays it.
func (c *Checker) returns(p *Packet, t *travel, a answer) {
	in := p.Direction != pcapng.Outbound
	if in && !t.heard { // those that are on their way are recorded there, too
		t.heard, t.acks = true, nil
	}
	switch {
	case in && p.ended(), !in && (t.heard || c.delayed[p.Interface]):
		return
	case in:
		a.at -= 2 * t.transit
	}
	t.acks = append(t.acks, a)
}

// learn has the source take in an ACK.
func (t *travel) learn(a *answer) {
	for ; t.known < a.before; t.known++ {
		if x := t.of(int64(t.known)); x != nil {
			t.acknowledge(x)
		}
	}
	if a.selected > 0 {
		if x := t.of(int64(a.selected - 1)); x != nil {
			t.acknowledge(x)
		}
	}
	t.learnUltra(a)
}

// measure takes the record of a packet that has just left the node behind its source.
func (c *Checker) measure(p *Packet, t *travel) {
	x := t.of(t.numberOf(p.Frame.PSN, t.next))
	if x == nil || x.sent != 1 || x.toward != c.endsOf(p).here || c.endsOf(p).here == 0 {
		return
	}
	if i := x.via; i < len(c.layout.ends) && c.layout.ends[i].here == t.src {
		if d := p.Time - x.sentAt; t.transit == 0 || d < t.transit {
			t.transit = max(d, 1)
		}
	}
}

// passes takes a packet that leaves the last node for its destination: those that came there by the
// same link before it have left, or were dropped.
func (c *Checker) passes(p *Packet, t *travel) {
	n := t.numberOf(p.Frame.PSN, t.next)
	x := t.of(n)
	if x == nil || c.disturbed {
		return
	}
	x.left = true
	by, at := t.queued(x, uint64(n))
	if at < 0 {
		return
	}
	q := t.queues[by]
	if x.sent > 1 { // which copy has left, and which was dropped, is not known
		t.queues[by] = slices.Delete(q, at, at+1)
		return
	}
	for _, m := range q[:at] {
		if y := t.of(int64(m)); y != nil && y.sent == 1 && y.dropped == 0 && !y.left {
			c.found(p, Deliveries, "%s: packet %d has come to the last switch by the same link before packet %d, and has not left it", c.flowName(t.QP), m, n)
			y.dropped++
		}
	}
	t.queues[by] = slices.Delete(q, 0, at+1)
}

// queued returns the interface by which a packet has gone to the last node, and its place there;
// -1: there is none. If there are copies it may be that of another.
func (t *travel) queued(x *parcel, n uint64) (by, at int) {
	if at = slices.Index(t.queues[x.via], n); at >= 0 || x.sent < 2 {
		return x.via, at
	}
	for _, by = range slices.Sorted(maps.Keys(t.queues)) {
		if at = slices.Index(t.queues[by], n); at >= 0 {
			return by, at
		}
	}
	return 0, -1
}

// recorded takes the record of a packet where it comes in.
func (c *Checker) recorded(p *Packet, t *travel) {
	x := t.of(t.numberOf(p.Frame.PSN, t.next))
	t.both = true
	if x == nil {
		c.arrives(p, t)
		return
	}
	if x.recorded++; x.recorded > x.arrived {
		c.arrives(p, t)
	}
	if _, why, dropped := strings.Cut(p.Comment, "dropped: "); dropped {
		t.drop(x, t.numberOf(p.Frame.PSN, t.next), why, true)
	}
}

// arrives takes a packet that begins to arrive at its destination, or that has arrived.
func (c *Checker) arrives(p *Packet, t *travel) {
	n := t.numberOf(p.Frame.PSN, t.next)
	x := t.of(n)
	c.Checked[Deliveries]++
	if x == nil && n >= int64(t.next) {
		c.found(p, Deliveries, "%s: packet %d arrives, and was not sent", c.flowName(t.QP), n)
		return
	}
	if x == nil {
		return
	}
	t.advance()
	if x = t.of(n); x == nil {
		return
	}
	x.arrived++
	x.cut = false
	ahead := n - int64(t.turn)
	t.arrivesUltra(p, x, ahead)
	switch {
	case x.arrived > x.sent && !c.disturbed:
		c.found(p, Deliveries, "%s: packet %d arrives %d times, and was sent %d times", c.flowName(t.QP), n, x.arrived, x.sent)
		fallthrough
	case x.arrived-x.refused > 1:
		t.Again++
	case ahead > 0 && x.early == 0:
		x.early = uint32(ahead)
		t.Early++
		t.Farthest = max(t.Farthest, int(ahead))
	}
}

// headers takes the headers of a packet that a switch has trimmed, which arrive at its destination.
func (c *Checker) headers(p *Packet, t *travel) {
	n := t.numberOf(p.Frame.PSN, t.next)
	c.Checked[Deliveries]++
	switch x := t.of(n); {
	case x != nil:
		x.headers++
		x.cut = true
		t.headersUltra(x, n)
	case n >= int64(t.next):
		c.found(p, Deliveries, "%s: headers of packet %d arrive, and it was not sent", c.flowName(t.QP), n)
	}
}

// recordedHeaders takes the record of the headers of a trimmed packet where they come in.
func (c *Checker) recordedHeaders(p *Packet, t *travel) {
	n := t.numberOf(p.Frame.PSN, t.next)
	x := t.of(n)
	t.both = true
	if x == nil {
		c.headers(p, t)
		return
	}
	if x.headersIn++; x.headersIn > x.headers {
		c.headers(p, t)
	}
	if strings.Contains(p.Comment, "dropped: ") {
		t.dropHeaders(uint64(n))
	}
}

// drop takes a packet that was dropped, at its destination or before.
func (t *travel) drop(x *parcel, n int64, why string, there bool) {
	x.dropped++
	if !there {
		return
	}
	if x.stray > 0 {
		x.stray--
		return
	}
	x.refused++
	t.turn = min(t.turn, uint64(n))
	if word, _, _ := strings.Cut(why, " "); word == trace.LostOnLink.String() || word == trace.BadFCS.String() {
		if x.early > 0 && x.arrived == 1 { // it has not come at all
			x.early = 0
			t.Early--
		}
	}
}

// dropped takes the report that a port has dropped a frame: one of data if that was on its way to
// the node of the port.
func (c *Checker) droppedAt(p *Packet, why string, qp, psn uint32) {
	t := c.travels[qp]
	e := c.endsOf(p)
	if t == nil || t.unclear || e.here == 0 {
		return
	}
	n := t.numberOf(psn, t.next)
	x := t.of(n)
	switch e.here {
	case t.dst:
		t.dropHeaders(uint64(n))
	case t.src: // several may have this PSN
		t.acks = slices.DeleteFunc(t.acks, func(a answer) bool { return a.psn == psn })
	}
	if x == nil || x.toward != e.here || e.here == t.dst && (x.cut || strings.HasPrefix(why, trace.Trimmed.String())) {
		return
	}
	t.drop(x, n, why, e.here == t.dst)
	if by, at := t.queued(x, uint64(n)); at >= 0 {
		t.queues[by] = slices.Delete(t.queues[by], at, at+1)
	}
}

// answerOf reads an ACK.
func (t *travel) answerOf(p *Packet) answer {
	f := &p.Frame
	before := t.numberOf(f.PSN, t.turn) + 1
	if f.RoCE().NAK && !f.Missing() {
		before--
	}
	a := answer{psn: f.PSN, at: p.Time, before: uint64(max(before, 0))}
	if t.ultra != nil {
		t.answerUltra(f, &a)
		return a
	}
	if psn, names := f.Selected(); names && !f.Missing() {
		a.selected = uint64(max(t.numberOf(psn, t.turn), 0)) + 1
	}
	return a
}

// answers takes an ACK that the destination sends: what it says must have come.
func (c *Checker) answers(p *Packet, t *travel) {
	t.advance()
	a := t.answerOf(p)
	c.Checked[Deliveries]++
	if a.before > t.turn && t.blamed != t.turn+1 { // of one that is missing it is said once
		t.blamed = t.turn + 1
		c.found(p, Deliveries, "%s: an ACK says that all packets before %d have come, and %d has not", c.flowName(t.QP), a.before, t.turn)
	}
	if t.ultra != nil {
		c.answersUltra(p, t, &a)
		return
	}
	if psn, _ := p.Frame.Selected(); p.Frame.Missing() {
		t.selective = true
		if x := t.of(t.numberOf(psn, t.turn)); x != nil && x.headers == 0 {
			c.found(p, Deliveries, "%s: a NAK asks for packet %d, whose headers have not come", c.flowName(t.QP), t.numberOf(psn, t.turn))
		}
	}
	if a.selected == 0 {
		return
	}
	t.selective = true
	if x := t.of(int64(a.selected) - 1); x == nil && a.selected > t.first || x != nil && !x.came() {
		c.found(p, Deliveries, "%s: an ACK names packet %d, which has not come", c.flowName(t.QP), a.selected-1)
	}
}

// flowName names a flow.
func (c *Checker) flowName(qp uint32) string {
	if name, ok := c.names.flows[qp]; ok {
		return "flow " + name
	}
	return fmt.Sprintf("queue pair %d", qp)
}

// Deliveries returns what the capture shows of the packets of flows, in the order of their queue
// pairs. Flows of which it lacks the begin or an end are left out.
func (c *Checker) Deliveries() (all []Delivery) {
	for _, t := range c.travels {
		if t.unclear {
			continue
		}
		t.end()
		d := t.Delivery
		d.add(&t.earlier)
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Delivery) int { return cmp.Compare(a.QP, b.QP) })
	return all
}

// countMissing counts the packets of flows without retransmission that were dropped.
func (c *Checker) countMissing() {
	n := 0
	for _, t := range c.travels {
		if !t.answered && !t.unclear {
			t.end()
			n += t.Missing + t.earlier.Missing
		}
	}
	if n > c.gone {
		c.Gaps[Dropped] += n - c.gone
		c.gone = n
	}
}

// mostFlows is how many flows the summary prints.
const mostFlows = 24

// disorder prints the flows whose packets came out of order, or were retransmitted.
func (s *Summary) disorder(out io.Writer) {
	all := slices.DeleteFunc(s.Deliveries(), func(d Delivery) bool { return d.Early+d.Retransmitted()+d.Again+d.Missing == 0 })
	if len(all) == 0 {
		return
	}
	name := func(d *Delivery) string { return strings.TrimPrefix(s.flowName(d.QP), "flow ") }
	widest := len("flow")
	for i := range all[:min(len(all), mostFlows)] {
		widest = max(widest, len(name(&all[i])))
	}
	slices.SortStableFunc(all, func(a, b Delivery) int { return cmp.Compare(b.Early+b.Retransmitted(), a.Early+a.Retransmitted()) })
	fmt.Fprintf(out, "%-*s  %9s %12s %9s   %12s %9s %11s %7s\n", widest, "flow", "packets", "out of order", "farthest", "sent again:", "were lost", "came before", "missing")
	for i := range all {
		if i == mostFlows {
			fmt.Fprintf(out, "and %d more flows\n", len(all)-i)
			break
		}
		d := &all[i]
		fmt.Fprintf(out, "%-*s  %9d %12d %9d   %12d %9d %11d %7d\n", widest, name(d), d.Packets, d.Early, d.Farthest, d.Retransmitted(), d.Lost, d.Again, d.Missing)
	}
}
