package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// unhex reads hex digits; spaces are for the reader.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dirty returns an empty slice of capacity n over bytes that are not zero, so
// that a byte which Append leaves out is seen.
func dirty(n int) []byte { return bytes.Repeat([]byte{0xa5}, n)[:0] }

// reseal gives a packet the length and the CRCs that its bytes want, so that
// what is wrong with it is only what the test made wrong.
func reseal(p []byte) []byte {
	icrc, vcrc := len(p)-wire.ICRCSize-wire.VCRCSize, len(p)-wire.VCRCSize
	binary.BigEndian.PutUint16(p[4:], binary.BigEndian.Uint16(p[4:])&^0x7FF|uint16(vcrc/4))
	binary.LittleEndian.PutUint32(p[icrc:], wire.ICRC(p[:icrc]))
	binary.LittleEndian.PutUint16(p[vcrc:], wire.VCRC(p[:vcrc]))
	return p
}

// Packets that this package does not write, as a program in another language
// computed them; the first is a well-known sample with arbitrary fields.
var foreign = []struct {
	name string
	hex  string
	lrh  wire.LRH
	bth  wire.BTH
	why  wire.ParseError // why Parse refuses it
}{
	{
		name: "sample with arbitrary fields",
		hex:  "7012375C000E17D2 0A2024870087B1B3000DEC2A 01710A1C015D400238F27A050000000EBB884D85FD5CFBA4728BC0690ED40000 9625B75A 45FA",
		lrh:  wire.LRH{VL: 7, SL: 1, LNH: wire.NextBTH, DLID: 0x375C, Length: 14, SLID: 0x17D2},
		bth:  wire.BTH{Opcode: 0x0A, Pad: 2, PKey: 0x2487, DestQP: 0x87B1B3, PSN: 0x0DEC2A},
		why:  wire.ParseError{Field: "BTH.Migrated", Offset: 9, Reason: wire.ErrUnsupported},
	}, {
		name: "SEND only with content",
		hex:  "0002000500080003 0440FFFF0000001280000007 0001020304050607 EC99BF58 9E19",
		lrh:  wire.LRH{LNH: wire.NextBTH, DLID: 5, Length: 8, SLID: 3},
		bth:  wire.BTH{Opcode: wire.RCSendOnly, Migrated: true, PKey: 0xFFFF, DestQP: 0x12, AckReq: true, PSN: 7},
		why:  wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload},
	}, {
		name: "SEND only with content, marked",
		hex:  "0002000500080003 0440FFFF8000001280000007 0001020304050607 EC99BF58 6FF0",
		lrh:  wire.LRH{LNH: wire.NextBTH, DLID: 5, Length: 8, SLID: 3},
		bth:  wire.BTH{Opcode: wire.RCSendOnly, Migrated: true, PKey: 0xFFFF, FECN: true, DestQP: 0x12, AckReq: true, PSN: 7},
		why:  wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload},
	}, {
		name: "CNP",
		hex:  "0002000500060003 8040FFFF4000001200000000 8CBD2096 C881",
		lrh:  wire.LRH{LNH: wire.NextBTH, DLID: 5, Length: 6, SLID: 3},
		bth:  wire.BTH{Opcode: 0x80, Migrated: true, PKey: 0xFFFF, BECN: true, DestQP: 0x12},
		why:  wire.ParseError{Field: "BTH.Opcode", Offset: 8, Reason: wire.ErrUnsupported},
	},
}

