package subnet

import (
	"math"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// States of ports (PortInfo.PortState, PortPhysicalState).
const stateDown, stateInit, stateArmed, stateActive = 1, 2, 3, 4
const physicalPolling, physicalDisabled, physicalUp = 2, 3, 5

// Entries of a linear and of a multicast forwarding table, and of a table of P_Keys.
const linearCap, multicastCap, pkeyCap = 0xC000, 1024, 64

// capSM is a bit of CapabilityMask, in its last byte.
const capSM = 1 << 1

// lanes are link speeds: the data rate of a lane, and the codes in LinkSpeedActive,
// LinkSpeedExtActive and LinkSpeedExtActive2.
var lanes = [...]struct {
	name                       string
	rate                       unit.Rate
	speed, extended, extended2 byte
}{
	{"SDR", 2e9, 1, 0, 0}, {"DDR", 4e9, 2, 0, 0}, {"QDR", 8e9, 4, 0, 0}, {"FDR", 13_636_363_636, 4, 1, 0}, {"EDR", 25e9, 4, 2, 0},
	{"HDR", 50e9, 4, 4, 0}, {"NDR", 100e9, 4, 8, 0}, {"XDR", 200e9, 4, 0, 1},
}

// Bits of CapabilityMask and CapabilityMask2 of a port that states XDR.
const (
	capMask2      = 1 << 15
	cap2ExtSpeed2 = 1 << 11
	cap2XDR       = 1 << 12
)

// widths are the codes of link widths, the most common first.
var widths = [...]struct {
	lanes int
	code  byte
}{{4, 2}, {1, 1}, {2, 16}, {8, 4}, {12, 8}}

// setSpeed sets the width and the speed of a port to those whose data rate is closest to a rate.
func (p *portInfo) setSpeed(r unit.Rate) {
	best, d := math.Inf(1), &p.info
	for _, w := range widths {
		for _, l := range lanes {
			if off := math.Abs(math.Log(float64(r) / float64(l.rate) / float64(w.lanes))); off < best-0.01 {
				best = off
				d[29], d[30], d[31] = w.code, w.code, w.code
				d[32], d[35] = l.speed<<4, l.speed<<4|l.speed
				d[62], d[63] = l.extended<<4|l.extended, l.extended
				d[56] = l.extended2<<5 | l.extended2<<3 | l.extended2
			}
		}
	}
}

// begin sets PortInfo to its values before a manager starts: the link is up, and its state is
// Initialize. The LID is the one in the run's frames; a manager keeps it.
func (p *portInfo) begin(s *Subnet, i, number int) {
	n, d, rate := &s.fabric.Nodes[i], &p.info, unit.Rate(8e9)
	if p.wire >= 0 {
		rate = s.link(p).Rate
	}
	p.setSpeed(rate)
	if n.Switch == nil || number == 0 {
		be.PutUint64(d[8:], 0xFE80<<48)
		be.PutUint16(d[16:], uint16(n.LID))
		be.PutUint32(d[20:], 1<<3|1<<6|1<<14|1<<22) // traps, SL mapping, extended speeds, trap 144
		if s.fastest(i).info[56] != 0 {
			be.PutUint32(d[20:], be.Uint32(d[20:])|capMask2)
			be.PutUint16(d[60:], cap2ExtSpeed2|cap2XDR)
		}
		d[50] = 8 // GUIDCap
	}
	d[28] = byte(number)
	d[33] = physicalPolling // LinkDownDefaultState
	d[36] = 4 << 4          // NeighborMTU: 2048
	d[37] = 1 << 4          // VLCap: VL0
	d[41] = 4               // MTUCap
	d[51], d[52] = 18, 16   // SubnetTimeOut, RespTimeValue
	d[53] = 0x88            // error thresholds
	if p.setState(stateActive, physicalUp); p.wire >= 0 {
		p.setState(stateInit, physicalUp)
		lanes := s.fabric.Scenario.LanesAt(n.Name, "", s.link(p))
		d[37] = byte(slices.Index(laneCounts[:], lanes.Count())) << 4
		if p.several() {
			d[38], d[39], d[40] = byte(lanes.Limit), port.MaxWeights, port.MaxWeights
		}
	}
	d[43] = d[37] // OperVLs
}

// fastest returns PortInfo with the speed of the fastest port of a node. Its port with the LID has
// the capabilities of all.
func (s *Subnet) fastest(i int) (p portInfo) {
	rate := unit.Rate(0)
	for _, at := range s.fabric.Nodes[i].Ports {
		rate = max(rate, s.fabric.Wires[at.Wire].Link.Rate)
	}
	if rate > 0 {
		p.setSpeed(rate)
	}
	return p
}

func (p *portInfo) state() byte { return p.info[32] & 15 }
func (p *portInfo) lid() uint16 { return be.Uint16(p.info[16:]) }

func (p *portInfo) setState(state, physical byte) {
	p.info[32] = p.info[32]&0xF0 | state
	p.info[33] = p.info[33]&0x0F | physical<<4
}

// nodeType returns the NodeType of a node: channel adapter or switch.
func (n *node) nodeType() byte { return byte(2 - n.base) }

// writable are the bits of PortInfo that Set stores. States, and fields in which 0 means no change,
// are handled separately.
var writable = [64]byte{
	0: 255, 1: 255, 2: 255, 3: 255, 4: 255, 5: 255, 6: 255, 7: 255, // M_Key
	8: 255, 9: 255, 10: 255, 11: 255, 12: 255, 13: 255, 14: 255, 15: 255, // GIDPrefix
	16: 255, 17: 255, 18: 255, 19: 255, 26: 255, 27: 255, // LID, MasterSMLID, M_KeyLeasePeriod
	34: 0xC7, 36: 0xFF, 37: 0x0F, 38: 255, 42: 255, 43: 0x0F, // LMC, MTU, SMSL, InitType, VLHighLimit, HOQLife
	51: 0x1F, 53: 255,
}

func (s *Subnet) nodeDescription(at place, _, r *mad) uint16 {
	copy(r[64:128], s.nodes[at.node].Name)
	return statusOK
}

func (s *Subnet) nodeInfo(at place, _, r *mad) uint16 {
	n, d := &s.nodes[at.node], r.data()
	d[0], d[1], d[2], d[3], d[36] = 1, 1, n.nodeType(), byte(len(n.ports)-1), byte(at.port)
	be.PutUint64(d[4:], guid(at.node, 0))
	be.PutUint64(d[12:], guid(at.node, 0))
	be.PutUint64(d[20:], guid(at.node, n.base))
	be.PutUint16(d[28:], pkeyCap)
	be.PutUint32(d[32:], 1) // revision
	return statusOK
}

func (s *Subnet) switchInfo(at place, m, r *mad) uint16 {
	w, d := &s.nodes[at.node].info, m.data()
	if m.sets() {
		if be.Uint16(d[6:]) >= linearCap {
			return statusValue
		}
		copy(w[6:11], d[6:])              // LinearFDBTop, default ports
		w[11] = d[11]&^7 | w[11]&4&^d[11] // LifeTimeValue; PortStateChange, which a 1 clears
		copy(w[18:20], d[18:])            // MulticastFDBTop
	}
	copy(r.data(), w[:])
	return statusOK
}

func (s *Subnet) portInfo(at place, m, r *mad) (status uint16) {
	n, number := &s.nodes[at.node], int(m.modifier()&0xFF)
	if number == 0 {
		number = at.port * n.base
	}
	if number >= len(n.ports) {
		return statusValue
	}
	if m.sets() {
		status = s.setPort(place{at.node, number}, m.data())
	}
	copy(r.data(), n.ports[number].info[:])
	r.data()[28] = byte(at.port)
	return status
}

// setPort sets PortInfo. It changes nothing if a value is invalid.
func (s *Subnet) setPort(at place, d []byte) uint16 {
	n, p := &s.nodes[at.node], s.at(at)
	state, physical := d[32]&15, d[33]>>4
	base := n.base == 1 || at.port == 0 // this port has a LID
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
	s.stirred = s.stirred || base && be.Uint16(d[16:]) != p.lid() || // routes follow LIDs
		p.several() && (d[38] != p.info[38] || d[43]>>4 != p.info[43]>>4)
	for i, bits := range writable {
		if (base || i >= 20) && (i != 36 || d[36]>>4 != 0) {
			p.info[i] = p.info[i]&^bits | d[i]&bits
		}
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

// key is the key of a block of a table at a port.
func key(attr uint16, port, block int) [3]int { return [3]int{int(attr), port, block} }

// table serves an attribute of blocks, which it stores as they are set.
func (s *Subnet) table(at place, m, r *mad) uint16 {
	n, attr, mod := &s.nodes[at.node], m.attribute(), int(m.modifier())
	port, block, size, ok := at.port, mod, 64, true
	switch attr {
	case attrGUIDInfo:
		port, ok = n.base, block == 0
	case attrPKeys:
		if block = mod & 0xFFFF; n.isSwitch {
			port = mod >> 16
		}
		ok = block < pkeyCap/32
	case attrSLtoVL:
		if size, block = 8, 0; n.isSwitch {
			port, block = mod&0xFF, mod>>8&0xFF
			ok = block < len(n.ports)
		}
	case attrVLArbitration:
		if block = mod >> 16; n.isSwitch {
			port = mod & 0xFFFF
		}
		ok = block >= 1 && block <= 4 && port < len(n.ports) && n.ports[port].several()
	case attrLinear:
		port, ok = 0, block < linearCap/64
	case attrMulticast:
		port, ok = 0, mod&0x1FF < multicastCap/32 && mod>>28 <= len(n.ports)/16
	}
	if !ok || port >= len(n.ports) {
		return statusValue
	}
	at.port = port
	if m.sets() {
		var b [64]byte
		copy(b[:size], m.data())
		if attr == attrGUIDInfo { // the first GUID is fixed
			be.PutUint64(b[:], guid(at.node, port))
		}
		id := key(attr, port, block)
		s.stirred = s.stirred || n.tables[id] != b
		n.tables[id] = b
	}
	b := s.block(at, attr, block)
	copy(r.data(), b[:])
	return statusOK
}

// block returns a block of a table.
func (s *Subnet) block(at place, attr uint16, block int) [64]byte {
	b, set := s.nodes[at.node].tables[key(attr, at.port, block)]
	switch {
	case set:
	case attr == attrGUIDInfo:
		be.PutUint64(b[:], guid(at.node, at.port))
	case attr == attrPKeys && block == 0:
		b[0], b[1] = 0xFF, 0xFF
	case attr == attrLinear:
		for i := range b {
			b[i] = 255
		}
	case attr == attrSLtoVL || attr == attrVLArbitration:
		return s.usual(at, attr, block)
	}
	return b
}
