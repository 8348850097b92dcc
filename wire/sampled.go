package wire

import (
	"encoding/binary"
	"slices"
)

// A notification quotes the frame that it is about, from its EtherType on: the header of a data
// frame on Ethernet, or all headers of an IP packet up to those of TCP or to the BTH. Zeros
// stand behind them, as in a frame without a body.

// The flags of the sampled frame in Frame.Stopped of a Notification or a BCN message, which say what
// it is. Beside them stand tcpBack and tcpECT of a TCP segment, and tcpECT, roceIPv6 and roceAckReq of
// a RoCEv2 packet.
const (
	tcpSampled  uint8 = 1 << 3
	roceSampled uint8 = 1 << 7
)

// Sample makes f, a notification, one about a frame: it notes what it has room for. A
// Notification that carries anything of an IP packet carries all its headers.
func (f *Frame) Sample(of *Frame) {
	f.QP, f.PSN, f.Payload, f.FECN, f.Last = of.QP, of.PSN, of.Payload, of.FECN, of.Last
	switch {
	case of.Kind == TCP:
		f.MSN, f.Quanta, f.Classes, f.Stopped = of.MSN, of.Quanta, of.Classes, of.Stopped&(tcpBack|tcpECT)|tcpSampled
	case of.roce():
		f.Classes, f.Stopped = of.Classes, of.Stopped&(tcpECT|roceIPv6|roceAckReq)|roceSampled
	}
}

// maxHead is the longest head of a frame: of a packet of RoCEv2 over IPv6.
const maxHead = 2 + IPv6Size + UDPSize + BTHSize

// MaxNotification is the size of the longest notification: a BCN message with a CN-TAG about such
// a packet.
const MaxNotification = EthernetHeaderSize + CNTagSize + BCNSize + EthernetHeaderSize - 2 + maxHead + FCSSize

// SampledOctets returns how many octets of the MSDU of f, or of the frame that f, a notification,
// is about, hold all that a notification says of it: its EtherType and the headers behind.
func (f *Frame) SampledOctets() int {
	notification := f.Kind == Notification || f.Kind == BCN
	switch {
	case f.Kind == TCP, notification && f.Stopped&tcpSampled != 0:
		return 2 + TCPOverhead
	case f.roce(), notification && f.Stopped&roceSampled != 0:
		return 2 + f.ipSize() + UDPSize + BTHSize
	}
	return 2 + MinMSDU
}

// appendHead appends the first SampledOctets octets of the MSDU of the frame that f, a notification, is
// about: of a data frame on Ethernet, a segment without options, or a data packet of RoCEv2.
func (f *Frame) appendHead(b []byte) []byte {
	if f.Stopped&(tcpSampled|roceSampled) == 0 { // what is written of it has its own fields in f
		return appendDataHeader(binary.BigEndian.AppendUint16(b, typeData), f, 0)
	}
	of := Frame{
		Src: f.Dst, Dst: f.SampledDst, QP: f.QP, PSN: f.PSN, FECN: f.FECN, Last: f.Last, Classes: f.Classes,
	}
	if f.Stopped&tcpSampled != 0 {
		of.Kind, of.MSN, of.Payload, of.Quanta, of.Stopped = TCP, f.MSN, f.Payload, f.Quanta, f.Stopped&(tcpBack|tcpECT)
		return appendTCP(b, &of)
	}
	of.Kind, of.Family, of.Payload = Data, RoCEv2, min(f.Payload, MaxPayload)&^3
	of.Stopped = f.Stopped & (tcpECT | roceIPv6 | roceAckReq)
	return appendRoCEHead(b, &of)
}

// appendRoCEHead is appendHead of a data packet of RoCEv2.
func appendRoCEHead(b []byte, f *Frame) []byte {
	v6, kind := f.ipv6(), uint16(typeIPv4)
	if v6 {
		kind = typeIPv6
	}
	var w roceHead
	w.set(f, f.ofRoCE(), 0, nil)
	b = binary.BigEndian.AppendUint16(b, kind)
	at, n := len(b), roceHeadSize(v6)
	b = slices.Grow(b, n)[:at+n]
	w.put(b[at:], v6)
	return b
}

// readHead makes f a notification about the frame whose head is given, with zeros behind, and
// returns the QP that it names. It believes what it reads: the caller compares
// what appendHead writes.
func (f *Frame) readHead(head *[maxHead]byte) (qp uint32) {
	packet := head[2:]
	switch t := binary.BigEndian.Uint16(head[:]); {
	case t == typeIPv6, t == typeIPv4 && packet[9] == protocolUDP:
		v6 := t == typeIPv6
		f.Stopped = roceSampled | uint8(bit(v6, 4))
		size, class := int(binary.BigEndian.Uint16(packet[2:])), packet[1]
		if v6 {
			size, class = IPv6Size+int(binary.BigEndian.Uint16(packet[4:])), packet[0]<<4|packet[1]>>4
		}
		f.setClass(class)
		f.Payload = uint32(max(size-f.ipSize()-UDPSize-BTHSize-ICRCSize, 0))
		bth := packet[f.ipSize()+UDPSize:]
		f.Last, f.PSN = bth[1]&0x80 != 0, binary.BigEndian.Uint32(bth[8:])&0xFFFFFF
		f.Stopped |= uint8(bit(bth[8]&0x80 != 0, 5))
		return binary.BigEndian.Uint32(bth[4:]) & 0xFFFFFF
	case t == typeIPv4:
		tag := f.QP
		f.readTCP(packet)
		f.Stopped |= tcpSampled
		f.Payload = uint32(max(binary.BigEndian.Uint16(packet[2:]), TCPOverhead)) - TCPOverhead
		qp, f.QP = f.QP, tag
		return qp
	}
	w := binary.BigEndian.Uint32(head[6:])
	f.FECN, f.Last, f.PSN = w&dataMark != 0, w&dataLast != 0, w&0xFFFFFF
	f.Payload = uint32(binary.BigEndian.Uint16(head[10:]))
	return binary.BigEndian.Uint32(head[2:]) & 0xFFFFFF
}
