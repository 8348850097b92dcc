package pcapng_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/watch/capture/pcapng"
)

// Of a capture that is cut there are the packets of the time, all interfaces and names, and no
// statistics; wherever the capture ends, what was there before is there.
func TestCut(t *testing.T) {
	whole := sample()
	for _, tc := range []struct {
		from, until int64
		want        []pcapng.Packet
	}{{0, 1 << 62, packets}, {1, 1, packets[:1]}, {2, 6e9, packets[1:2]}, {5_000_000_001, 1 << 40, packets[1:]}, {2, 3, nil}} {
		var out bytes.Buffer
		if err := pcapng.Cut(&out, bytes.NewReader(whole), tc.from, tc.until); err != nil {
			t.Fatal(err)
		}
		r, got, err := all(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%d to %d (-want +got):\n%s", tc.from, tc.until, diff)
		}
		if len(r.Interfaces) != len(ports) || len(r.Names) != len(names) || len(r.Statistics) != 0 {
			t.Errorf("%d to %d: %d interfaces, %d names, %d statistics", tc.from, tc.until, len(r.Interfaces), len(r.Names), len(r.Statistics))
		}
	}
	for n := 4; n < len(whole); n++ {
		var out bytes.Buffer
		if err := pcapng.Cut(&out, bytes.NewReader(whole[:n]), 0, 1<<62); err != nil || !bytes.HasPrefix(whole, out.Bytes()) {
			t.Fatalf("of %d bytes: %d are copied, %v", n, out.Len(), err)
		}
	}
	if err := pcapng.Cut(&bytes.Buffer{}, bytes.NewReader([]byte("no capture at all")), 0, 1); err == nil {
		t.Error("what is not a capture is cut")
	}
}
