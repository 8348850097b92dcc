package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// uet returns a frame of UET.
func uet(f wire.Frame, r wire.RoCE, x wire.UETExtension) wire.Frame {
	f.Family = wire.UET
	f.SetRoCE(r)
	*f.UET() = x
	return f
}

var (
	uetData    = uet(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 1024}, wire.RoCE{DSCP: 26, ECT: true, AckReq: true}, wire.UETExtension{Offset: -3})
	uetOrdered = func() wire.Frame {
		f := uet(wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 0xFFFFFFFF, FECN: true, Last: true, Payload: 5},
			wire.RoCE{DSCP: 26, ECT: true}, wire.UETExtension{Amount: 0xABCDEF, Flags: wire.UETOrdered | wire.UETRetransmitted | wire.UETState})
		f.SetImmediate(0x01020304)
		return sprayed(f)
	}()
	uetAck = sprayed(uet(wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0xAB0012, PSN: 7, BECN: true},
		wire.RoCE{DSCP: 48}, wire.UETExtension{Flags: wire.UETState | wire.UETRetransmitted, Offset: 9, BitmapOffset: -64, Bitmap: 1<<63 | 5, OutOfOrder: 0x1234}))
	uetProbed = uet(wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0xAB0012, PSN: 7}, wire.RoCE{DSCP: 48}, wire.UETExtension{Offset: 17, Flags: wire.UETProbed})
	uetNack   = uet(wire.Frame{Kind: wire.Ack, Lane: 6, Src: 5, Dst: 3, QP: 0xAB0012, PSN: 9, BECN: true}, wire.RoCE{DSCP: 48, NAK: true}, wire.UETExtension{Code: wire.NackTrimmedLastHop})
	uetProbe  = uet(wire.Frame{Kind: wire.UETControl, Lane: 6, Src: 3, Dst: 5, QP: 0xAB0012, PSN: 9}, wire.RoCE{DSCP: 48}, wire.UETExtension{Code: wire.UETProbe, Offset: 17, Base: 5})
	uetCredit = uet(wire.Frame{Kind: wire.UETControl, Lane: 6, Src: 5, Dst: 3, QP: 0xAB0012}, wire.RoCE{DSCP: 48}, wire.UETExtension{Code: wire.UETCredit, Amount: 0xFFFFFF})
	uetAsks   = uet(wire.Frame{Kind: wire.UETControl, Lane: 6, Src: 3, Dst: 5, QP: 0xAB0012}, wire.RoCE{DSCP: 48}, wire.UETExtension{Code: wire.UETCreditRequest, Amount: 16})

	uetFrames = []wire.Frame{uetData, uetOrdered, uetAck, uetProbed, uetNack, uetProbe, uetCredit, uetAsks}
)

