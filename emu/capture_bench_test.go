package emu

import (
	"context"
	"io"
	"runtime"
	"syscall"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/watch/capture"
)

// What a capture costs the loop of a wall run: its processor time for each frame
// that is handed over. The dilation is 1, so that it never waits, and the time is
// that of its thread, so that other programs do not count.
func BenchmarkCapture(b *testing.B) {
	for _, c := range []struct {
		name    string
		capture *Capture
	}{{"without", nil}, {"headers", &Capture{To: io.Discard, Snap: capture.HeaderSnap}}, {"default", &Capture{To: io.Discard, Snap: capture.DefaultSnap}}, {"everything", &Capture{To: io.Discard, Both: true}}} {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			s := runtest.Short(b, "hpl2002/fig3b", "5ms", "wall.dilation=1")
			var hops int64
			before := threadSeconds(b)
			for range b.N {
				r, err := Run(context.Background(), s, Options{Capture: c.capture, Verify: VerifyOff})
				if err != nil {
					b.Fatal(err)
				}
				hops += r.Verdict.Order.Frames
				for _, w := range r.Warnings {
					b.Log(w)
				}
			}
			b.ReportMetric((threadSeconds(b)-before)*1e9/float64(hops), "ns/hop")
		})
	}
}

// threadSeconds returns the processor time that this thread has used.
func threadSeconds(b *testing.B) float64 {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
