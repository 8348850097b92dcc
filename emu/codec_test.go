package emu

import (
	"bytes"
	"context"
	"testing"

	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// after ends a run when it has heard of this many events. They come in the order of time, which
// counters rely on (trace.Bulk).
type after struct {
	left int
	end  context.CancelFunc
	last unit.Time
	back int // so many came after a later one
}

func (a *after) Record(e *trace.Event) {
	if e.At < a.last {
		a.back++
	}
	a.last = e.At
	if a.left--; a.left == 0 {
		a.end()
	}
}

// Frames that go through their bytes give the log of frames that are handed over as values,
// in every scenario that comes with the program: a node is told nothing that is not in
// the bytes.
func TestModelValuesAndBytesGiveTheSameLog(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const events = 40_000
	for _, e := range builtin.List() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if s.HasShort {
				if s, err = OpenShort(e.Name); err != nil {
					t.Fatal(err)
				}
			}
			if _, real := s.Guests(); real > 0 {
				return // real hosts have no virtual clock
			}
			var digests [2]string
			for i := range digests {
				ctx, end := context.WithCancel(t.Context())
				sink := &after{left: events, end: end}
				r, err := Run(ctx, s, Options{Settings: Settings{Clock: VirtualClock, Codec: i == 1}, Digest: true, Sink: sink, NewStack: netstack.New})
				end()
				if err != nil {
					t.Fatal(err)
				}
				if sink.back > 0 {
					t.Errorf("%d events came after a later one", sink.back)
				}
				if r.Codec != (i == 1) {
					t.Errorf("run %d: the result says codec %v", i, r.Codec)
				}
				digests[i] = r.Digest
			}
			if digests[0] == "" || digests[0] != digests[1] {
				t.Errorf("values have the digest %q, bytes %q", digests[0], digests[1])
			}
		})
	}
}

// A capture of a run whose frames are handed over as values has the bytes of one whose frames go
// through theirs.
func TestCaptureOfValuesIsThatOfBytes(t *testing.T) {
	for _, name := range []string{"hpl2002/fig3b", "roce/ecn", "cbfc/rate", "tcp/ecn"} {
		var files [2]bytes.Buffer
		for i := range files {
			s, err := Open(name, scenario.Set{Path: "model.duration", Value: "3ms"})
			if err == nil {
				_, err = Run(t.Context(), s, Options{Settings: Settings{Clock: VirtualClock, Codec: i == 1}, Capture: &Capture{To: &files[i], Both: true}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if files[0].Len() < 10_000 || !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
			t.Errorf("%s: captures of %d and %d bytes differ, or are empty", name, files[0].Len(), files[1].Len())
		}
	}
}
