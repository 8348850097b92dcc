package compare

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Comparison puts two runs side by side.
type Comparison struct {
	A      Side     `json:"a"`
	B      Side     `json:"b"`
	Same   bool     `json:"same_scenario"` // their resolved scenarios are the same, byte for byte
	OnlyA  []string `json:"only_a"`        // lines of the resolved scenarios that only one of them has
	OnlyB  []string `json:"only_b"`
	Inputs []Input  `json:"inputs"` // in which the resolved scenarios differ
	Checks []Check  `json:"checks"`
	Series []Series `json:"series"` // those that differ most first
	Alone  []string `json:"alone"`  // checks and series that only one of them has
	Log    Log      `json:"log"`

	// Means are the figures of repetitions, instead of checks, series and logs: both directories
	// have several seeds.
	Pairs     int      `json:"pairs,omitempty"` // pairs of valid runs with one seed, of which the differences are
	Means     []Mean   `json:"means,omitempty"`
	Slowdowns []Pooled `json:"slowdowns,omitempty"`
	Workloads []Figure `json:"workloads,omitempty"` // of the workloads that both have

	// Derived names the watermarks that both runs have derived, with different values.
	Derived []string `json:"derived,omitempty"`

	resolvedA, resolvedB resolved
	groups               map[string]string // of flows
}

// Side is one of the two runs.
type Side struct {
	Directory string `json:"directory"`
	Fabemu    string `json:"fabemu"` // version of the program
	Scenario  string `json:"scenario"`
	mode.Settings
	Seed     uint64       `json:"seed"`
	Duration int64        `json:"duration_ps"` // model time that was run
	Partial  bool         `json:"partial"`
	Level    report.Level `json:"level"`
	Reason   string       `json:"reason"`

	Seeds  int            `json:"seeds,omitempty"` // of repetitions; the other fields describe the first
	Result *report.Result `json:"-"`               // for pictures
}

// Check is a check in both runs.
type Check struct {
	ID         string         `json:"id"`
	Claim      string         `json:"claim"`
	A          report.Number  `json:"a"`
	B          report.Number  `json:"b"`
	Difference report.Number  `json:"difference"` // b - a
	OutcomeA   report.Outcome `json:"outcome_a"`
	OutcomeB   report.Outcome `json:"outcome_b"`
}

// Series is a series in both runs.
type Series struct {
	Kind    string        `json:"kind"`
	Name    string        `json:"name"`
	Unit    string        `json:"unit"`   // of the figures below
	MeanA   report.Number `json:"mean_a"` // of the values at the instants that were compared
	MeanB   report.Number `json:"mean_b"`
	RMS     report.Number `json:"rms"`      // root of the mean square of b - a
	Share   report.Number `json:"share"`    // RMS over the larger of the two series' own
	Worst   report.Number `json:"worst"`    // b - a where they differ most
	WorstPs int64         `json:"worst_ps"` // and when that is
	Points  int           `json:"points"`   // instants that were compared
	Gaps    int           `json:"gaps"`     // instants at which one of the two is undefined
}

// Log is how the two event logs compare.
type Log struct {
	State  string `json:"state"` // "equal", "part", or why they were not compared
	Line   int    `json:"line,omitempty"`
	EventA string `json:"event_a,omitempty"` // the first event that is not the other's; empty: the log has ended
	EventB string `json:"event_b,omitempty"`
}

// The states of Log.
const (
	LogsEqual = "equal"
	LogsPart  = "part"
)

