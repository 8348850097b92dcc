//go:build !race

package wire_test

import (
	"testing"

	"fabemu/wire"
)

func TestAllocsOfAFrame(t *testing.T) {
	for _, f := range []wire.Frame{data2048, ackFrame, fcpFrame, ethernet1500, pauseFrame, pfcFrame, notified, limited, backward} {
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
