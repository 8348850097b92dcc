package emu

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/process"

	"github.com/google/go-cmp/cmp"
)

// Parts tell what they capture, one that was started by hand too: the capture is that of the
// virtual clock but for how late frames left.
func TestModelCaptureInEveryPlacement(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Load(t, meeting, runtest.Sets(t, "model.duration=100us", "wall.dilation=500", "wall.udp-port=24400")...)
	var want bytes.Buffer
	virtual, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Capture: &Capture{To: &want, Snap: 64}})
	if err != nil {
		t.Fatal(err)
	}
	_, wantPackets := packetsOf(t, want.Bytes())
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"process", Options{Settings: Settings{Placement: InProcesses}}},
		{"domain", Options{Settings: Settings{Placement: InDomains}}},
		{"domain by hand", Options{Settings: Settings{Placement: InDomains}, ByHand: []string{"S"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			o, served := c.o, make(chan error, 1)
			o.Directory, o.Verify, o.Capture = t.TempDir(), VerifyOff, &Capture{To: &got, Snap: 64}
			o.Waiting = func([]*process.File) {
				go func() {
					served <- process.Serve(context.Background(), filepath.Join(o.Directory, process.PartsDir, "S.json"), 0, "devel")
				}()
			}
			r, err := Run(context.Background(), s, o)
			if err != nil {
				t.Fatal(err)
			}
			if o.ByHand != nil {
				if err := <-served; err != nil {
					t.Error(err)
				}
			}
			_, packets := packetsOf(t, got.Bytes())
			if len(packets) == 0 || !bytes.Contains(got.Bytes(), []byte("late ")) || len(r.Unwritten) > 0 {
				t.Errorf("%d packets; %q", len(packets), r.Unwritten)
			}
			if diff := cmp.Diff(wantPackets, packets); diff != "" {
				t.Errorf("-virtual +%s\n%s", c.name, diff)
			}
		})
	}
	if len(wantPackets) < 20 || virtual.Verdict.Order.Frames == 0 {
		t.Errorf("only %d packets on the virtual clock", len(wantPackets))
	}
}