func TestForeignPackets(t *testing.T) {
	for _, c := range foreign {
		t.Run(c.name, func(t *testing.T) {
			b := unhex(t, c.hex)
			icrc, vcrc := len(b)-6, len(b)-2
			if got, want := wire.ICRC(b[:icrc]), binary.LittleEndian.Uint32(b[icrc:]); got != want {
				t.Errorf("ICRC = %08x, want %08x", got, want)
			}
			if got, want := wire.VCRC(b[:vcrc]), binary.LittleEndian.Uint16(b[vcrc:]); got != want {
				t.Errorf("VCRC = %04x, want %04x", got, want)
			}
			lrh, rest, err := wire.ParseLRH(b)
			if err != nil {
				t.Fatal(err)
			}
			bth, rest, err := wire.ParseBTH(rest)
			if err != nil {
				t.Fatal(err)
			}
			if lrh != c.lrh {
				t.Errorf("LRH:\n%s", cmp.Diff(c.lrh, lrh))
			}
			if bth != c.bth {
				t.Errorf("BTH:\n%s", cmp.Diff(c.bth, bth))
			}
			if len(rest) != len(b)-wire.HeaderSize {
				t.Errorf("%d bytes are left behind the headers, want %d", len(rest), len(b)-wire.HeaderSize)
			}
			if got := bth.Append(lrh.Append(dirty(wire.HeaderSize))); !bytes.Equal(got, b[:wire.HeaderSize]) {
				t.Errorf("headers written again:\n%x, want\n%x", got, b[:wire.HeaderSize])
			}
			if _, err := wire.Parse(wire.DataPacket, b); !refusedFor(err, c.why) {
				t.Errorf("Parse says %v, want %v", err, &c.why)
			}
		})
	}
}

// refusedFor reports whether err is the ParseError want.
func refusedFor(err error, want wire.ParseError) bool {
	var e *wire.ParseError
	return errors.As(err, &e) && *e == want && errors.Is(err, want.Reason)
}

// Frames and their bytes, as a program in another language computed them.
var golden = []struct {
	name  string
	frame wire.Frame
	hex   string
}{
	{"FCP init VL0 FCTBS=0 FCCL=132", wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.OpInit, FCCL: 132})}, "10000084 D4BB"},
	{"FCP VL0 FCTBS=0 FCCL=132", wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 132})}, "00000084 3FDC"},
	{"FCP VL0 FCTBS=33 FCCL=132", wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 33, FCCL: 132})}, "00210084 3D3D"},
	{"FCP VL1 FCTBS=0x123 FCCL=0x456", wire.Frame{Kind: wire.FlowControl, Lane: 1, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: 0x123, FCCL: 0x456})}, "01231456 A7A8"},
	{
		"ACK with BECN", wire.Frame{Kind: wire.Ack, BECN: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, MSN: 5},
		"0002000500070003 1140FFFF4000001200000007 1F000005 FA04C5CE 18D8",
	}, {
		"data of 8 zeros", wire.Frame{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 8},
		"0002000500080003 0440FFFF0000001280000007 0000000000000000 1A2E37B5 8E63",
	}, {
		"data of 8 zeros, marked", wire.Frame{Kind: wire.Data, FECN: true, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 8},
		"0002000500080003 0440FFFF8000001280000007 0000000000000000 1A2E37B5 7F8A",
	}, {
		"data of 8 zeros behind immediate data", immediate(wire.Frame{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 8, Last: true}, 0x2A),
		"0002000500090003 05C0FFFF0000001280000007 0000002A 0000000000000000 01A0DDF4 3DC3",
	}, {
		"data of 8 zeros, SL5 on VL2", wire.Frame{Kind: wire.Data, Lane: 2, DSCP: 5, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 8},
		"2052000500080003 0440FFFF0000001280000007 0000000000000000 5A2EE049 54EB",
	}, {
		"data without payload, VL3", wire.Frame{Kind: wire.Data, Lane: 3, Src: 0x1234, Dst: 0x5678, QP: 0xABCDEF, PSN: 0xFFFFFF},
		"3002567800061234 0440FFFF00ABCDEF80FFFFFF 0289F651 3192",
	},
}

// immediate returns a data frame with immediate data.
func immediate(f wire.Frame, v uint32) wire.Frame {
	f.SetImmediate(v)
	return f
}

func TestGolden(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			want := unhex(t, c.hex)
			got := c.frame.Append(dirty(len(want)))
			if !bytes.Equal(got, want) {
				t.Errorf("Append:\n%x, want\n%x", got, want)
			}
			f, err := wire.Parse(c.frame.Delimiter(), want)
			if err != nil {
				t.Fatal(err)
			}
			if f != c.frame {
				t.Errorf("Parse:\n%s", cmp.Diff(c.frame, f))
			}
		})
	}
}

