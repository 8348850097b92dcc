package emu

import (
	"context"
	"runtime"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/summary"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
)

// BenchmarkVirtual runs hpl2002/fig3b (100 ms) on the virtual clock: the nodes
// alone; with all that a run counts; and that with each frame through its bytes. A
// frame-hop is a frame of any kind handed to a node.
func BenchmarkVirtual(b *testing.B) {
	for _, bench := range []struct {
		name            string
		counting, codec bool
	}{{"machines", false, false}, {"counting", true, false}, {"codec", true, true}} {
		b.Run(bench.name, func(b *testing.B) {
			s, err := Open("hpl2002/fig3b")
			if err != nil {
				b.Fatal(err)
			}
			fabric, err := fabric.Build(s)
			if err != nil {
				b.Fatal(err)
			}
			var hops int64
			var mallocs uint64
			for b.Loop() {
				b.StopTimer()
				var events *trace.Batch
				if bench.counting {
					c, err := metrics.New(fabric, s)
					if err != nil {
						b.Fatal(err)
					}
					events = trace.NewBatch(trace.MaxBatch, c)
				}
				nodes, err := assemble.New(fabric, Schemes{}, events)
				if err != nil {
					b.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				b.StartTimer()
				n, err := drive.Virtual{SkipCodec: !bench.codec}.Run(context.Background(), nodes)
				if err != nil {
					b.Fatal(err)
				}
				events.Flush()
				b.StopTimer()
				runtime.ReadMemStats(&after)
				mallocs += after.Mallocs - before.Mallocs
				hops += n
				b.StartTimer()
			}
			b.ReportMetric(float64(hops)/b.Elapsed().Seconds(), "frame-hops/s")
			b.ReportMetric(float64(mallocs)/float64(hops), "allocs/frame-hop")
			b.ReportMetric(0, "ns/op") // of a run: the rate says it
		})
	}
}

// BenchmarkCommand does what fabemu run does on the virtual clock, from the file to the
// results, in fabrics of several kinds. scripts/pgo.sh takes its profile.
func BenchmarkCommand(b *testing.B) {
	const peers = "../scripts/measure/peers/"
	for _, x := range [][2]string{
		{"hpl2002/fig2", "100ms"}, {"hpl2002/fig3b", "100ms"}, {"qcn/og-hotspot", "200ms"}, {"ethernet/leaf-spine", "5ms"},
		{peers + "dumbbell.yaml", "500ms"}, {peers + "dumbbell-ib.yaml", "300ms"}, {peers + "incast.yaml", "500ms"},
	} {
		b.Run(x[0], func(b *testing.B) {
			for b.Loop() {
				s, err := Open(x[0], scenario.Set{Path: "model.duration", Value: x[1]})
				if err != nil {
					b.Fatal(err)
				}
				r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}})
				if err == nil {
					err = r.Write(b.TempDir(), summary.Pictures)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
