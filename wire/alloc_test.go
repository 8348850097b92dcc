//go:build timing

package wire_test

import (
	"testing"

	"fabemu/wire"
)

func TestAllocsOfAFrame(t *testing.T) {
	for _, f := range []wire.Frame{data2048, ackFrame, fcpFrame, ethernet1500, pauseFrame, pfcFrame, notified, limited, backward, sampled, selective, credits(false, 3, 7), {Kind: wire.CFUpdate}, roceTrimmed, roceTrimmed6} {
		buf := make([]byte, 0, int(f.WireSize())+wire.TrailerSize)
		tr := trailer
		tr.Delimiter = f.Delimiter()
		if n := testing.AllocsPerRun(100, func() { tr.Append(f.Append(buf)) }); n != 0 {
			t.Errorf("%v: writing allocates %v times", f.Kind, n)
		}
		full := tr.Append(f.Append(buf))
		if n := testing.AllocsPerRun(100, func() {
			got, frame, err := wire.ParseTrailer(full)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := wire.Parse(got.Delimiter, frame); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: reading allocates %v times", f.Kind, n)
		}
	}
}

func TestAllocsOfAppendToNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { data2048.Append(nil) }); n != 1 {
		t.Errorf("writing to nothing allocates %v times, want 1", n)
	}
}

// The way of a body over a hop: out of the sender's memory, through bytes, into the receiver's.
func TestAllocsOfABody(t *testing.T) {
	for _, family := range []wire.Family{wire.InfiniBand, wire.Ethernet} {
		var store wire.Bodies
		f := wire.Frame{Kind: wire.Data, Family: family, Src: 1, Dst: 2, QP: 7}
		body := wire.Body{Type: 0x0800, Bytes: make([]byte, 1000)}
		buf := make([]byte, 0, wire.MaxFrameSize)
		hop := func() {
			store.Put(&f, body)
			b := f.AppendBody(buf, store.Of(&f))
			store.Free(&f)
			if f.Family == wire.Guest { // which stays as it was sent
				return
			}
			got, came, err := wire.ParseBody(f.Delimiter(), b)
			if err != nil || len(came.Bytes) != len(body.Bytes) {
				t.Fatalf("%d bytes, %v", len(came.Bytes), err)
			}
			store.Put(&got, came)
			store.Free(&got)
		}
		if n := testing.AllocsPerRun(100, hop); n != 0 {
			t.Errorf("%v: a hop allocates %v times", family, n)
		}
	}
}
