package papers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
	"fabemu/emu/study"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Options are choices about the reproduction of figures.
type Options struct {
	emu.Options // of each run: its clock (default: the virtual one), dilation, link, codec, digest and version
	// Number of seeds over which a mean is taken; at least 30 for a claim whose mean is near a
	// bound.
	Seeds int `flag:"seeds" group:"Runs" arg:"N" needs:"clock=virtual" def:"5" low:"1" high:"1000"`
	// Number of runs at a time (default: one for each CPU).
	Workers  int          `flag:"workers" arg:"N" needs:"clock=virtual" low:"1" high:"4096"`
	Progress func(Status) // called when something has changed, one call at a time
}

// Status is how far a reproduction is.
type Status struct {
	Done, Runs int
	Share      float64       // of the work, 0 to 1
	Left       time.Duration // as it looks
	Name       string        // of the run that was begun last
}

// job is a run to be done, with its measurements.
type job struct {
	run     Run
	seed    uint64
	index   int // of the seed
	sets    []scenario.Set
	sc      *scenario.Scenario // nil until it is opened
	leaves  []*leaf
	courses []*Course
	cost    float64  // about, in frames; wall clock: in seconds
	outcome *outcome // nil until it is done
}

// batch is the runs that some figures need.
type batch struct {
	options Options
	seeds   int
	jobs    []*job
	byKey   map[string]*job

	near map[*leaf]bool // of claims near a bound: they are taken over more seeds

	mu      sync.Mutex
	values  map[*leaf][]float64 // by seed
	courses map[*Course][2][]float
	done    int
	spent   float64
	total   float64
	running map[*job]float64
	begin   time.Time
	name    string
	shown   float64 // share of the work that was reported
	partial bool    // it was ended before its time
}

// Do reproduces figures of a paper. When ctx is done before the end, the result has
// the runs that ended before, and is marked partial.
func Do(ctx context.Context, p *Paper, figures []*Figure, o Options) (*Result, error) {
	b := collect(figures, o)
	if err := b.open(b.jobs); err != nil {
		return nil, err
	}
	b.begin = time.Now()
	if err := b.run(ctx, b.jobs); err != nil {
		return nil, err
	}
	if err := b.sharpen(ctx, figures); err != nil {
		return nil, err
	}
	r := b.result(p, figures)
	r.WallSeconds = report.Number(time.Since(b.begin).Seconds())
	return r, nil
}

// collect finds out which runs there are to do.
func collect(figures []*Figure, o Options) *batch {
	o.Clock = cmp.Or(o.Clock, emu.VirtualClock)
	if o.Seeds <= 0 {
		o.Seeds = defaultSeeds
	}
	o.Workers = max(o.Workers, 0) // 0: as many as there are processors
	if o.Clock == emu.WallClock {
		o.Seeds, o.Workers = 1, 1
	}
	b := &batch{
		options: o, seeds: o.Seeds, byKey: map[string]*job{},
		near: map[*leaf]bool{}, values: map[*leaf][]float64{}, courses: map[*Course][2][]float{}, running: map[*job]float64{},
	}
	for _, f := range figures {
		f.whole()
		for i := range f.Plots {
			for _, q := range f.Plots[i].Fabrics.quantities() {
				b.want(q)
			}
			for k := range f.Plots[i].Curves {
				c := &f.Plots[i].Curves[k]
				for n := range c.Points {
					b.want(&c.Points[n].Y)
				}
				if c.Course != nil {
					j := b.job(c.Course.Run, 0)
					j.courses = append(j.courses, c.Course)
				}
			}
		}
		for i := range f.Claims {
			c := &f.Claims[i]
			b.want(&c.Value)
			if c.nothing = nil; o.Clock == emu.VirtualClock { // on the wall clock it would take as long again
				if c.nothing = c.unknown(); c.nothing != nil {
					b.want(c.nothing)
				}
			}
		}
		if f.Table != nil {
			for _, row := range f.Table.Rows {
				for i := range row.Cells {
					b.want(&row.Cells[i])
				}
			}
		}
		if f.Matrix != nil {
			for _, row := range f.Matrix.Rows {
				for i := range row.Cells {
					b.want(&row.Cells[i].Value)
				}
			}
		}
	}
	return b
}

