package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// The most lines of each kind that are printed, unless all is asked for.
const (
	shownInputs = 40 // inputs that differ
	shownChecks = 12 // checks, and more where their outcomes differ
	shownAlone  = 12 // checks and series of only one run
	shownOfKind = 2  // series of a kind: those that differ most
)

// numbers are the parts in which the names of like members differ.
var numbers = regexp.MustCompile(`[0-9]+`)

// alike returns the common part of the names of like members, such as h*-leaf*.
func alike(name string) string { return numbers.ReplaceAllString(name, "*") }

// line is a series as it is printed: of each comparison, nil where it has none.
type line struct {
	kind, name string
	of         []*Series
	like       int // how many that differ it stands for, itself included
}

// label is the name of a link, with how many it stands for.
func (l *line) label() string {
	if l.like > 1 {
		return fmt.Sprintf("%s, the largest of %d", l.name, l.like)
	}
	return l.name
}

// apart is the largest share that the series is apart.
func (l *line) apart() float64 {
	most := -1.0
	for _, s := range l.of {
		if s != nil {
			most = max(most, size(s.Share))
		}
	}
	return most
}

// equal reports whether the series is the same in all runs.
func (l *line) equal() bool {
	return !slices.ContainsFunc(l.of, func(s *Series) bool { return s == nil || s.RMS != 0 || s.Gaps > 0 })
}

// seriesLines returns the series that are not the same in all runs, groups of flows first, then
// the furthest apart; how many more differ; and how many are equal. Unless the whole is wanted,
// one line stands for all series of a kind whose names are alike, and a group for the rates of
// its flows.
func seriesLines(all []*Comparison, whole bool) (lines []line, more, equal int) {
	type key struct{ kind, name string }
	at := make(map[key]int)
	for i, c := range all {
		for j := range c.Series {
			s := &c.Series[j]
			k, ok := at[key{s.Kind, s.Name}]
			if !ok {
				k = len(lines)
				at[key{s.Kind, s.Name}] = k
				lines = append(lines, line{s.Kind, s.Name, make([]*Series, len(all)), 1})
			}
			lines[k].of[i] = s
		}
	}
	count := len(lines)
	lines = slices.DeleteFunc(lines, func(l line) bool { return l.equal() })
	equal = count - len(lines)
	slices.SortStableFunc(lines, func(x, y line) int {
		return cmp.Or(cmp.Compare(place(x.kind), place(y.kind)), cmp.Compare(y.apart(), x.apart()))
	})
	if whole {
		return lines, 0, equal
	}
	found, ofKind := make(map[key]int), make(map[string]int)
	var brief []line
	for _, l := range lines {
		if g, ok := all[0].groups[l.name]; ok {
			if _, ok := found[key{metrics.GroupKind(l.kind), g}]; ok { // it stands for those of its flows
				continue
			}
		}
		k := key{l.kind, l.name}
		if !metrics.OfGroups(l.kind) {
			k.name = alike(l.name)
		}
		if i, ok := found[k]; ok {
			if i >= 0 {
				brief[i].like++
			}
			continue
		}
		found[k] = -1
		if ofKind[l.kind]++; ofKind[l.kind] <= shownOfKind {
			found[k] = len(brief)
			brief = append(brief, l)
		}
	}
	return brief, len(lines) - len(brief), equal
}

// place orders groups before the rest.
func place(kind string) int {
	if metrics.OfGroups(kind) {
		return 0
	}
	return 1
}

// checkLines returns the checks that are printed, those whose outcomes differ first, then those
// whose values do, and how many more differ and are equal.
func checkLines(all []*Comparison, whole bool) (ids []string, more, equal int) {
	rank := make(map[string]int) // 0: outcomes differ; 1: values; 2: nothing
	for _, c := range all {
		for _, x := range c.Checks {
			r := 2
			switch {
			case x.OutcomeA != x.OutcomeB:
				r = 0
			case x.A.Known() != x.B.Known(), x.Difference.Known() && x.Difference != 0:
				r = 1
			}
			old, ok := rank[x.ID]
			if !ok {
				ids = append(ids, x.ID)
				old = r
			}
			rank[x.ID] = min(r, old)
		}
	}
	slices.SortStableFunc(ids, func(x, y string) int { return cmp.Compare(rank[x], rank[y]) })
	if whole {
		return ids, 0, 0
	}
	shown := 0
	for shown < len(ids) && (shown < shownChecks || rank[ids[shown]] == 0) {
		shown++
	}
	for _, id := range ids[shown:] {
		if rank[id] == 2 {
			equal++
		} else {
			more++
		}
	}
	return ids[:shown], more, equal
}

// andLike is a name that stands for some.
func andLike(name string, count int) string {
	if count > 1 {
		return fmt.Sprintf("%s, and %d like it", name, count-1)
	}
	return name
}

// aloneLines returns the checks and series of only one run, like ones in one line, and how many
// lines more there are.
func aloneLines(alone []string, whole bool) (lines []string, more int) {
	if whole {
		return alone, 0
	}
	for _, like := range report.Grouped(alone, func(s *string) string { return alike(*s) }) {
		lines = append(lines, andLike(like[0], len(like)))
	}
	n := min(len(lines), shownAlone)
	return lines[:n], len(lines) - n
}
