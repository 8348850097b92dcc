package subnet

import (
	"math"

	"fabemu/emu/metrics"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Attributes of performance management.
const (
	attrCounters   = 0x12
	attrExtended   = 0x1D
	attrRcvConCtrl = 0x31 // Annex A10, from here on
	attrSLRcvFECN  = 0x32
	attrSLRcvBECN  = 0x33
)

// Observe receives the results of the run from which the counters are computed.
func (s *Subnet) Observe(v *metrics.View) {
	s.now, s.totals, s.marks = v.End(), s.totals[:0], make([]marks, len(s.nodes))
	for i := range s.fabric.Flows {
		f, sl, counts := &s.fabric.Flows[i], s.flows[i].SL, v.Flow(i)
		s.marks[f.Dst][sl][0] += counts.Marked
		s.marks[f.Src][sl][1] += counts.MarkedAcks
	}
	s.logCongestion(v)
	for i := range s.nodes {
		for p := range s.nodes[i].Ports {
			s.totals = append(s.totals, v.Port(i, port.ID(p)))
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
	out, in metrics.LinkTotals
	drops   int64
	marks   marks
	word    unit.Duration // of 4 octets on the link
	ack     int64         // bytes
}

// marks are the packets with FECN and with BECN that an endpoint received, by service level.
type marks [serviceLevels][2]int64

// words are octets between the delimiters that a link has sent, in units of 4.
func (t *tally) words(l *metrics.LinkTotals) uint64 { return uint64(l.Bytes+l.Acks*t.ack) / 4 }

var (
	xmitData    = func(t *tally) uint64 { return t.words(&t.out) }
	rcvData     = func(t *tally) uint64 { return t.words(&t.in) }
	xmitPackets = func(t *tally) uint64 { return uint64(t.out.Frames + t.out.Acks) }
	rcvPackets  = func(t *tally) uint64 { return uint64(t.in.Frames + t.in.Acks) }
	xmitWait    = func(t *tally) uint64 { return uint64(t.out.Stalled[port.NoCredit] / max(t.word, 1)) }
)

// marked returns the count of packets with FECN (0) or BECN (1) of all service levels.
func marked(kind int) func(*tally) uint64 {
	return func(t *tally) (n uint64) {
		for sl := range t.marks {
			n += uint64(t.marks[sl][kind])
		}
		return n
	}
}

// byLevel returns the counters of packets with FECN (0) or BECN (1) by service level.
func byLevel(kind int) (all []counter) {
	for sl := range serviceLevels {
		all = append(all, counter{4 + 4*sl, 32, sl, func(t *tally) uint64 { return uint64(t.marks[sl][kind]) }})
	}
	return all
}

// counters are the counters by attribute. Errors that cannot occur in the fabric are 0.
var counters = map[uint16][]counter{
	attrCounters: {
		{6, 8, 1, nil}, {7, 8, 2, nil}, {4, 16, 0, nil}, {8, 16, 3, nil}, {10, 16, 4, nil}, {12, 16, 5, nil},
		{14, 16, 6, func(t *tally) uint64 { return uint64(t.drops) }},
		{24, 32, 12, xmitData}, {28, 32, 13, rcvData}, {32, 32, 14, xmitPackets}, {36, 32, 15, rcvPackets}, {40, 32, 16, xmitWait},
	},
	attrExtended: {
		{8, 64, 0, xmitData}, {16, 64, 1, rcvData}, {24, 64, 2, xmitPackets}, {32, 64, 3, rcvPackets},
		{40, 64, 4, xmitPackets}, {48, 64, 5, rcvPackets}, {56, 64, 6, nil}, {64, 64, 7, nil},
	},
	attrRcvConCtrl: {{4, 32, 0, marked(0)}, {8, 32, 1, marked(1)}},
	attrSLRcvFECN:  byLevel(0),
	attrSLRcvBECN:  byLevel(1),
}

// performance serves the counters of a node's ports.
func (s *Subnet) performance(at place, m *mad) uint16 {
	n, d := &s.nodes[at.node], m[64:256]
	attr := m.attribute()
	if attr == attrClassPortInfo {
		if m.method() == methodSet {
			return statusAttribute
		}
		clear(d)
		d[0], d[1] = 1, 1
		be.PutUint16(d[2:], 0x1300) // AllPortSelect, extended counters, PortXmitWait
		d[7] = 18                   // RespTimeValue
		return statusOK
	}
	fields, known := counters[attr]
	if !known || attr >= attrRcvConCtrl && (n.isSwitch || len(s.fabric.Scenario.Workloads) > 0) {
		return statusAttribute // marks are counted where flows end
	}
	first, last := int(d[1]), int(d[1])
	if d[1] == 255 {
		first, last = 1, len(n.ports)-1
	}
	if last >= len(n.ports) || first == 0 && !n.isSwitch {
		return statusValue
	}
	selected := uint32(be.Uint16(d[2:]))
	if attr == attrCounters {
		selected |= uint32(d[18]&1) << 16
	}
	values := make([]uint64, len(fields))
	for k := first; k <= last; k++ {
		t := s.tally(place{at.node, k})
		p := &n.ports[k]
		for f := range fields {
			now := uint64(0)
			if fields[f].of != nil && t != nil {
				now = fields[f].of(t)
			}
			zero := p.zeros(attr, len(fields))
			if m.method() == methodSet && selected>>fields[f].selected&1 == 1 {
				zero[f] = now
			}
			values[f] += now - min(zero[f], now)
		}
	}
	select1, select2 := be.Uint16(d[2:]), d[18]
	number := d[1]
	clear(d)
	d[1] = number
	be.PutUint16(d[2:], select1)
	if attr == attrCounters {
		d[18] = select2 & 1
	}
	for f, c := range fields {
		switch v := values[f]; c.bits {
		case 8:
			d[c.at] = byte(min(v, math.MaxUint8))
		case 16:
			be.PutUint16(d[c.at:], uint16(min(v, math.MaxUint16)))
		case 32:
			be.PutUint32(d[c.at:], uint32(min(v, math.MaxUint32)))
		default:
			be.PutUint64(d[c.at:], v)
		}
	}
	return statusOK
}

// zeros returns the values of the counters of an attribute at their last reset.
func (p *portInfo) zeros(attr uint16, n int) []uint64 {
	if p.zero == nil {
		p.zero = map[uint16][]uint64{}
	}
	if p.zero[attr] == nil {
		p.zero[attr] = make([]uint64, n)
	}
	return p.zero[attr]
}

// tally returns the counts of a port; nil at a management port, and before the run starts.
func (s *Subnet) tally(at place) *tally {
	p := s.at(at)
	if p.wire < 0 || len(s.totals) == 0 {
		return nil
	}
	v := &s.totals[p.number]
	return &tally{out: v.Sent, in: v.Received, drops: v.Drops, marks: s.marks[at.node], ack: s.ack, word: s.fabric.Wires[p.wire].Link.Rate.Serialise(4)}
}