// want has the numbers that a quantity needs taken of their runs.
func (b *batch) want(q *Quantity) {
	for _, l := range q.leaves {
		for i := range b.seedsOf(l) {
			j := b.job(l.run, i)
			if !slices.Contains(j.leaves, l) {
				j.leaves = append(j.leaves, l)
			}
		}
	}
}

// seedsOf returns over how many seeds a leaf is taken.
func (b *batch) seedsOf(l *leaf) int {
	switch {
	case !l.run.Seeds:
		return 1
	case b.near[l]:
		return b.nearSeeds()
	}
	return b.seeds
}

// job returns the job of a run with its i-th seed, and makes it if it is new.
func (b *batch) job(r Run, i int) *job {
	key := keyOf(r, i)
	if j := b.byKey[key]; j != nil {
		return j
	}
	j := &job{run: r, index: i}
	if i > 0 {
		j.sets = append(j.sets, scenario.Set{Path: "model.seed", Value: fmt.Sprint(i + 1)})
	}
	if b.options.Dilation > 0 {
		j.sets = append(j.sets, scenario.Set{Path: "wall.dilation", Value: fmt.Sprint(b.options.Dilation)})
	}
	b.byKey[key], b.jobs = j, append(b.jobs, j)
	return j
}

// open reads the scenarios of some jobs.
func (b *batch) open(jobs []*job) error {
	for _, j := range jobs {
		if err := j.open(); err != nil {
			return err
		}
		j.cost = study.Cost(j.sc)
		if b.options.Clock == emu.WallClock {
			j.cost = j.sc.Model.Duration.Seconds() * float64(j.sc.Wall.Dilation)
		}
		b.total += j.cost
	}
	return nil
}

// open reads the scenario of a job.
func (j *job) open() (err error) {
	if j.sc, err = j.run.open(j.sets...); err != nil {
		return fmt.Errorf("%v: %w", j.run, err)
	}
	j.seed = j.sc.Model.Seed
	return nil
}

// keyOf identifies a run: a seed of a mean may be a single run of another quantity.
func keyOf(r Run, seed int) string { return fmt.Sprintf("%v, seed %d", r, seed) }

// defaultSeeds is over how many seeds a mean is taken unless the call says otherwise.
const defaultSeeds = 5

// nearSeeds is over how many seeds a claim near a bound is judged. The seeds decide such a claim,
// so that another number of them could have another outcome: it is the same for each Options.Seeds.
const nearSeeds = 30

func (b *batch) nearSeeds() int { return max(nearSeeds, b.seeds) }

// sharpen measures again, over nearSeeds, claims whose means are near a bound of their ranges,
// whatever the outcome.
func (b *batch) sharpen(ctx context.Context, figures []*Figure) error {
	before := len(b.jobs)
	if b.options.Clock == emu.WallClock || b.done < before { // on the wall clock there is one seed
		return nil
	}
	var near []*Quantity
	for _, f := range figures {
		for i := range f.Claims {
			if c := &f.Claims[i]; b.isNear(c) {
				near = append(near, &c.Value)
			}
		}
	}
	for _, q := range near {
		for _, l := range q.leaves {
			b.near[l] = l.run.Seeds
		}
		b.want(q)
	}
	if err := b.open(b.jobs[before:]); err != nil {
		return err
	}
	return b.run(ctx, b.jobs[before:])
}

