package wire

import "encoding/binary"

// Headers are the headers of a packet of InfiniBand or RoCE that others wrote: this
// package reads more than it writes, as far as the headers go.
type Headers struct {
	Local   bool // it has an LRH
	LRH     LRH
	Global  bool // it has a GRH
	GRH     GRH
	BTH     BTH
	AETH    AETH // if the opcode has one
	Acks    bool // it has an AETH
	Payload int  // bytes of it, without the headers that follow the BTH and the pad
	Size    int  // bytes of the packet

	Checked          bool // all bytes are there: the checksums were computed
	BadICRC, BadVCRC bool
}

// ParsePacket reads the headers of a packet that begins with an LRH and has size
// bytes, of which b may hold fewer. Where b ends early the headers in it are read,
// and the checksums are not.
func ParsePacket(b []byte, size int) (h Headers, err error) {
	var rest []byte
	if h.LRH, rest, err = ParseLRH(b); err != nil {
		return Headers{}, err
	}
	h.Local = true
	at := LRHSize
	wire := int(h.LRH.Length)*4 + VCRCSize
	switch {
	case h.LRH.LNH < NextBTH:
		return Headers{}, refuse("LRH.LNH", 1, ErrUnsupported)
	case wire < LRHSize+BTHSize+ICRCSize+VCRCSize:
		return Headers{}, refuse("LRH.Length", 4, ErrRange)
	case wire > size:
		return Headers{}, refuse("packet", size, ErrTruncated)
	case wire < size:
		return Headers{}, refuse("packet", wire, ErrTrailing)
	}
	if h.LRH.LNH == NextGRH {
		if h.GRH, rest, err = ParseGRH(rest); err != nil {
			return Headers{}, shift(err, at)
		}
		h.Global = true
		at += GRHSize
	}
	if err = h.transport(rest, at, size-VCRCSize); err != nil || len(b) < size {
		return h, err
	}
	h.Checked = true
	end := size - VCRCSize - ICRCSize
	want := ICRC
	if h.Global {
		want = GlobalICRC
	}
	h.BadICRC = want(b[:end]) != binary.LittleEndian.Uint32(b[end:])
	h.BadVCRC = VCRC(b[:size-VCRCSize]) != binary.LittleEndian.Uint16(b[size-VCRCSize:])
	return h, nil
}

// ParseRoCE reads the headers of a packet on Ethernet from its network header on: a
// GRH (RoCE, EtherType 8915), or IPv4 or IPv6 and UDP (RoCEv2). Of the size bytes b
// may hold fewer.
func ParseRoCE(b []byte, size int) (h Headers, err error) {
	at, err := networkSize(b)
	if err != nil {
		return Headers{}, err
	}
	if at == GRHSize {
		if h.GRH, _, err = ParseGRH(b); err != nil {
			return Headers{}, err
		}
		h.Global = true
	}
	if len(b) < at {
		return Headers{}, refuse("packet", len(b), ErrTruncated)
	}
	if err = h.transport(b[at:], at, size); err != nil || len(b) < size {
		return h, err
	}
	h.Checked = true
	h.BadICRC = RoCEICRC(b[:size-ICRCSize]) != binary.LittleEndian.Uint32(b[size-ICRCSize:])
	return h, nil
}

// networkSize returns the size of the headers in front of a BTH: a GRH, or an IP
// header and a UDP header.
func networkSize(b []byte) (int, error) {
	if len(b) < 20 {
		return 0, refuse("IP", len(b), ErrTruncated)
	}
	switch b[0] >> 4 {
	case 4:
		n := int(b[0]&0xF) * 4
		switch {
		case n < 20:
			return 0, refuse("IPv4.IHL", 0, ErrRange)
		case b[9] != protocolUDP:
			return 0, refuse("IPv4.Protocol", 9, ErrUnsupported)
		}
		return n + UDPSize, nil
	case 6:
		switch b[6] {
		case NextTransport:
			return GRHSize, nil
		case protocolUDP:
			return GRHSize + UDPSize, nil
		}
		return 0, refuse("IPv6.NextHeader", 6, ErrUnsupported)
	}
	return 0, refuse("IP.Version", 0, ErrUnsupported)
}

// transport reads the BTH and the header that belongs to it; it stands at byte at of a packet
// whose ICRC ends at byte end.
func (h *Headers) transport(b []byte, at, end int) (err error) {
	var rest []byte
	if h.BTH, rest, err = ParseBTH(b); err != nil {
		return shift(err, at)
	}
	at += BTHSize
	extension := h.BTH.Opcode.extension()
	if o := h.BTH.Opcode; (o == StampedSendOnly || o == StampedAck) && len(rest) > 0 {
		base := StampSize
		if o == StampedAck {
			base = AckStampSize
		}
		extension += max(int(rest[0])*4-base, 0) // telemetry, which Length of the stamp has
	}
	h.Payload = end - ICRCSize - at - extension - int(h.BTH.Pad)
	if h.Payload < 0 {
		return refuse("packet", end, ErrTruncated)
	}
	h.Size = end
	if h.Local {
		h.Size += VCRCSize
	}
	if h.BTH.Opcode.acknowledges() {
		from := max(extension-AETHSize, 0)
		if h.BTH.Opcode&0x1F == 18 {
			from -= 8
		}
		if len(rest) < from {
			return refuse("AETH", at+len(rest), ErrTruncated)
		}
		if h.AETH, _, err = ParseAETH(rest[from:]); err != nil {
			return shift(err, at+from)
		}
		h.Acks = true
	}
	return nil
}
