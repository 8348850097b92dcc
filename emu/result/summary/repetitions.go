package summary

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
)

// pooled describes the flows of a workload over all seeds.
func pooled(s *seeds.Slowdown) string {
	text := fmt.Sprintf("Slowdown of %s over %s of %s, with 95 %% confidence intervals", s.Workload, terminal.Count(s.Flows, "flow"), terminal.Count(s.Seeds, "seed"))
	if s.Open > 0 {
		text += fmt.Sprintf("; %d of %d flows did not finish, which biases it low", s.Open, s.Open+int64(s.Flows))
	}
	return text
}

// slowdownTable has the slowdown of a workload over all seeds, of all flows and by size.
func slowdownTable(s *seeds.Slowdown) *document.Table {
	t := document.NewTable("", []string{"flows of", "number"}, nil)
	t.Folds = true
	for name := range s.Figures {
		t.Columns = append(t.Columns, document.Column{Head: name})
	}
	add := func(of string, b *seeds.Band) {
		cells := []string{of, fmt.Sprint(b.Flows)}
		for _, x := range b.Figures {
			text := x.String()
			if !x.Value.Known() && b.Flows > 0 {
				text = tooFew
			}
			cells = append(cells, text)
		}
		t.Add(cells...)
	}
	add("all sizes", &s.Band)
	for k := range s.Sizes {
		if b := &s.Sizes[k]; len(s.Sizes) > 1 {
			add(sizeText(float64(b.From))+" to "+sizeText(float64(b.To)), b)
		}
	}
	return t
}

// pooledFigures draws the slowdown of workloads over the size of flows, with the intervals. It is
// empty without a workload of several sizes.
func pooledFigures(r *seeds.Repetitions) (all plot.Stack) {
	for i := range r.Slowdowns {
		s := &r.Slowdowns[i]
		if f := PooledFigure(fmt.Sprintf("%s: slowdown of %s over the size of flows", r.Scenario, s.Workload), percentiles(s)); f != nil {
			f.Subtitle = pooled(s)
			all = append(all, f)
		}
	}
	return all
}

// DrawRepetitions writes that picture into a directory, in the formats of a style, and returns the
// paths of the files.
func DrawRepetitions(dir string, r *seeds.Repetitions, style *plot.Style) (paths []string, err error) {
	var pictures []report.Picture
	if all := pooledFigures(r); all != nil {
		pictures = []report.Picture{{Name: report.SlowdownFile, Drawing: all}}
	}
	return drawAll(dir, pictures, style)
}

// WriteRepetitionsPage writes what WriteRepetitions prints into a directory, for browsers and with
// the words of a style in its picture, and returns its path.
func WriteRepetitionsPage(dir string, r *seeds.Repetitions, style *plot.Style) (string, error) {
	path := filepath.Join(dir, report.PageFile)
	return path, files.Write(path, pageOfRepetitions(r, style).WriteHTML)
}

// WriteRepetitions prints the means over repetitions for people: the checks, and the utilisations
// of links and groups, in percent; where there are many, those of the busiest.
func WriteRepetitions(w io.Writer, r *seeds.Repetitions) error {
	p := pageOfRepetitions(r, &plot.Style{})
	p.Title, p.Verdict = p.Title+": "+p.Verdict, ""
	return p.WriteText(w, terminal.Look{})
}

// pageOfRepetitions returns the report of repetitions.
func pageOfRepetitions(r *seeds.Repetitions, style *plot.Style) page {
	p := page{&document.Page{Title: r.Scenario, Subtitle: fmt.Sprintf("%d seeds; fabemu %s", len(r.Runs), r.Fabemu), Verdict: means(r)}}
	if r.Fails() {
		p.Outcome = document.Bad
	}
	for i := range r.Slowdowns {
		s := &r.Slowdowns[i]
		p.add("Slowdown of "+s.Workload, document.Line(""), document.Paragraph(pooled(s)), slowdownTable(s))
	}
	for _, f := range pooledFigures(r) {
		p.add(f.Title, document.Picture{Drawing: style.Worded(f), Name: "slowdown"})
	}
	if t := repeatedChecks(r); len(t.Rows) > 0 {
		t.Folds = true
		p.add("check", document.Line(""), t)
	}
	if all, few := repeatedRates(r); len(all.Rows) > 0 {
		all.Folds = true
		p.add("utilisation", append(document.In(document.Browser, all), document.In(document.Terminal, document.Line(""), few)...)...)
	}
	return p
}

// means says what the figures of repetitions are.
func means(r *seeds.Repetitions) string {
	text := fmt.Sprintf("means over %d seeds, and half of their 95 %% confidence intervals", len(r.Runs))
	if r.Void > 0 {
		text += fmt.Sprintf("; %d of the runs are void and do not count", r.Void)
	}
	return text
}

// repeatedChecks returns the means of checks.
func repeatedChecks(r *seeds.Repetitions) *document.Table {
	checks := document.NewTable("", []string{"check", "mean", "accepted", "pass", "claim"}, nil)
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Kind == "check" {
			checks.Add(f.Name, f.Estimate.String(), f.Low.Print("%.4g")+" to "+f.High.Print("%.4g"),
				fmt.Sprintf("%d of %d", f.Passed, len(r.Runs)), f.Claim)
		}
	}
	return checks
}

// repeatedRates returns the means of utilisations, a column for each phase: all of them, and for a
// terminal those that it would print of one run.
func repeatedRates(r *seeds.Repetitions) (all, few *document.Table) {
	names, phases, of := ratesByPhase(r, true)
	if len(names)*len(phases) != len(of) { // some are not in every phase
		names, phases, of = ratesByPhase(r, false)
	}
	heads := []string{"utilisation in percent"}
	for _, phase := range phases {
		heads = append(heads, cmp.Or(strings.TrimPrefix(phase, ", "), "mean"))
	}
	all, few = document.NewTable("", heads, nil), document.NewTable("", heads, nil)
	keys, busy := make([]string, len(names)), make([]report.Number, len(names))
	for i, name := range names {
		cells := []string{name}
		for _, phase := range phases {
			f := of[[2]string{name, phase}]
			e := f.Estimate
			if e.Mean, e.Interval = 100*e.Mean, 100*e.Interval; e.Mean.Known() {
				busy[i] += e.Mean
			}
			keys[i], cells = f.Kind+" "+name, append(cells, e.String())
		}
		all.Add(cells...)
	}
	for i, shown := range busiest(keys, busy) {
		if shown {
			few.Rows = append(few.Rows, all.Rows[i])
		}
	}
	if more := len(all.Rows) - len(few.Rows); more > 0 {
		few.Add(fmt.Sprintf("... %d more like these, less busy, in %s", more, seeds.File))
	}
	return all, few
}

// ratesByPhase returns the utilisations by their names and phases; whole names have no phase.
func ratesByPhase(r *seeds.Repetitions, split bool) (names, phases []string, of map[[2]string]*seeds.Repeated) {
	of, seen := make(map[[2]string]*seeds.Repeated), make(map[[2]string]bool)
	add := func(list *[]string, kind, text string) {
		if key := [2]string{kind, text}; !seen[key] {
			seen[key] = true
			*list = append(*list, text)
		}
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Kind == "check" {
			continue
		}
		name, phase := f.Name, ""
		if at := strings.LastIndex(name, ", phase "); split && at >= 0 {
			name, phase = name[:at], name[at:]
		}
		add(&names, "name", name)
		add(&phases, "phase", phase)
		of[[2]string{name, phase}] = f
	}
	return names, phases, of
}
