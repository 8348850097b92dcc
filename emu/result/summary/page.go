package summary

import (
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/wire/unit"
)

// page is the report of a run that is being made.
type page struct{ *document.Page }

// WriteText writes r for people: the settings of the run, the claims and their outcomes, first
// those that did not pass, the rates, the verdict, the warnings, the lines of next, and, in the
// last line, where the results lie. It fits into the columns of look unless names are very long.
func WriteText(w io.Writer, r *report.Result, look terminal.Look, next ...string) error {
	p := pageOf(r, nil, &plot.Style{})
	if r.Directory != "" {
		p.Last = append(append([]string{""}, next...), "Results: "+r.Directory)
	}
	return p.WriteText(w, look)
}

// WriteHTML writes the report of a run for browsers: the verdict, the claims, the course of
// rates, buffers and limits, the machine, the scenario.
func WriteHTML(w io.Writer, d *report.Dir) error {
	return pageOf(d.Result, d, &plot.Style{}).WriteHTML(w)
}

// pageOf returns the report of a run, with the words of a style in its pictures; those for the axes
// are in the pictures that WritePictures writes. Without the directory it leaves out what only
// browsers show, because many flows and pictures take time.
func pageOf(r *report.Result, d *report.Dir, style *plot.Style) page {
	how := settings(r)
	sorted, shown, tally := checksOf(r)
	p := page{Page(r.Scenario, strings.TrimPrefix(r.Source+"; "+how+"; fabemu "+r.Fabemu, "; "), &r.Verdict, tally)}
	head := document.Section{In: document.Terminal}
	if r.Source != "" {
		head.Line("%s", r.Source)
	}
	head.Parts = append(head.Parts, document.Paragraph(how))
	p.Sections = append(p.Sections, head)
	p.add("Unfinished flows", remarks("Unfinished: ", unfinished(r))...)
	p.addClaims(sorted, shown, tally)
	rates, workloads := rateTables(r), listed(workloads(r), collectives(r))
	if d != nil {
		if f := RatesFigure(r, d.Series); len(f.Curves) > 0 {
			rates = append([]document.Block{document.Picture{Drawing: style.Worded(f), Name: "rates"}}, rates...)
		}
		for _, f := range Slowdowns(r) {
			workloads = append(workloads, document.Picture{Drawing: style.Worded(f), Name: "slowdown"})
		}
	}
	p.add("Rates", rates...)
	p.add("Workloads", workloads...)
	p.add("Events", listed(changes(r))...)
	if d != nil {
		p.addSeries(d, &plot.Style{Labels: style.Labels})
	}
	p.addTiming(r)
	if d != nil {
		p.add("Flows", flowTables(r)...)
	}
	for _, t := range lists(r) {
		p.add(t.Label, listed(t)...)
	}
	if d != nil {
		p.Sections = append(p.Sections, MachineSection(r.Machine))
	}
	if len(r.Warnings) > 0 {
		p.add("Warnings", append([]document.Block{document.Line("")}, remarks("Warning: ", r.Warnings)...)...)
	}
	p.add("Not written", listed(unwritten(r))...)
	if d != nil {
		p.add("Scenario", document.Paragraph("As it was run, with every default."), document.Fold{Title: report.ResolvedFile, Text: string(d.Resolved)})
	}
	return p
}

// settings describes how a run was made.
func settings(r *report.Result) string {
	how := []string{string(r.Clock) + " clock"}
	if r.Clock == mode.VirtualClock && r.Codec {
		how = append(how, "frames as bytes")
	}
	if r.Clock != mode.VirtualClock {
		how = append(how, fmt.Sprintf("dilation %d", r.Dilation), string(r.Timing)+" timing", r.Link.Over(r.Packing),
			placed(r.Placement))
	}
	how = append(how, fmt.Sprintf("seed %d", r.Seed), unit.Text(unit.Duration(r.DurationPs))+" of model time")
	if r.WallSeconds.Known() {
		how[len(how)-1] += fmt.Sprintf(" in %.3g s", float64(r.WallSeconds))
	}
	switch {
	case r.Partial:
		how = append(how, "ended before its time")
	case r.EndedPs > 0 && r.Deadlocks == nil:
		ended := "finished"
		if len(r.Failures) > 0 {
			ended = "finished or failed"
		}
		how = append(how, fmt.Sprintf("all flows %s by %v", ended, unit.Text(unit.Time(r.EndedPs))))
	}
	return strings.Join(how, ", ")
}

