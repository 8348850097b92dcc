package sweep

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/files"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/seeds"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/study"
	"fabemu/emu/study/campaign"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// MaxCells is how many cells a sweep may have unless the plan allows more (Large).
const MaxCells = 1000

// Axis is a field that is varied, and its values.
type Axis struct {
	Path   string   // as in --set: defaults.link.buffer
	Values []string // as in --set: 2packets
}

// ParseAxis reads an axis as on the command line: PATH=VALUE,VALUE,... With a single
// value it is not an axis but a setting, which the caller recognises by len(Values).
func ParseAxis(text string) (Axis, error) {
	set, err := scenario.ParseSet(text)
	if err != nil {
		return Axis{}, err
	}
	a := Axis{Path: set.Path}
	for v := range strings.SplitSeq(set.Value, ",") {
		v = strings.TrimSpace(v)
		if v == "" {
			return Axis{}, fmt.Errorf("--set %s: one of the values is empty", text)
		}
		if slices.Contains(a.Values, v) {
			return Axis{}, fmt.Errorf("--set %s: %s is given twice", text, v)
		}
		a.Values = append(a.Values, v)
	}
	return a, nil
}

// String prints an axis as ParseAxis reads it.
func (a Axis) String() string { return a.Path + "=" + strings.Join(a.Values, ",") }

// Plan is the plan of a sweep.
type Plan struct {
	Fabemu   string // version of the program
	Scenario string // name, or path of a file
	// Run the short version of the scenario, which its section short describes.
	Short bool
	Axes  []Axis // all settings, including single values; each path once
	// Variants are values of the axis Scheme that are not schemes by themselves.
	Variants []Variant
	// A figure to measure: an expression such as root.B-BC.utilisation (repeatable; default: the
	// checks of the scenario).
	Metrics []string          `flag:"metric" group:"Runs" arg:"EXPRESSION" each:"true"`
	Figures []*metrics.Figure // that runs have in addition to the table of figures
	FromPs  int64             // the time of the metrics; both 0: that of metrics.Metric.OverRun
	ToPs    int64             // in picoseconds of model time
	Clock   string            // "virtual" or "wall"
	Link    string            // wall clock: "udp" (default) or "pipe"
	Codec   bool              // virtual clock: frames go through their bytes
	// Repeat each run with the seeds 1 to N: figures and means.csv show means and their 95 %
	// intervals.
	//
	// The last axis has these seeds, whose runs are repetitions.
	Seeds int `flag:"seeds" arg:"N" low:"2" high:"1000"`
	// Allow more than 1000 runs.
	Large bool `flag:"large"`

	base    *scenario.Scenario         // unchanged
	schemes map[string]scenario.Preset // by the value of the axis Scheme
	level   map[string][]scenario.Set  // by the values of the other axes, the watermarks that all schemes have
}

// Scheme is the path of an axis of schemes. A value is the name of a scheme, as in fabemu generate:
// each run has the algorithm, the marking, the telemetry, the thresholds and the transport of its
// scheme.
const Scheme = "scheme"

// ParseSchemes reads schemes as on the command line: NAME,NAME,... A comma before a space is part
// of a name, such as "lipd, input".
func ParseSchemes(lists []string) Axis {
	a := Axis{Path: Scheme}
	for _, list := range lists {
		for name := range strings.SplitSeq(strings.ReplaceAll(list, ", ", ";"), ",") {
			a.Values = append(a.Values, strings.ReplaceAll(name, ";", ", "))
		}
	}
	return a
}

// begin reads the unchanged scenario, if there are schemes to put into it.
func (p *Plan) begin() error {
	if !slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Path == Scheme }) {
		return nil
	}
	s, err := p.open()()
	if err != nil {
		return err
	}
	p.base, p.schemes, p.level = s, make(map[string]scenario.Preset), make(map[string][]scenario.Set)
	return nil
}

// open returns how the scenario is read.
func (p *Plan) open() func(sets ...scenario.Set) (*scenario.Scenario, error) {
	open := emu.Open
	if p.Short {
		open = emu.OpenShort
	}
	return func(sets ...scenario.Set) (*scenario.Scenario, error) { return open(p.Scenario, sets...) }
}

