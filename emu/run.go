package emu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/host/netns"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/measured"
	"fabemu/emu/run/pace"
	"fabemu/emu/run/process"
	"fabemu/emu/run/program"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// Result is the result of a run.
type Result struct {
	*report.Result
	Metrics  *metrics.Collector // the figures behind it
	Resolved []byte             // the scenario as it was run, in YAML
}

// Write writes the result into a directory (report.WriteDir), with the pictures that draw makes of
// it: summary.Pictures, or none where draw is nil.
func (r *Result) Write(dir string, draw report.Draw) error {
	return report.WriteDir(dir, r.Result, r.Metrics, r.Resolved, draw)
}

// Run runs a scenario to its end. If ctx is done before, the result covers the time
// that was run and is marked partial, and the error is nil. An error that the
// user can correct is a *Mistake; with any other the run has failed.
//
// Where the event log or the capture cannot be written, it ends there, and the run continues:
// the result has the reason (report.Result.Unwritten).
//
// Where the loop panics (*errs.Panic), or a run on the wall clock breaks off, since a process of it
// dies (*process.Died), or a guest or a link fails, there is an error and a result: the
// measurements until then, marked partial.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (result *Result, err error) {
	defer errs.Into(&err)
	o = o.withDefaults()
	if err := cmp.Or(o.check(), o.checkScenario(s)); err != nil {
		return nil, err
	}
	r, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	return r.run(ctx)
}

// prepare lays a run out.
func prepare(s *scenario.Scenario, o Options) (*run, error) {
	if o.Dilation > 0 {
		own := *s
		own.Wall.Dilation, s = o.Dilation, &own
	}
	if o.Dilation = s.Wall.Dilation; !o.Wall() {
		o.Link, o.Packing, o.Dilation = "", "", 0
	}
	resolved, err := resolve.Text(s) // which refuses a scenario that is not right
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	if o.Changes != nil {
		s = s.Opened()
	}
	r := &run{scenario: s, options: o, resolved: resolved}
	if o.Timing == ActualTiming {
		r.clock = &drive.Measured{}
		r.actual = measured.New(r.clock, readings(o.Verify))
	}
	for _, w := range s.Warnings {
		r.warnings = append(r.warnings, w.String())
	}
	if w := o.Schemes.Warning(); w != "" {
		r.warnings = append(r.warnings, w)
	}
	if r.fabric, err = fabric.Build(s); err != nil {
		return nil, &Mistake{Err: err}
	}
	return r, nil
}

// run is one run of a scenario.
type run struct {
	scenario *scenario.Scenario
	options  Options
	resolved []byte
	fabric   *fabric.Fabric
	warnings []string
	record   *recording
	timing   *pace.Record    // of a run on the wall clock; nil: it has measured nothing
	guests   *guest.Guests   // nil: there are none
	began    time.Time       // model time 0 of a run on the wall clock
	id       uint32          // in all datagrams of this run
	clock    *drive.Measured // actual timing: the clock of limiters and reaction points; else nil
	actual   *measured.Time  // the time that they have read from it
	loops    int             // that have run the nodes
	shown    error           // a panic of the display of the progress

	questions program.Cost // of algorithms in other programs
}