// randomFrame returns a frame of any kind with any values in its ranges.
func randomFrame(r *unit.Random) wire.Frame {
	n := func(below uint64) uint64 { return r.Below(below) }
	f := wire.Frame{Kind: wire.Kind(1 + n(3))}
	if f.Kind == wire.FlowControl {
		f.Lane, f.Credit().Op, f.Credit().FCTBS, f.Credit().FCCL = uint8(n(15)), wire.Op(n(2)), uint16(n(4096)), uint16(n(4096))
		return f
	}
	f.Lane, f.DSCP, f.FECN = uint8(n(16)), uint8(n(16)), n(2) == 1
	f.Src, f.Dst = wire.LID(n(1<<16)), wire.LID(n(1<<16))
	f.QP, f.PSN = uint32(n(1<<24)), uint32(n(1<<24))
	if f.Kind == wire.Data {
		f.Payload, f.Last = uint32(n(wire.MaxPayload/4+1))*4, n(2) == 1
		randomImmediate(r, &f)
	} else {
		f.BECN, f.MSN = n(2) == 1, uint32(n(1<<24))
	}
	return f
}

// randomImmediate gives one data frame in four immediate data, of which some are zero.
func randomImmediate(r *unit.Random, f *wire.Frame) {
	if r.Below(4) == 0 {
		f.SetImmediate(uint32(r.Below(2) * r.Below(1<<32)))
	}
}

func TestFramesComeBack(t *testing.T) {
	r := unit.NewRandom(1, 1)
	for range 20000 {
		f := randomFrame(r)
		b := f.Append(dirty(5000))
		if got, want := unit.Size(len(b)), f.WireSize(); got != want {
			t.Fatalf("%+v has %d bytes, WireSize says %d", f, got, want)
		}
		got, err := wire.Parse(f.Delimiter(), b)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if got != f {
			t.Fatalf("came back with changes:\n%s", cmp.Diff(f, got))
		}
	}
}

func TestEveryPayloadComesBack(t *testing.T) {
	for n := uint32(0); n <= wire.MaxPayload; n += 4 {
		f := wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, Payload: n}
		b := f.Append(nil)
		icrc, vcrc := len(b)-6, len(b)-2
		if got, want := binary.LittleEndian.Uint32(b[icrc:]), wire.ICRC(b[:icrc]); got != want {
			t.Fatalf("payload of %d: ICRC %08x, want %08x", n, got, want)
		}
		if got, want := binary.LittleEndian.Uint16(b[vcrc:]), wire.VCRC(b[:vcrc]); got != want {
			t.Fatalf("payload of %d: VCRC %04x, want %04x", n, got, want)
		}
		if got, err := wire.Parse(wire.DataPacket, b); err != nil || got != f {
			t.Fatalf("payload of %d came back as %+v, %v", n, got, err)
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	for _, c := range golden {
		front := []byte("in front")
		got := c.frame.Append(front)
		if want := append([]byte("in front"), c.frame.Append(nil)...); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", c.name, got, want)
		}
	}
	none := wire.Frame{}
	if got := none.Append([]byte{1}); len(got) != 1 {
		t.Errorf("no frame has the bytes %x", got[1:])
	}
}

func TestAppendPanicsOnPayloadItCannotWrite(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 2047, wire.MaxPayload + 4, 1 << 31} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f := wire.Frame{Kind: wire.Data, Payload: n}
			f.Append(nil)
		})
	}
}

// samples are one frame of each shape, small enough to change every bit of.
func samples() []wire.Frame {
	return []wire.Frame{
		{Kind: wire.Data, Lane: 2, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 64},
		{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7},
		{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 4, Last: true},
		ackFrame,
		fcpFrame,
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	for _, f := range append(samples(), data2048) {
		b := f.Append(nil)
		for n := range b {
			got, err := wire.Parse(f.Delimiter(), b[:n])
			if !errors.Is(err, wire.ErrTruncated) {
				t.Fatalf("%v cut to %d of %d bytes: %v, want %v", f.Kind, n, len(b), err, wire.ErrTruncated)
			}
			if got != (wire.Frame{}) {
				t.Fatalf("%v cut to %d bytes is refused and yet gives %+v", f.Kind, n, got)
			}
		}
	}
	full := trailer.Append(nil)
	for n := range full {
		if _, _, err := wire.ParseTrailer(full[:n]); !errors.Is(err, wire.ErrTruncated) {
			t.Fatalf("trailer cut to %d bytes: %v, want %v", n, err, wire.ErrTruncated)
		}
	}
	for n := range wire.LRHSize {
		if _, _, err := wire.ParseLRH(full[:n]); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("LRH of %d bytes: %v", n, err)
		}
	}
	for n := range wire.BTHSize {
		if _, _, err := wire.ParseBTH(full[:n]); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("BTH of %d bytes: %v", n, err)
		}
	}
	for n := range wire.AETHSize {
		if _, _, err := wire.ParseAETH(full[:n]); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("AETH of %d bytes: %v", n, err)
		}
	}
}

