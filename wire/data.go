package wire

// appendData appends LRH, BTH, padding or a body, ICRC and VCRC.
func appendData(b []byte, f *Frame, body Body) []byte {
	start := len(b)
	if body.Type != 0 {
		pad := uint8(f.Family.BodyRoom(f.Payload) - len(body.Bytes))
		return appendCRCs(appendBody(appendHeader(b, f, int(f.Payload), pad), f, body), start, false)
	}
	b = appendHeader(b, f, int(f.Payload), 0)
	payload := len(b)
	b = b[:payload+int(f.Payload)]
	clear(b[payload:])
	return appendCRCs(b, start, true)
}

// parseData completes f with what is special to a Data packet of InfiniBand or RoCEv2, whose BTH has
// the words first and last and is followed by payload, all of it zero if padding says so, and reads its body.
func parseData(f *Frame, body *Body, first uint64, last uint32, payload []byte, padding bool) error {
	ackReq := last&(1<<bthAckReq) != 0
	switch {
	case first&(1<<bthBECN) != 0:
		return refuse("BTH.BECN", 4, ErrUnsupported)
	case !ackReq && !f.roce():
		return refuse("BTH.AckReq", 8, ErrUnsupported)
	case len(payload) > MaxPayload || len(payload)%4 != 0:
		return refuse("payload", BTHSize, ErrRange)
	case !padding && !body.parse(payload, int(first>>bthPad&3)):
		return refuse("payload", BTHSize, ErrPayload)
	}
	f.Kind, f.Last, f.Payload = Data, first&(1<<bthSolicited) != 0, uint32(len(payload))
	if ackReq && f.roce() { // every packet of InfiniBand asks for its ACK
		f.Stopped |= roceAckReq
	}
	return nil
}
