package wire

// appendData appends LRH, BTH, padding or a body, ICRC and VCRC.
func appendData(b []byte, f *Frame, body Body) []byte {
	start := len(b)
	h := BTH{Opcode: RCSendOnly, Solicited: f.Last, AckReq: true}
	if body.Type != 0 {
		h.Pad = uint8(f.Family.BodyRoom(f.Payload) - len(body.Bytes))
		return appendCRCs(appendBody(appendHeader(b, f, int(f.Payload), h), f, body), start, false)
	}
	b = appendHeader(b, f, int(f.Payload), h)
	payload := len(b)
	b = b[:payload+int(f.Payload)]
	clear(b[payload:])
	return appendCRCs(b, start, true)
}

// parseData completes f with what is special to a Data packet of InfiniBand or RoCEv2, whose BTH is
// h and is followed by payload, all of it zero if padding says so, and reads its body.
func parseData(f *Frame, body *Body, h *BTH, payload []byte, padding bool) error {
	switch {
	case h.BECN:
		return refuse("BTH.BECN", 4, ErrUnsupported)
	case !h.AckReq && !f.roce():
		return refuse("BTH.AckReq", 8, ErrUnsupported)
	case len(payload) > MaxPayload || len(payload)%4 != 0:
		return refuse("payload", BTHSize, ErrRange)
	case !padding && !body.parse(payload, int(h.Pad)):
		return refuse("payload", BTHSize, ErrPayload)
	}
	f.Kind, f.Last, f.Payload = Data, h.Solicited, uint32(len(payload))
	if h.AckReq && f.roce() { // every packet of InfiniBand asks for its ACK
		f.Stopped |= roceAckReq
	}
	return nil
}