// Dirs compares the results in two directories. An error names the fault of
// one of them.
func Dirs(a, b string) (*Comparison, error) {
	all, err := Several(a, b)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Several compares the results in each of other directories with those in the first.
func Several(first string, others ...string) ([]*Comparison, error) {
	var wrong []error
	var dirs []*report.Dir
	var inputs []resolved
	names, sets, err := repetitions(append([]string{first}, others...))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		d, err := report.ReadDir(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		in, err := readResolved(d.Resolved)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s of %s: %w", report.ResolvedFile, name, err))
		}
		dirs, inputs = append(dirs, d), append(inputs, in)
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	all := make([]*Comparison, len(others))
	da := dirs[0]
	for i, db := range dirs[1:] {
		c := &Comparison{A: side(first, da), B: side(others[i], db), Same: bytes.Equal(da.Resolved, db.Resolved)}
		c.resolvedA, c.resolvedB, c.groups = inputs[0], inputs[i+1], make(map[string]string)
		for i := range da.Flows {
			c.groups[da.Flows[i].Name] = da.Flows[i].Group
		}
		c.Inputs = differing(inputs[0], inputs[i+1])
		c.OnlyA, c.OnlyB = only(da.Resolved, db.Resolved), only(db.Resolved, da.Resolved)
		c.Derived = scenario.DerivedApart(da.Derived, db.Derived, first, others[i])
		if all[i] = c; sets != nil {
			c.means(sets[0], sets[i+1])
			continue
		}
		c.checks(da.Checks, db.Checks)
		c.workloads(da.Workloads, db.Workloads)
		c.series(da.Series, db.Series)
		for i := range c.Series {
			c.Series[i].Unit = metrics.UnitOf(c.Series[i].Kind, da.InBytes()).Symbol
		}
		var err error
		if c.Log, err = logs(da, db); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func side(dir string, d *report.Dir) Side {
	return Side{
		Directory: dir, Fabemu: d.Fabemu, Scenario: d.Scenario, Settings: d.Settings,
		Seed: d.Seed, Duration: d.DurationPs, Partial: d.Partial, Level: d.Verdict.Level, Reason: d.Verdict.Reason,
		Result: d.Result,
	}
}

// only returns the lines of a text that another does not have, or not as often.
func only(text, other []byte) []string {
	there := make(map[string]int)
	for line := range strings.Lines(string(other)) {
		there[strings.TrimSpace(line)]++
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); there[line] > 0 {
			there[line]--
		} else {
			list = append(list, line)
		}
	}
	return list
}

// pairs calls both with each item of two runs, in the order of the first, and alone with each item
// that only the first or only the second has.
func pairs[T any](a, b []T, key func(*T) string, both func(x, y *T), alone func(x *T, of string)) {
	other := make(map[string]*T)
	for i := range b {
		other[key(&b[i])] = &b[i]
	}
	for i := range a {
		if y := other[key(&a[i])]; y != nil {
			both(&a[i], y)
			delete(other, key(y))
		} else {
			alone(&a[i], "the first")
		}
	}
	for i := range b {
		if other[key(&b[i])] != nil {
			alone(&b[i], "the second")
		}
	}
}

// checks compares the checks that both have.
func (c *Comparison) checks(a, b []report.Check) {
	pairs(a, b, func(x *report.Check) string { return x.ID }, func(x, y *report.Check) {
		c.Checks = append(c.Checks, Check{x.ID, x.Claim, x.Value, y.Value, y.Value - x.Value, x.Outcome, y.Outcome})
	}, func(x *report.Check, of string) { c.Alone = append(c.Alone, "check "+x.ID+" of "+of) })
}

// series compares the series that both have, but for the pace. A run has series of stalls only if
// there were any: a run without them is compared as one that had none.
func (c *Comparison) series(a, b []metrics.Series) {
	key := func(s *metrics.Series) string { return s.Kind + " of " + s.Name }
	paceless := func(all []metrics.Series) []metrics.Series {
		return slices.DeleteFunc(slices.Clone(all), func(s metrics.Series) bool { return s.Kind == "pace" })
	}
	pairs(paceless(a), paceless(b), key, func(x, y *metrics.Series) { c.Series = append(c.Series, apart(x, y)) },
		func(x *metrics.Series, of string) {
			switch {
			case !strings.HasPrefix(x.Kind, metrics.LinkStalled) && !strings.HasPrefix(x.Kind, metrics.FlowStalled):
				c.Alone = append(c.Alone, key(x)+", of "+of)
			case of == "the first":
				c.Series = append(c.Series, apart(x, none(x)))
			default:
				c.Series = append(c.Series, apart(none(x), x))
			}
		})
	slices.SortStableFunc(c.Series, func(x, y Series) int {
		return cmp.Or(cmp.Compare(size(y.Share), size(x.Share)), cmp.Compare(y.Gaps, x.Gaps))
	})
}

// none returns the series of a run in which there was nothing of the kind.
func none(s *metrics.Series) *metrics.Series {
	return &metrics.Series{Kind: s.Kind, Name: s.Name, Times: s.Times, Values: make([]float64, len(s.Times))}
}

// size is a share for sorting: an unknown one comes last.
func size(n report.Number) float64 {
	if !n.Known() {
		return -1
	}
	return float64(n)
}

// apart measures how far two series are apart.
func apart(a, b *metrics.Series) Series {
	none := report.Missing()
	s := Series{Kind: a.Kind, Name: a.Name, MeanA: none, MeanB: none, RMS: none, Share: none, Worst: none}
	var sumA, sumB, squares, ofA, ofB unit.Total
	for i, t := range a.Times {
		x, y := a.Values[i], at(b, t)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			continue
		case math.IsNaN(x) || math.IsNaN(y):
			s.Gaps++
			continue
		}
		s.Points++
		sumA.Add(x)
		sumB.Add(y)
		squares.Add((y - x) * (y - x))
		ofA.Add(x * x)
		ofB.Add(y * y)
		if !s.Worst.Known() || math.Abs(y-x) > math.Abs(float64(s.Worst)) {
			s.Worst, s.WorstPs = report.Number(y-x), int64(t)
		}
	}
	if s.Points > 0 {
		n := float64(s.Points)
		s.MeanA, s.MeanB = report.Number(sumA.Over(n)), report.Number(sumB.Over(n))
		s.RMS, s.Share = report.Number(math.Sqrt(squares.Over(n))), 0
		if own := math.Sqrt(max(ofA.Over(n), ofB.Over(n))); own > 0 {
			s.Share = s.RMS / report.Number(own)
		}
	}
	return s
}

// at returns the value of a series at an instant: NaN where it has none.
func at(s *metrics.Series, t unit.Time) float64 {
	i, found := slices.BinarySearch(s.Times, t)
	switch {
	case found:
		return s.Values[i]
	case i == 0 || i == len(s.Times):
		return math.NaN()
	}
	before, after := s.Times[i-1], s.Times[i]
	share := float64(t-before) / float64(after-before)
	return s.Values[i-1] + share*(s.Values[i]-s.Values[i-1])
}

// logs compares the event logs of two directories, line by line.
func logs(a, b *report.Dir) (Log, error) {
	fa, errA := a.Events()
	fb, errB := b.Events()
	for _, f := range []io.Closer{fa, fb} {
		if f != nil {
			defer f.Close()
		}
	}
	for _, err := range []error{errA, errB} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Log{}, err
		}
	}
	switch {
	case errA == nil && errB == nil && !reflect.DeepEqual(a.Choice, b.Choice):
		return Log{State: "they hold different choices of events"}, nil
	case errA != nil && errB != nil:
		return Log{State: "neither run has an event log: run with --events"}, nil
	case errA != nil:
		return Log{State: "the first run has no event log: run it with --events"}, nil
	case errB != nil:
		return Log{State: "the second run has no event log: run it with --events"}, nil
	}
	ra, rb := bufio.NewReaderSize(fa, 1<<16), bufio.NewReaderSize(fb, 1<<16)
	for line := 1; ; line++ {
		x, errA := ra.ReadString('\n')
		y, errB := rb.ReadString('\n')
		for _, err := range []error{errA, errB} {
			if err != nil && err != io.EOF {
				return Log{}, fmt.Errorf("event log, line %d: %w", line, err)
			}
		}
		switch {
		case x != y:
			return Log{State: LogsPart, Line: line, EventA: strings.TrimRight(x, "\n"), EventB: strings.TrimRight(y, "\n")}, nil
		case errA == io.EOF:
			return Log{State: LogsEqual}, nil
		}
	}
}

