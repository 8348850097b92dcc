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

// parseData completes f with what is special to a Data frame with this payload, all of it
// zero if padding says so, and returns its body.
func parseData(f *Frame, h *BTH, payload []byte, padding bool) (body Body, err error) {
	switch {
	case h.BECN:
		return Body{}, refuse("BTH.BECN", LRHSize+4, ErrUnsupported)
	case !h.AckReq:
		return Body{}, refuse("BTH.AckReq", LRHSize+8, ErrUnsupported)
	case len(payload) > MaxPayload:
		return Body{}, refuse("payload", HeaderSize, ErrRange)
	case !padding:
		body, err = parseBody(payload, int(h.Pad))
	}
	f.Kind = Data
	f.Last = h.Solicited
	f.Payload = uint32(len(payload))
	return body, err
}
