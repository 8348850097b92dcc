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
)

// Mean is a figure that the repetitions of both runs have.
type Mean struct {
	Kind       string          `json:"kind"` // as report.Repeated has them
	Name       string          `json:"name"`
	A          report.Estimate `json:"a"`
	B          report.Estimate `json:"b"`
	Difference report.Number   `json:"difference"` // b - a
	Interval   report.Number   `json:"interval"`   // half of the 95 % confidence interval of the difference
	Noise      bool            `json:"noise"`      // the difference is within its interval
}

// repetitions returns the directories to read: with repetitions the directory of the first run, and the means. They are
// nil if all directories have single runs.
func repetitions(names []string) (runs []string, all []*report.Repetitions, err error) {
	single, several := "", ""
	for _, name := range names {
		r, err := report.ReadRepetitions(name)
		switch {
		case errors.As(err, new(*fs.PathError)): // ReadDir reports the fault of a directory
			single = name
			runs = append(runs, name)
		case err != nil:
			return nil, nil, err
		default:
			several = filepath.Join(name, r.Runs[0])
			runs, all = append(runs, several), append(all, r)
		}
	}
	if single != "" && several != "" {
		if _, err := report.ReadDir(single); err != nil {
			return nil, nil, err
		}
		return nil, nil, fmt.Errorf("%s has a single run, and others have repetitions: compare it with one of those, such as %s, or repeat it with fabemu run --seeds",
			single, several)
	}
	return runs, all, nil
}

// means compares the figures of two sets of repetitions.
func (c *Comparison) means(a, b *report.Repetitions) {
	c.Log.State = "repetitions have no common log"
	c.A.Seeds, c.B.Seeds = len(a.Runs), len(b.Runs)
	key := func(f *report.Repeated) string { return f.Kind + " " + f.Name }
	pairs(a.Figures, b.Figures, key, func(x, y *report.Repeated) {
		m := Mean{Kind: x.Kind, Name: x.Name, A: x.Estimate, B: y.Estimate}
		m.Difference, m.Interval = m.A.Less(m.B)
		m.Noise = m.Difference == 0 || m.Interval.Known() && math.Abs(float64(m.Difference)) <= float64(m.Interval) ||
			m.A.Values+m.B.Values == 0
		c.Means = append(c.Means, m)
	}, func(x *report.Repeated, of string) { c.Alone = append(c.Alone, key(x)+", of "+of) })
}

// shownMeans is how many means are printed of two runs, or for each of several.
const shownMeans = 24

// means prints the means of repetitions, checks first and then the differences that are no noise.
func (t *text) means() {
	for _, c := range t.all {
		all := slices.Clone(c.Means)
		slices.SortStableFunc(all, func(x, y Mean) int { return cmp.Compare(rank(&x), rank(&y)) })
		shown := len(all)
		if !t.whole {
			shown = min(shown, shownMeans)
		}
		table := document.NewTable("", []string{"mean", "of", c.A.Directory, c.B.Directory, "difference", ""}, nil)
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
		t.Line("%d of %d differences are within the noise: in their 95 %% confidence interval", noise, len(all))
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
		verdict = "not known: a single value"
	}
	return []string{m.Kind, m.Name, m.A.String(), m.B.String(), difference, verdict}
}
