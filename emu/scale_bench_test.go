package emu

import (
	"context"
	"fmt"
	"testing"

	"fabemu/emu/drive"
	"fabemu/emu/generate"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/emu/topo"
)

// BenchmarkVirtualScale runs fat trees of 20, 200 and 2000 endpoints on the virtual
// clock, with all that a run counts, and reports what a frame-hop costs: a frame of
// any kind handed to a machine. What it takes to lay the fabric out is not part of
// it. The aim is that the sizes differ by a factor of 1.5 at the most; 20 and 200 do,
// 2000 does not. Its ports do not fit into the caches near the processor, and all of
// them repeat their flow control packets at the same instants: with 2000 endpoints
// these are more than half of the frames.
func BenchmarkVirtualScale(b *testing.B) {
	for _, n := range []int{20, 200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			text, err := generate.Write("fat-tree", generate.Options{Endpoints: n})
			if err != nil {
				b.Fatal(err)
			}
			s, err := scenario.Load("fat-tree.yaml", text, nil)
			if err != nil {
				b.Fatal(err)
			}
			fabric, err := topo.Build(s)
			if err != nil {
				b.Fatal(err)
			}
			var hops int64
			for b.Loop() {
				b.StopTimer()
				c, err := metrics.New(fabric, s)
				if err != nil {
					b.Fatal(err)
				}
				machines, err := build(s, fabric, Schemes{}, report.Tee(c, report.NewDigest(len(fabric.Machines))))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				done, err := drive.Virtual{SkipCodec: true}.Run(context.Background(), machines)
				if err != nil {
					b.Fatal(err)
				}
				hops += done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(hops), "ns/frame-hop")
			b.ReportMetric(float64(hops)/float64(b.N), "frame-hops")
			b.ReportMetric(0, "ns/op") // of a run: the cost of a hop says it
		})
	}
}
