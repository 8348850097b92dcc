package emu

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/record"
	"fabemu/emu/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/study/generate"
)

// BenchmarkLoops runs a fat tree of 2000 endpoints with 500 ns of propagation on the virtual
// clock, with one loop and with two, which take turns, and reports how many times as fast two
// are: by the best run of each. The aim is 1.5. docs/scale.md has the figures.
func BenchmarkLoops(b *testing.B) {
	text, err := generate.Write("fat-tree", generate.Options{Endpoints: 2000})
	if err != nil {
		b.Fatal(err)
	}
	s, err := scenario.Load("fat-tree.yaml", text, []scenario.Set{{Path: "defaults.link.propagation", Value: "500ns"}, {Path: "model.duration", Value: "200us"}})
	if err != nil {
		b.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		b.Fatal(err)
	}
	best := map[int]time.Duration{}
	for b.Loop() {
		for loops := 1; loops <= 2; loops++ {
			took, hops := runShared(b, f, loops)
			if old, ok := best[loops]; !ok || took < old {
				best[loops] = took
			}
			b.ReportMetric(float64(best[loops].Nanoseconds())/float64(hops), fmt.Sprintf("ns/hop@%d", loops))
		}
	}
	b.ReportMetric(float64(best[1])/float64(best[2]), "times")
	b.ReportMetric(0, "ns/op")
}

// runShared runs a fabric on the virtual clock with so many loops.
func runShared(b *testing.B, f *fabric.Fabric, loops int) (took time.Duration, hops int64) {
	r, err := record.New(f, record.Wanted{})
	if err != nil {
		b.Fatal(err)
	}
	driven, _, _, err := r.Machines(loops, Schemes{})
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	begin := time.Now()
	hops, err = drive.Virtual{SkipCodec: true}.Run(context.Background(), driven)
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(begin), hops
}

// BenchmarkLoopsWall runs the main job at dilations 100 and 50, an incast of 64 at 100, and fig2
// at 6, on sockets with one loop and with two, which take turns: the share of data frames that
// leave late above what a loop that only waits would have had, in points, and the pace. The aims are half the share, and 1.6 times the
// pace. docs/timing.md has the figures; it wants a processor for each loop, and no other work.
func BenchmarkLoopsWall(b *testing.B) {
	for _, x := range loopRuns(b, "50ms") {
		b.Run(x.name, func(b *testing.B) {
			var above, pace, p99 [3]float64
			n := 0.
			for b.Loop() {
				for loops := 1; loops <= 2; loops++ {
					r, err := Run(context.Background(), x.s, Options{Priority: true, Verify: VerifyOff, Loops: loops})
					if err != nil {
						b.Fatal(err)
					}
					p := &r.Verdict.Pace
					above[loops] += 100 * max(0, float64(p.LateShare)-float64(p.FloorShare))
					pace[loops] += 100 * float64(p.Ratio)
					p99[loops] += float64(p.LatenessUs.P99)
				}
				n++
			}
			for loops := 1; loops <= 2; loops++ {
				b.ReportMetric(above[loops]/n, fmt.Sprintf("late-above-floor-%%@%d", loops))
				b.ReportMetric(pace[loops]/n, fmt.Sprintf("pace-%%@%d", loops))
				b.ReportMetric(p99[loops]/n, fmt.Sprintf("p99-us@%d", loops))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// loopRun is a run that is compared with one loop and with several.
type loopRun struct {
	name string
	s    *scenario.Scenario
}

// loopRuns returns the main job at dilations 100 and 50, an incast of 64 at 100, and fig2 at 6, which
// runs for so long.
func loopRuns(b *testing.B, fig2 string) []loopRun {
	b.Helper()
	text, err := generate.Write("incast", generate.Options{Endpoints: 64})
	if err != nil {
		b.Fatal(err)
	}
	return []loopRun{
		{"main-job-100", runtest.Short(b, "hpl2002/fig3b", "20ms", "wall.dilation=100")},
		{"main-job-50", runtest.Short(b, "hpl2002/fig3b", "20ms", "wall.dilation=50")},
		{"incast-64-100", runtest.Load(b, string(text), runtest.Sets(b, "model.duration=5ms", "wall.dilation=100")...)},
		{"fig2-6", runtest.Short(b, "hpl2002/fig2", fig2, "wall.dilation=6")},
	}
}
