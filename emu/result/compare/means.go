package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"fabemu/emu/base/document"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
)

// repeated is a set of repetitions, with what each of its runs contributes.
type repeated struct {
	*seeds.Repetitions
	runs []seeds.Run
}

// Mean is a figure that the repetitions of both runs have.
type Mean struct {
	Kind       string          `json:"kind"` // as seeds.Repeated has them
	Name       string          `json:"name"`
	A          report.Estimate `json:"a"`
	B          report.Estimate `json:"b"`
	Difference report.Number   `json:"difference"` // b - a, the mean over pairs of runs with one seed
	Interval   report.Number   `json:"interval"`   // half of the 95 % confidence interval of the difference
	Noise      bool            `json:"noise"`      // the difference is within its interval
}

// Pooled is a figure of the slowdown of a workload over the flows of all seeds, in both runs.
type Pooled struct {
	Name        string         `json:"name"` // "web.slowdown.p99"
	A           seeds.Interval `json:"a"`
	B           seeds.Interval `json:"b"`
	Ratio       seeds.Interval `json:"ratio"`       // b / a, the geometric mean over pairs of runs with one seed
	Significant bool           `json:"significant"` // the 95 % interval of the ratio excludes 1
}

// verdict says whether the two figures differ.
func (p *Pooled) verdict() string {
	switch {
	case !p.A.Value.Known() || !p.B.Value.Known():
		return "too few flows"
	case p.A.Value == p.B.Value:
		return "equal"
	case p.Significant:
		return "significant"
	case !p.Ratio.Low.Known():
		return "not known: too few pairs, or flows in a run"
	}
	return "not significant"
}

// within reports whether the two figures agree, but for a share of themselves.
func (p *Pooled) within(tolerance float64) bool {
	if p.A.Value.Known() != p.B.Value.Known() {
		return false
	}
	return !p.A.Value.Known() || p.verdict() == "not significant" || math.Abs(float64(p.B.Value-p.A.Value)) <= tolerance*float64(max(p.A.Value, p.B.Value))
}

// slowdowns compares the slowdown of the workloads that both have.
func (c *Comparison) slowdowns(a, b []seeds.Slowdown, paired []seeds.Pair) {
	pairs(a, b, func(s *seeds.Slowdown) string { return s.Workload }, func(x, y *seeds.Slowdown) {
		of := map[string]seeds.Interval{}
		for name, v := range y.Figures {
			of[name] = v
		}
		ratios := seeds.Ratios(paired, x.Workload)
		for name, v := range x.Figures {
			p := Pooled{Name: x.Workload + ".slowdown." + name, A: v, B: of[name], Ratio: ratios[name]}
			p.Significant = p.Ratio.Significant()
			c.Slowdowns = append(c.Slowdowns, p)
		}
	}, func(s *seeds.Slowdown, of string) {
		c.Alone = append(c.Alone, "workload "+s.Workload+", of "+of)
	})
}

// repetitions returns the directories to read: with repetitions the directory of the first run, and
// the repetitions. They are nil if all directories have single runs.
func repetitions(names []string) (runs []string, all []repeated, err error) {
	single, several := "", ""
	for _, name := range names {
		r, err := seeds.Read(name)
		switch {
		case errors.As(err, new(*fs.PathError)): // ReadDir reports the fault of a directory
			single = name
			runs = append(runs, name)
		case err != nil:
			return nil, nil, err
		default:
			of, err := r.Load(name)
			if err != nil {
				return nil, nil, err
			}
			several = filepath.Join(name, r.Runs[0])
			runs, all = append(runs, several), append(all, repeated{r, of})
		}
	}
	if single != "" && several != "" {
		if _, err := report.ReadDir(single); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("%s has a single run, but the others have repetitions: compare it with one of them, such as %s, or repeat it with fabemu run --seeds",
			single, several)
	}
	return runs, all, nil
}

// means compares the figures of two sets of repetitions.
func (c *Comparison) means(a, b repeated) {
	c.Log.State = "repetitions have no common log"
	c.A.Seeds, c.B.Seeds = len(a.Runs), len(b.Runs)
	paired := seeds.Paired(a.runs, b.runs)
	c.Pairs = len(paired)
	c.slowdowns(a.Slowdowns, b.Slowdowns, paired)
	key := func(f *seeds.Repeated) string { return f.Kind + " " + f.Name }
	pairs(a.Figures, b.Figures, key, func(x, y *seeds.Repeated) {
		d := seeds.Difference(paired, x.Kind, x.Name)
		m := Mean{Kind: x.Kind, Name: x.Name, A: x.Estimate, B: y.Estimate, Difference: d.Mean, Interval: d.Interval}
		m.Noise = m.Difference == 0 || m.Interval.Known() && math.Abs(float64(m.Difference)) <= float64(m.Interval) ||
			m.A.Values+m.B.Values == 0
		c.Means = append(c.Means, m)
	}, func(x *seeds.Repeated, of string) { c.Alone = append(c.Alone, key(x)+", of "+of) })
}

// shownMeans is how many means are printed of two runs, or for each of several.
const shownMeans = 24

// means prints the means of repetitions, checks first and then the differences that are no noise.
func (t *text) means() {
	for _, c := range t.all {
		if c.Slowdowns != nil {
			table := document.NewTable("", []string{"flows of all seeds", c.A.Directory, c.B.Directory, "paired ratio", ""}, nil)
			for i := range c.Slowdowns {
				x := &c.Slowdowns[i]
				ratio := x.Ratio.Value.Print(figure)
				if x.Ratio.Low.Known() {
					ratio = fmt.Sprintf("%s (%s to %s)", ratio, x.Ratio.Low.Print(figure), x.Ratio.High.Print(figure))
				}
				table.Add(x.Name, x.A.String(), x.B.String(), ratio, x.verdict())
			}
			t.Add(table)
			t.Line("Brackets hold 95 %% confidence intervals. The ratio is the geometric mean over %d pairs of runs with one seed. It is significant if its interval excludes 1.", c.Pairs)
			t.Line("")
		}
		all := slices.Clone(c.Means)
		slices.SortStableFunc(all, func(x, y Mean) int { return cmp.Compare(rank(&x), rank(&y)) })
		shown := len(all)
		if !t.whole {
			shown = min(shown, shownMeans)
		}
		table := document.NewTable("", []string{"mean", "of", c.A.Directory, c.B.Directory, "paired difference", ""}, nil)
		for _, m := range all[:shown] {
			table.Add(m.cells()...)
		}
		t.Add(table)
		t.beyond(len(all)-shown, "means")
		noise := 0
		for _, m := range all {
			if m.Noise {
				noise++
			}
		}
		t.Line("%d of %d differences are within the noise: in their 95 %% confidence interval, of %d pairs of runs with one seed", noise, len(all), c.Pairs)
		t.Line("")
	}
}

// rank orders means for reading.
func rank(m *Mean) int {
	switch {
	case m.Kind == "check":
		return 0
	case !m.Noise:
		return 1
	}
	return 2
}

// cells are a mean in both runs, and whether they differ.
func (m *Mean) cells() []string {
	difference, verdict := m.Difference.Print(figure), "differs"
	if m.Interval.Known() && m.Interval > 0 {
		difference = report.Estimate{Mean: m.Difference, Interval: m.Interval}.String()
	}
	switch {
	case m.Difference == 0:
		verdict = "equal"
	case m.Noise:
		verdict = "within the noise"
	case !m.Interval.Known():
		verdict = "not known: too few pairs"
	}
	return []string{m.Kind, m.Name, m.A.String(), m.B.String(), difference, verdict}
}
