package propose

import (
	"context"
	"errors"
	"slices"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/links"
	"fabemu/emu/machines"
	"fabemu/emu/metrics"
	"fabemu/emu/mistake"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// cost finds out what a frame costs: a run over UDP, flat out.
func (p *proposer) cost(ctx context.Context) error {
	s := early(p.scenario)
	f, err := fabric.Build(s)
	if err != nil {
		return &mistake.Error{Err: err}
	}
	collector, err := metrics.New(f, s)
	if err != nil {
		return &mistake.Error{Err: err}
	}
	driven, err := machines.New(f, machines.Schemes{}, trace.NewBatch(1, collector, report.NewDigest(len(f.Machines))))
	if err != nil {
		return &mistake.Error{Err: err}
	}
	driven.Run = uint32(time.Now().UnixNano())
	watch := newStopwatch(p.weigh)
	for i := range driven.Machines {
		driven.Machines[i] = timed{driven.Machines[i], watch}
	}
	l, err := links.Open(ctx, f, links.Options{Carrier: links.UDP, Run: driven.Run})
	if err != nil {
		return err
	}
	defer l.Close()
	defer host.HoldGC()()
	limited, cancel := context.WithTimeout(ctx, proposeWall)
	defer cancel()
	w := drive.Wall{Dilation: 1, Links: l.Ends, Longest: f.Longest(), NeverSleep: true}
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
	p.front = 1
	if n := len(watch.costs); n > 0 {
		slices.Sort(watch.costs)
		p.unitNs = min(p.unitNs, watch.costs[n/2])
	}
	if n := len(watch.fronts); n > 0 {
		slices.Sort(watch.fronts)
		p.front = min(1, watch.fronts[n/2]/p.unitNs)
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

// stopwatch measures, in every second batch of frames, how much of the time goes by
// in machines and in sending: what cannot be put off. The other batches say how
// long one takes without being measured.
type stopwatch struct {
	weigh   func(t *port.Transmission) float64
	frames  int
	weight  float64 // of all frames so far
	begin   float64 // weight at the begin of the batch
	last    time.Time
	front   time.Duration
	sending time.Time // since when a frame is being sent; zero: none is
	costs   []float64 // ns for a weight of 1, of the batches that were not measured
	fronts  []float64 // ns for a weight of 1, of those that were
}

// batch is how many frames a stopwatch takes together.
const batch = 256

func newStopwatch(weigh func(t *port.Transmission) float64) *stopwatch {
	const most = 1 << 15 // batches
	return &stopwatch{weigh: weigh, last: time.Now(), costs: make([]float64, 0, most), fronts: make([]float64, 0, most)}
}

// timed is a machine on a stopwatch.
type timed struct {
	drive.Machine
	w *stopwatch
}

func (m timed) Receive(now unit.Time, p port.ID, a *port.Arrival) {
	defer m.w.run()()
	m.Machine.Receive(now, p, a)
}

func (m timed) Advance(now unit.Time) {
	defer m.w.run()()
	m.Machine.Advance(now)
}

// Poll is called again as soon as the frame that it returned is sent.
func (m timed) Poll() (*port.Transmission, bool) {
	w := m.w
	if !w.sending.IsZero() {
		w.front += time.Since(w.sending)
		w.sending = time.Time{}
	}
	t, ok := m.Machine.Poll()
	if ok {
		w.sent(t)
		if w.measures() {
			w.sending = time.Now()
		}
	}
	return t, ok
}

// measures says whether this batch is one of those that are measured.
func (w *stopwatch) measures() bool { return w.frames/batch%2 == 1 }

// run starts the time of a call; the function that it returns ends it.
func (w *stopwatch) run() func() {
	if !w.measures() {
		return func() {}
	}
	began := time.Now()
	return func() { w.front += time.Since(began) }
}

// sent counts a frame, and ends a batch when it is its last.
func (w *stopwatch) sent(t *port.Transmission) {
	measured := w.measures()
	w.weight += w.weigh(t)
	w.frames++
	if w.frames%batch != 0 {
		return
	}
	now, weight := time.Now(), w.weight-w.begin
	switch {
	case len(w.costs) == cap(w.costs):
	case measured:
		w.fronts = append(w.fronts, float64(w.front)/weight)
	default:
		w.costs = append(w.costs, float64(now.Sub(w.last))/weight)
	}
	w.last, w.begin, w.front = now, w.weight, 0
}