// run runs the fabric and puts the result together.
func (r *run) run(ctx context.Context) (*Result, error) {
	o := &r.options
	var err error
	if r.record, err = newRecording(r.fabric, o); err != nil {
		return nil, err
	}
	defer r.record.abandon()
	if o.Wall() {
		netns.RemoveDead(ctx)
	}
	if r.guests, err = guest.Open(ctx, r.fabric, process.NewID(r.resolved), o.Directory, o.YesThisOne, o.NewStack); err != nil {
		return nil, err
	}
	defer r.guests.Close()
	schemes := o.Schemes
	schemes.Measured = r.actual
	r.guests.Join(&schemes)
	r.record.listen(&schemes)
	programs, driven := program.Open(ctx, r.fabric)
	defer programs.Close()
	programmed(&schemes, programs)
	f, loops, why, err := r.record.nodes(o.Loops, schemes)
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	if err := programs.Err(); err != nil {
		return nil, err
	}
	if r.loops = loops; loops < o.Loops {
		r.warnings = append(r.warnings, fmt.Sprintf("%d loops were asked for, and %d ran: %s", o.Loops, loops, why))
	}
	f.Progress = &pace.Progress{}
	r.record.attach(f, r.guests)
	r.guests.Attach(f)
	begin := time.Now()
	figures, err := r.drive(driven, f)
	r.questions = programs.Cost()
	err = cmp.Or(programs.Close(), err)
	end, watch, broken := f.End, f.Watch, err
	if err != nil {
		if ended := ctx.Err() != nil && errors.Is(err, ctx.Err()); ended {
			broken = nil
		} else if r.began.IsZero() && !errors.As(err, new(*process.Died)) && !errors.As(err, new(*errs.Panic)) && !errors.As(err, new(*program.Failed)) {
			return nil, err
		}
		end = f.Progress.Now()
	}
	took := time.Since(begin)
	if len(r.fabric.Nodes) >= manyNodes {
		runtime.GC() // of the nodes, which nothing uses any more: otherwise the result would come on top of them
	}
	out := r.record.end(end, took, r.timing, watch)
	if r.resolved, err = r.record.resolved(r.resolved); err != nil {
		return nil, err
	}
	r.complete(out, figures, took)
	if r.shown != nil {
		out.Unwritten = append(out.Unwritten, fmt.Sprintf("the progress was not shown to the end: %v", r.shown))
	}
	if r.guests != nil {
		out.TakeGuests(r.record.collector.View(), end, r.guests)
	}
	out.Deadlocks, out.Deadlocked, out.EndedPs = report.Deadlocks(r.fabric, watch), watch.Lasts, int64(watch.Ended)
	broken = errors.Join(broken, r.verify(ctx, out))
	out.Verdict.Level, out.Verdict.Reason = report.Judge(out.Verdict.Figures)
	if broken != nil {
		out.Verdict.BreakOff(end, broken)
	}
	r.record.close(out)
	return &Result{Result: out, Metrics: r.record.collector, Resolved: r.resolved}, broken
}

// programmed gives flows whose algorithm is in another program their reaction points. Those of the
// calling program come first.
func programmed(s *Schemes, p *program.Run) {
	if p == nil {
		return
	}
	own := s.Reaction
	s.Reaction = func(f *Flow, line unit.Rate) rp.Reaction {
		if own != nil {
			if r := own(f, line); r.Controller != nil {
				return r
			}
		}
		return p.Reaction(f, line)
	}
}

// manyNodes is the number of nodes from which on their memory is freed before the result is made.
const manyNodes = 4000

// verify has the record compare the run with the virtual clock.
func (r *run) verify(ctx context.Context, out *report.Result) (err error) {
	defer errs.Into(&err)
	again := r.options.Schemes
	again.Measured = r.actual.Repeat()
	return r.record.verify(ctx, again, r.id, out)
}

// drive runs the fabric to its end, or to its first panic.
func (r *run) drive(ctx context.Context, f *drive.Setup) (figures report.Figures, err error) {
	wall := r.options.Wall()
	figures, r.id = report.NoFigures(), process.ID(r.resolved, 0)
	if wall {
		r.id = process.NewID(r.resolved)
	}
	stop := f.Progress.Follow(f.End, r.options.Dilation, r.options.Progress)
	defer func() { r.shown = stop() }()
	defer errs.Into(&err)
	if wall {
		return r.wall(ctx, f)
	}
	return r.virtual(ctx, f)
}

// virtual runs the fabric on the virtual clock.
func (r *run) virtual(ctx context.Context, f *drive.Setup) (figures report.Figures, err error) {
	f.Run = r.id
	figures = report.NoFigures()
	figures.Virtual = true
	figures.Order.Frames, err = drive.Virtual{SkipCodec: !r.options.codec()}.Run(ctx, f)
	return figures, err
}

