package subnet

import (
	"math"
	"strconv"

	"fabemu/emu/metrics"
)

// attrCounters is PortCounters.
const attrCounters = 0x12

// Observe receives the state of the run, of which the counters are.
func (s *Subnet) Observe(v *metrics.View) {
	s.now, s.totals = v.End(), s.totals[:0]
	s.logCongestion(v)
	ofPort := metrics.Find(metrics.Link, "marked.frames")
	s.fields = fieldsOf(v)
	for i := range s.nodes {
		for _, at := range s.nodes[i].Ports {
			leaves, comes := metrics.At{View: v, Hop: at.Out()}, metrics.At{View: v, Hop: at.In()}
			t := totals{marked: int64(ofPort.Read(leaves)), fields: make([]uint64, len(s.fields))}
			for k, f := range s.fields {
				switch {
				case f.figure.Of == metrics.Endpoint && s.nodes[i].isSwitch:
				case f.figure.Of == metrics.Endpoint:
					f.figure.Each(metrics.At{View: v, Of: metrics.Endpoint, Node: i}, func(part string, n float64) {
						if !f.Parts || part == f.part {
							t.fields[k] += uint64(n)
						}
					})
				case f.Far:
					t.fields[k] = uint64(f.figure.Read(comes))
				default:
					t.fields[k] = uint64(f.figure.Read(leaves))
				}
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
	part   string // of the figure; empty: its sum
}

// fieldsOf returns the fields of the table of figures: of links, and by service level of endpoints.
// Those that the fabric cannot have, such as errors and multicast, are 0, and not there.
func fieldsOf(v *metrics.View) (all []field) {
	for _, of := range [...]metrics.Object{metrics.Link, metrics.Endpoint} {
		for f := range v.Figures(of) {
			for _, x := range f.MAD {
				if !x.Parts {
					all = append(all, field{Field: x, figure: f})
					continue
				}
				for sl := range serviceLevels {
					next := x
					next.At, next.Selected = x.At+sl*x.Bits/8, x.Selected+sl
					all = append(all, field{next, f, strconv.Itoa(sl)})
				}
			}
		}
	}
	return all
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