// sets returns the changes of a value of an axis.
func (p *Plan) sets(a *Axis, value string) ([]scenario.Set, error) {
	if a.Path != Scheme {
		return []scenario.Set{{Path: a.Path, Value: value}}, nil
	}
	name, own := value, []scenario.Set(nil)
	if k := slices.IndexFunc(p.Variants, func(v Variant) bool { return v.Name == value }); k >= 0 {
		name, own = p.Variants[k].Scheme, p.Variants[k].Sets
	}
	preset, sets, err := generate.SchemeOf(name, p.base)
	sets = append(sets, own...)
	for i := range sets {
		sets[i].As = "--scheme " + value
	}
	p.schemes[value] = preset
	return sets, err
}

// Repeat adds an axis with n seeds from the first. Its runs are repetitions: the figures show means
// over them, and the means have a separate table.
func (p *Plan) Repeat(first, n int) {
	a := Axis{Path: seedPath}
	for i := range n {
		a.Values = append(a.Values, strconv.Itoa(first+i))
	}
	p.Axes, p.Seeds = append(p.Axes[:len(p.Axes):len(p.Axes)], a), n
}

// apart returns the axes whose values are kept apart: all but the seeds of repetitions.
func (p *Plan) apart() []Axis {
	if p.Seeds > 0 {
		return p.Axes[:len(p.Axes)-1]
	}
	return p.Axes
}

// layout is a plan laid out.
type layout struct {
	Plan
	drawings []drawing
	cells    map[string]*cell // by ID; only one if only one was requested
	plan     campaign.Plan
	sums     map[string]string // of files that runs read or start, by path
}

// drawing is the figure of one metric.
type drawing struct {
	metric string // or the id of a check
	title  string
	file   string // without the format
	label  string // of its Y axis
	unit   metrics.Unit
}

// cell is one combination.
type cell struct {
	number   int // from 1
	id       string
	values   []string
	scenario *scenario.Scenario
}

