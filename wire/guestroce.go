package wire

import "encoding/binary"

// RoCEPacket is what an adapter sees of a guest's packet of RoCEv2.
type RoCEPacket struct {
	BTH
	From, To [16]byte // addresses, of IPv4 mapped to IPv6 (RFC 4291, 2.5.5.2)
	IPv6     bool
	Sender   uint32 // queue pair that has sent it, if it says so, as datagrams (UD) do; 0: it does not
	Head     int    // where its header of IP begins in the body
	Damaged  bool   // a checksum, its ICRC or a length is wrong: an adapter must not act on it
	port     uint16 // of UDP, from which it comes
}

// Acknowledges reports whether a packet is an acknowledgement, and no data: it follows from what
// came (IBTA Volume 1, 9.4.5).
func (p *RoCEPacket) Acknowledges() bool {
	const atomic = RCAck + 1
	return p.Opcode == RCAck || p.Opcode == atomic
}

// RoCE reads a body that is a packet of RoCEv2, of IPv4 or IPv6, perhaps behind tags. Other packets
// are none, nor are fragments and packets with reserved bits. It keeps no reference to the body.
func (b *Body) RoCE() (p RoCEPacket, ok bool) {
	const sendOnlyUD, immediateUD, deth = 0x64, 0x65, 8
	ip, _ := b.ip()
	udp, protocol, length := IPv6Size, uint8(0), 0
	switch {
	case ip == nil:
		return p, false
	case ip[0]>>4 == 6 && len(ip) >= IPv6Size:
		protocol, length = ip[6], IPv6Size+int(binary.BigEndian.Uint16(ip[4:]))
		p.IPv6, p.From, p.To = true, [16]byte(ip[8:]), [16]byte(ip[24:])
	case ip[0]>>4 == 4 && binary.BigEndian.Uint16(ip[6:])&^dontFragment == 0:
		udp, protocol, length = int(ip[0]&15)*4, ip[9], int(binary.BigEndian.Uint16(ip[2:]))
		for i, a := range [2]*[16]byte{&p.From, &p.To} {
			a[10], a[11] = 0xFF, 0xFF
			copy(a[12:], ip[12+4*i:16+4*i])
		}
	}
	bth := udp + UDPSize
	if protocol != protocolUDP || udp < IPv4Size || length > len(ip) || length < bth+BTHSize+ICRCSize || binary.BigEndian.Uint16(ip[udp+2:]) != RoCEPort {
		return p, false
	}
	var err error
	if p.BTH, _, err = ParseBTH(ip[bth:]); err != nil {
		return p, false
	}
	if (p.Opcode == sendOnlyUD || p.Opcode == immediateUD) && length >= bth+BTHSize+deth+ICRCSize {
		p.Sender = binary.BigEndian.Uint32(ip[bth+BTHSize+4:]) & 0xFFFFFF
	}
	p.Head, p.port = len(b.Bytes)-len(ip), binary.BigEndian.Uint16(ip[udp:])
	p.Damaged = !p.intact(ip[:length], udp)
	return p, true
}

// intact reports whether a packet of RoCEv2, whose header of UDP is at an offset, is as it was
// sent: the checksums of IPv4 and UDP, the ICRC and the lengths are right. A checksum of UDP of 0
// is none, over IPv6 too (RFC 6935): Linux' rdma_rxe sends so.
func (p *RoCEPacket) intact(ip []byte, udp int) bool {
	least := 0 // bytes between BTH and ICRC
	switch {
	case p.Opcode == RoCENotification:
		least = CNPSize
	case p.Acknowledges():
		least = AETHSize
	}
	end := len(ip) - ICRCSize
	switch sum := binary.BigEndian.Uint16(ip[udp+6:]); {
	case int(binary.BigEndian.Uint16(ip[udp+4:])) != len(ip)-udp, (len(ip)-udp)%4 != 0, end < udp+UDPSize+BTHSize+least:
		return false
	case !p.IPv6 && onesSum(0, ip[:udp]) != 0xFFFF:
		return false
	case sum != 0 && onesSum(uint32(protocolUDP+len(ip)-udp)+uint32(onesSum(0, p.addresses(ip))), ip[udp:]) != 0xFFFF:
		return false
	}
	return RoCEICRC(ip[:end]) == binary.LittleEndian.Uint32(ip[end:])
}

// addresses returns both addresses in a header of IP.
func (p *RoCEPacket) addresses(ip []byte) []byte {
	if p.IPv6 {
		return ip[8:IPv6Size]
	}
	return ip[12:IPv4Size]
}

// AppendCNP appends the CNP that answers a packet: a packet of IP to the queue pair that has sent
// it.
func (p *RoCEPacket) AppendCNP(b []byte, qp uint32, dscp uint8) []byte {
	ip := len(b)
	const size = UDPSize + BTHSize + CNPSize + ICRCSize
	if p.IPv6 {
		b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(dscp)<<22)
		b = binary.BigEndian.AppendUint32(b, size<<16|protocolUDP<<8|timeToLive)
		b = append(append(b, p.To[:]...), p.From[:]...)
	} else {
		b = binary.BigEndian.AppendUint32(b, 0x45<<24|uint32(dscp)<<18|(IPv4Size+size))
		b = binary.BigEndian.AppendUint64(b, dontFragment<<32|timeToLive<<24|protocolUDP<<16)
		b = append(append(b, p.To[12:]...), p.From[12:]...)
		binary.BigEndian.PutUint16(b[ip+10:], ^onesSum(0, b[ip:]))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(p.port)<<48|RoCEPort<<32|size<<16)
	b = BTH{Opcode: RoCENotification, BECN: true, PKey: p.PKey, DestQP: qp}.Append(b)
	check := sealRoCE(b[ip:], nil, CNPSize)
	return binary.LittleEndian.AppendUint32(appendZeros(b, CNPSize), check)
}