// isNear reports whether a claim is a mean over seeds within two of their standard deviations of a
// bound. One that is known to differ stays so, and no share is above 1, nor is what begins at 0
// below.
func (b *batch) isNear(c *Claim) bool {
	mean, deviation, n := b.value(&c.Value)
	near := func(bound float64) bool { return math.Abs(mean-bound) < 2*deviation }
	switch {
	case n == 1 || c.Near:
		return n > 1
	case deviation < roundings*math.Abs(mean) || c.Differs() != "":
		return false
	}
	share := c.Unit == Percent && math.Abs(c.High-1) < roundings
	return near(c.Low) && (c.Low != 0 || c.Unit == Points) || near(c.High) && !share
}

// roundings is the part of a value that is the rounding of floats.
const roundings = 1e-6

// run does jobs, the long ones first, so that none is left over at the end.
func (b *batch) run(ctx context.Context, jobs []*job) error {
	workers := b.options.Workers
	order := slices.Clone(jobs)
	if workers != 1 {
		slices.SortStableFunc(order, func(x, y *job) int { return cmp.Compare(y.cost, x.cost) })
	}
	if cause := study.Each(ctx, workers, order, b.do); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

func (b *batch) do(ctx context.Context, j *job) error {
	b.progress(j, 0)
	o, err := b.measure(ctx, j)
	if err != nil || o == nil {
		return err
	}
	b.mu.Lock()
	b.take(j, o)
	b.mu.Unlock()
	b.progress(j, 1)
	return nil
}

// outcome is the result of a job: a number for each of its leaves, the points of each of
// its courses.
type outcome struct {
	Run     RunResult    `json:"run"`
	Machine emu.Computer `json:"machine,omitzero"`
	Values  []float      `json:"values"`
	Courses [][2][]float `json:"courses,omitempty"`
}

// measure runs a job; nil without an error was ended before its time.
func (b *batch) measure(ctx context.Context, j *job) (*outcome, error) {
	watched, sinks, err := j.watch()
	if err != nil {
		return nil, err
	}
	run := b.options.Options
	run.Loops, run.Sink, run.NewStack = 1, sinks, netstack.New // other runs continue meanwhile
	run.Progress = func(s emu.Status) { b.progress(j, float64(s.Now)/float64(s.End)) }
	r, err := emu.Run(ctx, j.sc, run)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", j.run, err)
	}
	if r.Partial {
		return nil, nil
	}
	o := &outcome{Run: RunResult{
		Run: j.run.String(), Seed: j.seed, Dilation: r.Dilation, DurationPs: r.DurationPs, Verdict: r.Verdict,
		Digest: r.Digest, WallSeconds: r.WallSeconds, Resolved: r.Resolved,
	}, Machine: r.Machine, Values: make([]float, len(j.leaves)), Courses: make([][2][]float, len(j.courses))}
	for i, l := range j.leaves {
		v := 0.0
		if l.watch != nil {
			v = watched[i]()
		} else if v, err = l.take(r); err != nil {
			return nil, fmt.Errorf("%v: %w", j.run, err)
		}
		o.Values[i] = float(v)
	}
	for i, c := range j.courses {
		if o.Courses[i][0], o.Courses[i][1], err = course(r, c.Metric); err != nil {
			return nil, fmt.Errorf("%v: %w", j.run, err)
		}
	}
	return o, nil
}

// take stores the outcome of a job.
func (b *batch) take(j *job, o *outcome) {
	for i, l := range j.leaves {
		for len(b.values[l]) < b.seedsOf(l) {
			b.values[l] = append(b.values[l], math.NaN())
		}
		b.values[l][j.index] = float64(o.Values[i])
	}
	for i, c := range j.courses {
		b.courses[c] = o.Courses[i]
	}
	j.outcome = o
	b.done++
}