// Within reports whether the runs agree: they cover the same model time and were both
// brought to their end or both not; both are void or neither; no check, no figure of a workload
// and no series is further apart than a share of its own size, none has gaps or is alone, no
// outcome differs, and the logs do not part unless a tolerance allows it. Means of repetitions may
// be apart by their noise.
func (c *Comparison) Within(tolerance float64) bool {
	if c.A.Partial != c.B.Partial || c.A.Duration != c.B.Duration || (c.A.Level == report.Void) != (c.B.Level == report.Void) {
		return false
	}
	for i := range c.Means {
		m := &c.Means[i]
		own := max(math.Abs(float64(m.A.Mean)), math.Abs(float64(m.B.Mean)))
		if !m.Noise && !(math.Abs(float64(m.Difference)) <= tolerance*own) {
			return false
		}
	}
	for i := range c.Slowdowns {
		if !c.Slowdowns[i].within(tolerance) {
			return false
		}
	}
	if len(c.Alone) > 0 || tolerance == 0 && c.Log.State == LogsPart {
		return false
	}
	for _, x := range c.Checks {
		if x.A.Known() != x.B.Known() || x.OutcomeA != x.OutcomeB {
			return false
		}
		own := max(math.Abs(float64(x.A)), math.Abs(float64(x.B)))
		if x.A.Known() && math.Abs(float64(x.Difference)) > tolerance*own {
			return false
		}
	}
	for i := range c.Workloads {
		if c.Workloads[i].apart() > tolerance {
			return false
		}
	}
	for _, s := range c.Series {
		if s.Gaps > 0 || s.Share.Known() && float64(s.Share) > tolerance {
			return false
		}
	}
	return true
}
