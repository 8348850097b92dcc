package emu

import (
	"context"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fmt"
	"runtime"
	"testing"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
)

// BenchmarkLoops runs a fat tree of 2000 endpoints with 500 ns of propagation on the virtual
// clock, with one loop and with two, which take turns, and reports how many times as fast two
// are: by the best run of each. The aim is 1.5.
func BenchmarkLoops(b *testing.B) {
	text, err := generate.Write("fat-tree", generate.Options{Endpoints: 2000})
	if err != nil {
		b.Fatal(err)
	}
	s, err := resolve.Load("fat-tree.yaml", text, []scenario.Set{{Path: "defaults.link.propagation", Value: "500ns"}, {Path: "model.duration", Value: "200us"}})
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
	r, err := newRecording(f, &Options{Settings: Settings{Clock: VirtualClock}})
	if err != nil {
		b.Fatal(err)
	}
	driven, _, _, err := r.nodes(loops, Schemes{})
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