// watch makes the sinks of a job's leaves; watched has a function for each leaf that returns its
// number.
func (j *job) watch() (watched []func() float64, all trace.Sink, err error) {
	var built *fabric.Fabric
	var list sinks
	watched = make([]func() float64, len(j.leaves))
	for i, l := range j.leaves {
		if l.watch == nil {
			continue
		}
		if built == nil {
			if built, err = fabric.Build(j.sc); err != nil {
				return nil, nil, fmt.Errorf("%v: %w", j.run, err)
			}
		}
		var s trace.Sink
		s, watched[i] = l.watch(built)
		list = append(list, s)
	}
	if list == nil {
		return watched, nil, nil
	}
	return watched, list, nil
}

// sinks records an event in each of them.
type sinks []trace.Sink

func (s sinks) Record(e *trace.Event) {
	for _, x := range s {
		x.Record(e)
	}
}

// progress stores the share of a job that is done, and reports it.
func (b *batch) progress(j *job, share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case share == 0:
		b.name = j.run.String()
		b.running[j] = 0
	case share == 1:
		b.spent += j.cost
		delete(b.running, j)
	default:
		b.running[j] = share
	}
	if b.options.Progress == nil {
		return
	}
	s := Status{Done: b.done, Runs: len(b.jobs), Name: b.name}
	spent := b.spent
	for k, share := range b.running {
		spent += share * k.cost
	}
	b.shown = max(b.shown, spent/b.total) // the work grows where claims need more seeds
	s.Share = b.shown
	if b.options.Clock == emu.WallClock { // whose costs are seconds
		s.Left = time.Duration((b.total - spent) * float64(time.Second))
	} else if s.Share > 0 {
		s.Left = time.Duration(float64(time.Since(b.begin)) * (1/s.Share - 1))
	}
	b.options.Progress(s)
}

// value returns the mean of a quantity over its seeds, its standard deviation, and
// over how many it is.
func (b *batch) value(q *Quantity) (mean, deviation float64, n int) {
	values := b.bySeed(q)
	e := report.EstimateOf(values)
	if e.Missing > 0 {
		return slices.Max(values), math.NaN(), len(values)
	}
	return float64(e.Mean), float64(e.Deviation), len(values)
}

// bySeed returns a quantity for each of its seeds.
func (b *batch) bySeed(q *Quantity) []float64 {
	n := 0
	for _, l := range q.leaves {
		if k := b.seedsOf(l); l.run.Seeds && (n == 0 || k < n) {
			n = k
		}
	}
	n = max(n, 1)
	values := make([]float64, n)
	for i := range values {
		values[i] = q.of(func(l *leaf) float64 {
			v := b.values[l]
			switch {
			case v == nil:
				return math.NaN()
			case !l.run.Seeds:
				return v[0]
			}
			return v[i]
		})
	}
	return values
}

// result puts everything together.
func (b *batch) result(p *Paper, figures []*Figure) *Result {
	b.partial = b.done < len(b.jobs)
	r := &Result{
		Fabemu: b.options.Version, Paper: p.Name, Title: p.Title, Source: p.Source, About: p.About,
		Clock: string(b.options.Clock), Seeds: b.seeds, Partial: b.partial,
		WallSeconds: report.Missing(),
	}
	for _, j := range b.jobs {
		if j.outcome != nil {
			r.Runs = append(r.Runs, j.outcome.Run)
			r.Machine = j.outcome.Machine
			r.Dilation = j.outcome.Run.Dilation
		}
	}
	r.Verdict = verdictOf(r.Runs)
	for _, f := range figures {
		out := FigureResult{Name: p.Name + "/" + f.Name, Source: f.Source, Title: f.Title, Caption: f.Caption, Claims: []ClaimResult{}}
		for i := range f.Claims {
			c := b.claimOverSeeds(&f.Claims[i])
			c.Range = rangeOf(p, &c)
			out.Claims = append(out.Claims, c)
		}
		if f.Table != nil {
			t := &TableResult{Title: f.Table.Title, Columns: f.Table.Columns, Note: f.Table.Note}
			for i := range f.Table.Rows {
				row := &f.Table.Rows[i]
				x := RowResult{Says: row.Claim.Claim, Measured: row.Claim.Metric, Source: row.Claim.Source}
				for k := range row.Cells {
					x.Cells = append(x.Cells, b.claim(&row.Claim, &row.Cells[k]))
				}
				t.Rows = append(t.Rows, x)
			}
			out.Table = t
		}
		if f.Matrix != nil {
			out.Matrix = b.matrix(f.Name, f.Matrix)
		}
		for i := range f.Plots {
			out.Pictures = append(out.Pictures, b.picture(p, f, &f.Plots[i], r))
		}
		r.Figures = append(r.Figures, out)
	}
	return r
}

