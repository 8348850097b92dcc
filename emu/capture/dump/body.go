package dump

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"fabemu/wire"
)

// bodyWords says what the body of a frame is: its size, and of a packet of IP between whom it
// goes. gopacket's layers would say more; but they cost each start of the program 4 ms, and
// each process of a run 8 MB.
func bodyWords(body wire.Body) string {
	b, words := body.Bytes, fmt.Sprintf(" body=%d", len(body.Bytes))
	var protocol byte
	switch {
	case body.Type == typeIPv4 && len(b) >= 20 && len(b) >= int(b[0]&0xF)*4:
		words += fmt.Sprintf(" ipv4 %v->%v", netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])))
		protocol = b[9]
		if more := binary.BigEndian.Uint16(b[6:]); more&0x1FFF != 0 {
			return words + " fragment"
		}
		b = b[int(b[0]&0xF)*4:]
	case body.Type == typeIPv6 && len(b) >= 40:
		words += fmt.Sprintf(" ipv6 %v->%v", netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])))
		protocol, b = b[6], b[40:]
	default:
		return fmt.Sprintf("%s ethertype-%04x", words, body.Type)
	}
	name, known := map[byte]string{1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}[protocol]
	switch {
	case !known:
		return fmt.Sprintf("%s protocol-%d", words, protocol)
	case (protocol == 6 || protocol == 17) && len(b) >= 4:
		return fmt.Sprintf("%s %s %d->%d", words, name, binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]))
	}
	return words + " " + name
}
