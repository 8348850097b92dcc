package subnet

import (
	"math"

	"fabemu/emu/metrics"
)

// attrCounters is PortCounters.
const attrCounters = 0x12

// Observe receives the state of the run, of which the counters are.
func (s *Subnet) Observe(v *metrics.View) {
	s.now, s.totals, s.marks = v.End(), s.totals[:0], make([]marks, len(s.nodes))
	marked, back := metrics.Find(metrics.Flow, "marked.frames"), metrics.Find(metrics.Flow, "marked.acks")
	for x := range v.EachFlow {
		f, sl := &s.fabric.Flows[x.Flow], s.flows[x.Flow].SL
		s.marks[f.Dst][sl][0] += int64(marked.Read(x))
		s.marks[f.Src][sl][1] += int64(back.Read(x))
	}
	s.logCongestion(v)
	ofPort := metrics.Find(metrics.Link, "marked.frames")
	s.fields = fieldsOf(v)
	for i := range s.nodes {
		for _, at := range s.nodes[i].Ports {
			leaves, comes := metrics.At{View: v, Hop: at.Out()}, metrics.At{View: v, Hop: at.In()}
			t := totals{marked: int64(ofPort.Read(leaves)), fields: make([]uint64, len(s.fields))}
			for k, f := range s.fields {
				x := leaves
				if f.Far {
					x = comes
				}
				t.fields[k] = uint64(f.figure.Read(x))
			}
			s.totals = append(s.totals, t)
		}
	}
}

// totals are the counts of a port.
type totals struct {
	marked int64
	fields []uint64 // by number of the field in Subnet.fields
}

// field is a field of the table of figures.
type field struct {
	metrics.Field
	figure *metrics.Figure
}

// fieldsOf returns the fields of the table of figures.
func fieldsOf(v *metrics.View) (all []field) {
	for f := range v.Figures(metrics.Link) {
		for _, x := range f.MAD {
			all = append(all, field{x, f})
		}
	}
	return all
}

// A counter is a field of a performance management attribute that counts packets of some service
// levels.
type counter struct {
	at, bits int // in the attribute, in bytes and bits; counters do not overflow
	selected int // bit of CounterSelect
	of       func(*marks) uint64
}

// marks are the packets with FECN and with BECN that an endpoint received, by service level.
type marks [serviceLevels][2]int64

// marked returns the count of packets with FECN (0) or BECN (1) of some service levels.
func marked(kind, from, to int) func(*marks) uint64 {
	return func(m *marks) (n uint64) {
		for sl := from; sl < to; sl++ {
			n += uint64(m[sl][kind])
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

// ofLevels are the counters of packets by attribute of Annex A10: PortRcvConCtrl, PortSLRcvFECN and
// PortSLRcvBECN, where flows end. The counters of links are in the table of figures. Those that the
// fabric cannot have, such as errors and multicast, are 0, and in neither.
var ofLevels = map[uint16][]counter{
	0x31: {{4, 32, 0, marked(0, 0, serviceLevels)}, {8, 32, 1, marked(1, 0, serviceLevels)}},
	0x32: byLevel(0),
	0x33: byLevel(1),
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
	write := func(field, bytes, bits, bit int, of func(p *portInfo) uint64) {
		value := uint64(0)
		for k := first; k <= last; k++ {
			value += s.count(place{at.node, k}, attr, field, m.sets() && selected>>bit&1 == 1, of)
		}
		var b [8]byte
		be.PutUint64(b[:], min(value, math.MaxUint64>>(64-bits)))
		copy(d[bytes:], b[8-bits/8:])
	}
	for k, f := range s.fields {
		if f.Attribute == attr {
			write(k, f.At, f.Bits, f.Selected, func(p *portInfo) uint64 { return s.totals[p.number].fields[k] })
		}
	}
	for k, c := range ofLevels[attr] {
		write(k, c.at, c.bits, c.selected, func(*portInfo) uint64 { return c.of(&s.marks[at.node]) })
	}
	return statusOK
}

// count returns a counter of a port since its reset, and resets it if that is wanted.
func (s *Subnet) count(at place, attr uint16, field int, reset bool, of func(p *portInfo) uint64) uint64 {
	p := s.at(at)
	if p.wire < 0 || len(s.totals) == 0 {
		return 0 // a management port, or before the run starts
	}
	now, id := of(p), [2]int{int(attr), field}
	if reset {
		p.zero[id] = now
	}
	return now - min(p.zero[id], now)
}