// claim judges a claim with a value.
func (b *batch) claim(c *Claim, q *Quantity) ClaimResult {
	mean, deviation, n := b.value(q)
	unmeasured := ""
	if b.partial {
		unmeasured = "it was not run to its end"
	}
	null := math.NaN()
	if c.nothing != nil {
		null, _, _ = b.value(c.nothing)
	}
	return ClaimResult{
		Judged: report.JudgeClaim(&c.Check, mean, unmeasured), Says: c.Claim, Measured: c.Metric,
		Unit: c.Unit, Above: c.Above, Below: c.Below, Deviation: report.Number(deviation), Seeds: n, Null: c.nullResult(null),
	}
}

// claimOverSeeds judges a claim with its own value: it holds if the mean of its seeds is within
// the range, and nine in ten of them are.
func (b *batch) claimOverSeeds(c *Claim) ClaimResult {
	r := b.claim(c, &c.Value)
	for _, v := range b.bySeed(&c.Value) {
		if c.excludes(v) {
			r.Outside++
		}
	}
	if 10*r.Outside > r.Seeds {
		switch r.Outcome {
		case report.Pass:
			r.Outcome = report.Fail
		case report.UnexpectedPass:
			r.Outcome = report.Differs
		}
	}
	return r
}

// sourceOf cites the source of a figure: its place in that of the paper, or which of the paper's
// sources it is.
func (p *Paper) sourceOf(f *Figure) string {
	all := strings.Split(p.Source, "; ")
	for part := range strings.SplitSeq(f.Source, "; ") {
		if !slices.Contains(all, part) {
			return p.Source + ", " + f.Source
		}
	}
	return f.Source
}

func (b *batch) picture(p *Paper, f *Figure, x *Plot, r *Result) Picture {
	name, title := f.pictureName(x), cmp.Or(x.Title, f.Title)
	if x.Fabrics != nil {
		fig := b.fabrics(x.Fabrics)
		fig.Title, fig.Subtitle, fig.Stamp, fig.Quantity = title, p.sourceOf(f), r.stamp(), x.Y.Label
		return Picture{Name: name, Title: title, Figure: fig}
	}
	fig := &plot.Figure{Title: title, Subtitle: p.sourceOf(f), X: x.X, Y: x.Y, References: x.References, Panels: x.Panels, Stamp: r.stamp()}
	var window unit.Duration
	for _, c := range x.Curves {
		scale := cmp.Or(c.Scale, 1)
		out := plot.Curve{Name: c.Name}
		if c.Course != nil {
			window = b.byKey[keyOf(c.Course.Run, 0)].sc.Measure.Window
			for i, v := range b.courses[c.Course][1] {
				out.X, out.Y = append(out.X, float64(b.courses[c.Course][0][i])), append(out.Y, float64(v)*scale)
			}
		}
		if c.Solved != nil {
			out.X, out.Y = c.Solved()
		}
		for i := range c.Points {
			v, _, _ := b.value(&c.Points[i].Y)
			out.X, out.Y, out.Points = append(out.X, c.Points[i].X), append(out.Y, v*scale), true
		}
		fig.Curves = append(fig.Curves, out)
	}
	if window > 0 {
		fig.Subtitle += "; means over a sliding window of " + unit.Text(window)
	}
	return Picture{Name: name, Title: title, Figure: fig}
}
