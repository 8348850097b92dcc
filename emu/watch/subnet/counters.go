package subnet

import (
	"math"

	"fabemu/emu/metrics"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// attrCounters is PortCounters.
const attrCounters = 0x12

// Observe receives the results of the run from which the counters are computed, and the states of
// its ports.
func (s *Subnet) Observe(v *metrics.View, states []metrics.PortState) {
	s.now, s.totals, s.marks = v.End(), s.totals[:0], make([]marks, len(s.nodes))
	s.states = append(s.states[:0], states...)
	for i := range s.fabric.Flows {
		f, sl, counts := &s.fabric.Flows[i], s.flows[i].SL, v.Flow(i)
		s.marks[f.Dst][sl][0] += counts.Marked
		s.marks[f.Src][sl][1] += counts.MarkedAcks
	}
	s.logCongestion(v)
	for i := range s.nodes {
		for p := range s.nodes[i].Ports {
			s.totals = append(s.totals, v.Totals(i, port.ID(p)))
		}
	}
}

// A counter is a field of a performance management attribute.
type counter struct {
	at, bits int // in the attribute, in bytes and bits; counters do not overflow
	selected int // bit of CounterSelect
	of       func(*tally) uint64
}

// tally holds the counts of a port.
type tally struct {
	out, in   metrics.LinkTotals
	drops     int64
	marks     marks
	congested unit.Duration
	word      unit.Duration // of 4 octets on the link
	ack       int64         // bytes
}

// marks are the packets with FECN and with BECN that an endpoint received, by service level.
type marks [serviceLevels][2]int64

// words are octets between the delimiters that a link has sent, in units of 4.
func (t *tally) words(l *metrics.LinkTotals) uint64 { return uint64(l.Bytes+l.Acks*t.ack) / 4 }

// ticks are a time in units of 4 octets on the link, that of PortSamplesControl.
func (t *tally) ticks(d unit.Duration) uint64 { return uint64(d / max(t.word, 1)) }

var (
	xmitData    = func(t *tally) uint64 { return t.words(&t.out) }
	rcvData     = func(t *tally) uint64 { return t.words(&t.in) }
	xmitPackets = func(t *tally) uint64 { return uint64(t.out.Frames + t.out.Acks) }
	rcvPackets  = func(t *tally) uint64 { return uint64(t.in.Frames + t.in.Acks) }
)

// marked returns the count of packets with FECN (0) or BECN (1) of some service levels.
func marked(kind, from, to int) func(*tally) uint64 {
	return func(t *tally) (n uint64) {
		for sl := from; sl < to; sl++ {
			n += uint64(t.marks[sl][kind])
		}
		return n
	}
}

// byLevel returns the counters of packets with FECN (0) or BECN (1) by service level.
func byLevel(kind int) (all []counter) {
	for sl := range serviceLevels {
		all = append(all, counter{4 + 4*sl, 32, sl, marked(kind, sl, sl+1)})
	}
	return all
}

// counters are the counters by attribute. Those that the fabric cannot have, such as errors and
// multicast, are 0, and not here.
var counters = map[uint16][]counter{
	attrCounters: {
		{14, 16, 6, func(t *tally) uint64 { return uint64(t.drops) }},
		{24, 32, 12, xmitData}, {28, 32, 13, rcvData}, {32, 32, 14, xmitPackets}, {36, 32, 15, rcvPackets},
		{40, 32, 16, func(t *tally) uint64 { return t.ticks(t.out.Stalled[port.NoCredit]) }},
	},
	0x1D: { // PortCountersExtended
		{8, 64, 0, xmitData}, {16, 64, 1, rcvData}, {24, 64, 2, xmitPackets}, {32, 64, 3, rcvPackets},
		{40, 64, 4, xmitPackets}, {48, 64, 5, rcvPackets}, // unicast
	},
	// Annex A10: PortRcvConCtrl, PortSLRcvFECN and PortSLRcvBECN where flows end, PortXmitConCtrl
	// where frames are marked.
	0x31: {{4, 32, 0, marked(0, 0, serviceLevels)}, {8, 32, 1, marked(1, 0, serviceLevels)}},
	0x32: byLevel(0),
	0x33: byLevel(1),
	0x34: {{4, 32, 0, func(t *tally) uint64 { return t.ticks(t.congested) }}},
}

// performance serves the counters of a node's ports.
func (s *Subnet) performance(at place, m, r *mad) uint16 {
	n, q, d, attr := &s.nodes[at.node], m.data(), r.data(), m.attribute()
	if attr > 0x30 && attr < 0x34 && len(s.fabric.Scenario.Workloads) > 0 {
		return statusAttribute
	}
	first, last := int(q[1]), int(q[1])
	if q[1] == 255 {
		first, last = 1, len(n.ports)-1
	}
	if last >= len(n.ports) || first < n.base {
		return statusValue
	}
	copy(d[1:4], q[1:4])
	selected := uint32(be.Uint16(q[2:]))
	if attr == attrCounters {
		d[18] = q[18] & 1
		selected |= uint32(d[18]) << 16
	}
	for f, c := range counters[attr] {
		value := uint64(0)
		for k := first; k <= last; k++ {
			value += s.count(place{at.node, k}, attr, f, m.sets() && selected>>c.selected&1 == 1)
		}
		var b [8]byte
		be.PutUint64(b[:], min(value, math.MaxUint64>>(64-c.bits)))
		copy(d[c.at:], b[8-c.bits/8:])
	}
	return statusOK
}

// count returns a counter of a port since its reset, and resets it if that is wanted.
func (s *Subnet) count(at place, attr uint16, field int, reset bool) uint64 {
	p := s.at(at)
	if p.wire < 0 || len(s.totals) == 0 {
		return 0 // a management port, or before the run starts
	}
	v := &s.totals[p.number]
	t := tally{v.Sent, v.Received, v.Drops, s.marks[at.node], s.states[p.number].Congested, s.link(p).Rate.Serialise(4), s.ack}
	now, id := counters[attr][field].of(&t), [2]int{int(attr), field}
	if reset {
		p.zero[id] = now
	}
	return now - min(p.zero[id], now)
}