// placed describes where the nodes of a run lived.
func placed(placement mode.Placement) string {
	return map[mode.Placement]string{
		mode.InGoroutines: "a goroutine for each node",
		mode.InProcesses:  "a process for each node",
		mode.InDomains:    "a process for each switch and its endpoints",
		mode.InHosts:      "several hosts",
	}[placement]
}

// add adds a section, unless it is empty. Its title is for browsers; on a terminal tables have
// theirs.
func (p page) add(title string, parts ...document.Block) {
	if len(parts) > 0 {
		p.Sections = append(p.Sections, document.Section{Title: title, Untitled: true, Parts: parts})
	}
}

// listed returns the tables that have rows.
func listed(tables ...*document.Table) (all []document.Block) {
	for _, t := range tables {
		if len(t.Rows) > 0 {
			t.Folds = true
			all = append(all, t)
		}
	}
	return all
}

// remarks are texts behind a word.
func remarks(word string, texts []string) []document.Block {
	return cellsOf(texts, func(text *string) document.Block { return document.Remark{Word: word, Text: *text} })
}

// addClaims adds the claims. Browsers show those that pass on a click.
func (p page) addClaims(sorted []report.Check, shown int, tally report.Tally) {
	if len(sorted) == 0 {
		return
	}
	rows := cellsOf(sorted, rowOf)
	parts, text := Claims(rows[:shown]), brief(rows, shown)
	if rest := rows[shown:]; len(rest) > 0 {
		more := fmt.Sprintf("%d more that pass", len(rest))
		parts, text = append(parts, document.Fold{Title: more, Parts: Claims(rest)}), append(text, document.Line("  ... "+more))
	}
	text = append(text, document.List{Items: []string{tally.String()}})
	p.add("Claims", append(document.In(document.Browser, parts...), document.In(document.Terminal, text...)...)...)
}

// flowTables returns the table of the flows. Where there are many, a table of their groups comes
// first, and the flows are shown on a click.
func flowTables(r *report.Result) (tables []document.Block) {
	rate := ratesLike(func(yield func(report.Number) bool) {
		for i := range r.Flows {
			if !yield(r.Flows[i].Rate) || !yield(r.Flows[i].Limit) {
				return
			}
		}
	})
	if len(r.Flows) > document.Listed {
		tables = listed(groupTable(r.Flows, rate))
	}
	x := figures[report.Flow]{of: metrics.Flow, first: "flow|path", object: func(f *report.Flow) any { return f },
		before: func(f *report.Flow) []string { return []string{f.Name, f.From + " to " + f.To} }}
	return append(tables, listed(x.list(document.Table{Caption: "Flows"}, r.Flows))...)
}

// groupTable returns the table of groups of flows, by the table of figures: the sum of a counter,
// and the range of another figure over the flows of a group.
func groupTable(flows []report.Flow, rate func(report.Number) string) *document.Table {
	t := document.NewTable("Groups of flows", []string{"group", "flows"}, nil)
	shown := map[*metrics.Figure]bool{}
	for f := range metrics.Figures(metrics.Flow) {
		for _, c := range f.Columns {
			if c.Group != "" {
				shown[f] = true
				t.Columns = append(t.Columns, document.Column{Head: c.Group})
			}
		}
	}
	for _, group := range report.Grouped(flows, func(f *report.Flow) string { return f.Group }) {
		var all [][]report.Value // by flow
		for i := range group {
			all = append(all, slices.DeleteFunc(report.Values(metrics.Flow, &group[i]), func(v report.Value) bool { return !shown[v.Figure] }))
		}
		cells := []string{group[0].Group, fmt.Sprint(len(group))}
		for k, v := range all[0] {
			to := v
			for _, of := range all[1:] {
				n := of[k].Number
				if v.Figure.Kind == metrics.Counter {
					v.Number += n
					continue
				}
				if n.Known() && !(n >= v.Number) {
					v.Number = n
				}
				if n.Known() && !(n <= to.Number) {
					to.Number = n
				}
			}
			text := textOf(&v, rate)
			if v.Figure.Kind != metrics.Counter && to.Number != v.Number && to.Number.Known() {
				text += " to " + textOf(&to, rate)
			}
			cells = append(cells, text)
		}
		t.Add(cells...)
	}
	return t
}

