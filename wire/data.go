package wire

// appendData appends LRH, BTH, padding, ICRC and VCRC.
func appendData(b []byte, f *Frame) []byte {
	start := len(b)
	b = appendHeader(b, f, int(f.Payload), BTH{Opcode: RCSendOnly, Solicited: f.Last, AckReq: true})
	payload := len(b)
	b = b[:payload+int(f.Payload)]
	clear(b[payload:])
	return appendCRCs(b, start, true)
}

// parseData completes f with what is special to a Data frame with n bytes of
// payload, all of them zero if padding says so.
func parseData(f *Frame, h *BTH, n int, padding bool) error {
	switch {
	case h.BECN:
		return refuse("BTH.BECN", LRHSize+4, ErrUnsupported)
	case !h.AckReq:
		return refuse("BTH.AckReq", LRHSize+8, ErrUnsupported)
	case n > MaxPayload:
		return refuse("payload", HeaderSize, ErrRange)
	case !padding:
		return refuse("payload", HeaderSize, ErrPayload)
	}
	f.Kind = Data
	f.Last = h.Solicited
	f.Payload = uint32(n)
	return nil
}
