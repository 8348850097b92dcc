package propose

import (
	"context"
	"errors"
	"slices"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/trace"
)

// cost measures the work of a frame: in a run over UDP in trains, flat out.
func (p *proposer) cost(ctx context.Context) error {
	s := early(p.scenario)
	f, err := fabric.Build(s)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	collector, err := metrics.New(f, s)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	driven, err := assemble.New(f, assemble.Schemes{}, trace.NewBatch(1, collector, report.NewDigest(len(f.Machines))))
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	driven.Run = uint32(time.Now().UnixNano())
	watch := &stopwatch{weigh: p.weigh, costs: make([]float64, 0, mostBatches)}
	for i := range driven.Machines {
		driven.Machines[i] = meter{driven.Machines[i], watch.sent}
	}
	l, err := carrier.Open(ctx, f, carrier.Options{Carrier: carrier.Trains, Run: driven.Run})
	if err != nil {
		return err
	}
	defer l.Close()
	defer host.HoldGC()()
	limited, cancel := context.WithTimeout(ctx, proposeWall)
	defer cancel()
	w := drive.Wall{Dilation: 1, Trunk: l.Trunk, Longest: f.Longest(), NeverSleep: true}
	watch.last = time.Now()
	t, err := w.Run(limited, driven)
	if err != nil && !(errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil) {
		return err
	}
	if watch.weight == 0 {
		return errors.New("nothing was sent in the time in which the cost of a frame is measured")
	}
	// Where the run waited, which happens if the scenario is light, a batch is longer
	// than its work; the sum of the work is longer where there was a stall.
	p.unitNs = float64(t.Wall-t.Spun) / watch.weight
	if n := len(watch.costs); n > 0 {
		slices.Sort(watch.costs)
		p.unitNs = min(p.unitNs, watch.costs[n/2])
	}
	return nil
}

// early is a copy of a scenario in which the first flow starts at once, without
// claims.
func early(s *scenario.Scenario) *scenario.Scenario {
	out := *s
	out.Expect = nil
	out.Flows = slices.Clone(s.Flows)
	out.Events = slices.Clone(s.Events)
	if len(s.Flows) == 0 {
		return &out
	}
	first := s.Flows[0].Start
	for i := range s.Flows {
		first = min(first, s.Flows[i].Start)
	}
	for i := range out.Flows {
		f := &out.Flows[i]
		f.Start -= first
		if f.Stop > 0 {
			f.Stop -= first // it is after its Start
		}
	}
	for i := range out.Events {
		out.Events[i].At = max(0, out.Events[i].At-first)
	}
	return &out
}

// stopwatch measures how long each batch of frames takes.
type stopwatch struct {
	weigh  func(t *port.Transmission) float64
	frames int
	weight float64 // of all frames so far
	begin  float64 // weight at the begin of the batch
	last   time.Time
	costs  []float64 // ns for a weight of 1, by batch
}

// batch is how many frames a stopwatch takes together, and mostBatches how many of these it records.
const (
	batch       = 256
	mostBatches = 1 << 15
)

// sent counts a frame, and ends a batch when it is its last.
func (w *stopwatch) sent(t *port.Transmission) {
	w.weight += w.weigh(t)
	if w.frames++; w.frames%batch != 0 {
		return
	}
	now := time.Now()
	if len(w.costs) < cap(w.costs) {
		w.costs = append(w.costs, float64(now.Sub(w.last))/(w.weight-w.begin))
	}
	w.last, w.begin = now, w.weight
}