func TestTrailingBytesAreRefused(t *testing.T) {
	for _, f := range samples() {
		b := f.Append(nil)
		for _, more := range [][]byte{{0}, {1}, {0, 0, 0, 0}, make([]byte, 48)} {
			if _, err := wire.Parse(f.Delimiter(), append(b[:len(b):len(b)], more...)); !errors.Is(err, wire.ErrTrailing) {
				t.Errorf("%v and %d bytes: %v, want %v", f.Kind, len(more), err, wire.ErrTrailing)
			}
		}
	}
}

func TestEveryBitFlipIsRefused(t *testing.T) {
	for _, f := range samples() {
		b := f.Append(nil)
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if got, err := wire.Parse(f.Delimiter(), b); err == nil {
				t.Fatalf("%v with bit %d of byte %d changed passes as %+v", f.Kind, bit%8, bit/8, got)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestMarkChangesTheVCRCOnly(t *testing.T) {
	for _, f := range []wire.Frame{data2048, ackFrame} {
		plain := f.Append(nil)
		f.FECN = true
		marked := f.Append(nil)
		const mark = wire.LRHSize + 4
		vcrc := len(plain) - wire.VCRCSize
		if plain[mark]^marked[mark] != 0x80 {
			t.Errorf("%v: byte %d is %02x, marked %02x", f.Kind, mark, plain[mark], marked[mark])
		}
		if bytes.Equal(plain[vcrc:], marked[vcrc:]) {
			t.Errorf("%v: the VCRC did not change", f.Kind)
		}
		marked[mark] = plain[mark]
		if !bytes.Equal(plain[:vcrc], marked[:vcrc]) {
			t.Errorf("%v: more than the mark and the VCRC changed", f.Kind)
		}
	}
}

func TestLaneIsNotInTheICRC(t *testing.T) {
	f := data2048
	first := f.Append(nil)
	f.Lane = 9
	second := f.Append(nil)
	if n := len(first); !bytes.Equal(first[n-6:n-2], second[n-6:n-2]) {
		t.Errorf("ICRC %x on lane %d, %x on lane %d", first[n-6:n-2], data2048.Lane, second[n-6:n-2], f.Lane)
	}
}

// Each case spoils one thing in a good packet and makes the CRCs right again.
func TestRefusals(t *testing.T) {
	data := func(spoil func(p []byte)) []byte {
		f := wire.Frame{Kind: wire.Data, Src: 3, Dst: 5, QP: 0x12, PSN: 7, Payload: 64}
		p := f.Append(nil)
		spoil(p)
		return reseal(p)
	}
	ack := func(spoil func(p []byte)) []byte {
		p := ackFrame.Append(nil)
		spoil(p)
		return reseal(p)
	}
	fcp := func(p ...byte) []byte { return binary.LittleEndian.AppendUint16(p, wire.VCRC(p)) }
	set := func(at int, v byte) func([]byte) { return func(p []byte) { p[at] = v } }
	or := func(at int, v byte) func([]byte) { return func(p []byte) { p[at] |= v } }
	large := wire.Frame{Kind: wire.Data, Payload: wire.MaxPayload}
	for _, c := range []struct {
		name  string
		bytes []byte
		want  wire.ParseError
	}{
		{"LVer", data(or(0, 0x01)), wire.ParseError{Field: "LRH.LVer", Offset: 0, Reason: wire.ErrUnsupported}},
		{"LRH reserved, first", data(or(1, 0x08)), wire.ParseError{Field: "LRH.Reserved", Offset: 1, Reason: wire.ErrReserved}},
		{"GRH", data(or(1, 0x01)), wire.ParseError{Field: "LRH.LNH", Offset: 1, Reason: wire.ErrUnsupported}},
		{"LRH reserved, second", data(or(4, 0x80)), wire.ParseError{Field: "LRH.Reserved", Offset: 4, Reason: wire.ErrReserved}},
		{"length too small", make([]byte, 30), wire.ParseError{Field: "LRH.Length", Offset: 4, Reason: wire.ErrRange}},
		{"opcode", data(set(8, 0x06)), wire.ParseError{Field: "BTH.Opcode", Offset: 8, Reason: wire.ErrUnsupported}},
		{"ACK solicits an event", ack(or(9, 0x80)), wire.ParseError{Field: "BTH.Solicited", Offset: 9, Reason: wire.ErrUnsupported}},
		{"not migrated", data(set(9, 0x00)), wire.ParseError{Field: "BTH.Migrated", Offset: 9, Reason: wire.ErrUnsupported}},
		{"pad", data(or(9, 0x10)), wire.ParseError{Field: "BTH.Pad", Offset: 9, Reason: wire.ErrUnsupported}},
		{"TVer", data(or(9, 0x01)), wire.ParseError{Field: "BTH.TVer", Offset: 9, Reason: wire.ErrUnsupported}},
		{"partition", data(set(11, 0xFE)), wire.ParseError{Field: "BTH.PKey", Offset: 10, Reason: wire.ErrUnsupported}},
		{"BTH reserved, first", data(or(12, 0x20)), wire.ParseError{Field: "BTH.Reserved", Offset: 12, Reason: wire.ErrReserved}},
		{"BECN on data", data(or(12, 0x40)), wire.ParseError{Field: "BTH.BECN", Offset: 12, Reason: wire.ErrUnsupported}},
		{"BTH reserved, second", data(or(16, 0x01)), wire.ParseError{Field: "BTH.Reserved", Offset: 16, Reason: wire.ErrReserved}},
		{"no ACK asked for", data(set(16, 0x00)), wire.ParseError{Field: "BTH.AckReq", Offset: 16, Reason: wire.ErrUnsupported}},
		{"first payload byte", data(set(20, 1)), wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload}},
		{"last payload byte", data(set(83, 1)), wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrPayload}},
		{"payload too large", reseal(append(large.Append(nil), 0, 0, 0, 0)[:wire.HeaderSize+wire.MaxPayload+4+6]), wire.ParseError{Field: "payload", Offset: 20, Reason: wire.ErrRange}},
		{"ACK asks for an ACK", ack(set(16, 0x80)), wire.ParseError{Field: "BTH.AckReq", Offset: 16, Reason: wire.ErrUnsupported}},
		{"NAK", ack(set(20, 0x60)), wire.ParseError{Field: "AETH.Syndrome", Offset: 20, Reason: wire.ErrUnsupported}},
		{"ACK without AETH", reseal(ackFrame.Append(nil)[:26]), wire.ParseError{Field: "AETH", Offset: 20, Reason: wire.ErrTruncated}},
		{"ACK with payload", reseal(append(ackFrame.Append(nil), 0, 0, 0, 0)), wire.ParseError{Field: "AETH", Offset: 24, Reason: wire.ErrTrailing}},
		{"FCP Op", fcp(0x20, 0, 0, 0x84), wire.ParseError{Field: "FCP.Op", Offset: 0, Reason: wire.ErrUnsupported}},
		{"FCP on VL15", fcp(0, 0, 0xF0, 0x84), wire.ParseError{Field: "FCP.VL", Offset: 2, Reason: wire.ErrRange}},
		{"FCP LPCRC", []byte{0, 0, 0, 0x84, 0, 0}, wire.ParseError{Field: "FCP.LPCRC", Offset: 4, Reason: wire.ErrChecksum}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := wire.DataPacket
			if len(c.bytes) == wire.FCPSize {
				d = wire.LinkPacket
			}
			if _, err := wire.Parse(d, c.bytes); !refusedFor(err, c.want) {
				t.Errorf("got %v, want %v", err, &c.want)
			}
		})
	}
}

