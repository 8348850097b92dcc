package emu

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"runtime"
	"time"

	"fabemu/emu/capture"
	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/links"
	"fabemu/emu/machines"
	"fabemu/emu/metrics"
	"fabemu/emu/mistake"
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
		return nil, mistake.Errorf("schemes that a scenario has beside those of fabemu go with placement %s: the processes of placement %s do not know them", InGoroutines, o.Placement)
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
	if w := o.Schemes.Warning(); w != "" {
		r.warnings = append(r.warnings, w)
	}
	if r.fabric, err = fabric.Build(s); err != nil {
		return nil, &Mistake{Err: err}
	}
	if r.collector, err = metrics.New(r.fabric, s); err != nil {
		return nil, &Mistake{Err: err}
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
		tap, err := capture.Begin(r.fabric, r.options.Capture, r.options.Clock == WallClock, r.comment())
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
	f, err := machines.New(r.fabric, r.options.Schemes, events)
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	for _, m := range f.Machines {
		if e, ok := m.(*node.Endpoint); ok {
			e.Limits(r.collector.Limit)
		}
	}
	if r.tap != nil {
		f.Tap = r.tap
	}
	if log != nil && r.options.Clock == WallClock && r.options.Timing == ActualTiming {
		f.Tap = &departures{log: log, run: r, next: f.Tap}
	}
	f.Ties = r.options.test.ties
	begin := time.Now()
	stop := r.watch(f, begin)
	var figures report.Figures
	if r.options.Clock == VirtualClock {
		r.runID = r.id(0)
		f.Run = r.runID
		figures, err = r.virtual(ctx, f)
	} else {
		r.runID = r.id(uint64(begin.UnixNano()) ^ uint64(os.Getpid())<<32)
		f.Run = r.runID
		if r.options.Placement == InGoroutines {
			figures, err = r.wall(ctx, f)
		} else {
			figures, err = r.conduct(ctx, f, events)
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
	end := f.End
	if partial {
		end = f.Progress.Now()
	}
	r.collector.Close(end)
	var unwritten []string
	if log != nil {
		if err := log.Close(); err != nil {
			unwritten = append(unwritten, fmt.Sprintf("the event log is not whole: %v", err))
		}
	}
	if r.tap != nil {
		if written, missed := r.tap.End(); missed > 0 && r.tap.Err() == nil {
			r.warnings = append(r.warnings, fmt.Sprintf("the capture lacks %d of %d frames: they came faster than they could be written; a filter or a snap length helps", missed, written+missed))
		}
	}
	result := r.result(figures, took, digest.Sum())
	result.Deadlocks, result.EndedPs = report.Deadlocks(r.fabric, f.Watch), int64(f.Watch.Ended)
	if err := r.verify(ctx, result); err != nil {
		return nil, err
	}
	result.Verdict.Level, result.Verdict.Reason = report.Judge(result.Verdict.Figures)
	if r.tap != nil {
		if err := r.tap.Close(result.Verdict.Comment(result.Partial)); err != nil {
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
	l, err := r.connect(ctx)
	if err != nil {
		return report.NoFigures(), err
	}
	defer r.disconnect(l)
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
		Dilation: r.scenario.Wall.Dilation, Links: l.Ends, Longest: r.fabric.Longest(),
		Actual:  r.options.Timing == ActualTiming,
		Stamped: r.options.test.stamped, Epoch: epoch, Clock: r.options.test.clock, Loop: r.options.test.loop,
	}

	if !r.options.test.collect {
		defer host.HoldGC()()
	}
	if r.options.Priority {
		defer host.RaisePriority()()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := host.StartCPUMeter()
	t, err := w.Run(ctx, f)
	foreign, used := cpu.Foreign(), cpu.Used()
	runtime.ReadMemStats(&after)
	if t == nil {
		return report.Figures{}, err
	}
	figures := report.FiguresOf(r.fabric, t)
	r.moments = report.MomentsOf(t)
	figures.ForeignCPUs, figures.CPUSeconds = report.Number(foreign), report.Number(used)
	figures.GCCycles = int64(after.NumGC - before.NumGC)
	return figures, err
}

// connect opens a link for each wire of the fabric.
func (r *run) connect(ctx context.Context) (*links.Links, error) {
	l, err := links.Open(ctx, r.fabric, links.Options{
		Carrier: r.options.Link, Run: r.runID, Buffer: r.options.test.buffer, Stamp: r.options.test.stamped != nil, Wrap: r.options.test.wrap,
	})
	if err == nil {
		r.warnings = append(r.warnings, l.Warnings...)
	}
	return l, err
}

// disconnect closes links; what does not go is a warning of the result.
func (r *run) disconnect(l *links.Links) {
	if err := l.Close(); err != nil {
		r.warnings = append(r.warnings, fmt.Sprintf("not all of the links could be removed: %v", err))
	}
}

// conduct runs the fabric in processes.
func (r *run) conduct(ctx context.Context, f *drive.Fabric, sink trace.Sink) (report.Figures, error) {
	p := r.plan()
	if p.Directory == "" {
		dir, err := os.MkdirTemp("", "fabemu-")
		if err != nil {
			return report.Figures{}, err
		}
		defer os.RemoveAll(dir) // made here, for this run
		p.Directory = dir
	}
	var l *links.Links
	if len(p.ByHand) == 0 {
		var err error
		if l, err = r.connect(ctx); err != nil {
			return report.NoFigures(), err
		}
		defer r.disconnect(l)
	}
	c, err := p.Write(l)
	if err != nil {
		return report.Figures{}, err
	}
	cpu := host.StartCPUMeter()
	out, err := p.Conduct(ctx, c, f, sink, r.options.Events != nil) // a log has its order
	r.began = out.Began
	if out.Timing == nil {
		return report.Figures{}, err
	}
	figures := report.FiguresOf(r.fabric, out.Timing)
	r.moments = report.MomentsOf(out.Timing)
	figures.ForeignCPUs = report.Number(cpu.Foreign())
	return figures, err
}

// plan returns how the run is placed in processes.
func (r *run) plan() proc.Plan {
	o := &r.options
	return proc.Plan{
		Fabric: r.fabric, Resolved: r.resolved, Placement: o.Placement, Carrier: o.Link, Timing: string(o.Timing), Priority: o.Priority,
		Directory: o.Directory, Run: r.runID, Version: o.Version, ByHand: o.ByHand, Waiting: o.Waiting, Started: o.test.started,
	}
}

// comment says in a capture of which run it is.
func (r *run) comment() string {
	text := fmt.Sprintf("%s, seed %d, virtual clock", r.scenario.Name, r.scenario.Model.Seed)
	if r.options.Clock == WallClock {
		text = fmt.Sprintf("%s, seed %d, wall clock, dilation %d, link %s, timing %s", r.scenario.Name, r.scenario.Model.Seed, r.scenario.Wall.Dilation, r.options.Link, r.options.Timing)
	}
	return text
}

// result collects what came out.
func (r *run) result(figures report.Figures, took time.Duration, digest string) *report.Result {
	out := report.New(r.collector)
	figures.Violations = out.Verdict.Violations
	if r.options.Clock == WallClock && figures.Order.Overtaken > 0 {
		out.ExcuseOverruns(r.collector, &figures)
	}
	out.Verdict.Figures = figures
	out.Fabemu = r.options.Version
	out.Clock = string(r.options.Clock)
	out.Timing = string(r.options.Timing)
	out.Moments, out.Began = r.moments, r.began.UTC()
	out.Placement = string(r.options.Placement)
	if r.options.Clock == WallClock {
		out.Link = string(r.options.Link)
		out.Dilation = r.scenario.Wall.Dilation
	}
	out.Machine = host.ThisComputer()
	out.WallSeconds = report.Number(math.Round(took.Seconds()*1e3) / 1e3)
	out.Digest = digest
	out.Warnings = append(out.Warnings, r.warnings...)
	return out
}

// shortHops is how many frame-hops the virtual clock does within a few seconds.
const shortHops = 5_000_000

// verify runs a wall run's scenario again on the virtual clock and compares the
// logs.
func (r *run) verify(ctx context.Context, result *report.Result) error {
	v := r.options.Verify
	if r.options.Clock == VirtualClock || r.options.Timing == ActualTiming || v == VerifyOff || result.Partial || v == VerifyShort && result.Verdict.Order.Frames > shortHops {
		return nil
	}
	digest := report.NewDigest(len(r.fabric.Machines))
	events := trace.NewBatch(batchSize, digest)
	f, err := machines.New(r.fabric, r.options.Schemes, events)
	if err != nil {
		return err
	}
	if _, err := (drive.Virtual{SkipCodec: true}).Run(ctx, f); err != nil {
		if ctx.Err() != nil {
			return nil // the run itself is whole; it was not verified
		}
		return err
	}
	events.Flush()
	result.Verdict.Verify = "equal"
	if digest.Sum() != result.Digest {
		result.Verdict.Verify = "differs"
	}
	return nil
}
