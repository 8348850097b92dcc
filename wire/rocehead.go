package wire

import (
	"encoding/binary"
	"math/bits"
)

// roceHead is what stands in front of the payload of a packet of RoCEv2, network header, UDP and
// BTH, as words of eight bytes, the high byte first: five over IPv4, and over IPv6 seven and the
// high half of another. Over IPv6 its UDP checksum is 0 until sums has computed it.
type roceHead [8]uint64

// roceHeadSize returns how many bytes a roceHead has.
func roceHeadSize(v6 bool) int {
	if v6 {
		return IPv6Size + UDPSize + BTHSize
	}
	return IPv4Size + UDPSize + BTHSize
}

// set makes w the head of f, a packet of so many bytes, whose payload has a pad.
func (w *roceHead) set(f *Frame, size int, pad uint8) {
	bth, last := bthOf(f, pad)
	class := uint64(f.Classes&63)<<2 | uint64(ecnOf(f))
	label, port := entropy(f.QP)
	ports := uint64(port)<<16 | RoCEPort
	if f.ipv6() {
		w[0] = 6<<60 | class<<52 | uint64(label)<<32 | uint64(size-IPv6Size)<<16 | protocolUDP<<8 | timeToLive
		w[1], w[2] = linkLocal, interfaceID|uint64(f.Src)
		w[3], w[4] = linkLocal, interfaceID|uint64(f.Dst)
		w[5] = ports<<32 | uint64(size-IPv6Size)<<16
		w[6], w[7] = bth, uint64(last)<<32
		return
	}
	const sum = 0x4500 + dontFragment + timeToLive<<8 + protocolUDP + 2*(localIP>>16)
	w[0] = ipv4First | class<<48 | uint64(size)<<32
	w[1] = ipv4Second | uint64(^foldSum(sum+class+uint64(size)+uint64(f.Src)+uint64(f.Dst)))<<32 | uint64(f.Src)
	w[2] = (localIP|uint64(f.Dst))<<32 | ports
	w[3] = uint64(size-IPv4Size)<<48 | bth>>32
	w[4] = bth<<32 | uint64(last)
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

// What the ICRC takes for ones, in words of a packet over IPv4 and IPv6 whose low byte comes first.
const (
	icrcClass4 = 0xFF << 8  // byte 1 of the packet: type of service
	icrcClass6 = 0xFFFFFF0F // bytes 0 to 3: traffic class and flow label
)

// crcPlace is a place in the head of a packet: how many bytes there are from it to the end.
type crcPlace int

// The places of fields that are not the same in all heads. From the destination's LID on they are
// the same over IPv4 and IPv6.
const (
	placeLength4   crcPlace = 38
	placeChecksum4 crcPlace = 30
	placeSource4   crcPlace = 26
	placeLength6   crcPlace = 56
	placeSource6   crcPlace = 38
	placeDst       crcPlace = 22
	placeUDP       crcPlace = 20
	placeUDPLength crcPlace = 16
	placeUDPSum    crcPlace = 14
	placeBTH       crcPlace = 12
)

// of16 returns what two bytes at the place, the high one first, add to the state behind the head.
func (n crcPlace) of16(v uint16) uint32 { return icrc.image[n+3][v>>8] ^ icrc.image[n+2][byte(v)] }

// of8 is of16 of one byte.
func (n crcPlace) of8(v byte) uint32 { return icrc.image[n+3][v] }

// The states of the ICRC behind heads all of whose fields that vary are 0; what such a head adds to
// the FCS beside that, by the hop limit and over IPv4 by the UDP checksum, which are the same in
// all; and the FCS behind an ICRC that adds nothing.
var (
	icrcIPv4, icrcIPv6 = icrcSame(false), icrcSame(true)
	fcsIPv4            = crcPlace(32).of8(0xFF^timeToLive) ^ placeUDPSum.of16(0xFFFF)
	fcsIPv6            = crcPlace(53).of8(0xFF ^ timeToLive)
	fcsBehindICRC      = ^icrc.step4(0xFFFFFFFF, 0)
)

func icrcSame(v6 bool) uint32 {
	w := roceHead{ipv4First, ipv4Second, localIP<<32 | RoCEPort, DefaultPKey, 0}
	if v6 {
		w = roceHead{6<<60 | protocolUDP<<8, linkLocal, interfaceID, linkLocal, interfaceID, RoCEPort << 32, DefaultPKey << 32}
	}
	p := make([]byte, roceHeadSize(v6))
	w.put(p, v6)
	return icrcHead(p, len(p)-BTHSize)
}

// The places of LIDs in what stands in front of a packet without tags, and the states of the CRC
// behind such fronts whose LIDs are 0.
const (
	placeFrontDst  crcPlace = 14
	placeFrontSrc  crcPlace = 8
	placeFrontLane crcPlace = 4
)

var frontIPv4, frontIPv6 = frontSame(typeIPv4), frontSame(typeIPv6)

func frontSame(kind uint16) uint32 {
	return icrc.update(0xFFFFFFFF, binary.BigEndian.AppendUint16(appendAddresses(nil, localMAC, 0, typeVLAN<<16), kind))
}

// stateInFront returns the state of the CRC in front of a packet, which is behind the addresses of
// machines, tags and the EtherType.
func stateInFront(front []byte, v6 bool) uint32 {
	if len(front) != EthernetHeaderSize {
		return icrc.update(0xFFFFFFFF, front)
	}
	s, f := frontIPv4, (*[EthernetHeaderSize]byte)(front)
	if v6 {
		s = frontIPv6
	}
	return s ^ placeFrontDst.of16(binary.BigEndian.Uint16(f[4:])) ^ placeFrontSrc.of16(binary.BigEndian.Uint16(f[10:])) ^ placeFrontLane.of8(f[14])
}

// sums returns the ICRC and the FCS of a frame with the packet whose head is w, and completes w
// with the UDP checksum (over IPv6: RFC 8200, 8.1). Before is the state of the CRC in front of the
// packet. Between head and ICRC stand so many bytes, which are zeros if behind is nil.
//
// FCS and ICRC are one CRC, which is linear: each field of the head adds what it adds alone. And
// what both go over cancels out, payload and all: there remain what is in front of the packet and
// what the ICRC takes for ones, as if zeros were behind it, and the FCS of the ICRC.
func (w *roceHead) sums(before uint32, v6 bool, n int, behind []byte) (check, fcs uint32) {
	class := bits.ReverseBytes32(uint32(w[0] >> 32))
	var s, differ, last uint32
	var udp, bth uint64
	if v6 {
		udp, bth, last = w[5], w[6], uint32(w[7]>>32)
		s = icrcIPv6 ^ placeLength6.of16(uint16(w[0]>>16)) ^ placeSource6.of16(uint16(w[2])) ^ placeDst.of16(uint16(w[4]))
		differ = fcsIPv6 ^ icrc.fewZeros(before^onesLRH^icrcClass6&^class, IPv6Size+UDPSize+BTHSize)
	} else {
		udp, bth, last = w[2]<<32|w[3]>>32, w[3]<<32|w[4]>>32, uint32(w[4])
		s = icrcIPv4 ^ placeLength4.of16(uint16(w[0]>>32)) ^ placeSource4.of16(uint16(w[1])) ^ placeDst.of16(uint16(w[2]>>32))
		differ = fcsIPv4 ^ icrc.fewZeros(before^onesLRH^icrcClass4&^class, IPv4Size+UDPSize+BTHSize) ^
			placeChecksum4.of16(^uint16(w[1]>>32))
	}
	s ^= placeUDP.of16(uint16(udp>>48)) ^ placeUDPLength.of16(uint16(udp>>16)) ^
		placeBTH.of16(uint16(bth>>48)) ^ (placeBTH - 5).of8(byte(bth>>16)) ^ (placeBTH - 6).of16(uint16(bth)) ^
		icrc.fewZeros(bits.ReverseBytes32(last), 4)
	differ ^= (placeBTH - 4).of8(^byte(bth >> 24))
	if behind == nil {
		check = ^icrc.padding(s, n)
	} else {
		check = ^icrc.update(s, behind)
	}
	if v6 {
		const pseudo = protocolUDP + 2*(linkLocal>>48+interfaceID>>32+interfaceID>>16&0xFFFF)
		sum := pseudo + w[0]>>16&0xFFFF + w[2]&0xFFFF + w[4]&0xFFFF + udp>>32 + udp&0xFFFFFFFF +
			bth>>32 + bth&0xFFFFFFFF + uint64(last) + uint64(bits.ReverseBytes32(check))
		c := ^foldSum(sum)
		if behind != nil {
			c = ^onesSum(uint32(^c), behind)
		}
		if c == 0 {
			c = 0xFFFF // the same number, and 0 is no checksum
		}
		w[5] |= uint64(c)
		differ ^= placeUDPSum.of16(^c)
	}
	return check, icrc.padding(differ, n+ICRCSize) ^ fcsBehindICRC
}