func TestWrongChecksums(t *testing.T) {
	for _, f := range []wire.Frame{data2048, ackFrame} {
		b := f.Append(nil)
		icrc, vcrc := len(b)-6, len(b)-2
		b[vcrc] ^= 1
		if _, err := wire.Parse(wire.DataPacket, b); !refusedFor(err, wire.ParseError{Field: "VCRC", Offset: vcrc, Reason: wire.ErrChecksum}) {
			t.Errorf("%v with a wrong VCRC: %v", f.Kind, err)
		}
		b[vcrc] ^= 1
		b[icrc] ^= 1
		binary.LittleEndian.PutUint16(b[vcrc:], wire.VCRC(b[:vcrc]))
		if _, err := wire.Parse(wire.DataPacket, b); !refusedFor(err, wire.ParseError{Field: "ICRC", Offset: icrc, Reason: wire.ErrChecksum}) {
			t.Errorf("%v with a wrong ICRC: %v", f.Kind, err)
		}
	}
	// A payload byte that a cable spoilt is a wrong checksum, not a payload.
	b := data2048.Append(nil)
	b[1000] = 1
	if _, err := wire.Parse(wire.DataPacket, b); !errors.Is(err, wire.ErrChecksum) {
		t.Errorf("a spoilt payload byte: %v, want %v", err, wire.ErrChecksum)
	}
}