// wall runs the fabric on the wall clock.
func (r *run) wall(ctx context.Context, f *drive.Setup) (report.Figures, error) {
	p := r.plan()
	p.Epoch = func(began time.Time) {
		if r.record.tap != nil {
			r.record.tap.Began(began)
		}
		r.guests.Begin()
	}
	p.Records, p.Missed = r.record.records, r.record.missing
	out, err := p.Run(ctx, f, r.record.events)
	r.began = out.Began
	r.warnings = append(r.warnings, out.Warnings...)
	if out.Timing == nil {
		return report.NoFigures(), err
	}
	r.timing = out.Timing
	figures := report.FiguresOf(r.fabric, out.Timing)
	figures.Clocks = report.ClocksOf(r.fabric, out.Clocks, out.Between)
	figures.ForeignCPUs, figures.CPUSeconds = report.Number(out.ForeignCPUs), report.Number(out.CPUSeconds)
	figures.GCCycles = out.GCCycles
	return figures, err
}

// plan returns the run on the wall clock.
func (r *run) plan() *process.Plan {
	p := r.options.plan()
	p.Fabric, p.Resolved, p.ID, p.Measured, p.Actual = r.fabric, r.resolved, r.id, r.clock, r.actual
	return p
}

// complete fills in the fields of a result that do not come from the record.
func (r *run) complete(out *report.Result, figures report.Figures, took time.Duration) {
	o := &r.options
	v := &out.Verdict
	figures.Violations, figures.Stopped, figures.Failed = v.Violations, v.Stopped, v.Failed
	figures.Starts = report.StartsOf(r.actual, r.scenario.Wall.Dilation)
	v.Figures = figures
	out.Fabemu, out.Machine = o.Version, host.ThisComputer()
	out.Settings, out.AllPoints = o.Settings, o.AllPoints
	out.Loops, out.Codec = r.loops, o.codec()
	out.Pace, out.Began = report.PaceOf(r.timing), r.began.UTC()
	out.WallSeconds = report.Number(math.Round(took.Seconds()*1e3) / 1e3)
	if q := r.questions; q.Questions > 0 {
		out.Questions = &report.Questions{Count: q.Questions, Seconds: report.Number(math.Round(q.Waited.Seconds()*1e6) / 1e6)}
	}
	out.Warnings = append(append([]string{}, r.warnings...), out.Warnings...)
}

// Dry writes the files of the parts of a run into a directory, for parts that are
// to be started by hand, and runs nothing. It refuses what Run refuses.
func Dry(s *scenario.Scenario, o Options) error {
	o = o.withDefaults()
	if err := cmp.Or(o.check(), o.checkScenario(s)); err != nil {
		return err
	}
	r, err := prepare(s, o)
	if err != nil {
		return err
	}
	r.id = process.ID(r.resolved, 0)
	return r.plan().Dry()
}

// Open reads a scenario: one that comes with the program, by its name
// ("hpl2002/fig3b"), or a file, by its path (it ends in .yaml or .yml, or begins
// with "." or "/"), or standard input ("-"). The sets change it, as --set does.
// An error that the user can correct is a *Mistake.
func Open(name string, sets ...scenario.Set) (*scenario.Scenario, error) {
	return load(name, sets)
}

// OpenShort reads the short run of a scenario, which its section short describes: for
// the wall clock, on which all of it would take too long.
func OpenShort(name string, sets ...scenario.Set) (*scenario.Scenario, error) {
	return load(name, sets, resolve.Short())
}

func load(name string, sets []scenario.Set, options ...resolve.Option) (*scenario.Scenario, error) {
	src, file, err := builtin.Find(name)
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	s, err := resolve.Load(file, src, sets, append(options, resolve.CheckMetrics(metrics.Checker()), resolve.Lint(lint.Check))...)
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	return s, nil
}

// Mistake is an error that the user can correct: in the scenario, or in the options.
type Mistake = errs.Mistake

// Computer is what a result says of the machine of its run (report.Result.Machine).
type Computer = host.Computer

// ThisComputer returns the machine of this program.
func ThisComputer() Computer { return host.ThisComputer() }

// Prepare lays a scenario out without running it, and so shows that a run is possible.
func Prepare(s *scenario.Scenario) (*fabric.Fabric, error) {
	_, err := resolve.Text(s) // which refuses a scenario that is not right
	var f *fabric.Fabric
	if err == nil {
		f, err = fabric.Build(s)
	}
	if err == nil {
		err = assemble.Check(f)
	}
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	return f, nil
}
