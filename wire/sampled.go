package wire

import "encoding/binary"

// SampleExtension is the extension of a Notification or a BCN message. A notification quotes the
// frame that it is about, from its EtherType on: the header of a data frame on Ethernet, or all
// headers of an IP packet up to the header of TCP or to the BTH. Zeros are behind them, as in a
// frame without a body. The quoted fields that all frames have are in the Frame.
type SampleExtension struct {
	QOffset    int16  // Qeq - q, in units of 64 octets
	QDelta     int16  // q - qold, in units of 64 octets
	Bottleneck uint16 // BCN: rate of the congested line in units of BottleneckUnit; 0: it is not given
	Dst        LID    // where the sampled frame was going
	Lane       uint8  // priority of the sampled frame
	Fb         uint8  // Notification: quantised feedback, 0 to 63
	Octets     uint8  // Notification: how much of the sampled frame's MSDU it carries, 0 to 64

	kind  Kind   // of the sampled frame, if it is an IP packet; else 0: a data frame on Ethernet
	flags uint16 // of a sampled TCP segment: its control bits
}

// The fields of it that both kinds have.
var (
	ofQOffset     = number(func(f *Frame) *int16 { return &f.Sampled().QOffset })
	ofQDelta      = number(func(f *Frame) *int16 { return &f.Sampled().QDelta })
	ofSampledLane = number(func(f *Frame) *uint8 { return &f.Sampled().Lane })
	ofSampledDst  = number(func(f *Frame) *LID { return &f.Sampled().Dst })
)

// Sample makes f, a notification, one about a frame: it quotes all that it has room for. A
// Notification that carries anything of an IP packet carries all its headers.
func (f *Frame) Sample(of *Frame) {
	f.QP, f.PSN, f.Payload, f.FECN, f.Last = of.QP, of.PSN, of.Payload, of.FECN, of.Last
	f.Bits = of.Bits & bitImmediate
	switch s := f.Sampled(); {
	case of.Kind == TCP:
		s.kind, s.flags = TCP, uint16(of.Flags)
		f.MSN, f.Window, f.Bits = of.MSN, of.Window, of.Bits&(bitBack|bitECT)
	case of.Family == RoCEv2:
		s.kind = Data
		f.DSCP, f.Window, f.Bits = of.DSCP, of.Window, of.Bits&(bitECT|bitIPv6|bitAckReq|bitImmediate)
	}
}

// sampled returns the frame that f, a notification, is about, as far as it quotes it.
func (f *Frame) sampled() Frame {
	s := f.Sampled()
	of := Frame{
		Kind: Data, Family: Ethernet, Src: f.Dst, Dst: s.Dst, Lane: s.Lane, QP: f.QP, PSN: f.PSN, MSN: f.MSN,
		Payload: f.Payload, FECN: f.FECN, Last: f.Last, Window: f.Window, DSCP: f.DSCP, Bits: f.Bits,
	}
	switch s.kind {
	case TCP:
		of.Kind, of.Family, of.Flags = TCP, InfiniBand, uint8(s.flags)
	case Data:
		of.Family, of.Payload = RoCEv2, min(f.Payload, MaxPayload)&^3
	}
	return of
}

// maxHead is the longest head of a frame: of a packet of RoCEv2 over IPv6.
const maxHead = 2 + IPv6Size + UDPSize + BTHSize

// MaxNotification is the size of the longest notification: a BCN message with a CN-TAG about such
// a packet.
const MaxNotification = EthernetHeaderSize + CNTagSize + BCNSize + EthernetHeaderSize - 2 + maxHead + FCSSize

// SampledOctets returns how many octets of the MSDU of f hold all that a notification quotes of it:
// its EtherType and the headers behind.
func (f *Frame) SampledOctets() int {
	switch {
	case f.Kind == TCP:
		return 2 + TCPOverhead
	case f.Family == RoCEv2:
		return 2 + f.Bits.ofIP() + UDPSize + BTHSize
	}
	return 2 + MinMSDU
}

// appendHead appends the first SampledOctets octets of the MSDU of f: of a data frame on Ethernet,
// a segment without options, or a data packet of RoCEv2.
func appendHead(b []byte, f *Frame) []byte {
	switch {
	case f.Kind == TCP:
		return appendTCP(binary.BigEndian.AppendUint16(b, typeIPv4), f, Body{})
	case f.Family == RoCEv2:
		b = binary.BigEndian.AppendUint16(b, f.Bits.typeOfIP())
		ip := len(b)
		b = f.bth().Append(appendUDP(b, f, f.ofRoCE()))
		sealRoCE(b[ip:], nil, int(f.behindBTH())) // immediate data is not quoted: zeros stand for it
		return b
	}
	return appendDataHeader(binary.BigEndian.AppendUint16(b, typeData), f)
}

// readHead returns the frame whose head is given, with zeros behind, as far as a notification
// quotes it. It believes all that it reads: the caller compares
// the bytes that appendHead writes.
func readHead(head *[maxHead]byte) (of Frame) {
	packet := head[2:]
	of.Kind = Data
	switch t := binary.BigEndian.Uint16(head[:]); {
	case t == typeIPv6, t == typeIPv4 && packet[9] == protocolUDP:
		of.Family = RoCEv2
		size, class := int(binary.BigEndian.Uint16(packet[2:])), packet[1]
		if t == typeIPv6 {
			of.Bits = bitIPv6
			size, class = IPv6Size+int(binary.BigEndian.Uint16(packet[4:])), packet[0]<<4|packet[1]>>4
		}
		of.setTrafficClass(class)
		ip := of.Bits.ofIP()
		bth, behind := packet[ip+UDPSize:], 0
		if Opcode(bth[0]) == RCSendImmediate {
			of.Bits, behind = of.Bits|bitImmediate, ImmediateSize
		}
		of.Payload = uint32(max(size-ip-UDPSize-BTHSize-behind-ICRCSize, 0))
		of.Last, of.QP, of.PSN = bth[1]&0x80 != 0, binary.BigEndian.Uint32(bth[4:])&0xFFFFFF, binary.BigEndian.Uint32(bth[8:])&0xFFFFFF
		of.SetAckReq(bth[8]&0x80 != 0)
		if port := binary.BigEndian.Uint16(packet[ip:]); port >= LeastSourcePort {
			of.SetSourcePort(port)
		}
	case t == typeIPv4:
		of.Kind = TCP
		of.readTCP(packet)
		of.Payload = uint32(max(binary.BigEndian.Uint16(packet[2:]), TCPOverhead)) - TCPOverhead
	default:
		of.QP, of.PSN = binary.BigEndian.Uint32(head[2:])&0xFFFFFF, binary.BigEndian.Uint32(head[6:])&0xFFFFFF
		of.FECN, of.Last = head[6]&dataMark != 0, head[6]&dataLast != 0
		of.Payload = uint32(binary.BigEndian.Uint16(head[10:]))
		of.Bits = bitImmediate.when(head[6]&dataImmediate != 0)
	}
	return of
}
