package dump

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"fabemu/wire"
)

// bodyWords describes the body of a frame: its size; of an IP packet its addresses, and the first
// fields of its transport. The tests compare the words with the layers of gopacket, which offer
// more. But the tables that gopacket fills as a program starts cost each start 6 ms of processor
// time, of the 8 to 13 ms of a short call.
func bodyWords(body wire.Body) string {
	if words := body.Words(); words != "" {
		return words
	}
	b, words := body.Bytes, fmt.Sprintf(" body=%d", len(body.Bytes))
	var protocol byte
	switch {
	case body.Type == typeIPv4 && len(b) >= 20 && b[0]>>4 == 4 && b[0]&0xF >= 5 && len(b) >= int(b[0]&0xF)*4:
		words += fmt.Sprintf(" ipv4 %v->%v", netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])))
		protocol = b[9]
		if more := binary.BigEndian.Uint16(b[6:]); more&0x1FFF != 0 {
			return words + " fragment"
		}
		header, total := int(b[0]&0xF)*4, int(binary.BigEndian.Uint16(b[2:]))
		b = b[header:min(len(b), max(header, total))]
	case body.Type == typeIPv6 && len(b) >= 40 && b[0]>>4 == 6:
		words += fmt.Sprintf(" ipv6 %v->%v", netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])))
		protocol, b = b[6], b[40:min(len(b), 40+int(binary.BigEndian.Uint16(b[4:])))]
	default:
		return fmt.Sprintf("%s ethertype-%04x", words, body.Type)
	}
	name, known := map[byte]string{1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6"}[protocol]
	switch {
	case !known:
		return fmt.Sprintf("%s protocol-%d", words, protocol)
	case protocol == 6 && len(b) >= 20 && b[12]>>4 >= 5 && len(b) >= int(b[12]>>4)*4:
		words += fmt.Sprintf(" tcp %d->%d flags=", binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]))
		for i, letter := range "FSRPAUEC" {
			if b[13]>>i&1 == 1 {
				words += string(letter)
			}
		}
		return fmt.Sprintf("%s seq=%d ack=%d win=%d len=%d",
			words, binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint16(b[14:]),
			len(b)-int(b[12]>>4)*4)
	case (protocol == 6 || protocol == 17) && len(b) >= 4:
		return fmt.Sprintf("%s %s %d->%d", words, name, binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]))
	case protocol == 1 && len(b) >= 8 && (b[0] == 0 || b[0] == 8):
		return fmt.Sprintf("%s icmp echo-%s id=%d seq=%d",
			words, map[byte]string{0: "reply", 8: "request"}[b[0]], binary.BigEndian.Uint16(b[4:]),
			binary.BigEndian.Uint16(b[6:]))
	case (protocol == 1 || protocol == 58) && len(b) >= 2:
		return fmt.Sprintf("%s %s type-%d code-%d", words, name, b[0], b[1])
	}
	return words + " " + name
}
