package subnet

import (
	"math"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// States of ports (PortInfo.PortState, PortPhysicalState).
const (
	stateDown, stateInit, stateArmed, stateActive = 1, 2, 3, 4
	physicalPolling, physicalDisabled, physicalUp = 2, 3, 5
)

const (
	linearCap    = 0xC000 // entries of a linear forwarding table
	multicastCap = 1024
	pkeyCap      = 64
	capSM        = 1 << 1 // of CapabilityMask, in its last byte
)

// lane is the data rate of a lane at a link speed, and the codes of the speed in LinkSpeedActive and LinkSpeedExtActive.
type lane struct {
	rate            unit.Rate
	speed, extended byte
}

var lanes = [...]lane{
	{2e9, 1, 0}, {4e9, 2, 0}, {8e9, 4, 0}, {13_636_363_636, 4, 1}, {25e9, 4, 2}, {50e9, 4, 4}, {100e9, 4, 8}, // SDR to NDR
}

// widths are the codes of link widths, the most common first.
var widths = [...]struct{ lanes, code int }{{4, 2}, {1, 1}, {2, 16}, {8, 4}, {12, 8}}

// speedOf returns the width and the speed whose data rate is closest to a rate.
func speedOf(r unit.Rate) (width byte, of lane) {
	best := math.Inf(1)
	for _, w := range widths {
		for _, l := range lanes {
			if off := math.Abs(math.Log(float64(r) / float64(l.rate) / float64(w.lanes))); off < best-0.01 {
				best, width, of = off, byte(w.code), l
			}
		}
	}
	return width, of
}

// begin sets PortInfo to its values before a manager starts: the link is up, and its state is Initialize. The LID is the
// one in the run's frames; a manager keeps it.
func (p *portInfo) begin(s *Subnet, i, number int) {
	n := &s.fabric.Nodes[i]
	d := &p.info
	width, speed := byte(2), lanes[0]
	if p.wire >= 0 {
		width, speed = speedOf(s.fabric.Wires[p.wire].Link.Rate)
	}
	if n.Switch == nil || number == 0 {
		be.PutUint64(d[8:], 0xFE80<<48)
		be.PutUint16(d[16:], uint16(n.LID))
		be.PutUint32(d[20:], 1<<3|1<<6|1<<14|1<<22) // traps, SL mapping, extended speeds, trap 144
		d[50] = 8                                   // GUIDCap
	}
	d[28] = byte(number)
	d[29], d[30], d[31] = width, width, width
	d[32], d[35] = speed.speed<<4, speed.speed<<4|speed.speed
	d[33] = physicalPolling // LinkDownDefaultState
	d[36] = 4 << 4          // NeighborMTU: 2048
	d[37] = 1 << 4          // VLCap: VL0
	d[41] = 4               // MTUCap
	d[51], d[52] = 18, 16   // SubnetTimeOut, RespTimeValue
	d[53] = 0x88            // error thresholds
	d[62], d[63] = speed.extended<<4|speed.extended, speed.extended
	if p.wire < 0 {
		p.setState(stateActive, physicalUp)
	} else {
		p.setState(stateInit, physicalUp)
		lanes := s.fabric.Scenario.LanesAt(n.Name, "", s.link(p))
		d[37] = byte(slices.Index(laneCounts[:], lanes.Count())) << 4
		if p.several() {
			d[38], d[39], d[40] = byte(lanes.Limit), port.MaxWeights, port.MaxWeights
		}
	}
	d[43] = d[37] // OperVLs
}

func (p *portInfo) state() byte { return p.info[32] & 15 }

func (p *portInfo) setState(state, physical byte) {
	p.info[32] = p.info[32]&0xF0 | state
	p.info[33] = p.info[33]&0x0F | physical<<4
}

// nodeType returns the NodeType of a node: channel adapter or switch.
func (p *portInfo) nodeType(s *Subnet, i int) byte {
	if s.nodes[i].isSwitch {
		return 2
	}
	return 1
}

// writable are the bits of PortInfo that Set stores. States, and fields in which 0 means no change, are handled separately.
var writable = [64]byte{
	0: 255, 1: 255, 2: 255, 3: 255, 4: 255, 5: 255, 6: 255, 7: 255, // M_Key
	8: 255, 9: 255, 10: 255, 11: 255, 12: 255, 13: 255, 14: 255, 15: 255, // GIDPrefix
	16: 255, 17: 255, 18: 255, 19: 255, 26: 255, 27: 255, // LID, MasterSMLID, M_KeyLeasePeriod
	34: 0xC7, 36: 0xFF, 37: 0x0F, 38: 255, 42: 255, 43: 0x0F, // LMC, MTU, SMSL, InitType, VLHighLimit, HOQLife
	51: 0x1F, 53: 255,
}

// manage executes a subnet management MAD at the agent of a place.
func (s *Subnet) manage(at place, m *mad) uint16 {
	n, d, set, mod := &s.nodes[at.node], m.data(), m.method() == methodSet, m.modifier()
	switch a := m.attribute(); a {
	case attrNodeDesc, attrNodeInfo:
		if set {
			return statusAttribute
		}
		clear(d)
		if a == attrNodeDesc {
			copy(d, n.Name)
			return statusOK
		}
		d[0], d[1], d[2], d[3] = 1, 1, s.own(at.node).nodeType(s, at.node), byte(len(n.ports)-1)
		be.PutUint64(d[4:], guid(at.node, 0))
		be.PutUint64(d[12:], guid(at.node, 0))
		be.PutUint64(d[20:], guid(at.node, s.home(at.node).port))
		be.PutUint16(d[28:], pkeyCap)
		be.PutUint32(d[32:], 1) // revision
		d[36] = byte(at.port)
		return statusOK
	case attrSwitchInfo:
		if !n.isSwitch {
			return statusAttribute
		}
		return n.switchInfo(d, set)
	case attrPortInfo:
		number, ok := n.number(mod & 0xFF)
		if mod&0xFF == 0 && !n.isSwitch {
			number, ok = at.port, true
		}
		if !ok {
			return statusValue
		}
		status := uint16(statusOK)
		if set {
			status = s.setPort(place{at.node, number}, d)
		}
		copy(d, n.ports[number].info[:])
		d[28] = byte(at.port)
		return status
	case attrGUIDInfo, attrPKeys, attrSLtoVL, attrVLArbitration, attrLinear, attrMulticast:
		return s.table(at, a, d, set, mod)
	}
	return statusAttribute
}

// switchInfo serves SwitchInfo.
func (n *node) switchInfo(d []byte, set bool) uint16 {
	w := &n.switches
	if set {
		if be.Uint16(d[6:]) >= linearCap {
			return statusValue
		}
		w.top, w.life, w.mtop = be.Uint16(d[6:]), d[11]>>3, be.Uint16(d[18:])
		w.primary = [3]byte(d[8:11])
		if d[11]&4 != 0 {
			w.changed = false
		}
	}
	clear(d)
	be.PutUint16(d[0:], linearCap)
	be.PutUint16(d[4:], multicastCap)
	be.PutUint16(d[6:], w.top)
	copy(d[8:], w.primary[:])
	d[11] = w.life << 3
	if w.changed {
		d[11] |= 4
	}
	be.PutUint16(d[14:], pkeyCap)
	be.PutUint16(d[18:], w.mtop)
	return statusOK
}

// key is the key of a block of a table at a port.
func key(attr uint16, port, block uint32) uint64 {
	return uint64(attr)<<32 | uint64(port)<<48 | uint64(block)
}

// table serves an attribute of blocks, which it stores as they are set.
func (s *Subnet) table(at place, attr uint16, d []byte, set bool, mod uint32) uint16 {
	n := &s.nodes[at.node]
	port, block, size := uint32(at.port), mod, 64
	ok := true
	switch attr {
	case attrGUIDInfo:
		port, ok = uint32(s.home(at.node).port), block == 0
	case attrPKeys:
		if block = mod & 0xFFFF; n.isSwitch {
			port = mod >> 16
		}
		ok = block < pkeyCap/32
	case attrSLtoVL:
		size, block = 8, 0
		if n.isSwitch {
			port, block = mod&0xFF, mod>>8&0xFF
			_, ok = n.number(block)
		}
	case attrVLArbitration:
		if block = mod >> 16; n.isSwitch {
			port = mod & 0xFFFF
		}
		ok = block-1 < 4 && port < uint32(len(n.ports)) && n.ports[port].several()
	case attrLinear:
		port, ok = 0, n.isSwitch && block < linearCap/64
	case attrMulticast:
		port, ok = 0, n.isSwitch && mod&0x1FF < multicastCap/32 && mod>>28 <= uint32(len(n.ports))/16
	}
	if attr >= attrLinear && !n.isSwitch {
		return statusAttribute
	}
	if _, has := n.number(port); !ok || !has {
		return statusValue
	}
	id := key(attr, port, block)
	if set {
		var b [64]byte
		copy(b[:size], d)
		if attr == attrGUIDInfo { // the first GUID is fixed
			be.PutUint64(b[:], guid(at.node, int(port)))
		}
		s.stirred = s.stirred || n.tables[id] != b
		n.tables[id] = b
	}
	b, stored := n.tables[id]
	if !stored {
		switch attr {
		case attrGUIDInfo:
			be.PutUint64(b[:], guid(at.node, int(port)))
		case attrPKeys:
			if block == 0 {
				b[0], b[1] = 0xFF, 0xFF
			}
		case attrLinear:
			for i := range b {
				b[i] = 255
			}
		case attrSLtoVL, attrVLArbitration:
			b = s.usual(place{at.node, int(port)}, attr, int(block))
		}
	}
	clear(d)
	copy(d, b[:])
	return statusOK
}

// setPort sets PortInfo. It changes nothing if a value is invalid.
func (s *Subnet) setPort(at place, d []byte) uint16 {
	n, p := &s.nodes[at.node], s.at(at)
	state, physical := d[32]&15, d[33]>>4
	base := !n.isSwitch || at.port == 0 // this port has a LID
	switch lid := be.Uint16(d[16:]); {
	case base && (lid == 0 || lid > mostLID),
		d[43]>>4 > p.info[37]>>4,                       // OperVLs
		d[36]>>4 > p.info[41]&15,                       // NeighborMTU
		state == stateInit || state > stateActive,      // a manager can only request Down, Armed and Active
		state == stateArmed && p.state() < stateInit,   //
		state == stateActive && p.state() < stateArmed, //
		physical > physicalDisabled, at.port == 0 && (state == stateDown || physical == physicalDisabled):
		return statusValue
	}
	s.stirred = s.stirred || base && be.Uint16(d[16:]) != be.Uint16(p.info[16:]) || // routes follow LIDs
		p.several() && (d[38] != p.info[38] || d[43]>>4 != p.info[43]>>4)
	for i, bits := range writable {
		if !base && i < 20 || i == 36 && d[36]>>4 == 0 {
			continue
		}
		p.info[i] = p.info[i]&^bits | d[i]&bits
	}
	if vls := d[43] >> 4; vls > 0 {
		p.info[43] = p.info[43]&0x0F | vls<<4
	}
	if down := d[33] & 15; down > 0 {
		p.info[33] = p.info[33]&0xF0 | down
	}
	switch {
	case physical == physicalDisabled && !p.disabled, p.disabled && physical > 0 && physical < physicalDisabled:
		p.disabled = physical == physicalDisabled
		s.train(p.wire)
	case state == stateDown && p.state() > stateDown:
		s.train(p.wire)
	case state >= stateArmed && p.state() >= stateInit:
		p.setState(state, physicalUp)
	}
	return statusOK
}
