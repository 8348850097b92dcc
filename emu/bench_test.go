package emu

import (
	"context"
	"runtime"
	"testing"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/machines"
	"fabemu/emu/metrics"
	"fabemu/emu/record"
	"fabemu/wire/trace"
)

// BenchmarkVirtual runs hpl2002/fig3b (100 ms) on the virtual clock: the machines
// alone; with all that a run counts; and that with each frame through its bytes. A
// frame-hop is a frame of any kind handed to a machine.
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
					events = trace.NewBatch(record.Batch, c)
				}
				machines, err := machines.New(fabric, Schemes{}, events)
				if err != nil {
					b.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				b.StartTimer()
				n, err := drive.Virtual{SkipCodec: !bench.codec}.Run(context.Background(), machines)
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
