package wire

// appendAck appends LRH, BTH, AETH, ICRC and VCRC. The echoed mark rides in
// BECN.
func appendAck(b []byte, f *Frame) []byte {
	start := len(b)
	b = appendHeader(b, f, AETHSize, BTH{Opcode: RCAck, BECN: f.BECN})
	b = AETH{Syndrome: AckNoCredit, MSN: f.MSN}.Append(b)
	return appendCRCs(b, start, false)
}

// parseAck completes f with what is special to an Ack frame; body is what stands
// between BTH and ICRC.
func parseAck(f *Frame, h *BTH, body []byte) error {
	switch {
	case h.Solicited:
		return refuse("BTH.Solicited", LRHSize+1, ErrUnsupported)
	case h.AckReq:
		return refuse("BTH.AckReq", LRHSize+8, ErrUnsupported)
	}
	aeth, rest, err := ParseAETH(body)
	switch {
	case err != nil:
		return shift(err, HeaderSize)
	case len(rest) != 0:
		return refuse("AETH", HeaderSize+AETHSize, ErrTrailing)
	case aeth.Syndrome != AckNoCredit:
		return refuse("AETH.Syndrome", HeaderSize, ErrUnsupported)
	}
	f.Kind = Ack
	f.BECN = h.BECN
	f.MSN = aeth.MSN
	return nil
}