// sumIPv4 makes the checksum of the IPv4 header of a frame right.
func sumIPv4(b []byte) {
	h := b[wire.EthernetHeaderSize:][:wire.IPv4Size]
	h[10], h[11] = 0, 0
	sum := uint32(0)
	for i := 0; i < len(h); i += 2 {
		sum += uint32(h[i])<<8 | uint32(h[i+1])
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	h[10], h[11] = ^byte(sum>>8), ^byte(sum)
}

// randomUET makes f, which has its addresses, a packet of UET with any values.
func randomUET(r *unit.Random, f wire.Frame) wire.Frame {
	n := func(below uint64) uint64 { return r.Below(below) }
	f.QP, f.PSN, f.FECN = uint32(n(1<<24)), uint32(n(1<<32)), n(2) == 1
	x := wire.UETExtension{Offset: int16(n(1 << 16))}
	ip := wire.RoCE{DSCP: uint8(n(64)), ECT: f.FECN || n(2) == 1}
	x.Flags = uint8(n(2)) * wire.UETRetransmitted
	switch f.Kind {
	case wire.Data:
		f.Last, f.Payload, f.CPID, ip.AckReq = n(2) == 1, uint32(n(wire.MaxPayload+1)), n(2)*r.Uint64(), n(2) == 1
		x.Flags |= uint8(n(2)) * wire.UETOrdered
		if n(2) == 1 {
			x.Flags, x.Amount = x.Flags|wire.UETState, uint32(n(1<<24))
		}
		randomImmediate(r, &f)
	case wire.Ack:
		if f.BECN = n(2) == 1; n(3) == 0 {
			ip.NAK, x.Code, x.Offset = true, uint8(n(256)), 0
			break
		}
		x.Flags |= uint8(n(2)) * wire.UETProbed
		if n(2) == 1 {
			x.Flags |= wire.UETState
			x.Bitmap, x.BitmapOffset, x.OutOfOrder = r.Uint64(), int16(n(1<<16)), uint16(n(1<<16))
		}
	default:
		x.Code = wire.UETProbe + uint8(n(3))
		if x.Code == wire.UETProbe {
			x.Base = uint32(n(1 << 32))
		} else {
			x.Amount = uint32(n(1 << 24))
		}
	}
	immediate, tagged := f.Immediate()
	if f = uet(f, ip, x); tagged {
		f.SetImmediate(immediate)
	}
	if n(2) == 1 {
		f.SetSourcePort(uint16(wire.LeastSourcePort + n(1<<14)))
	}
	return f
}

func TestUETComesBack(t *testing.T) {
	r := unit.NewRandom(6, 2)
	for range 3000 {
		f := wire.Frame{Kind: [...]wire.Kind{wire.Data, wire.Ack, wire.UETControl}[r.Below(3)], Lane: uint8(r.Below(8)),
			Src: wire.LID(r.Below(1 << 16)), Dst: wire.LID(r.Below(1 << 16)), Tagged: r.Below(2) == 1}
		f = randomUET(r, f)
		b := f.Append(dirty(int(f.WireSize())))
		got, err := wire.Parse(f.Delimiter(), b)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if got != f {
			t.Fatalf("it comes back as another:\n%s", cmp.Diff(f, got))
		}
	}
}

// A packet that is cut anywhere, or that is longer, is refused, whatever its FCS.
func TestUETTruncated(t *testing.T) {
	for _, f := range uetFrames {
		b := f.Append(nil)
		size := int(b[wire.EthernetHeaderSize+2])<<8 | int(b[wire.EthernetHeaderSize+3])
		for n := wire.MinFrame - wire.FCSSize; n < len(b)-wire.FCSSize; n++ {
			cut := refit(append(bytes.Clone(b[:n]), 0, 0, 0, 0))
			if _, err := wire.Parse(wire.StartOfFrame, cut); err == nil {
				t.Errorf("%v: %d of %d bytes are accepted", f.Kind, n, len(b))
			}
		}
		for n := range size { // its IP header says so
			short := bytes.Clone(b)
			short[wire.EthernetHeaderSize+2], short[wire.EthernetHeaderSize+3] = byte(n>>8), byte(n)
			sumIPv4(short)
			if _, err := wire.Parse(wire.StartOfFrame, refit(short)); err == nil {
				t.Errorf("%v: a packet of %d bytes is accepted as one of %d", f.Kind, size, n)
			}
		}
		if _, err := wire.Parse(wire.StartOfFrame, refit(append(bytes.Clone(b), 0))); err == nil {
			t.Errorf("%v: a byte behind it is accepted", f.Kind)
		}
	}
}

// Each change of a byte is refused, or a frame has it.
func TestUETChanged(t *testing.T) {
	for _, f := range uetFrames {
		good := f.Append(nil)
		for at := wire.EthernetHeaderSize; at < len(good)-wire.FCSSize; at++ {
			for bit := range 8 {
				b := bytes.Clone(good)
				b[at] ^= 1 << bit
				if at < wire.EthernetHeaderSize+wire.IPv4Size {
					sumIPv4(b)
				}
				rewrites(t, wire.StartOfFrame, refit(b))
			}
		}
	}
}

func TestUETRefusals(t *testing.T) {
	const ip, udp = wire.EthernetHeaderSize, wire.EthernetHeaderSize + 20
	const pds = udp + 8
	for _, c := range []struct {
		name   string
		frame  wire.Frame
		at     int
		value  byte
		field  string
		reason wire.Reason
	}{
		{"IPv4 with options", uetData, ip, 0x46, "IPv4.Version", wire.ErrUnsupported},
		{"ECT(1)", uetData, ip + 1, 26<<2 | 1, "IPv4.ECN", wire.ErrUnsupported},
		{"source port", uetData, udp, 0xBF, "UDP.Source", wire.ErrUnsupported},
		{"UDP checksum", uetData, udp + 6, 1, "UET", wire.ErrUnsupported},
		{"encrypted", uetData, pds, 1 << 3, "PDS.Type", wire.ErrUnsupported},
		{"reserved type", uetData, pds, 31 << 3, "PDS.Type", wire.ErrUnsupported},
		{"SYN", uetData, pds + 1, 0x0C, "UET", wire.ErrUnsupported},
		{"no context", uetData, pds + 8, 0, "UET", wire.ErrUnsupported},
		{"of another semantic header", uetData, pds + 1, 0x88, "UET", wire.ErrUnsupported},
		{"another operation", uetData, pds + 12, 1, "UET", wire.ErrUnsupported},
		{"another length in the semantic header", uetData, pds + 15, 1, "SES.Length", wire.ErrRange},
		{"of a job", uetData, pds + 19, 1, "UET", wire.ErrUnsupported},
		{"a payload that is not zeros", uetData, pds + 12 + 32, 1, "payload", wire.ErrPayload},
		{"credit-based congestion control", uetAck, pds + 12, 0x10, "UET", wire.ErrUnsupported},
		{"a maximum range of PSNs", uetAck, pds + 13, 1, "UET", wire.ErrUnsupported},
		{"a service time", uetAck, pds + 24, 1, "UET", wire.ErrUnsupported},
		{"another control packet", uetProbe, pds, 0x5A, "PDS.Control", wire.ErrUnsupported},
		{"a probe that wants no ACK", uetProbe, pds + 1, 0x00, "UET", wire.ErrUnsupported},
		{"a NACK with a payload", uetNack, pds + 15, 1, "UET", wire.ErrUnsupported},
		{"a vendor's code", uetNack, pds + 3, 1, "UET", wire.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.frame.Append(nil)
			if b[c.at] == c.value {
				t.Fatal("that is not a mistake")
			}
			b[c.at] = c.value
			sumIPv4(b)
			var refused *wire.ParseError
			_, err := wire.Parse(wire.StartOfFrame, refit(b))
			if !errors.As(err, &refused) || refused.Field != c.field || refused.Reason != c.reason {
				t.Errorf("Parse says %v, want %s: %v", err, c.field, c.reason)
			}
		})
	}
}

