package subnet

import "encoding/binary"

// Message sizes in ibsim's protocol (include/ibsim.h).
const (
	packetSize  = 288 // struct sim_request
	controlSize = 80  // struct sim_ctl
)

// A Packet is a MAD with its addresses, as libumad2sim sends it: dlid, slid, dqp, sqp, status,
// length, and the MAD. The addresses are in network byte order, each at the start of its field.
type Packet [packetSize]byte

// Offsets in a Packet.
const (
	atDLID, atSLID, atDQP, atSQP, atStatus, atLength, atMAD = 0, 4, 8, 12, 16, 24, 32
)

var be = binary.BigEndian

func (p *Packet) mad() *mad { return (*mad)(p[atMAD:]) }

// turn swaps the sender and the receiver.
func (p *Packet) turn() {
	was := *p
	copy(p[atDLID:atSLID], was[atSLID:])
	copy(p[atSLID:atDQP], was[atDLID:])
	copy(p[atDQP:atSQP], was[atSQP:])
	copy(p[atSQP:atStatus], was[atDQP:])
}

// timedOut is the status of a packet that is returned because nothing answers it (ETIMEDOUT).
const timedOut = 110

// A mad is a management datagram.
type mad [256]byte

// Management classes.
const classSMP, classSA, classPerf, classCC, classDirected = 0x01, 0x03, 0x04, 0x21, 0x81

// Methods; methodResponse is a bit.
const methodGet, methodSet, methodSend, methodTrap, methodReport, methodRepress, methodResponse = 1, 2, 3, 5, 6, 7, 0x80

// Status codes (Table 113); directionOutbound is the D bit of a directed-route SMP that returns.
const statusOK, statusVersion, statusMethod, statusAttribute, statusValue, directionOutbound = 0, 1 << 2, 2 << 2, 3 << 2, 7 << 2, 1 << 15

// Attributes that differ from others in more than their handler: see attributes.
const (
	attrClassPortInfo = 0x01
	attrNotice        = 0x02
	attrNodeInfo      = 0x11
	attrGUIDInfo      = 0x14
	attrPortInfo      = 0x15
	attrPKeys         = 0x16
	attrSLtoVL        = 0x17
	attrVLArbitration = 0x18
	attrLinear        = 0x19
	attrMulticast     = 0x1B
	attrSMInfo        = 0x20
	attrPathRecord    = 0x35
)

// permissive is the LID that a directed route has in the place of one.
const permissive = 0xFFFF

func (m *mad) class() byte       { return m[1] }
func (m *mad) method() byte      { return m[3] &^ methodResponse }
func (m *mad) sets() bool        { return m.method() == methodSet }
func (m *mad) asks() bool        { return (m.method() == methodGet || m.sets()) && !m.response() }
func (m *mad) response() bool    { return m[3]&methodResponse != 0 || m[3] == methodRepress }
func (m *mad) attribute() uint16 { return be.Uint16(m[16:]) }
func (m *mad) modifier() uint32  { return be.Uint32(m[20:]) }
func (m *mad) key() uint64       { return be.Uint64(m[24:]) } // M_Key, or CC_Key
func (m *mad) data() []byte      { return m[64:] }
func (m *mad) directed() bool    { return m.class() == classDirected }
func (m *mad) smp() bool         { return m.class() == classSMP || m.directed() }
func (m *mad) hops() int         { return int(m[7]) }
func (m *mad) path() []byte      { return m[128:192] }
func (m *mad) back() []byte      { return m[192:256] }

// routed reports whether the MAD is routed by LID to where its directed route begins, and back from
// there (14.2.2.1: DrSLID is not the permissive LID).
func (m *mad) routed() bool { return m.directed() && be.Uint16(m[32:]) != permissive }

// client is the client whose request was passed on to another: the high 16 bits of the transaction
// identifier, which managers leave to the channel adapter.
func (m *mad) client() int     { return int(be.Uint16(m[8:])) }
func (m *mad) id() uint64      { return be.Uint64(m[8:]) }
func (m *mad) setClient(c int) { be.PutUint16(m[8:], uint16(c)) }

// hop moves the hop pointer of a directed-route SMP at the node where it begins, or where it has
// come in by a port (14.2.2). It returns the port by which the SMP leaves. ends reports that it is
// for this node.
func (m *mad) hop(in int, begins bool) (out int, ends bool) {
	at := &m[6]
	switch {
	case m.response() && begins:
		*at = m[7]
	case m.response():
		*at--
	default:
		if m.back()[*at%64] = byte(in); *at < m[7] {
			*at++
			return int(m.path()[*at%64]), false
		}
		*at = 0
	}
	return int(m.back()[*at%64]), *at == 0
}

// answer turns the MAD into its own response.
func (m *mad) answer(status uint16) {
	if m[3] |= methodResponse; m.sets() {
		m[3] = methodGet | methodResponse
	}
	if m.directed() {
		status |= directionOutbound
	}
	be.PutUint16(m[4:], status)
}

