package summary

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/wire/unit"
)

// phaseColumn is how wide the column of a phase is at least.
const phaseColumn = 11

// rateTables returns the means of phases, a column for each: browsers have all rates, a terminal
// the busiest.
func rateTables(r *report.Result) []document.Block {
	if len(r.Phases) == 0 {
		return nil
	}
	table := func(first string) *document.Table {
		t := &document.Table{Caption: ratesTitle(r), Color: terminal.Bold, Columns: []document.Column{{Head: first}}}
		for _, p := range r.Phases {
			span := milliseconds(p.FromPs) + "-" + milliseconds(p.ToPs) + " ms"
			t.Columns = append(t.Columns, document.Column{Head: span, Right: true, Least: phaseColumn})
		}
		return t
	}
	all, few := table("rate"), table("")
	row := func(name string, cell func(p *report.Phase) string) {
		all.Add(append([]string{name}, cellsOf(r.Phases, cell)...)...)
	}
	shown, hidden := shownRates(r.Phases), 0
	for i, x := range r.Phases[0].Rates { // every phase has the same
		row(x.Name, func(p *report.Phase) string { return (100 * p.Rates[i].Utilisation).Print("%.1f") })
		if shown[i] {
			few.Rows = append(few.Rows, all.Rows[i])
		} else {
			hidden++
		}
	}
	if hidden > 0 {
		few.Add(fmt.Sprintf("... %d more like these, less busy, in %s", hidden, report.ResultFile))
	}
	rates := len(all.Rows)
	if len(r.Flows) > 0 { // those of workloads have a table
		row("flows that are active", func(p *report.Phase) string { return fmt.Sprint(p.Flows) })
	}
	for _, name := range fairnessNames(r.Phases) {
		row(name, func(p *report.Phase) string {
			if k := slices.IndexFunc(p.Fairness, func(x report.Fairness) bool { return jain(&x) == name }); k >= 0 {
				return p.Fairness[k].Jain.Print("%.3f")
			}
			return "-"
		})
	}
	if len(all.Rows) == 0 { // of workloads alone, on links of endpoints
		return nil
	}
	few.Rows = append(few.Rows, all.Rows[rates:]...)
	all.Folds, few.Fixed = true, 1
	return append(document.In(document.Browser, all), document.In(document.Terminal, few)...)
}

// likeShown is how many rates are printed with names that are alike but for numbers, where
// there are many.
const likeShown = 2

var digits = regexp.MustCompile(`[0-9]+`)

// shownRates marks the rates that are printed: all, or where there are many, the busiest of each
// kind.
func shownRates(phases []report.Phase) []bool {
	rates := phases[0].Rates
	keys, busy := make([]string, len(rates)), make([]report.Number, len(rates))
	for i := range rates {
		keys[i] = rates[i].Kind + " " + rates[i].Name
		for _, p := range phases {
			if u := p.Rates[i].Utilisation; u.Known() {
				busy[i] += u
			}
		}
	}
	return busiest(keys, busy)
}

// busiest marks what is printed of some: all, or where there are many, the busiest of those whose
// keys differ in numbers alone.
func busiest(keys []string, busy []report.Number) []bool {
	shown, like, order := make([]bool, len(keys)), make(map[string]int), make([]int, len(keys))
	for i := range keys {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(busy[k], busy[i]) })
	for _, i := range order {
		key := digits.ReplaceAllString(keys[i], "*")
		like[key]++
		shown[i] = len(keys) <= 2*document.Listed || like[key] <= likeShown
	}
	return shown
}

// fairnessNames returns whose indices phases have.
func fairnessNames(phases []report.Phase) (names []string) {
	for i := range phases {
		for _, x := range phases[i].Fairness {
			if !slices.Contains(names, jain(&x)) {
				names = append(names, jain(&x))
			}
		}
	}
	return names
}

// ratesTitle is the title of the phases' means, with the part of a phase that they leave
// out.
func ratesTitle(r *report.Result) string {
	title := "Rates in percent of link capacity"
	if slices.ContainsFunc(r.Phases, func(p report.Phase) bool { return p.FromPs-p.BeginPs < r.WindowPs }) {
		return title
	}
	title += ", after the first " + unit.Text(unit.Duration(r.WindowPs)) + " of each phase"
	if short := shortPhases(r); len(short) > 0 {
		title += "; too short for means over two windows: " + strings.Join(short, ", ")
	}
	return title
}

// shortPhases returns the parts of a run that belong to no phase, if they are longer than
// a window.
func shortPhases(r *report.Result) (parts []string) {
	end := int64(0)
	for _, p := range append(slices.Clip(r.Phases), report.Phase{BeginPs: r.DurationPs}) {
		if p.BeginPs-end > r.WindowPs {
			parts = append(parts, milliseconds(end)+"-"+milliseconds(p.BeginPs)+" ms")
		}
		end = p.ToPs
	}
	return parts
}

// jain names the index that a row shows.
func jain(x *report.Fairness) string {
	if x.Kind == "bottleneck" {
		return "Jain's index at " + x.Name
	}
	return "Jain's index of " + x.Name
}

// milliseconds prints an instant to a thousandth of a millisecond at most.
func milliseconds(ps int64) string {
	s := fmt.Sprintf("%.3f", float64(ps)/float64(unit.Millisecond))
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
