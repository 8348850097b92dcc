package wire_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire"
	"fabemu/wire/unit"
)

func TestTrailerLayout(t *testing.T) {
	tr := wire.Trailer{
		Secret: wire.Secret{0x8182838485868788, 0x9192939495969798},
		Head:   0x0102030405060708, Due: 0x1112131415161718, Promise: unit.Never,
		Duration: 0x212223242526, Length: 0x3132, Seq: 0x41424344, Run: 0x51525354,
		Port: 0x6162, Delimiter: wire.LinkPacket,
	}
	want := unhex(t, "8182838485868788 9192939495969798 0102030405060708 1112131415161718 7FFFFFFFFFFFFFFF 2122232425263132 4142434451525354 6162000002 02FAB1")
	got := tr.Append(dirty(wire.TrailerSize))
	if !bytes.Equal(got, want) {
		t.Errorf("Append:\n%x, want\n%x", got, want)
	}
	back, frame, err := wire.ParseTrailer(append([]byte("a frame"), want...))
	if err != nil {
		t.Fatal(err)
	}
	if back != tr {
		t.Errorf("Parse:\n%s", cmp.Diff(tr, back))
	}
	if string(frame) != "a frame" {
		t.Errorf("in front of the trailer is %q", frame)
	}
}

func TestTrailersComeBack(t *testing.T) {
	for _, tr := range []wire.Trailer{
		{Delimiter: wire.DataPacket},
		{Secret: wire.Secret{math.MaxUint64, math.MaxUint64}, Head: math.MaxInt64, Due: math.MaxInt64, Promise: math.MaxInt64, Duration: wire.MaxTrailerDuration, Length: math.MaxUint16,
			Seq: math.MaxUint32, Run: math.MaxUint32, Port: math.MaxUint16, Delimiter: wire.LinkPacket},
		trailer,
	} {
		back, frame, err := wire.ParseTrailer(tr.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if back != tr {
			t.Errorf("came back with changes:\n%s", cmp.Diff(tr, back))
		}
		if len(frame) != 0 {
			t.Errorf("%d bytes in front of a trailer alone", len(frame))
		}
	}
}

func TestTrailerRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int
		v    byte
		want wire.ParseError
	}{
		{"head below zero", 16, 0x80, wire.ParseError{Field: "Trailer.Head", Offset: 16, Reason: wire.ErrRange}},
		{"due below zero", 24, 0xFF, wire.ParseError{Field: "Trailer.Due", Offset: 24, Reason: wire.ErrRange}},
		{"promise below zero", 32, 0x80, wire.ParseError{Field: "Trailer.Promise", Offset: 32, Reason: wire.ErrRange}},
		{"reserved", 59, 1, wire.ParseError{Field: "Trailer.Reserved", Offset: 58, Reason: wire.ErrReserved}},
		{"no delimiter", 60, 0, wire.ParseError{Field: "Trailer.Delimiter", Offset: 60, Reason: wire.ErrUnsupported}},
		{"unknown delimiter", 60, 5, wire.ParseError{Field: "Trailer.Delimiter", Offset: 60, Reason: wire.ErrUnsupported}},
		{"version", 61, 1, wire.ParseError{Field: "Trailer.Version", Offset: 61, Reason: wire.ErrUnsupported}},
		{"magic", 62, 0, wire.ParseError{Field: "Trailer.Magic", Offset: 62, Reason: wire.ErrUnsupported}},
		{"magic", 63, 0, wire.ParseError{Field: "Trailer.Magic", Offset: 62, Reason: wire.ErrUnsupported}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := trailer.Append(nil)
			b[c.at] = c.v
			if _, _, err := wire.ParseTrailer(b); !refusedFor(err, c.want) {
				t.Errorf("got %v, want %v", err, &c.want)
			}
		})
	}
}

// A datagram is a frame and its trailer; each is read without the other.
func TestDatagram(t *testing.T) {
	for _, f := range append(samples(), data2048) {
		tr := trailer
		tr.Delimiter = f.Delimiter()
		b := tr.Append(f.Append(dirty(int(f.WireSize()) + wire.TrailerSize)))
		got, frame, err := wire.ParseTrailer(b)
		if err != nil || got != tr {
			t.Fatalf("trailer %+v, %v", got, err)
		}
		back, err := wire.Parse(got.Delimiter, frame)
		if err != nil || back != f {
			t.Fatalf("frame %+v, %v", back, err)
		}
		if _, err := wire.Parse(got.Delimiter, b); !errors.Is(err, wire.ErrTrailing) {
			t.Errorf("a frame with its trailer still on: %v, want %v", err, wire.ErrTrailing)
		}
	}
}

func TestSecretsDiffer(t *testing.T) {
	secret := wire.Secret{0x8182838485868788, 0x9192939495969798}
	if !secret.Equal(secret) {
		t.Error("a secret is not itself")
	}
	for bit := range 128 {
		other := secret
		if other[bit/64] ^= 1 << (bit % 64); secret.Equal(other) || other.Equal(secret) {
			t.Errorf("bit %d does not count", bit)
		}
	}
}

// The preamble of an LLR frame: FB, a half byte of 7, 20 bits of sequence, three bytes of 55, D5.
// It is between the frame and its trailer, whose delimiter then has its highest bit set.
func TestPreamble(t *testing.T) {
	want := unhex(t, "FB7ABCDE555555D5")
	p := wire.Sequenced(0xABCDE)
	if got := p.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if n, ok := p.Sequence(); n != 0xABCDE || !ok {
		t.Errorf("%x, %v", n, ok)
	}
	if n, ok := wire.Sequenced(1<<20 + 5).Sequence(); n != 5 || !ok {
		t.Errorf("%d, %v: only the low 20 bits count", n, ok)
	}
	if _, ok := wire.Preamble(0).Sequence(); ok {
		t.Error("the usual preamble has a sequence")
	}
	tr := wire.Trailer{Seq: 7, Delimiter: wire.StartOfFrame, Preamble: p}
	b := tr.AppendPreamble([]byte("a frame"))
	if len(b) != 7+wire.PreambleSize+wire.TrailerSize || b[len(b)-4] != 0x83 {
		t.Errorf("%d bytes, delimiter %#x", len(b), b[len(b)-4])
	}
	back, frame, err := wire.ParseTrailer(b)
	if err != nil || back != tr || string(frame) != "a frame" {
		t.Errorf("%+v, %q, %v", back, frame, err)
	}
	bytesOf := func(at int, v byte) []byte { c := bytes.Clone(b); c[at] = v; return c }
	for name, bad := range map[string][]byte{
		"a start of FA": bytesOf(7, 0xFA), "a half byte of 6": bytesOf(8, 0x6A), "no 55": bytesOf(12, 0x54), "no D5": bytesOf(14, 0xD4),
		"no preamble": b[len(b)-wire.TrailerSize:], "a part of a preamble": b[len(b)-wire.TrailerSize-wire.PreambleSize+1:],
	} {
		if _, _, err := wire.ParseTrailer(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