// wrong reports whether the header of the MAD, or its directed route, is invalid.
func (m *mad) wrong() bool {
	returning := be.Uint16(m[4:])&directionOutbound != 0
	return m[0] != 1 || m.directed() && (m[6] != 0 || m.hops() >= len(m.path()) || returning != m.response() ||
		be.Uint16(m[34:]) != permissive || m.routed() && (be.Uint16(m[32:]) == 0 || be.Uint16(m[32:]) > mostLID))
}

// An attribute is what the agents of nodes know by a class and a number.
type attribute struct {
	on       byte // onSwitches, onAdapters; ofCCA: not with another algorithm
	writable bool
	// serve stores what m sets, and writes the attribute into r, which is empty.
	serve func(s *Subnet, at place, m, r *mad) (status uint16)
}

// Bits of attribute.on.
const onSwitches, onAdapters, onAll, ofCCA = 1, 2, 3, 4

var attributes = map[[2]uint16]attribute{
	{classSMP, 0x10}:              {onAll, false, (*Subnet).nodeDescription},
	{classSMP, attrNodeInfo}:      {onAll, false, (*Subnet).nodeInfo},
	{classSMP, 0x12}:              {onSwitches, true, (*Subnet).switchInfo},
	{classSMP, attrGUIDInfo}:      {onAll, true, (*Subnet).table},
	{classSMP, attrPortInfo}:      {onAll, true, (*Subnet).portInfo},
	{classSMP, attrPKeys}:         {onAll, true, (*Subnet).table},
	{classSMP, attrSLtoVL}:        {onAll, true, (*Subnet).table},
	{classSMP, attrVLArbitration}: {onAll, true, (*Subnet).table},
	{classSMP, attrLinear}:        {onSwitches, true, (*Subnet).table},
	{classSMP, attrMulticast}:     {onSwitches, true, (*Subnet).table},

	{classPerf, attrClassPortInfo}: {onAll, false, (*Subnet).classPortInfo},
	{classPerf, attrCounters}:      {onAll, true, (*Subnet).performance},
	{classPerf, 0x1D}:              {onAll, true, (*Subnet).performance}, // PortCountersExtended
	{classPerf, 0x31}:              {onAdapters, true, (*Subnet).performance},
	{classPerf, 0x32}:              {onAdapters, true, (*Subnet).performance},
	{classPerf, 0x33}:              {onAdapters, true, (*Subnet).performance},
	{classPerf, 0x34}:              {onSwitches, true, (*Subnet).performance},

	{classCC, attrClassPortInfo}: {onAll, false, (*Subnet).classPortInfo},
	{classCC, 0x11}:              {onAll, false, (*Subnet).congestionInfo},
	{classCC, attrCongestionKey}: {onAll, true, (*Subnet).congestionKey},
	{classCC, 0x13}:              {onAll, false, (*Subnet).congestionLog},
	{classCC, 0x14}:              {onSwitches | ofCCA, true, (*Subnet).switchSetting},
	{classCC, 0x15}:              {onSwitches | ofCCA, true, (*Subnet).switchPortSetting},
	{classCC, 0x16}:              {onAdapters | ofCCA, true, (*Subnet).adapterSetting},
	{classCC, 0x17}:              {onAdapters | ofCCA, true, (*Subnet).congestionTable},
	{classCC, 0x18}:              {onAll, false, (*Subnet).timeStamp},
}

// serve executes a MAD at the agent of a place. ok is false if the agent must not answer, because
// the key is wrong.
func (s *Subnet) serve(at place, m *mad) (status uint16, ok bool) {
	from, to, class, on := 64, len(m), m.class(), byte(onAdapters)
	if s.nodes[at.node].isSwitch {
		on = onSwitches
	}
	switch {
	case m.smp():
		class, to = classSMP, 128
		own := s.own(at.node)
		if key := be.Uint64(own.info[0:]); key != 0 && key != m.key() && (m.sets() || own.info[34]>>6 >= 2) {
			return 0, false // M_Key check, 14.2.4
		}
	case class == classCC:
		if from = 32; !s.nodes[at.node].cc.admits(m) {
			return 0, false
		}
	}
	a := attributes[[2]uint16{uint16(class), m.attribute()}]
	if a.on&on == 0 || m.sets() && !a.writable || a.on&ofCCA != 0 && s.nodes[at.node].cc.fixed {
		return statusAttribute, true
	}
	var r mad
	status = a.serve(s, at, m, &r)
	copy(m[from:to], r[from:])
	return status, true
}

func (s *Subnet) classPortInfo(_ place, m, r *mad) uint16 {
	d := r.data()
	d[0], d[1], d[7] = 1, 2, 18 // the last is RespTimeValue
	if m.class() == classPerf {
		d[1], d[2] = 1, 0x13 // AllPortSelect, extended counters, PortXmitWait
	}
	return statusOK
}
