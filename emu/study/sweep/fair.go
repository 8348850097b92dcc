package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/sets"
	"fabemu/emu/study/campaign"
	"fabemu/wire/unit"
)

// levels returns the watermarks that are derived and differ between the schemes of a sweep, at the
// lowest of them, so that all schemes have the same; others are the values of the other axes.
func (p *Plan) levels(values []string, others []scenario.Set) ([]scenario.Set, error) {
	at := slices.IndexFunc(p.Axes, func(a Axis) bool { return a.Path == Scheme })
	if at < 0 || len(p.Axes[at].Values) < 2 {
		return nil, nil
	}
	key := slices.Clone(values)
	for i := range p.Axes {
		if i == at || p.Axes[i].Path == seedPath {
			key[i] = "" // no watermark depends on the seed
		}
	}
	id := fmt.Sprintf("%q", key)
	if known, ok := p.level[id]; ok {
		return known, nil
	}
	var all []*scenario.Scenario
	for _, value := range p.Axes[at].Values {
		of, err := p.sets(&p.Axes[at], value)
		if err != nil {
			return nil, err
		}
		s, err := p.open()(slices.Concat(of, others)...)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	p.level[id] = lowest(all)
	return p.level[id], nil
}

// lowest returns the derived watermarks that differ between scenarios, each at its lowest.
func lowest(all []*scenario.Scenario) (levels []scenario.Set) {
	least, differs := map[string]int64{}, map[string]bool{}
	for _, s := range all {
		for _, d := range s.Derived() {
			if v, ok := least[d.Key]; d.IsField() && (!ok || d.Bytes < v) {
				least[d.Key] = d.Bytes
			}
		}
		for _, text := range scenario.DerivedApart(all[0].Derived(), s.Derived(), "", "") {
			key, _, _ := strings.Cut(text, " of ")
			differs[key] = true
		}
	}
	for key, v := range least {
		if differs[key] {
			levels = append(levels, scenario.Set{Path: "defaults." + key, Value: unit.Size(v).String(), As: "--scheme"})
		}
	}
	slices.SortFunc(levels, func(a, b scenario.Set) int { return cmp.Compare(a.Path, b.Path) })
	return levels
}

// compared says what is equal for all schemes of a sweep, and what is not; empty: there are not
// several schemes.
func (l *layout) compared() string {
	if len(l.level) == 0 || l.differing() != nil {
		return ""
	}
	parts := "algorithm, marking and transport"
	if l.trims() {
		parts = "algorithm, marking, trimming and transport"
	}
	text := fmt.Sprintf("the schemes differ in %s: %s has all values. Links, buffers, framing, traffic, sample and seeds are equal", parts, ParametersFile)
	var levels []string
	for _, of := range l.level {
		for _, s := range of {
			if level := strings.TrimPrefix(s.Path, "defaults.") + " " + s.Value; !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		}
	}
	if slices.Sort(levels); levels != nil {
		text += "; so are the watermarks that each would derive, at the lowest: " + strings.Join(levels, ", ")
	}
	return text
}

// trims reports whether switches trim under one scheme and not under another.
func (l *layout) trims() bool {
	first := l.cells[l.plan.Cells[0].ID].scenario.Switches
	return slices.ContainsFunc(l.plan.Cells, func(x campaign.Cell) bool {
		return !slices.EqualFunc(first, l.cells[x.ID].scenario.Switches, func(a, b scenario.Switch) bool { return a.Trim == b.Trim })
	})
}

// seedPath is the axis of repetitions.
const seedPath = "model.seed"

// differing returns the sections that differ between schemes in more than what belongs to a scheme.
// It compares the first cells of all schemes.
func (l *layout) differing() (parts []string) {
	at := slices.IndexFunc(l.Axes, func(a Axis) bool { return a.Path == Scheme })
	if at < 0 || len(l.Axes[at].Values) < 2 {
		return nil
	}
	var first *cell
	for _, x := range l.plan.Cells {
		c := l.cells[x.ID]
		if first == nil {
			first = c
		}
		other := slices.Clone(c.values)
		other[at] = first.values[at]
		if !slices.Equal(other, first.values) {
			continue
		}
		for _, part := range apart(first.scenario, c.scenario) {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// apart returns the sections of two scenarios that differ in more than algorithms, markings,
// trimming and transports.
func apart(a, b *scenario.Scenario) (sections []string) {
	add := func(section string, equal bool) {
		if !equal {
			sections = append(sections, section)
		}
	}
	add("model", a.Model == b.Model)
	add("routing", a.Routing == b.Routing)
	add("measure", a.Measure == b.Measure)
	add("switches", slices.EqualFunc(a.Switches, b.Switches, func(x, y scenario.Switch) bool {
		x.Marking, x.Trim = y.Marking, y.Trim
		return x == y
	}))
	add("endpoints", slices.EqualFunc(a.Endpoints, b.Endpoints, func(x, y scenario.Endpoint) bool { return x == y }))
	add("links", slices.Equal(a.Links, b.Links))
	add("flows", slices.EqualFunc(a.Flows, b.Flows, func(x, y scenario.Flow) bool {
		x.Control, x.Transport = y.Control, y.Transport
		return x == y
	}))
	add("workload", slices.EqualFunc(a.Workloads, b.Workloads, func(x, y scenario.Workload) bool {
		x.Control, x.Transport = y.Control, y.Transport
		return x == y
	}))
	return sections
}

// ParametersFile is the table of the values that the schemes of a sweep use; CaptionFile is the
// same for the caption of its figures.
const (
	ParametersFile = "parameters.csv"
	CaptionFile    = "parameters.txt"
)

// parameters are the values that the cells with the same values of an axis, or of several, use.
type parameters struct {
	values string // which cells: "scheme=hpcc"; empty: all
	rows   []sets.Row
}

// parameters returns the values of all cells, once for those with the same.
func (l *layout) parameters() (all []parameters) {
	known := map[string]bool{}
	for _, x := range l.plan.Cells {
		c := l.cells[x.ID]
		var parts []string
		for i, a := range l.Axes {
			if a.Path != seedPath && len(a.Values) > 1 {
				parts = append(parts, last(a.Path)+"="+c.values[i])
			}
		}
		if name := strings.Join(parts, ", "); !known[name] {
			known[name] = true
			all = append(all, parameters{name, sets.Rows(c.scenario)})
		}
	}
	return all
}

// cells returns the table of the values of all cells, with its heads.
func (l *layout) parameterCells() [][]string {
	cells := [][]string{append([]string{"runs"}, sets.Heads()...)}
	for _, p := range l.parameters() {
		for i := range p.rows {
			cells = append(cells, append([]string{p.values}, p.rows[i].Cells()...))
		}
	}
	return cells
}

// caption is the values of all cells as sentences for a caption, those of one set together.
func (l *layout) caption() string {
	var b strings.Builder
	for _, p := range l.parameters() {
		for part := range grouped(p.rows) {
			first := &part[0]
			name := first.Object + " " + first.Scheme
			if p.values != "" {
				name = p.values + ": " + name
			}
			if first.Set != "" {
				name += ", set " + first.Set
				if first.Made != "" {
					name += ", made for " + first.Made
				}
			}
			fmt.Fprintf(&b, "%s:", name)
			for i := range part {
				r := &part[i]
				note := r.Source
				if r.Guess {
					note = strings.TrimPrefix(note+", a guess", ", ")
				}
				if r.Origin != "set" {
					note = strings.TrimSuffix(r.Origin+"; "+note, "; ")
				}
				if r.Doubt != "" {
					note = strings.TrimPrefix(note+"; "+r.Doubt, "; ")
				}
				fmt.Fprintf(&b, "\n  %s %s", r.Key, r.Value)
				if note != "" {
					fmt.Fprintf(&b, " (%s)", note)
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// grouped returns the rows of each object.
func grouped(rows []sets.Row) func(yield func([]sets.Row) bool) {
	return func(yield func([]sets.Row) bool) {
		for from := 0; from < len(rows); {
			to := from + 1
			for to < len(rows) && rows[to].Object == rows[from].Object && rows[to].Scheme == rows[from].Scheme && rows[to].Key != rows[from].Key {
				to++
			}
			if !yield(rows[from:to]) {
				return
			}
			from = to
		}
	}
}
