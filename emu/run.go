package emu

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"time"

	"fabemu/emu/capture"
	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/proc"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Result is what came out of a run.
type Result struct {
	*report.Result
	Metrics  *metrics.Collector // the figures behind it
	Resolved []byte             // the scenario as it was run, in YAML
}

// Write writes the result into a directory (report.WriteDir).
func (r *Result) Write(dir string) error {
	return report.WriteDir(dir, r.Result, r.Metrics, r.Resolved)
}

// Run runs a scenario to its end. If ctx is done before, the result covers what
// was run and is marked partial, and the error is nil. An error that is the
// user's to mend is a *Mistake; with any other the run has failed.
//
// Where the event log or the capture cannot be written, it ends there, and the run goes on:
// the result says so (report.Result.Unwritten).
//
// Where a process of the run dies (*proc.Died) there is an error and a result: what
// was measured until then, marked partial.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (*Result, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if s.Schemes != nil && o.Placement != InGoroutines {
		return nil, mistakef("schemes that a scenario has beside those of fabemu go with placement %s: the processes of placement %s do not know them", InGoroutines, o.Placement)
	}
	r, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	return r.run(ctx)
}

// prepare lays a run out.
func prepare(s *scenario.Scenario, o Options) (*run, error) {
	resolved, err := s.Resolved()
	if err != nil {
		return nil, err
	}
	r := &run{scenario: s, options: o, resolved: resolved}
	for _, w := range s.Warnings {
		r.warnings = append(r.warnings, w.String())
	}
	if w := o.Schemes.warning(); w != "" {
		r.warnings = append(r.warnings, w)
	}
	if r.fabric, err = fabric.Build(s); err != nil {
		return nil, &Mistake{err}
	}
	if r.collector, err = metrics.New(r.fabric, s); err != nil {
		return nil, &Mistake{err}
	}
	return r, nil
}

// run is one run of a scenario.
type run struct {
	scenario  *scenario.Scenario
	options   Options
	resolved  []byte
	fabric    *fabric.Fabric
	collector *metrics.Collector
	warnings  []string
	tap       *capture.Capture // nil: nothing is captured
	moments   []report.Moment
	began     time.Time // model time 0 of a run on the wall clock
	runID     uint32    // tells what is of this run from others
}

func (r *run) run(ctx context.Context) (*Result, error) {
	digest := report.NewDigest(len(r.fabric.Machines))
	sinks := []trace.Sink{r.collector, digest}
	var log *report.EventLog
	if r.options.Events != nil {
		log = report.NewEventLog(r.options.Events, r.fabric)
		sinks = append(sinks, log)
	}
	if r.options.Capture != nil {
		tap, err := r.capture()
		if err != nil {
			return nil, err
		}
		defer tap.End()
		sinks, r.tap = append(sinks, tap), tap
	}
	if r.options.Sink != nil {
		sinks = append(sinks, r.options.Sink)
	}
	// On the wall clock each event is counted at once: many would keep the frames of an
	// instant waiting. So it is where frames are captured: what events say of them must be
	// known by then.
	size := 1
	if r.options.Clock == VirtualClock && r.tap == nil {
		size = batchSize
	}
	events := trace.NewBatch(size, sinks...)
	machines, err := build(r.scenario, r.fabric, r.options.Schemes, events)
	if err != nil {
		return nil, &Mistake{err}
	}
	for _, m := range machines.Machines {
		if e, ok := m.(*node.Endpoint); ok {
			e.Limits(r.collector.Limit)
		}
	}
	if r.tap != nil {
		machines.Tap = r.tap
	}
	if log != nil && r.options.Clock == WallClock && r.options.Timing == ActualTiming {
		machines.Tap = &departures{log: log, run: r, next: machines.Tap}
	}
	machines.Ties = r.options.test.ties
	begin := time.Now()
	stop := r.watch(machines, begin)
	var figures report.Figures
	if r.options.Clock == VirtualClock {
		r.runID = r.id(0)
		machines.Run = r.runID
		figures, err = r.virtual(ctx, machines)
	} else {
		r.runID = r.id(uint64(begin.UnixNano()) ^ uint64(os.Getpid())<<32)
		machines.Run = r.runID
		if r.options.Placement == InGoroutines {
			figures, err = r.wall(ctx, machines)
		} else {
			figures, err = r.conduct(ctx, machines, events)
		}
	}
	stop()
	events.Flush()
	var died *proc.Died
	partial := err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) || errors.As(err, &died)
	if err != nil && !partial {
		return nil, err
	}
	took := time.Since(begin)
	end := machines.End
	if partial {
		end = machines.Progress.Now()
	}
	r.collector.Close(end)
	var unwritten []string
	if log != nil {
		if err := log.Close(); err != nil {
			unwritten = append(unwritten, fmt.Sprintf("the event log is not whole: %v", err))
		}
	}
	if r.tap != nil {
		r.captured()
	}
	result := r.result(figures, took, digest.Sum())
	result.Deadlocks, result.EndedPs = r.deadlocks(machines.Watch)
	if err := r.verify(ctx, result); err != nil {
		return nil, err
	}
	result.Verdict.Level, result.Verdict.Reason = report.Judge(result.Verdict.Figures)
	if r.tap != nil {
		if err := r.tap.Close(verdictText(result)); err != nil {
			unwritten = append(unwritten, fmt.Sprintf("the capture is not whole: %v", err))
		}
	}
	result.Unwritten = unwritten
	out := &Result{Result: result, Metrics: r.collector, Resolved: r.resolved}
	if died != nil {
		return out, died
	}
	return out, nil
}

