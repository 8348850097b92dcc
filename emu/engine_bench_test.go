package emu

import (
	"context"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/process"
	"fabemu/wire/link"
)

// BenchmarkEngineCeiling sends and receives datagrams of the sizes of the default scenario
// in a tight loop, one in three with a data packet: what the kernel takes, and no
// loop can go below.
func BenchmarkEngineCeiling(b *testing.B) {
	a, c, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	defer c.Close()
	large, small, in := make([]byte, 2138), make([]byte, 94), make([]byte, 4096)
	n := 0
	for b.Loop() {
		out := small
		if n++; n%3 == 0 {
			out = large
		}
		if err := a.Send(out); err != nil {
			b.Fatal(err)
		}
		for {
			got, err := c.Recv(in)
			if err != nil {
				b.Fatal(err)
			}
			if got > 0 {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/datagram")
}

// BenchmarkEngineFlatOut runs the default scenario over UDP at a dilation that no
// machine keeps: what a datagram costs, with all that belongs to it.
func BenchmarkEngineFlatOut(b *testing.B) {
	s := runtest.Short(b, "hpl2002/fig3b", "20ms", "wall.dilation=1")
	var datagrams int64
	for b.Loop() {
		r, err := Run(context.Background(), s, Options{Verify: VerifyOff})
		if err != nil {
			b.Fatal(err)
		}
		datagrams += r.Verdict.Order.Frames
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(datagrams), "ns/datagram")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEngineChoices runs the default scenario for half a second of wall time at
// dilation 100, once for in each direction in which the loop could work: what frames leave
// late, and what a loop that only waits would have had. Best read from many
// rounds (-count), in which the ways take turns.
func BenchmarkEngineChoices(b *testing.B) {
	s := runtest.Short(b, "hpl2002/fig3b", "5ms", "wall.dilation=100")
	for _, choice := range []struct {
		name    string
		options Options
		before  func() (after func())
	}{
		{"default", Options{}, nil},
		{"locked-pages", Options{}, lockPages},
		{"collector-on", Options{test: process.Hooks{Collect: true}}, nil},
		{"collector-on-storm", Options{test: process.Hooks{Collect: true}}, storm},
		{"collector-off-storm", Options{}, storm},
		{"pipe", Options{Settings: Settings{Link: Pipe}}, nil},
	} {
		b.Run(choice.name, func(b *testing.B) {
			if choice.before != nil {
				defer choice.before()()
			}
			choice.options.Verify = VerifyOff
			var p50, p98, p99, late, floor, n float64
			for b.Loop() {
				r, err := Run(context.Background(), s, choice.options)
				if err != nil {
					b.Fatal(err)
				}
				l := r.Verdict.Pace.LatenessUs
				p50, p98, p99 = p50+float64(l.P50), p98+float64(l.P98), p99+float64(l.P99)
				late, floor, n = late+float64(r.Verdict.Pace.LateShare), floor+float64(r.Verdict.Pace.FloorShare), n+1
			}
			b.ReportMetric(p50/n, "p50-us")
			b.ReportMetric(p98/n, "p98-us")
			b.ReportMetric(p99/n, "p99-us")
			b.ReportMetric(100*late/n, "late-%")
			b.ReportMetric(100*floor/n, "floor-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// lockPages keeps the memory of the process from being paged out.
func lockPages() (after func()) {
	if syscall.Mlockall(syscall.MCL_CURRENT|syscall.MCL_FUTURE) != nil {
		return func() {}
	}
	return func() { syscall.Munlockall() }
}

// storm allocates 200 MB a second in addition to the run.
func storm() (after func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var keep [64][]byte
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				for range 4 {
					keep[i%len(keep)] = make([]byte, 50_000)
				}
			}
		}
	}()
	return func() { close(stop); <-ended; debug.FreeOSMemory() }
}
