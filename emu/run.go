package emu

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"time"

	"fabemu/emu/capture"
	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/machines"
	"fabemu/emu/metrics"
	"fabemu/emu/mistake"
	"fabemu/emu/proc"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/wire/trace"
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
		f.Tap = log.Departures(r.fabric, f.Tap)
	}
	f.Ties = r.options.test.Ties
	begin := time.Now()
	f.Progress = &drive.Progress{}
	dilation := int64(0)
	if r.options.Clock == WallClock {
		dilation = r.scenario.Wall.Dilation
	}
	stop := f.Progress.Follow(f.End, dilation, r.options.Progress)
	var figures report.Figures
	if r.options.Clock == VirtualClock {
		r.runID = r.id(0)
		f.Run = r.runID
		figures, err = r.virtual(ctx, f)
	} else {
		r.runID = r.id(uint64(begin.UnixNano()) ^ uint64(os.Getpid())<<32)
		figures, err = r.wall(ctx, f, events)
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

// virtual runs the fabric on the virtual clock.
func (r *run) virtual(ctx context.Context, f *drive.Fabric) (report.Figures, error) {
	figures := report.NoFigures()
	figures.Virtual = true
	var err error
	figures.Order.Frames, err = drive.Virtual{SkipCodec: r.options.SkipCodec}.Run(ctx, f)
	return figures, err
}

// wall runs the fabric on the wall clock; the machines report to sink.
func (r *run) wall(ctx context.Context, f *drive.Fabric, sink trace.Sink) (report.Figures, error) {
	p := r.plan()
	out, err := p.Run(ctx, f, sink)
	r.began = out.Began
	r.warnings = append(r.warnings, out.Warnings...)
	if out.Timing == nil {
		return report.NoFigures(), err
	}
	r.moments = report.MomentsOf(out.Timing)
	figures := report.FiguresOf(r.fabric, out.Timing)
	figures.ForeignCPUs, figures.GCCycles = report.Number(out.ForeignCPUs), out.GCCycles
	if r.options.Placement == InGoroutines {
		figures.CPUSeconds = report.Number(out.CPUSeconds)
	}
	return figures, err
}

// plan returns the run on the wall clock.
func (r *run) plan() *proc.Plan {
	o := &r.options
	return &proc.Plan{
		Fabric: r.fabric, Resolved: r.resolved, Placement: o.Placement, Carrier: o.Link, Timing: string(o.Timing), Priority: o.Priority,
		Directory: o.Directory, ID: r.runID, Version: o.Version, ByHand: o.ByHand, Waiting: o.Waiting,
		Hold: o.Events != nil, // a log has its order
		Epoch: func(began time.Time) {
			if r.tap != nil {
				r.tap.Began(began)
			}
		},
		Hooks: o.test,
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
	out.ExcuseOverruns(r.collector, &figures)
	out.Verdict.Figures = figures
	out.Fabemu = r.options.Version
	out.Clock = r.options.Clock
	out.Timing = string(r.options.Timing)
	out.Moments, out.Began = r.moments, r.began.UTC()
	out.Placement = r.options.Placement
	if r.options.Clock == WallClock {
		out.Link = r.options.Link
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

// verify runs a wall run's scenario again on the virtual clock and compares: the logs,
// where they should be the same, and otherwise sums over flows.
func (r *run) verify(ctx context.Context, result *report.Result) error {
	v, o := r.options.Verify, &result.Verdict.Order
	if r.options.Clock == VirtualClock || v == VerifyOff || result.Partial || v == VerifyShort && o.Frames > shortHops {
		return nil
	}
	sameLog := r.options.Timing == IdealTiming && r.options.Placement == InGoroutines
	digest := report.NewDigest(len(r.fabric.Machines))
	collector, err := metrics.New(r.fabric, r.scenario)
	if err != nil {
		return err
	}
	sink := trace.Sink(collector)
	if sameLog {
		sink = digest
	}
	events := trace.NewBatch(batchSize, sink)
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
	if !sameLog {
		collector.Close(f.End)
		o.SumsApart, o.SumsOf = report.Sums(r.collector, collector)
		return nil
	}
	result.Verdict.Verify = report.VerifiedEqual
	if digest.Sum() != result.Digest {
		result.Verdict.Verify = report.VerifiedDiffers
	}
	return nil
}

// Dry writes the files of the parts of a run into a directory, for parts that are
// to be started by hand, and runs nothing.
func Dry(s *scenario.Scenario, o Options) error {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return err
	}
	if o.Placement == InGoroutines {
		return mistake.Errorf("a dry run writes the files of processes: placement %s or %s is wanted", InProcesses, InDomains)
	}
	if o.Link != UDP {
		return mistake.Errorf("a dry run writes files of parts with links of kind udp, not %s", o.Link)
	}
	if o.Directory == "" {
		return mistake.Errorf("a dry run writes the files of processes: a directory for them is wanted")
	}
	r, err := prepare(s, o)
	if err != nil {
		return err
	}
	r.runID = r.id(0)
	_, err = r.plan().Write(nil)
	return err
}
