package dump

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
)

// guestFrame returns the frame of a guest that the comment of a record names, without what its
// bytes say.
func guestFrame(comment []byte) (f wire.Frame, ok bool) {
	n, _ := fmt.Sscanf(string(comment), pcapng.GuestComment, &f.QP, &f.PSN, &f.Lane, &f.Payload, &f.Src, &f.Dst)
	f.Kind, f.Family = wire.Data, wire.Ethernet
	return f, n == 6 && f.Payload <= wire.MaxMSDU && f.Lane < 8
}

// guest reads the frame of a guest, of size bytes, of which b may hold fewer.
func (d *Decoder) guest(out *Packet, f wire.Frame, b []byte, size int) {
	if _, at := etherType(b, true); at < 0 || size < at+wire.FCSSize {
		out.Err = short("EtherType", len(b))
		return
	}
	out.Size, out.have, out.Cut = size, len(b), len(b) < size
	if out.Cut && size <= wire.MaxFrameSize {
		b = append(append(d.buf[:0], b...), make([]byte, size-len(b))...)
	}
	if end := size - wire.FCSSize; !out.Cut && wire.FCS(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		out.BadSum = "FCS"
	}
	if f.Lane != 0 { // its first tag is the fabric's
		b = slices.Concat(b[:12], b[16:])
	}
	kind, at := etherType(b, false)
	f.Tagged = kind == typeCNTag
	for kind == typeCNTag || kind == typeRLTag {
		n := map[bool]int{true: wire.CNTagSize, false: wire.RLTagSize}[kind == typeCNTag]
		if len(b) < at+n {
			break
		}
		kind, at = binary.BigEndian.Uint16(b[at+n-2:]), at+n
	}
	n := int(f.Payload)
	if kind == typeVLAN {
		n += 4
	}
	body := wire.Body{Type: kind, Bytes: b[at:min(len(b), at+n)]}
	var store wire.Bodies
	payload := f.Payload
	if f.Family = wire.Guest; kind >= wire.LeastBodyType && kind != typeFrame {
		f.Family = wire.Ethernet
		store.Put(&f, body)
		store.Free(&f)
	}
	f.Payload = payload
	d.is(out, f, body)
	if roceV2(kind, body.Bytes) {
		d.guestRoCE(out, kind, body.Bytes)
	}
}

// guestRoCE reads a guest's packet of RoCEv2.
func (d *Decoder) guestRoCE(out *Packet, kind uint16, packet []byte) {
	bth := ipSize(kind) + wire.UDPSize
	end := int(binary.BigEndian.Uint16(packet[2:]))
	if kind == typeIPv6 {
		end = wire.IPv6Size + int(binary.BigEndian.Uint16(packet[4:]))
	}
	if end -= wire.ICRCSize; len(packet) < bth+wire.BTHSize || end < bth+wire.BTHSize {
		return
	}
	h, _, err := wire.ParseBTH(packet[bth:])
	if err != nil {
		return
	}
	out.Body += fmt.Sprintf(" rocev2 opcode=%#02x qp=%d psn=%d", uint8(h.Opcode), h.DestQP, h.PSN)
	if !out.Cut && end+wire.ICRCSize <= len(packet) && wire.RoCEICRC(packet[:end]) != binary.LittleEndian.Uint32(packet[end:]) {
		out.wrong("ICRC")
	}
}
