package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"fabemu/wire"
)

// rewrites checks that what Parse accepts, Append writes again, and that a
// refusal is a ParseError.
func rewrites(t *testing.T, d wire.Delimiter, b []byte) {
	t.Helper()
	f, body, err := wire.ParseBody(d, b)
	if err != nil {
		if _, ok := err.(*wire.ParseError); !ok {
			t.Fatalf("refused with %T", err)
		}
		return
	}
	if f.Delimiter() != d {
		t.Fatalf("a %v was decoded from a %v", f.Kind, d)
	}
	if int(f.WireSize()) != len(b) {
		t.Fatalf("WireSize of %+v is %d, it has %d bytes", f, f.WireSize(), len(b))
	}
	if f.HasBody() || f.Kind != wire.Data && f.Kind != wire.Management && body.Type != 0 {
		t.Fatalf("%+v comes with body %+v", f, body)
	}
	if got := f.AppendBody(dirty(len(b)), body); !bytes.Equal(got, b) {
		t.Fatalf("%+v is written as\n%x, was\n%x", f, got, b)
	}
}

// FuzzPacket also tries each input with its length and its CRCs made right:
// without that, nearly all would end at the first check.
func FuzzPacket(f *testing.F) {
	for _, s := range append(samples(), data2048) {
		if s.Kind != wire.FlowControl {
			f.Add(s.Append(nil))
		}
	}
	for qp := range uint32(2) {
		b, _ := management(qp)
		f.Add(b)
	}
	for _, n := range []int{0, 1, 6, 64} {
		b, _ := bodied(wire.InfiniBand, n)
		f.Add(b)
	}
	for _, c := range foreign {
		f.Add(unhex(f, c.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rewrites(t, wire.DataPacket, b)
		b = b[:max(len(b)-2, 0)/4*4+min(len(b), 2)]
		if len(b) >= wire.HeaderSize+wire.ICRCSize+wire.VCRCSize {
			rewrites(t, wire.DataPacket, reseal(bytes.Clone(b)))
		}
	})
}

func FuzzFCP(f *testing.F) {
	for _, c := range golden {
		if c.frame.Kind == wire.FlowControl {
			f.Add(unhex(f, c.hex))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rewrites(t, wire.LinkPacket, b)
		if len(b) == wire.FCPSize {
			rewrites(t, wire.LinkPacket, binary.LittleEndian.AppendUint16(bytes.Clone(b[:4]), wire.VCRC(b[:4])))
		}
	})
}

func FuzzTrailer(f *testing.F) {
	f.Add((&wire.Trailer{Delimiter: wire.StartOfFrame, Preamble: wire.Sequenced(7)}).AppendPreamble(nil))
	f.Add(trailer.Append(nil))
	f.Add(trailer.Append(data2048.Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, frame, err := wire.ParseTrailer(b)
		if err != nil {
			if _, ok := err.(*wire.ParseError); !ok {
				t.Fatalf("refused with %T", err)
			}
			return
		}
		if got := tr.AppendPreamble(bytes.Clone(frame)); !bytes.Equal(got, b) {
			t.Fatalf("%+v is written as\n%x, was\n%x", tr, got, b)
		}
	})
}