// Credit has 24 bits of 256 bytes, and continues where they wrap.
func TestUETCredit(t *testing.T) {
	var f wire.Frame
	last := unit.Size(0)
	for _, n := range []unit.Size{0, 1, 256, 4150, 2 << 30, 3<<30 + 1000, 4 << 30, 4<<30 + 4150, 6 << 30, 7 << 30} {
		f.SetCredit(n)
		got, want := f.CreditSince(last), (n+255)/256*256
		if got != want {
			t.Errorf("%d bytes after %d are read as %d, want %d", n, last, got, want)
		}
		last = got
		if f.SetCredit(max(n-5000, 0)); f.CreditSince(last) > last {
			t.Errorf("less than %d is read as %d", last, f.CreditSince(last))
		}
	}
}

// A packet of UET that was cut has the bytes of the whole one up to the cut, but for the length,
// the checksum and the DSCP of IP, and comes back with the length that it had.
func TestUETTrimmed(t *testing.T) {
	r := unit.NewRandom(9, 2)
	cut := 0
	for range 3000 {
		f := randomUET(r, wire.Frame{Kind: wire.Data, Lane: 3, Src: 3, Dst: 5})
		f.CPID = 0
		g, size, dscp := f, wire.TrimLeast+unit.Size(r.Below(200)), uint8(r.Below(64))
		if !g.Trim(size, dscp) {
			if g != f {
				t.Fatalf("a packet that is not cut has changed: %+v", g)
			}
			continue
		}
		cut++
		whole, frame := f.Append(nil)[wire.EthernetHeaderSize:], g.Append(nil)
		b := frame[wire.EthernetHeaderSize : len(frame)-wire.FCSSize]
		if n := unit.Size(len(b)); n > size || n <= size-4 || n >= unit.Size(len(whole)-wire.FCSSize) {
			t.Fatalf("%+v cut to %d has %d bytes", f, size, n)
		}
		for i := range b {
			switch i {
			case 1, 2, 3, 10, 11:
			default:
				if b[i] != whole[i] {
					t.Fatalf("%+v: byte %d is %02x, was %02x", f, i, b[i], whole[i])
				}
			}
		}
		got, err := wire.Parse(wire.StartOfFrame, frame)
		if err != nil || got != g || got.Payload != f.Payload || got.Last != f.Last {
			t.Fatalf("%v:\n%s", err, cmp.Diff(g, got))
		}
		for at := wire.EthernetHeaderSize; at < len(frame)-wire.FCSSize; at++ {
			spoilt := bytes.Clone(frame)
			spoilt[at] ^= 1 << r.Below(8)
			sumIPv4(spoilt)
			rewrites(t, wire.StartOfFrame, refit(spoilt))
		}
	}
	if cut < 1000 {
		t.Fatalf("only %d packets were cut", cut)
	}
}
