package subnet

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/wire/port"
)

// laneCounts are the numbers of data lanes by VLCap and OperVLs.
var laneCounts = [...]int{0, 1, 2, 4, 8, 15}

// several reports whether the link of a port has several data lanes.
func (p *portInfo) several() bool { return p.info[37]>>4 > 1 }

// link returns the link at a port, which is not a management port.
func (s *Subnet) link(p *portInfo) *scenario.Link { return s.fabric.Wires[p.wire].Link }

// usual returns a block of SLtoVLMappingTable, for frames from a port, or of VLArbitrationTable,
// before a manager sets it.
func (s *Subnet) usual(at place, attr uint16, block int) (b [64]byte) {
	n, p, from := &s.nodes[at.node], s.at(at), ""
	if p.wire < 0 || !p.several() {
		return b
	}
	if attr == attrSLtoVL && block > 0 {
		from = s.link(&n.ports[block]).Name
	}
	lanes := s.fabric.Scenario.LanesAt(n.Name, from, s.link(p))
	if attr == attrSLtoVL {
		for sl, vl := range lanes.SLToVL() {
			b[sl/2] |= vl << (4 * (1 - sl%2))
		}
		return b
	}
	a := lanes.Arbitration()
	table := [][]port.VLWeight{a.Low, a.High}[(block-1)/2]
	for i, w := range table[min(len(table), (block-1)%2*32):] {
		if i < 32 {
			b[2*i], b[2*i+1] = w.VL, w.Weight
		}
	}
	return b
}

// laneMap returns the mapping of service levels for frames from a port, 0 at an endpoint, to an
// output. Lanes above OperVLs drop packets.
func (s *Subnet) laneMap(out place, in int) scenario.LaneMap {
	b, texts := s.block(out, attrSLtoVL, in), make([]string, port.ServiceLevels)
	for sl := range texts {
		vl := int(b[sl/2]>>(4*(1-sl%2))) & 15
		if vl >= laneCounts[s.at(out).info[43]>>4] {
			vl = port.Unmapped
		}
		texts[sl] = fmt.Sprint(vl)
	}
	return scenario.LaneMap(strings.Join(texts, ","))
}

// weights returns the entries of the low table of VL arbitration, from block 1 on, or of the high
// one, from block 3 on.
func (s *Subnet) weights(out place, first int) scenario.LaneWeights {
	var texts []string
	for block := range 2 {
		b := s.block(out, attrVLArbitration, first+block)
		for i := 0; i < len(b); i += 2 {
			if vl := b[i] & 15; vl < port.MaxDataLanes && b[i+1] > 0 {
				texts = append(texts, fmt.Sprintf("%d:%d", vl, b[i+1]))
			}
		}
	}
	if len(texts) == 0 {
		return "none"
	}
	return scenario.LaneWeights(strings.Join(texts, ","))
}

// rules returns the lanes of all outputs of a node.
func (s *Subnet) rules(i int) (all []scenario.LaneRule) {
	n := &s.nodes[i]
	for k := range n.ports {
		p, out := &n.ports[k], place{i, k}
		if !p.several() {
			continue
		}
		rule := scenario.LaneRule{At: n.Name, Over: s.link(p).Name, High: s.weights(out, 3), Low: s.weights(out, 1), Limit: int(p.info[38])}
		if !n.isSwitch {
			rule.Lanes = s.laneMap(out, 0)
			all = append(all, rule)
			continue
		}
		var apart []scenario.LaneRule
		for in := 1; in < len(n.ports); in++ {
			apart = append(apart, scenario.LaneRule{At: n.Name, From: s.link(&n.ports[in]).Name, Over: rule.Over, Lanes: s.laneMap(out, in)})
		}
		if rule.Lanes = apart[0].Lanes; slices.ContainsFunc(apart, func(r scenario.LaneRule) bool { return r.Lanes != rule.Lanes }) {
			rule.Lanes = ""
		} else {
			apart = nil
		}
		all = append(append(all, rule), apart...)
	}
	return all
}

// Relaned returns the lanes that changed since the last call, or since New.
func (s *Subnet) Relaned() (changed []scenario.LaneRule) {
	for i, was := range s.lanes {
		s.lanes[i] = s.rules(i)
		for _, r := range s.lanes[i] {
			if !slices.Contains(was, r) {
				changed = append(changed, r)
			}
		}
	}
	return changed
}

// self is the client number of queries by Levels.
const self = 0xFFFF

// Layout of a query for a path (SubnAdmGet of PathRecord; 15.2.1.1, 15.2.5.16).
const (
	atMask     = 48     // ComponentMask
	byLIDs     = 3 << 4 // DLID and SLID are given
	atRecord   = 56
	statusBusy = 1
)

// mostQueries is how many queries wait for an answer at once.
const mostQueries = 64

// untold is the service level of a path of which the manager has no record.
const untold = -1

// Levels asks the manager for the service levels of the paths of flows whose sl is 0, and of their
// ACKs whose ack-sl is. Call it again until it returns "", else what it waits for. Without a
// manager the flows keep theirs.
func (s *Subnet) Levels() (why string) {
	asked := map[[2]int]bool{}
	want := func(src, dst int, open bool) {
		path := [2]int{src, dst}
		if _, told := s.levels[path]; told || asked[path] || !open || len(asked) >= mostQueries {
			return
		}
		asked[path] = true
		var p Packet
		m := p.mad()
		m[0], m[1], m[2], m[3] = 1, classSA, 2, methodGet
		m.setClient(self)
		be.PutUint32(m[12:], uint32(src)<<16|uint32(dst)) // LIDs, of which there are more than nodes, have 16 bits
		be.PutUint16(m[16:], attrPathRecord)
		be.PutUint64(m[atMask:], byLIDs)
		copy(m[atRecord+40:], s.own(dst).info[16:18])
		copy(m[atRecord+42:], s.own(src).info[16:18])
		if p[atDQP+3], p[atSQP+3] = 1, 1; s.tell(src, &p) {
			why = fmt.Sprintf("the manager has not told which service level the path from %s to %s has", s.nodes[src].Name, s.nodes[dst].Name)
		}
	}
	for i := range s.fabric.Flows {
		f := &s.fabric.Flows[i]
		want(f.Src, f.Dst, f.SL == 0)
		want(f.Dst, f.Src, f.AckSL == 0)
	}
	return why
}

// learn takes the answer to a query of Levels.
func (s *Subnet) learn(m *mad) {
	id, status := be.Uint32(m[12:]), be.Uint16(m[4:])
	path := [2]int{int(id >> 16), int(id & 0xFFFF)}
	if _, told := s.levels[path]; told || max(path[0], path[1]) >= len(s.nodes) || m.attribute() != attrPathRecord || status == statusBusy {
		return
	}
	if s.levels[path] = untold; status == statusOK {
		s.levels[path] = int(m[atRecord+53] & 15)
	}
}

// setLevels gives flows the service levels of their paths.
func (s *Subnet) setLevels(flows []scenario.Flow) {
	for i := range flows {
		f := &s.fabric.Flows[i]
		if sl, told := s.levels[[2]int{f.Src, f.Dst}]; told && sl != untold && f.SL == 0 {
			flows[i].SetSL(uint8(sl))
			s.Counts.Levels++
		}
		if sl, told := s.levels[[2]int{f.Dst, f.Src}]; told && sl != untold && f.AckSL == 0 {
			flows[i].AckSL = sl
		}
	}
}
