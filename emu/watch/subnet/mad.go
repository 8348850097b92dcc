package subnet

import "encoding/binary"

// Message sizes in ibsim's protocol (include/ibsim.h).
const (
	packetSize  = 288 // struct sim_request
	controlSize = 80  // struct sim_ctl
)

// A Packet is a MAD with its addresses, as libumad2sim sends it: dlid, slid, dqp, sqp, status, length, and the MAD.
// The addresses are in network byte order, each at the start of its field.
type Packet [packetSize]byte

// Offsets in a Packet.
const (
	atDLID, atSLID, atDQP, atSQP, atStatus, atLength, atMAD = 0, 4, 8, 12, 16, 24, 32
)

var be = binary.BigEndian

func (p *Packet) mad() *mad { return (*mad)(p[atMAD:]) }

// turn swaps the sender and the receiver.
func (p *Packet) turn() {
	for _, at := range [...][2]int{{atDLID, atSLID}, {atDQP, atSQP}} {
		a, b := [4]byte(p[at[0]:]), [4]byte(p[at[1]:])
		copy(p[at[0]:], b[:])
		copy(p[at[1]:], a[:])
	}
}

// timedOut is the status of a packet that is returned because nothing answers it (ETIMEDOUT).
const timedOut = 110

// A mad is a management datagram.
type mad [256]byte

// Management classes.
const (
	classSMP      = 0x01
	classSA       = 0x03
	classPerf     = 0x04
	classCC       = 0x21
	classDirected = 0x81
)

// Methods.
const (
	methodGet      = 0x01
	methodSet      = 0x02
	methodSend     = 0x03
	methodTrap     = 0x05
	methodReport   = 0x06
	methodRepress  = 0x07
	methodResponse = 0x80 // bit
)

// Status codes (Table 113).
const (
	statusOK          = 0
	statusVersion     = 1 << 2
	statusMethod      = 2 << 2
	statusAttribute   = 3 << 2
	statusValue       = 7 << 2
	directionOutbound = 1 << 15 // D bit of a directed-route SMP that returns
)

// Attributes.
const (
	attrClassPortInfo = 0x01
	attrNotice        = 0x02
	attrNodeDesc      = 0x10
	attrNodeInfo      = 0x11
	attrSwitchInfo    = 0x12
	attrGUIDInfo      = 0x14
	attrPortInfo      = 0x15
	attrPKeys         = 0x16
	attrSLtoVL        = 0x17
	attrVLArbitration = 0x18
	attrLinear        = 0x19
	attrMulticast     = 0x1B
	attrSMInfo        = 0x20
)

func (m *mad) class() byte       { return m[1] }
func (m *mad) method() byte      { return m[3] &^ methodResponse }
func (m *mad) response() bool    { return m[3]&methodResponse != 0 || m[3] == methodRepress }
func (m *mad) attribute() uint16 { return be.Uint16(m[16:]) }
func (m *mad) modifier() uint32  { return be.Uint32(m[20:]) }
func (m *mad) data() []byte      { return m[64:128] }
func (m *mad) directed() bool    { return m.class() == classDirected }
func (m *mad) hops() int         { return int(m[7]) }
func (m *mad) path() []byte      { return m[128:192] }
func (m *mad) back() []byte      { return m[192:256] }

// client is the client whose request was passed on to another: the high 16 bits of the transaction
// identifier, which managers leave to the channel adapter.
func (m *mad) client() int     { return int(be.Uint16(m[8:])) }
func (m *mad) setClient(c int) { be.PutUint16(m[8:], uint16(c)) }

// answer turns the MAD into its own response.
func (m *mad) answer(status uint16) {
	switch m.method() {
	case methodGet, methodSet:
		m[3] = methodGet | methodResponse
	default:
		m[3] |= methodResponse
	}
	if m.directed() {
		status |= directionOutbound
	}
	be.PutUint16(m[4:], status)
}

// wrong reports whether the header of the MAD, or its directed route, is invalid.
func (m *mad) wrong() bool {
	if m[0] != 1 {
		return true
	}
	returning := be.Uint16(m[4:])&directionOutbound != 0
	return m.directed() && (m[6] != 0 || m.hops() >= len(m.path()) || returning != m.response() ||
		be.Uint16(m[32:]) != 0xFFFF || be.Uint16(m[34:]) != 0xFFFF)
}
