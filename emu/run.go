package emu

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"fabemu/emu/drive"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/emu/topo"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Clock says which clock a run keeps to.
type Clock string

// The clocks.
const (
	WallClock    Clock = "wall"    // real time, slowed down by the dilation of the scenario
	VirtualClock Clock = "virtual" // from event to event, as fast as it goes
)

// Timing says which time machines are told on the wall clock.
type Timing string

// The disciplines.
const (
	IdealTiming  Timing = "ideal"  // the instants of the model: its log is that of the virtual clock
	ActualTiming Timing = "actual" // the measured wall time over the dilation
)

// Carrier says what carries the datagrams of a wall run.
type Carrier string

// The carriers.
const (
	UDP  Carrier = "udp"  // sockets on the loopback interface
	Pipe Carrier = "pipe" // memory of this process
)

// Verify says whether a wall run is compared with the virtual clock afterwards.
type Verify string

// When to verify.
const (
	VerifyShort Verify = "short" // if that takes a few seconds at most
	VerifyOn    Verify = "on"
	VerifyOff   Verify = "off"
)

// Options say how a scenario is run. The zero value runs it on the wall clock,
// over UDP.
type Options struct {
	Clock  Clock   // default: WallClock
	Timing Timing  // wall clock; default: IdealTiming
	Link   Carrier // wall clock; default: UDP
	Verify Verify  // wall clock; default: VerifyShort

	// SkipCodec hands frames over as values on the virtual clock, which is faster. By
	// default they go through bytes, as on a socket.
	SkipCodec bool
	// Priority raises the priority of this process while a wall run goes on, as far as
	// the system allows: a loop that others push aside is late.
	Priority bool
	// Events, if not nil, takes the event log, a JSON object a line.
	Events io.Writer
	// Progress, if not nil, is called from time to time while the run goes on, from
	// another goroutine.
	Progress func(Status)
	// Version is written into results; empty means "devel".
	Version string

	test hooks
}

// hooks are what the tests of this package put between the parts.
type hooks struct {
	wrap    func(link.Link) link.Link // around each end of a link
	stamped func(path int, f wire.Frame, start unit.Time, stamp int64)
	epoch   func() // called when model time 0 is now
	ties    []int  // permutes the tie rule
	clock   func() int64
	buffer  unit.Size // of sockets, instead of the scenario's
	loop    drive.Loop
	collect bool // leave the garbage collector on
}

// Status is how far a run is.
type Status struct {
	Now, End unit.Time     // model time
	Wall     time.Duration // wall time since the begin
	Left     time.Duration // wall time to go; on the virtual clock, as it looks
	Late     int64         // data frames that left later than 5 % of their duration
}

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
func Run(ctx context.Context, s *scenario.Scenario, o Options) (*Result, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	resolved, err := s.Resolved()
	if err != nil {
		return nil, err
	}
	r := &run{scenario: s, options: o, resolved: resolved}
	for _, w := range s.Warnings {
		r.warnings = append(r.warnings, w.String())
	}
	if r.fabric, err = topo.Build(s); err != nil {
		return nil, &Mistake{err}
	}
	if r.collector, err = metrics.New(r.fabric, s); err != nil {
		return nil, &Mistake{err}
	}
	return r.run(ctx)
}

func (o Options) withDefaults() Options {
	if o.Clock == "" {
		o.Clock = WallClock
	}
	if o.Timing == "" {
		o.Timing = IdealTiming
	}
	if o.Link == "" {
		o.Link = UDP
	}
	if o.Verify == "" {
		o.Verify = VerifyShort
	}
	if o.Version == "" {
		o.Version = "devel"
	}
	return o
}

func (o Options) check() error {
	switch o.Clock {
	case WallClock, VirtualClock:
	default:
		return mistakef("there is no clock %q; there are wall and virtual", o.Clock)
	}
	switch o.Timing {
	case IdealTiming:
	case ActualTiming:
		if o.Clock == VirtualClock {
			return mistakef("timing actual goes with the wall clock: the virtual clock has no other time than the ideal one")
		}
	default:
		return mistakef("there is no timing %q; there are ideal and actual", o.Timing)
	}
	switch o.Link {
	case UDP, Pipe:
	default:
		return mistakef("there is no link %q; there are udp and pipe", o.Link)
	}
	switch o.Verify {
	case VerifyShort, VerifyOn, VerifyOff:
	default:
		return mistakef("verify is %q; it can be short, on or off", o.Verify)
	}
	return nil
}

// run is one run of a scenario.
type run struct {
	scenario  *scenario.Scenario
	options   Options
	resolved  []byte
	fabric    *topo.Fabric
	collector *metrics.Collector
	warnings  []string
	moments   []report.Moment
}

