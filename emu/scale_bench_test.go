package emu

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// BenchmarkVirtualScale runs each kind of fabric that can be generated with 20, 200 and
// 2000 endpoints on the virtual clock, with all that a run counts, and reports what a
// frame-hop costs: a frame of any kind, flow control included, handed to a node. What
// it takes to lay the fabric out is not part of it. The factor is between the dearest
// size and the cheapest; the aim is at most 1.3. docs/notes/validation.md has the figures.
//
// The sizes take turns, so that a machine that grows slower favours none, and
// of the runs of each the best one counts: whatever disturbs a run, above all who else
// uses the cache, makes it dearer. A run of 20 endpoints is over in milliseconds, and
// there are many of them.
func BenchmarkVirtualScale(b *testing.B) {
	const (
		runs  = 16                     // of each size in a turn, at least
		least = 200 * time.Millisecond // and so long
	)
	sizes := []int{20, 200, 2000}
	for _, kind := range generate.Kinds() {
		b.Run(kind.Name, func(b *testing.B) {
			fabrics := make([]generated, len(sizes))
			for i, n := range sizes {
				fabrics[i] = newGenerated(b, kind.Name, n-n%kind.Step)
			}
			for b.Loop() {
				for i := range fabrics {
					took := time.Duration(0)
					for n := 0; n < runs || took < least; n++ {
						took += fabrics[i].run(b)
					}
				}
			}
			costs := make([]float64, len(sizes))
			for i, n := range sizes {
				costs[i] = fabrics[i].best
				b.ReportMetric(costs[i], fmt.Sprintf("ns/hop@%d", n))
			}
			b.ReportMetric(slices.Max(costs)/slices.Min(costs), "factor")
			b.ReportMetric(0, "ns/op") // of a turn: the cost of a hop says it
		})
	}
}

// generated is a fabric that is run again and again.
type generated struct {
	scenario *scenario.Scenario
	fabric   *fabric.Fabric
	best     float64 // the cost of a hop in the best of its runs, in ns
}

// newGenerated lays a fabric of so many endpoints out. It runs for at least 10 ms:
// some would be over while all of their memory is touched for the first time.
func newGenerated(b *testing.B, kind string, endpoints int) generated {
	text, err := generate.Write(kind, generate.Options{Endpoints: endpoints})
	if err != nil {
		b.Fatal(err)
	}
	sets := []scenario.Set{{Path: "routing.paths", Value: "shortest"}} // all meet, so that few are active at a time
	s, err := resolve.Load(kind+".yaml", text, sets)
	if err == nil && s.Model.Duration < 10*unit.Millisecond {
		s, err = resolve.Load(kind+".yaml", text, append(sets, scenario.Set{Path: "model.duration", Value: "10ms"}))
	}
	if err != nil {
		b.Fatal(err)
	}
	fabric, err := fabric.Build(s)
	if err != nil {
		b.Fatal(err)
	}
	return generated{scenario: s, fabric: fabric, best: math.Inf(1)}
}

// run runs the fabric once, from start to end, and returns how long that took.
func (g *generated) run(b *testing.B) (took time.Duration) {
	c, err := metrics.New(g.fabric, g.scenario)
	if err != nil {
		b.Fatal(err)
	}
	events := trace.NewBatch(trace.MaxBatch, c, report.NewDigest(len(g.fabric.Nodes)))
	nodes, err := assemble.New(g.fabric, Schemes{}, events)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC() // what laying it out has left behind is not collected during the run
	begin := time.Now()
	hops, err := drive.Virtual{SkipCodec: true}.Run(context.Background(), nodes)
	if err != nil {
		b.Fatal(err)
	}
	events.Flush()
	took = time.Since(begin)
	g.best = min(g.best, float64(took.Nanoseconds())/float64(hops))
	return took
}