// lay lays a plan out: all cells, or the one with an ID. It reports all mistakes of its cells
// at once, each kind for the first cell that has it.
func (p *Plan) lay(only string) (*layout, error) {
	n, err := p.size()
	if err == nil {
		err = p.begin()
	}
	if err != nil {
		return nil, err
	}
	first, end := 0, n
	if only != "" {
		if first, err = campaign.IndexOf(only, n); err != nil {
			return nil, err
		}
		end = first + 1
	}
	l := &layout{Plan: *p, cells: make(map[string]*cell), plan: campaign.Plan{What: Kind}, sums: map[string]string{}}
	l.level = p.level
	var wrong []error
	reported := make(map[string]bool)
	for i := first; i < end; i++ {
		c, err := p.cell(i)
		if err == nil {
			err = l.add(c)
		}
		if err != nil && !reported[err.Error()] {
			reported[err.Error()] = true
			wrong = append(wrong, err)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	l.nameDrawings()
	l.plan.Files = l.files()
	return l, nil
}

// derivedApart names the watermarks that differ between cells although no cell sets them, each with
// the first two cells between which it differs.
func (l *layout) derivedApart() (all []string) {
	var first *cell
	reported := make(map[string]bool)
	named := func(c *cell) string { return "the run of " + strings.Join(l.valuesOf(c), ", ") }
	for _, x := range l.plan.Cells {
		c := l.cells[x.ID]
		if first == nil {
			first = c
			continue
		}
		for _, text := range scenario.DerivedApart(first.scenario.Derived(), c.scenario.Derived(), named(first), named(c)) {
			if key, _, _ := strings.Cut(text, " is derived"); !reported[key] {
				reported[key] = true
				all = append(all, text)
			}
		}
	}
	return all
}

// unfair returns warnings of a comparison of algorithms that does not compare whole schemes.
func (l *layout) unfair() (all []string) {
	for _, a := range l.Axes {
		if last(a.Path) == "algorithm" && len(a.Values) > 1 {
			names := strings.Join(a.Values, ",")
			all = append(all, fmt.Sprintf("%s varies only the algorithm: the marking of switches, telemetry and the transport stay as they are. To vary all that an algorithm needs, pass --scheme %s",
				a.Path, names))
		}
	}
	at := slices.IndexFunc(l.Axes, func(a Axis) bool { return a.Path == Scheme })
	for _, x := range l.plan.Cells {
		if at < 0 {
			break
		}
		c := l.cells[x.ID]
		preset := l.schemes[c.values[at]]
		keeps := func(what, name, has, want string) {
			text := fmt.Sprintf("--scheme does not change %s %s, which has its own settings: %s", what, name, has)
			if has != want && !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
		for i := range c.scenario.Flows {
			keeps("flow", c.scenario.Flows[i].Name, c.scenario.Flows[i].Control.Algorithm, preset.Algorithm)
		}
		for i := range c.scenario.Workloads {
			keeps("workload", c.scenario.Workloads[i].Name, c.scenario.Workloads[i].Control.Algorithm, preset.Algorithm)
		}
		for i := range c.scenario.Switches {
			keeps("switch", c.scenario.Switches[i].Name, c.scenario.Switches[i].Marking.Scheme, cmp.Or(preset.Point, scenario.NoScheme))
		}
	}
	return all
}

// files names the table and the figures.
func (l *layout) files() []string {
	names := []string{TableFile, ParametersFile, CaptionFile}
	if l.Seeds > 0 {
		names = append(names, slices.Concat([]string{MeansFile, seeds.TableFile}, plot.NamesOf(slowdownsFile))...)
	}
	for _, x := range l.drawings {
		names = append(names, plot.NamesOf(x.file)...)
	}
	return names
}

// size checks the parts of a plan that concern all cells, and returns the number of cells.
func (p *Plan) size() (int, error) {
	n := 1
	paths := make(map[string]bool)
	for _, a := range p.Axes {
		if paths[a.Path] {
			return 0, fmt.Errorf("%s is set twice: give all its values at once, %s=VALUE,VALUE", a.Path, a.Path)
		}
		paths[a.Path] = true
		if len(a.Values) == 0 {
			return 0, fmt.Errorf("%s is to be varied, but over no value", a.Path)
		}
		for i, v := range a.Values {
			if slices.Contains(a.Values[:i], v) {
				return 0, fmt.Errorf("%s has the value %s twice", a.Path, v)
			}
		}
		if n *= len(a.Values); n > 1<<20 {
			return 0, fmt.Errorf("the sweep has more than %d runs", 1<<20)
		}
	}
	if n > MaxCells && !p.Large {
		return 0, fmt.Errorf("the sweep has %d runs, which is more than %d: use --large to allow it", n, MaxCells)
	}
	for i, m := range p.Metrics {
		if slices.Contains(p.Metrics[:i], m) {
			return 0, fmt.Errorf("--metric %s is given twice", m)
		}
	}
	if p.FromPs < 0 || p.ToPs < p.FromPs || p.ToPs == p.FromPs && p.ToPs != 0 {
		return 0, fmt.Errorf("the metrics cannot be taken from %v to %v", unit.Time(p.FromPs), unit.Time(p.ToPs))
	}
	switch emu.Carrier(p.Link) {
	case "", emu.UDP, emu.Pipe:
	default:
		return 0, fmt.Errorf("there is no link %q for a sweep; there are %s and %s", p.Link, emu.UDP, emu.Pipe)
	}
	return n, p.options().Check()
}

// options returns how each cell is run.
func (p *Plan) options() emu.Options {
	return emu.Options{
		Settings: emu.Settings{Clock: emu.Clock(p.Clock), Link: emu.Carrier(p.Link), Codec: p.Codec, Loops: 1}, Verify: emu.VerifyOff, Version: p.Fabemu, NewStack: netstack.New, Figures: p.Figures,
	}
}

// cell returns the i-th combination; the last axis varies fastest.
func (p *Plan) cell(i int) (*cell, error) {
	c := &cell{number: i + 1, values: make([]string, len(p.Axes))}
	var sets, ofScheme []scenario.Set
	for k, rest := len(p.Axes)-1, i; k >= 0; k-- {
		values := p.Axes[k].Values
		c.values[k] = values[rest%len(values)]
		rest /= len(values)
		of, err := p.sets(&p.Axes[k], c.values[k])
		if err != nil {
			return nil, err
		}
		if p.Axes[k].Path == Scheme {
			ofScheme = of
		} else {
			sets = append(sets, of...)
		}
	}
	level, err := p.levels(c.values, sets)
	if err != nil {
		return nil, err
	}
	// A field that is also set overrides its scheme.
	if c.scenario, err = p.open()(slices.Concat(ofScheme, level, sets)...); err != nil {
		return nil, err
	}
	return c, p.check(c.scenario)
}

// check reports whether a scenario has the measured quantities.
func (p *Plan) check(s *scenario.Scenario) error {
	f, err := emu.Prepare(s)
	if err != nil {
		return err
	}
	for _, m := range p.Metrics {
		if _, err := metrics.Compile(m, f, p.Figures...); err != nil {
			return fmt.Errorf("--metric %s: %w", m, err)
		}
	}
	if len(p.Metrics) == 0 && len(s.Expect) == 0 && (p.Seeds == 0 || s.Workloads == nil) {
		return fmt.Errorf("%s has no checks: name a metric with --metric", s.Name)
	}
	if p.ToPs > int64(s.Model.Duration) {
		return fmt.Errorf("the metrics are taken until %v, but the run ends at %v", unit.Time(p.ToPs), s.Model.Duration)
	}
	return nil
}

// sum returns the SHA-256 sum of a file, which is read once.
func (l *layout) sum(path string) (string, error) {
	if sum, ok := l.sums[path]; ok {
		return sum, nil
	}
	f, err := files.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	l.sums[path] = string(h.Sum(nil))
	return l.sums[path], nil
}

// add adds a cell: its scenario, and its figures.
func (l *layout) add(c *cell) error {
	resolved, err := resolve.Text(c.scenario)
	if err != nil {
		return err
	}
	parts := []string{l.Fabemu, l.Clock, l.Link, fmt.Sprint(l.Codec), fmt.Sprintf("%q", l.Metrics),
		fmt.Sprint(l.FromPs, l.ToPs), fmt.Sprintf("%q", c.values), string(resolved)}
	for _, path := range c.scenario.Files() {
		sum, err := l.sum(path)
		if err != nil {
			return err
		}
		parts = append(parts, sum)
	}
	c.id = campaign.NewID(c.number, parts...)
	l.cells[c.id] = c
	out := campaign.Cell{Number: c.number, ID: c.id, Name: strings.Join(l.valuesOf(c), " "), Cost: study.Cost(c.scenario)}
	l.plan.Cells = append(l.plan.Cells, out)
	for _, m := range l.Metrics {
		l.draw(c.scenario, m, m)
	}
	if len(l.Metrics) == 0 {
		for i := range c.scenario.Expect {
			if l.guards(c.scenario, c.scenario.Expect[i].Metric) {
				continue
			}
			l.draw(c.scenario, c.scenario.Expect[i].ID, c.scenario.Expect[i].Metric)
		}
	}
	return nil
}

// guards reports whether a check only makes sure that the flows of a workload have ended. Over
// seeds their slowdown is drawn, which says more than their number.
func (l *layout) guards(s *scenario.Scenario, metric string) bool {
	return l.Seeds > 0 && slices.ContainsFunc(s.Workloads, func(w scenario.Workload) bool { return metric == w.Name+".transfers" })
}

// valuesOf returns the values that distinguish a cell.
func (l *layout) valuesOf(c *cell) (parts []string) {
	for k, a := range l.Axes {
		if len(a.Values) > 1 {
			parts = append(parts, last(a.Path)+"="+c.values[k])
		}
	}
	return parts
}

// draw notes that there is a figure of a metric.
func (l *layout) draw(s *scenario.Scenario, name, expression string) {
	if slices.ContainsFunc(l.drawings, func(d drawing) bool { return d.metric == name }) {
		return
	}
	inBytes := slices.ContainsFunc(s.Links, func(k scenario.Link) bool { return k.Family() == wire.Ethernet })
	d := drawing{metric: name, title: name, label: metrics.Words(expression), unit: metrics.UnitOf(expression, inBytes)}
	if name == expression {
		d.title = d.label
	}
	l.drawings = append(l.drawings, d)
}