// departures tells the event log when frames really left.
type departures struct {
	log  *report.EventLog
	run  *run
	next drive.Tap // may be nil
}

// Sent tells of a frame that has left.
func (d *departures) Sent(path int, t *port.Transmission, now unit.Time, wall, late int64) {
	from := d.run.fabric.Wires[path/2].Ends[path%2]
	left := unit.Duration(wall).Scale(int64(unit.Nanosecond), d.run.scenario.Wall.Dilation)
	d.log.Left(from.Machine, from.Port, t.Start, unit.Time(left))
	if d.next != nil {
		d.next.Sent(path, t, now, wall, late)
	}
}

// Received passes on a frame that has come.
func (d *departures) Received(path int, a *port.Arrival, now unit.Time, wall int64) {
	if d.next != nil {
		d.next.Received(path, a, now, wall)
	}
}

// batchSize is how many events of a run on the virtual clock are counted at a time: they
// take far less than any cache.
const batchSize = 256

// id returns the number that tells the datagrams of this run from others.
func (r *run) id(salt uint64) uint32 {
	h := fnv.New64a()
	h.Write(r.resolved)
	mixed := (h.Sum64() ^ salt) * 0x9E3779B97F4A7C15
	return uint32(mixed >> 32)
}

// watch reports progress until the function that it returns is called.
func (r *run) watch(f *drive.Fabric, begin time.Time) (stop func()) {
	f.Progress = &drive.Progress{}
	if r.options.Progress == nil {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			r.options.Progress(r.status(f, time.Since(begin)))
		}
	}()
	return func() { close(quit); <-ended }
}

func (r *run) status(f *drive.Fabric, wall time.Duration) Status {
	s := Status{Now: f.Progress.Now(), End: f.End, Wall: wall, Late: f.Progress.Late()}
	if r.options.Clock == WallClock {
		s.Left = time.Duration(s.End.Sub(s.Now).Seconds()*float64(r.scenario.Wall.Dilation)*1e3) * time.Millisecond
	} else if s.Now > 0 {
		s.Left = time.Duration(float64(wall) * (float64(s.End)/float64(s.Now) - 1))
	}
	return s
}

// virtual runs the fabric on the virtual clock.
func (r *run) virtual(ctx context.Context, f *drive.Fabric) (report.Figures, error) {
	figures := report.NoFigures()
	figures.Virtual = true
	var err error
	figures.Order.Frames, err = drive.Virtual{SkipCodec: r.options.SkipCodec}.Run(ctx, f)
	return figures, err
}

// wall runs the fabric on the wall clock, over links.
func (r *run) wall(ctx context.Context, f *drive.Fabric) (report.Figures, error) {
	links, err := r.connect(ctx)
	if err != nil {
		return report.NoFigures(), err
	}
	defer r.disconnect(links)
	epoch := func() {
		r.began = time.Now()
		if r.tap != nil {
			r.tap.Began(r.began)
		}
		if r.options.test.epoch != nil {
			r.options.test.epoch()
		}
	}
	w := drive.Wall{
		Dilation: r.scenario.Wall.Dilation, Links: links.ends, Longest: r.longest(),
		Actual:  r.options.Timing == ActualTiming,
		Stamped: r.options.test.stamped, Epoch: epoch, Clock: r.options.test.clock, Loop: r.options.test.loop,
	}

	if !r.options.test.collect {
		defer holdGC()()
	}
	if r.options.Priority {
		defer raisePriority()()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := startCPUMeter()
	t, err := w.Run(ctx, f)
	foreign, used := cpu.foreign(), cpu.used()
	runtime.ReadMemStats(&after)
	if t == nil {
		return report.Figures{}, err
	}
	figures := r.figures(t)
	r.moments = momentsOf(t)
	figures.ForeignCPUs, figures.CPUSeconds = foreign, used
	figures.GCCycles = int64(after.NumGC - before.NumGC)
	return figures, err
}

// longest returns the duration of the longest data frame on each wire.
func (r *run) longest() []unit.Duration {
	b := builder{scenario: r.scenario, fabric: r.fabric}
	b.measure()
	longest := make([]unit.Duration, len(r.fabric.Wires))
	for i := range r.fabric.Wires {
		longest[i] = r.fabric.Wires[i].Link.Rate.Serialise(b.length)
	}
	return longest
}
