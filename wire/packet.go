package wire

import "encoding/binary"

// appendPacket appends a packet of InfiniBand: LRH, BTH, payload, AETH or MAD, ICRC, VCRC.
func appendPacket(b []byte, f *Frame, body Body) []byte {
	start := len(b)
	n := int(f.behindBTH())
	switch f.Kind {
	case Ack:
		n = AETHSize
	case Management:
		n = DETHSize + MADSize
	}
	b = LRH{
		VL: f.Lane, SL: f.DSCP, LNH: NextBTH, DLID: f.Dst, SLID: f.Src, Length: uint16((HeaderSize + n + ICRCSize) / 4),
	}.Append(b)
	b = appendTransport(b, f, body)
	_, immediate := f.Immediate()
	padding := f.Kind == Data && body.Type == 0 && !immediate
	b = binary.LittleEndian.AppendUint32(b, icrcOf(b[start:], padding))
	return binary.LittleEndian.AppendUint16(b, vcrcOf(b[start:], padding))
}

// bth returns the BTH of f, a packet of InfiniBand or RoCEv2. An echoed mark is in BECN.
func (f *Frame) bth() BTH {
	roce := f.Family == RoCEv2
	h := BTH{PKey: DefaultPKey, Migrated: true, FECN: f.FECN && !roce, DestQP: f.QP, PSN: f.PSN}
	switch f.Kind {
	case Data:
		if h.Opcode, h.Solicited = RCSendOnly, f.Last; f.Bits&bitImmediate != 0 {
			h.Opcode = RCSendImmediate
		}
		h.AckReq = !roce || f.Bits&bitAckReq != 0 // every packet of InfiniBand asks for its ACK
	case Ack:
		h.Opcode, h.BECN = RCAck, f.BECN
	case Management:
		h.Opcode = UDSendOnly
	default:
		h.Opcode, h.Migrated, h.BECN, h.PSN = RoCENotification, false, true, 0
	}
	if f.Bits&(bitStamped|bitSelected) != 0 {
		h.Opcode = f.ownOpcode(h.Opcode)
	}
	return h
}

// appendTransport appends BTH, immediate data and payload or AETH of a packet of InfiniBand or
// RoCEv2, up to its ICRC.
func appendTransport(b []byte, f *Frame, body Body) []byte {
	h := f.bth()
	if body.packet() {
		h.Pad = uint8(f.Family.BodyRoom(f.Payload) - len(body.Bytes))
	}
	b = h.Append(b)
	if h.Opcode == SelectedAck {
		b = appendSelected(b, f)
	}
	if f.Stamped() {
		b = appendStamp(b, f, body)
	}
	switch {
	case body.packet():
		b = binary.BigEndian.AppendUint32(b, uint32(body.Type)<<16)
		return appendZeros(append(b, body.Bytes...), int(h.Pad))
	case f.Kind == Data:
		return appendZeros(appendImmediate(b, f), int(f.Payload))
	case f.Kind == CNP:
		return appendZeros(b, CNPSize)
	case f.Kind == Management:
		return appendMAD(b, f, body)
	}
	a := AETH{Syndrome: AckNoCredit, MSN: f.MSN}
	if f.Bits&bitNAK != 0 {
		a.Syndrome = NakSequenceError
	}
	return a.Append(b)
}

// parsePacket reads a packet that begins with an LRH into f and body, which are zero. Its
// length and its VCRC are checked before anything else is believed.
func parsePacket(f *Frame, body *Body, b []byte) error {
	const minimum = HeaderSize + ICRCSize + VCRCSize
	if len(b) < LRHSize {
		return refuse("LRH", len(b), ErrTruncated)
	}
	size := int(binary.BigEndian.Uint16(b[4:])&0x7FF)*4 + VCRCSize
	switch {
	case size < minimum:
		return refuse("LRH.Length", 4, ErrRange)
	case len(b) < size:
		return refuse("packet", len(b), ErrTruncated)
	case len(b) > size:
		return refuse("packet", size, ErrTrailing)
	}
	vcrc := size - VCRCSize
	icrc := vcrc - ICRCSize
	padding := allZero(b[HeaderSize:icrc])
	if vcrcOf(b[:vcrc], padding) != binary.LittleEndian.Uint16(b[vcrc:]) {
		return refuse("VCRC", vcrc, ErrChecksum)
	}
	var h LRH
	switch err := h.parse(b); {
	case err != nil:
		return err
	case h.LVer != 0:
		return refuse("LRH.LVer", 0, ErrUnsupported)
	case h.LNH != NextBTH:
		return refuse("LRH.LNH", 1, ErrUnsupported)
	case icrcOf(b[:icrc], padding) != binary.LittleEndian.Uint32(b[icrc:]):
		return refuse("ICRC", icrc, ErrChecksum)
	}
	f.Lane, f.DSCP, f.Src, f.Dst = h.VL, h.SL, h.SLID, h.DLID
	if err := parseTransport(f, body, b[LRHSize:icrc], padding); err != nil {
		return shift(err, LRHSize)
	}
	return nil
}

