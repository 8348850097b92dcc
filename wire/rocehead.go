package wire

import (
	"encoding/binary"
	"math/bits"
)

// roceHead is what stands in front of the payload of a packet of RoCEv2, network header, UDP and
// BTH, as words of eight bytes, the high byte first: five over IPv4, and over IPv6 seven and the
// high half of another.
type roceHead [8]uint64

// The sizes of a roceHead in bytes.
const (
	roceHead4 = IPv4Size + UDPSize + BTHSize
	roceHead6 = IPv6Size + UDPSize + BTHSize
)

func roceHeadSize(v6 bool) int {
	if v6 {
		return roceHead6
	}
	return roceHead4
}

// The places of fields that are not the same in all heads: how many bytes there are from them to the end.
// From the LID of the destination on they are the same over IPv4 and IPv6.
const (
	placeClass4    = 39
	placeLength4   = 38
	placeChecksum4 = 30
	placeSource4   = 26
	placeClass6    = 60
	placeLabel6    = 58
	placeLength6   = 56
	placeSource6   = 38
	placeDst       = 22
	placeUDP       = 20
	placeUDPLength = 16
	placeUDPSum    = 14
	placeBTH       = 12

	// In front of the packet of a frame without tags, to the EtherType's end.
	placeFrontDst  = 14
	placeFrontSrc  = 8
	placeFrontLane = 4
)

// set makes w the head of f, a packet of so many bytes whose payload has a pad, and returns what ends the
// frame, the low byte first: ICRC and FCS. What stands between head and ICRC is zeros if behind is nil.
//
// FCS and ICRC are one CRC, which is linear: each byte adds what it adds alone, and what those add that are
// the same in all packets is known. What both go over cancels out, payload and all: there remain what is in
// front of the packet and what the ICRC takes for ones, as if zeros were behind it, and the FCS of the ICRC.
func (w *roceHead) set(f *Frame, size int, pad uint8, behind []byte) (sums uint64) {
	bth, last := bthOf(f, pad)
	class := uint64(f.Classes&63)<<2 | uint64(ecnOf(f))
	label, port := entropy(f.QP)
	ports, src, dst := uint64(port)<<16|RoCEPort, uint64(f.Src), uint64(f.Dst)
	v6 := f.ipv6()
	head, length := roceHead4, size-IPv4Size // of the UDP datagram
	if v6 {
		head, length = roceHead6, size-IPv6Size
	}
	n := uint(size - head - ICRCSize)
	zeros := n
	if behind != nil {
		zeros = 0
	}
	icrcZeros, fcsZeros := zeros%zeroStep, n%zeroStep // the rest of them are taken in whole steps
	icrcRows, fcsRows := icrc.rows[icrcZeros], icrc.rows[fcsZeros+ICRCSize]
	var s, differ uint32 // what the ICRC goes over, and the FCS beside that
	if v6 {
		w[0] = 6<<60 | class<<52 | uint64(label)<<32 | uint64(length)<<16 | protocolUDP<<8 | timeToLive
		w[1], w[2] = linkLocal, interfaceID|src
		w[3], w[4] = linkLocal, interfaceID|dst
		w[5] = ports<<32 | uint64(length)<<16
		w[6], w[7] = bth, uint64(last)<<32
		s = sameIPv6.icrc[icrcZeros] ^ icrcRows.of16(placeLength6, uint64(length)) ^ icrcRows.of16(placeSource6, src)
		differ = sameIPv6.differ[fcsZeros] ^
			fcsRows.of16(placeClass6, class<<4|uint64(label)>>16) ^ fcsRows.of16(placeLabel6, uint64(label)) ^
			fcsRows.of16(roceHead6+placeFrontDst, dst) ^ fcsRows.of16(roceHead6+placeFrontSrc, src) ^
			fcsRows.of8(roceHead6+placeFrontLane, f.Lane<<5)
	} else {
		const same = 0x4500 + dontFragment + timeToLive<<8 + protocolUDP + 2*(localIP>>16)
		sum := ^foldSum(same + class + uint64(size) + src + dst)
		w[0] = ipv4First | class<<48 | uint64(size)<<32
		w[1] = ipv4Second | uint64(sum)<<32 | src
		w[2] = (localIP|dst)<<32 | ports
		w[3] = uint64(length)<<48 | bth>>32
		w[4] = bth<<32 | uint64(last)
		s = sameIPv4.icrc[icrcZeros] ^ icrcRows.of16(placeLength4, uint64(size)) ^ icrcRows.of16(placeSource4, src)
		differ = sameIPv4.differ[fcsZeros] ^
			fcsRows.of8(placeClass4, byte(class)) ^ fcsRows.of16(placeChecksum4, uint64(sum)) ^
			fcsRows.of16(roceHead4+placeFrontDst, dst) ^ fcsRows.of16(roceHead4+placeFrontSrc, src) ^
			fcsRows.of8(roceHead4+placeFrontLane, f.Lane<<5)
	}
	s ^= icrcRows.of16(placeDst, dst) ^
		icrcRows.of16(placeUDP, uint64(port)) ^ icrcRows.of16(placeUDPLength, uint64(length)) ^
		icrcRows.of16(placeBTH, bth>>48) ^ icrcRows.of8(placeBTH-5, byte(bth>>16)) ^ icrcRows.of16(placeBTH-6, bth) ^
		icrcRows.of16(4, uint64(last>>16)) ^ icrcRows.of16(2, uint64(last))
	differ ^= fcsRows.of8(placeBTH-4, byte(bth>>24))
	if f.Tagged || f.CPID != 0 {
		differ ^= fcsRows.ofState(head, f.tagsInFront())
	}

	check := ^icrc.many[zeros/zeroStep].apply(s)
	if behind != nil {
		check = ^icrc.update(^check, behind)
	}
	if v6 {
		const pseudo = protocolUDP + 2*(linkLocal>>48+interfaceID>>32+interfaceID>>16&0xFFFF)
		sum := ^foldSum(pseudo + 2*uint64(length) + src + dst + ports +
			bth>>32 + bth&0xFFFFFFFF + uint64(last) + uint64(bits.ReverseBytes32(check)))
		if behind != nil {
			sum = ^onesSum(uint32(^sum), behind)
		}
		if sum == 0 {
			sum = 0xFFFF // the same number, and 0 is no checksum (RFC 8200, 8.1)
		}
		w[5] |= uint64(sum)
		differ ^= fcsRows.of16(placeUDPSum, uint64(sum))
	}
	return uint64(icrc.many[n/zeroStep].apply(differ)^fcsBehindICRC)<<32 | uint64(check)
}