func (r *run) run(ctx context.Context) (*Result, error) {
	digest := report.NewDigest(len(r.fabric.Machines))
	sinks := []trace.Sink{r.collector, digest}
	var log *report.EventLog
	if r.options.Events != nil {
		log = report.NewEventLog(r.options.Events, r.fabric)
		sinks = append(sinks, log)
	}
	machines, err := build(r.scenario, r.fabric, report.Tee(sinks...))
	if err != nil {
		return nil, &Mistake{err}
	}
	machines.Ties = r.options.test.ties
	begin := time.Now()
	stop := r.watch(machines, begin)
	var figures report.Figures
	if r.options.Clock == VirtualClock {
		machines.Run = r.id(0)
		figures, err = r.virtual(ctx, machines)
	} else {
		machines.Run = r.id(uint64(begin.UnixNano()) ^ uint64(os.Getpid())<<32)
		figures, err = r.wall(ctx, machines)
	}
	stop()
	partial := err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
	if err != nil && !partial {
		return nil, err
	}
	took := time.Since(begin)
	end := machines.End
	if partial {
		end = machines.Progress.Now()
	}
	r.collector.Close(end)
	if log != nil {
		if err := log.Close(); err != nil {
			return nil, fmt.Errorf("event log: %w", err)
		}
	}
	result := r.result(figures, took, digest.Sum())
	if err := r.verify(ctx, result); err != nil {
		return nil, err
	}
	result.Verdict.Level, result.Verdict.Reason = report.Judge(result.Verdict.Figures)
	return &Result{Result: result, Metrics: r.collector, Resolved: r.resolved}, nil
}

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
	links, err := r.connect()
	if err != nil {
		return report.Figures{}, err
	}
	defer links.close()
	w := drive.Wall{
		Dilation: r.scenario.Wall.Dilation, Links: links.ends, Longest: r.longest(),
		Actual:  r.options.Timing == ActualTiming,
		Stamped: r.options.test.stamped, Epoch: r.options.test.epoch, Clock: r.options.test.clock, Loop: r.options.test.loop,
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
	foreign := cpu.foreign()
	runtime.ReadMemStats(&after)
	if t == nil {
		return report.Figures{}, err
	}
	figures := r.figures(t)
	r.moments = momentsOf(t)
	figures.ForeignCPUs = foreign
	figures.GCCycles = int64(after.NumGC - before.NumGC)
	return figures, err
}

// holdGC keeps the garbage collector from running, unless memory grows by 1 GiB
// over what is in use, and returns the function that lets it go again. A run does
// not allocate in its steady state, but other goroutines may.
func holdGC() (release func()) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(min(limit, int64(m.Sys)+1<<30))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
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

// figures puts what the driver measured into the terms of the verdict.
func (r *run) figures(t *drive.Timing) report.Figures {
	f := report.NoFigures()
	f.Order.Frames = t.Hops
	f.Order.LateFrames = t.LateFrames
	f.Order.WorstPacketTimes = report.Number(t.WorstLate)
	if t.Hops > 0 {
		f.Order.Over5Percent = report.Number(float64(t.LateFrames5) / float64(t.Hops))
		f.Order.OverT = report.Number(float64(t.LateFramesT) / float64(t.Hops))
	}
	if t.Wall > 0 {
		f.Pace.Ratio = report.Number(t.Reached.Seconds() * 1e9 * float64(r.scenario.Wall.Dilation) / float64(t.Wall))
	}
	at := func(unit float64, value func(q float64) int64) report.Percentiles {
		n := func(q float64) report.Number { return report.Number(float64(value(q)) / unit) }
		return report.Percentiles{P50: n(50), P95: n(95), P98: n(98), P99: n(99), P99_9: n(99.9), Max: n(100)}
	}
	if t.Data > 0 {
		f.Pace.LatenessUs = at(1e3, t.Lateness.ValueAtQuantile)
		f.Pace.LatenessPacketTimes = at(1e3, t.LatenessT.ValueAtQuantile)
		f.Pace.LateShare = report.Number(float64(t.Late) / float64(t.Data))
	}
	if t.Spun > 0 {
		f.Pace.FloorShare = report.Number(float64(t.SpunLate) / float64(t.Spun))
	}
	f.Pace.Early = t.Early
	f.LostDatagrams = t.Lost
	f.Refused = t.Foreign
	for _, n := range t.Refused {
		f.Refused += n
	}
	if t.Worst >= 0 {
		f.WorstLink = r.fabric.Wires[t.Worst].Name
	}
	f.Stalls = t.StallCount
	f.StalledUs = report.Number(float64(t.Stalled) / 1e3)
	return f
}

// momentsOf puts the moments of a run into the terms of reports.
func momentsOf(t *drive.Timing) []report.Moment {
	list := make([]report.Moment, 0, len(t.Moments))
	for _, m := range t.Moments {
		list = append(list, report.Moment{
			From: m.From, Late: report.Number(float64(m.Late) / float64(m.Data)),
			WorstUs: report.Number(float64(m.Worst) / 1e3), StalledUs: report.Number(float64(m.Stalled) / 1e3),
		})
	}
	return list
}

// result collects what came out.
func (r *run) result(figures report.Figures, took time.Duration, digest string) *report.Result {
	out := report.New(r.collector)
	figures.Violations = out.Verdict.Violations
	out.Verdict.Figures = figures
	out.Fabemu = r.options.Version
	out.Clock = string(r.options.Clock)
	out.Timing = string(r.options.Timing)
	out.Moments = r.moments
	out.Placement = "goroutine"
	if r.options.Clock == WallClock {
		out.Link = string(r.options.Link)
		out.Dilation = r.scenario.Wall.Dilation
	}
	out.Machine = thisMachine()
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
	machines, err := build(r.scenario, r.fabric, digest)
	if err != nil {
		return err
	}
	if _, err := (drive.Virtual{SkipCodec: true}).Run(ctx, machines); err != nil {
		if ctx.Err() != nil {
			return nil // the run itself is whole; it was not verified
		}
		return err
	}
	result.Verdict.Verify = "equal"
	if digest.Sum() != result.Digest {
		result.Verdict.Verify = "differs"
	}
	return nil
}
