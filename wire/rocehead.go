package wire

import (
	"encoding/binary"
	"math/bits"
)

// roceHead is what stands in front of the payload of a packet of RoCEv2, network header, UDP and
// BTH, as words of eight bytes, the high byte first: five over IPv4, and over IPv6 seven and the
// high half of another. Over IPv6 its UDP checksum is 0, until it is known.
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
	bth, last := roceBTH(f, pad)
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

// is reports whether p begins with the bytes of w, but for the UDP checksum over IPv6.
func (w *roceHead) is(p []byte, v6 bool) bool {
	q := (*[40]byte)(p)
	differ := (binary.BigEndian.Uint64(q[0:]) ^ w[0]) | (binary.BigEndian.Uint64(q[8:]) ^ w[1]) |
		(binary.BigEndian.Uint64(q[16:]) ^ w[2]) | (binary.BigEndian.Uint64(q[24:]) ^ w[3]) |
		(binary.BigEndian.Uint64(q[32:]) ^ w[4])
	if v6 {
		const checksum = 0xFFFF
		q := (*[60]byte)(p)
		differ |= (binary.BigEndian.Uint64(q[40:])&^checksum ^ w[5]) | (binary.BigEndian.Uint64(q[48:]) ^ w[6]) |
			(uint64(binary.BigEndian.Uint32(q[56:]))<<32 ^ w[7])
	}
	return differ == 0
}

// The first words of a packet over IPv4, but for its class, length, checksum and source.
const (
	ipv4First  = 0x45<<56 | dontFragment
	ipv4Second = timeToLive<<56 | protocolUDP<<48 | localIP
)

// icrcIPv4 is the state of the ICRC behind these two words.
var icrcIPv4 = icrc.step16(onesLRH,
	bits.ReverseBytes64(ipv4First)|icrcClass4, bits.ReverseBytes64(ipv4Second)|icrcHop4)

// What the ICRC takes for ones, in words of a packet over IPv4 and IPv6 whose low byte comes first.
const (
	icrcClass4 = 0xFF << 8         // byte 1 of the packet: type of service
	icrcHop4   = 0xFFFF<<16 | 0xFF // bytes 8, 10 and 11: time to live, header checksum
	icrcClass6 = 0xFFFFFF0F        // bytes 0 to 3: traffic class and flow label
	icrcHop6   = 0xFF << 24        // byte 7: hop limit
)

// icrc returns the state of the ICRC behind w.
func (w *roceHead) icrc(v6 bool) uint32 {
	const checksum, mark = 0xFFFF, 0xFF
	first, second := (*[8][256]uint32)(icrc.slice[8:]), (*[8][256]uint32)(icrc.slice[:])
	if v6 {
		s := fold(first, (bits.ReverseBytes64(w[0])|icrcHop6<<32|icrcClass6)^onesLRH) ^ fold(second, bits.ReverseBytes64(w[1]))
		s = fold(first, bits.ReverseBytes64(w[2])^uint64(s)) ^ fold(second, bits.ReverseBytes64(w[3]))
		s = fold(first, bits.ReverseBytes64(w[4])^uint64(s)) ^ fold(second, bits.ReverseBytes64(w[5]|checksum))
		s = fold(second, (bits.ReverseBytes64(w[6])|mark<<32)^uint64(s))
		return icrc.step4(s, uint32(bits.ReverseBytes64(w[7])))
	}
	s := icrcIPv4 ^ icrc.slice[13][byte(w[0]>>40)] ^ icrc.slice[12][byte(w[0]>>32)] ^
		icrc.slice[1][byte(w[1]>>8)] ^ icrc.slice[0][byte(w[1])]
	s = fold(first, bits.ReverseBytes64(w[2])^uint64(s)) ^ fold(second, bits.ReverseBytes64(w[3]|checksum<<32))
	return fold(second, (bits.ReverseBytes64(w[4])|mark)^uint64(s))
}

// checksum returns the UDP checksum over IPv6 (RFC 8200, 8.1) of a packet of so many bytes; what
// follows the BTH, and is no padding, is given.
func (w *roceHead) checksum(size int, behind []byte) uint16 {
	sum := uint64(protocolUDP + size - IPv6Size)
	for _, v := range w[1:] { // the addresses are those of the pseudo header
		sum += v>>32 + v&0xFFFFFFFF
	}
	if c := ^onesSum(uint32(foldSum(sum)), behind); c != 0 {
		return c
	}
	return 0xFFFF // the same number, and 0 is no checksum
}

// roceFCS returns the FCS of a frame with a packet of RoCEv2 whose ICRC is right; before is the
// state of the CRC in front of the packet, which is all of p. FCS and ICRC are one CRC, which is
// linear: what both go over cancels out, payload and all, and there remain what is in front of
// the packet and what the ICRC takes for ones, as if zeros were behind it, and the FCS of the
// ICRC.
func roceFCS(before uint32, p []byte, v6 bool) uint32 {
	head := roceHeadSize(v6)
	s := before ^ onesLRH
	if v6 {
		s = icrc.fewZeros(s^icrcClass6&^binary.LittleEndian.Uint32(p), head) ^
			icrc.fewZeros(icrcHop6&^binary.LittleEndian.Uint32(p[4:]), head-4)
	} else {
		s = icrc.fewZeros(s^icrcClass4&^binary.LittleEndian.Uint32(p), head) ^
			icrc.fewZeros(icrcHop4&^binary.LittleEndian.Uint32(p[8:]), head-8)
	}
	bth := p[head-BTHSize:]
	udp := p[head-BTHSize-2:]
	s ^= icrc.slice[13][^udp[0]] ^ icrc.slice[12][^udp[1]] ^ icrc.slice[7][^bth[4]]
	return ^icrc.step4(^icrc.padding(s, len(p)-head-ICRCSize), 0)
}