// addSeries adds a picture of each kind of series that a run has.
func (p page) addSeries(d *report.Dir, style *plot.Style) {
	for _, x := range []struct{ title, kind, label string }{
		{"Rate limits of the sources", metrics.FlowLimit, "limit of the rate limiter"},
		{"Congestion windows of TCP", metrics.FlowWindow, "congestion window"},
		{"Buffers", metrics.BufferOccupancy, "mean occupancy"},
		{"Queues", metrics.LinkQueue, "mean queue of an output"},
		{"Pace", "pace", "departures frames that left late, by more than 5 % of a packet time"},
	} {
		f := seriesFigure(d.Result, d.Series, x.title, x.kind, x.label)
		if f == nil {
			continue
		}
		u := metrics.UnitOf(x.kind, d.InBytes())
		if x.kind == "pace" {
			u = metrics.Share()
		}
		DrawIn(f, u)
		p.add(x.title, document.Picture{Drawing: style.Worded(f), Name: x.title})
	}
}

// cellsOf returns the rows of a table, one for each of a list.
func cellsOf[T, R any](list []T, row func(*T) R) []R {
	rows := make([]R, len(list))
	for i := range list {
		rows[i] = row(&list[i])
	}
	return rows
}

// rowOf returns a check as a row of a page.
func rowOf(k *report.Check) Row {
	because := k.Reason
	if k.Outcome == report.UnexpectedPass {
		because = "It was expected to differ: " + because
	}
	return Row{Judged: k.Judged, Claim: k.Claim, Statement: k.Basis.Statement(k.Claim, k.Source),
		Measured: fmt.Sprintf("%s from %v to %v", k.Metric, unit.Text(unit.Duration(k.DuringPs[0])), unit.Text(unit.Duration(k.DuringPs[1]))),
		Value:    k.Result(), Accepted: k.Accepted(), Because: because}
}

// WritePage writes the report of a results directory into it, with the words of a style in its
// pictures, and returns its path.
func WritePage(d *report.Dir, style *plot.Style) (string, error) {
	path := filepath.Join(d.Directory, report.PageFile)
	return path, files.Write(path, pageOf(d.Result, d, style).WriteHTML)
}

// WritePictures draws the pictures of a results directory in a style, and returns their paths.
func WritePictures(d *report.Dir, style *plot.Style) (paths []string, err error) {
	return drawAll(d.Directory, Pictures(d.Result, d.Series), style)
}

// drawAll writes pictures into a directory in the formats of a style, and returns the paths of the
// files.
func drawAll(dir string, pictures []report.Picture, style *plot.Style) (paths []string, err error) {
	for _, p := range pictures {
		err := style.Files(strings.TrimSuffix(p.Name, ".svg"), p.Drawing.(plot.Drawing), func(name string, to func(io.Writer) error) error {
			paths = append(paths, filepath.Join(dir, name))
			return files.Write(paths[len(paths)-1], to)
		})
		if err != nil {
			return paths, err
		}
	}
	return paths, nil
}

// ratesLike returns how a list prints rates, in bytes per second: all in one unit, which suits the
// largest.
func ratesLike(all iter.Seq[report.Number]) func(report.Number) string {
	largest := 0.
	for n := range all {
		if n.Known() {
			largest = max(largest, float64(n))
		}
	}
	scale := metrics.Rates().Fit(largest)
	return func(n report.Number) string {
		if !n.Known() {
			return "-"
		}
		return report.Significant(float64(n)/scale.Base, 4) + " " + scale.Word
	}
}

// MachineSection is the part of a page about the machine.
func MachineSection(m host.Computer) document.Section {
	return document.Section{Title: "Machine", Parts: []document.Block{document.NewTable("The machine of the run",
		[]string{"part", "value"},
		[][]string{{"system", m.System}, {"architecture", m.Arch}, {"processor", m.CPU},
			{"processors", terminal.Count(m.CPUs, "core")}, {"Go", m.Go}})}}
}