// put writes w to the front of p, which has room for more.
func (w *roceHead) put(p []byte, v6 bool) {
	q := (*[40]byte)(p)
	binary.BigEndian.PutUint64(q[0:], w[0])
	binary.BigEndian.PutUint64(q[8:], w[1])
	binary.BigEndian.PutUint64(q[16:], w[2])
	binary.BigEndian.PutUint64(q[24:], w[3])
	binary.BigEndian.PutUint64(q[32:], w[4])
	if v6 {
		q := (*[60]byte)(p)
		binary.BigEndian.PutUint64(q[40:], w[5])
		binary.BigEndian.PutUint64(q[48:], w[6])
		binary.BigEndian.PutUint32(q[56:], uint32(w[7]>>32))
	}
}

// is reports whether p begins with the bytes of w.
func (w *roceHead) is(p []byte, v6 bool) bool {
	q := (*[40]byte)(p)
	differ := (binary.BigEndian.Uint64(q[0:]) ^ w[0]) | (binary.BigEndian.Uint64(q[8:]) ^ w[1]) |
		(binary.BigEndian.Uint64(q[16:]) ^ w[2]) | (binary.BigEndian.Uint64(q[24:]) ^ w[3]) |
		(binary.BigEndian.Uint64(q[32:]) ^ w[4])
	if v6 {
		q := (*[60]byte)(p)
		differ |= (binary.BigEndian.Uint64(q[40:]) ^ w[5]) | (binary.BigEndian.Uint64(q[48:]) ^ w[6]) |
			(uint64(binary.BigEndian.Uint32(q[56:]))<<32 ^ w[7])
	}
	return differ == 0
}

// The first words of a packet over IPv4, but for its class, length, checksum and source.
const (
	ipv4First  = 0x45<<56 | dontFragment
	ipv4Second = timeToLive<<56 | protocolUDP<<48 | localIP
)

// roceSame are states of the CRC behind a head whose fields that vary are 0, by how many zeros stand behind it:
// as the ICRC has it, and what the FCS of a frame without tags has beside that, behind four zeros more.
type roceSame struct{ icrc, differ [zeroStep]uint32 }

var sameIPv4, sameIPv6 = sameOf(false), sameOf(true)

// fcsBehindICRC is the FCS behind an ICRC that adds nothing.
var fcsBehindICRC = ^icrc.step4(0xFFFFFFFF, 0)

func sameOf(v6 bool) *roceSame {
	w, kind := roceHead{ipv4First, ipv4Second, localIP<<32 | RoCEPort, DefaultPKey, 0}, uint16(typeIPv4)
	if v6 {
		w = roceHead{6<<60 | protocolUDP<<8 | timeToLive,
			linkLocal, interfaceID, linkLocal, interfaceID, RoCEPort << 32, DefaultPKey << 32}
		kind = typeIPv6
	}
	p := make([]byte, roceHeadSize(v6))
	w.put(p, v6)
	front := icrc.update(0xFFFFFFFF, binary.BigEndian.AppendUint16(appendAddresses(nil, localMAC, 0, typeVLAN<<16), kind))
	s := icrcHead(p, len(p)-BTHSize)
	differ := s ^ icrc.update(front, p)
	same := new(roceSame)
	for n := range zeroStep {
		same.icrc[n], same.differ[n] = icrc.fewZeros(s, n), icrc.fewZeros(differ, n+ICRCSize)
	}
	return same
}

// tagsInFront returns what the tags of a frame add to the state of the CRC in front of its packet.
func (f *Frame) tagsInFront() uint32 {
	kind := uint16(typeIPv4)
	if f.ipv6() {
		kind = typeIPv6
	}
	var front [EthernetHeaderSize + CNTagSize + RLTagSize]byte
	b := appendAddresses(front[:0], f.Dst.MAC(), f.Src, typeVLAN<<16|VLANTag{Priority: f.Lane}.word())
	without := icrc.update(0xFFFFFFFF, binary.BigEndian.AppendUint16(b, kind))
	return without ^ icrc.update(0xFFFFFFFF, binary.BigEndian.AppendUint16(appendTags(b, f), kind))
}
