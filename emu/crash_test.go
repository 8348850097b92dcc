package emu

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"fabemu/emu/base/errs"
	"fabemu/emu/emutest/runtest"
	"fabemu/wire/link"
	"fabemu/wire/trace"
)

// fuse panics at the n-th call.
type fuse struct{ n int }

func (f *fuse) burn() {
	if f.n--; f.n == 0 {
		panic("a mistake")
	}
}

func (f *fuse) Record(*trace.Event)         { f.burn() }
func (f *fuse) Write(b []byte) (int, error) { f.burn(); return len(b), nil }

// TestPanicsEndRunsAsErrorsDo: a panic of the loop, or of a goroutine in addition to it, costs what
// that does alone. What was measured is there, and what has gone wrong is named.
func TestPanicsEndRunsAsErrorsDo(t *testing.T) {
	s := runtest.Short(t, "hpl2002/fig3b", "3ms", "wall.dilation=100")
	const said = "a mistake of the program in emu.(*fuse).burn (crash_test.go:"
	for _, x := range []struct {
		name  string
		o     func(*Options)
		ended bool // the run was
	}{
		{"the loop, virtual", func(o *Options) { o.Clock, o.Sink = VirtualClock, &fuse{n: 5000} }, true},
		{"the loop, wall", func(o *Options) { o.Sink = &fuse{n: 5000} }, true},
		{"a link, wall", func(o *Options) {
			o.test.Wrap = func(l link.Link) link.Link {
				f, n := &fuse{n: 1}, 0
				return &failingLink{Link: l, n: &n, fail: func() error { f.burn(); return nil }}
			}
		}, true},
		{"the capture, virtual", func(o *Options) { o.Clock, o.Capture = VirtualClock, &Capture{To: &fuse{n: 3}} }, false},
		{"the capture, wall", func(o *Options) { o.Capture = &Capture{To: &fuse{n: 3}} }, false},
		{"the progress", func(o *Options) { f := &fuse{n: 1}; o.Progress = func(Status) { f.burn() } }, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			var log bytes.Buffer
			o := Options{Settings: Settings{Link: Pipe}, Verify: VerifyOff, Events: &log}
			x.o(&o)
			r, err := Run(t.Context(), s, o)
			if r == nil || r.FrameHops < 100 || log.Len() == 0 {
				t.Fatalf("nothing of the run is left: %+v, %v", r, err)
			}
			told := strings.Join(r.Unwritten, "\n")
			if x.ended {
				if !errors.As(err, new(*errs.Panic)) {
					t.Fatalf("error %v", err)
				}
				told = err.Error()
			} else if err != nil {
				t.Error(err)
			}
			if r.Partial != x.ended || strings.Count(told, said) != 1 {
				t.Errorf("partial %t, told:\n%s", r.Partial, told)
			}
		})
	}
}
