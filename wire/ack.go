package wire

// appendAck appends LRH, BTH, AETH, ICRC and VCRC. The echoed mark rides in
// BECN.
func appendAck(b []byte, f *Frame) []byte {
	start := len(b)
	b = appendHeader(b, f, AETHSize, 0)
	b = AETH{Syndrome: AckNoCredit, MSN: f.MSN}.Append(b)
	return appendCRCs(b, start, false)
}

// parseAck completes f with what is special to an Ack packet of InfiniBand or RoCEv2, of the latter
// also a NAK, whose BTH has the words first and last and is followed by rest.
func parseAck(f *Frame, first uint64, last uint32, rest []byte) error {
	switch {
	case first&(1<<bthSolicited) != 0:
		return refuse("BTH.Solicited", 1, ErrUnsupported)
	case last&(1<<bthAckReq) != 0:
		return refuse("BTH.AckReq", 8, ErrUnsupported)
	}
	aeth, rest, err := ParseAETH(rest)
	switch {
	case err != nil:
		return shift(err, BTHSize)
	case len(rest) != 0:
		return refuse("AETH", BTHSize+AETHSize, ErrTrailing)
	case aeth.Syndrome == AckNoCredit:
	case aeth.Syndrome == NakSequenceError && f.roce():
		f.Stopped |= roceNAK
	default:
		return refuse("AETH.Syndrome", BTHSize, ErrUnsupported)
	}
	f.Kind, f.BECN, f.MSN = Ack, first&(1<<bthBECN) != 0, aeth.MSN
	return nil
}