// parseTransport completes f, of InfiniBand or RoCEv2, and its body with p: the bytes from its BTH
// to its ICRC. All behind the BTH is zeros if padding is true.
func parseTransport(f *Frame, body *Body, p []byte, padding bool) error {
	var h BTH
	roce, rest := f.Family == RoCEv2, p[BTHSize:]
	err := h.parse(p)
	behind := BTHSize
	if err == nil && roce && h.Opcode == SelectedAck {
		h.Opcode, behind, err = parseSelected(f, p, BTHSize)
		rest = p[min(behind, len(p)):]
		padding = false
	}
	if err == nil && roce && (h.Opcode == StampedSendOnly || h.Opcode == StampedSendImmediate || h.Opcode == StampedAck) {
		h.Opcode &^= stampedOpcodes
		f.Bits |= bitStamped
		if f.Kind = Data; h.Opcode == RCAck {
			f.Kind = Ack
		}
		rest, err = parseStamp(f, body, p, behind)
		padding = allZero(rest)
	}
	sends := h.Opcode == RCSendOnly || h.Opcode == RCSendImmediate
	switch {
	case err != nil:
		return err
	case h.Migrated == (h.Opcode == RoCENotification):
		return refuse("BTH.Migrated", 1, ErrUnsupported)
	case h.Pad != 0 && (padding || h.Opcode != RCSendOnly):
		return refuse("BTH.Pad", 1, ErrUnsupported)
	case h.TVer != 0:
		return refuse("BTH.TVer", 1, ErrUnsupported)
	case h.PKey != DefaultPKey:
		return refuse("BTH.PKey", 2, ErrUnsupported)
	case h.FECN && roce: // RoCEv2 marks by CE
		return refuse("BTH.FECN", 4, ErrUnsupported)
	case !sends && h.Opcode != RCAck && !(roce && h.Opcode == RoCENotification) && (roce || h.Opcode != UDSendOnly):
		return refuse("BTH.Opcode", 0, ErrUnsupported)
	case !sends && h.Solicited:
		return refuse("BTH.Solicited", 1, ErrUnsupported)
	case h.Opcode != RCAck && h.BECN != (h.Opcode == RoCENotification):
		return refuse("BTH.BECN", 4, ErrUnsupported)
	case h.AckReq != sends && !(roce && sends):
		return refuse("BTH.AckReq", 8, ErrUnsupported)
	}
	f.QP, f.PSN, f.FECN = h.DestQP, h.PSN, f.FECN || h.FECN
	switch h.Opcode {
	case RCSendOnly, RCSendImmediate:
		if h.Opcode == RCSendImmediate {
			if len(rest) < ImmediateSize {
				return refuse("ImmDt", BTHSize+len(rest), ErrTruncated)
			}
			f.Kind = Data
			f.SetImmediate(binary.BigEndian.Uint32(rest))
			if rest = rest[ImmediateSize:]; !allZero(rest) { // it has no body
				return refuse("payload", BTHSize+ImmediateSize, ErrPayload)
			}
			padding = true
		}
		switch {
		case len(rest) > MaxPayload || len(rest)%4 != 0:
			return refuse("payload", BTHSize, ErrRange)
		case !padding && (body.Type != 0 || !body.parse(rest, int(h.Pad))): // nothing in addition to telemetry
			return refuse("payload", BTHSize, ErrPayload)
		}
		f.Kind, f.Last, f.Payload = Data, h.Solicited, uint32(len(rest))
		if roce && h.AckReq {
			f.Bits |= bitAckReq
		}
	case RCAck:
		aeth, behind, err := ParseAETH(rest)
		switch {
		case err != nil:
			return shift(err, BTHSize)
		case len(behind) != 0:
			return refuse("AETH", BTHSize+AETHSize, ErrTrailing)
		case roce && aeth.Syndrome == NakSequenceError:
			f.Bits |= bitNAK
		case aeth.Syndrome != AckNoCredit:
			return refuse("AETH.Syndrome", BTHSize, ErrUnsupported)
		}
		f.Kind, f.BECN, f.MSN = Ack, h.BECN, aeth.MSN
	case UDSendOnly:
		return f.parseMAD(body, p, BTHSize)
	default:
		switch {
		case h.PSN != 0:
			return refuse("BTH.PSN", 9, ErrUnsupported)
		case len(rest) < CNPSize:
			return refuse("CNP", BTHSize+len(rest), ErrTruncated)
		case len(rest) > CNPSize:
			return refuse("CNP", BTHSize+CNPSize, ErrTrailing)
		case !padding:
			return refuse("CNP.Reserved", BTHSize, ErrReserved)
		}
		f.Kind = CNP
	}
	return nil
}