func TestParseWantsADelimiter(t *testing.T) {
	for _, d := range []wire.Delimiter{0, 4, 255} {
		if _, err := wire.Parse(d, ackFrame.Append(nil)); !errors.Is(err, wire.ErrUnsupported) {
			t.Errorf("delimiter %d: %v, want %v", d, err, wire.ErrUnsupported)
		}
	}
}

func TestHeadersCutWhatDoesNotFit(t *testing.T) {
	lrh := wire.LRH{VL: 0xFF, LVer: 0xFF, SL: 0xFF, LNH: 0xFF, DLID: 0xFFFF, Length: 0xFFFF, SLID: 0xFFFF}
	if got, want := lrh.Append(nil), unhex(t, "FFF3FFFF07FFFFFF"); !bytes.Equal(got, want) {
		t.Errorf("LRH %x, want %x", got, want)
	}
	bth := wire.BTH{Pad: 0xFF, TVer: 0xFF, DestQP: 0xFFFFFFFF, PSN: 0xFFFFFFFF}
	if got, want := bth.Append(nil), unhex(t, "003F0000 00FFFFFF 00FFFFFF"); !bytes.Equal(got, want) {
		t.Errorf("BTH %x, want %x", got, want)
	}
	aeth := wire.AETH{Syndrome: 0x60, MSN: 0xFFFFFFFF}
	if got, want := aeth.Append(nil), unhex(t, "60FFFFFF"); !bytes.Equal(got, want) {
		t.Errorf("AETH %x, want %x", got, want)
	}
}

func TestReasonsHaveWords(t *testing.T) {
	seen := map[string]wire.Reason{}
	for r := wire.Reason(1); int(r) < wire.Reasons; r++ {
		if other, ok := seen[r.Error()]; ok {
			t.Errorf("reasons %d and %d are both %q", r, other, r)
		}
		seen[r.Error()] = r
	}
	if other := seen[wire.Reason(0).Error()]; other != 0 {
		t.Errorf("the zero reason is the same as %d", other)
	}
}

// Each kind has a row with its own word, and its frames have a delimiter.
func TestKindsHaveRows(t *testing.T) {
	words := map[string]wire.Kind{wire.Kind(0).String(): 0}
	for k := wire.Data; k <= wire.Management; k++ {
		f := wire.Frame{Kind: k}
		if k == wire.CNP || k == wire.Trimmed {
			f.Family = wire.RoCEv2
		}
		if k == wire.UETControl {
			f.Family = wire.UET
		}
		if other, taken := words[k.String()]; taken || k.String() == "" || f.Delimiter() == 0 || f.WireSize() == 0 {
			t.Errorf("kind %d is %q, as kind %d; delimiter %v, %d bytes", k, k, other, f.Delimiter(), f.WireSize())
		}
		words[k.String()] = k
	}
	if got := (wire.Management + 1).String(); got != "unknown" {
		t.Errorf("the kind behind the last one is %q", got)
	}
}
