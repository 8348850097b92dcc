package papers

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"fabemu/emu"
	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/scenario"
)

// WritePage writes report.html.
func (r *Result) WritePage(w io.Writer) error { return r.page().WriteHTML(w) }

// WriteText writes the claims for people, one row a claim and below it its reasons; tables; and the
// verdict.
func (r *Result) WriteText(w io.Writer, look terminal.Look) error { return r.page().WriteText(w, look) }

// WriteMarkdown writes the claims and tables as a document, with the pictures at
// the places that link returns; "" leaves a picture out. Nothing in it depends on the
// node or on how long it took.
func (r *Result) WriteMarkdown(w io.Writer, link func(picture string) string) error {
	return r.page().WriteMarkdown(w, link)
}

// page is the report of the figures.
func (r *Result) page() *document.Page {
	clock := r.Clock + " clock"
	if r.Dilation > 0 {
		clock += fmt.Sprintf(", dilation %d", r.Dilation)
	} else if r.Seeds > 1 {
		clock += fmt.Sprintf("; where a value has a deviation, it is the mean of %d seeds", r.Seeds)
	}
	p := summary.Page(r.Title,
		fmt.Sprintf("%s; reproduced with fabemu %s; %s; %s", r.Source, r.Fabemu, clock, r.runsIn()), &r.Verdict, r.Tally())
	p.Last = []string{r.runsIn() + "."}
	if r.Partial {
		p.Subtitle += "; ended before its time"
		p.Last = append(p.Last, "It was interrupted: runs that did not start have no value.")
	}
	if r.Directory != "" {
		p.Last = append(p.Last, fmt.Sprintf("Results: %s (open %s in a browser)", r.Directory, PageFile))
	}
	parts := []document.Block{document.Paragraph(r.About)}
	if len(r.Tally()) > 0 {
		parts = append([]document.Block{r.held()}, parts...)
	}
	p.Sections = append(p.Sections, document.Section{In: document.Markdown, Text: r.introduction(), Parts: parts})
	if o := r.overview(); o != nil {
		p.Sections = append(p.Sections, document.Section{Title: "At a glance", In: document.Browser | document.Markdown, Text: overviewSays, Parts: []document.Block{o.part()}})
	}
	compared := r.matrices()
	if compared != nil {
		p.Script = template.JS(matrixScript)
		text := "Choose a column head to sort each situation by it. Choose a value to see the command that repeats it. A dash means that there is no value, for the reason in the section on the situation. Feedback counts notifications, or marked ACKs, per 10^6 bytes. The p99 is of means over 50 µs. Never: no seed reached the level; (3 of 5): the mean of those that did."
		if r.Seeds > 1 {
			text = fmt.Sprintf("Means over %d seeds, with half of their 95 %% confidence intervals unless these are 0. ", r.Seeds) + text
		}
		p.Sections = append(p.Sections, document.Section{Title: "All schemes", In: document.Browser, Text: text, Parts: []document.Block{matrixHTML("matrix", compared)}})
	}
	for i := range r.Figures {
		p.Sections = append(p.Sections, r.Figures[i].section(slices.Index(compared, &r.Figures[i])))
	}
	if compared != nil {
		p.Sections = append(p.Sections, document.Section{Title: "Commands", In: document.Browser, Text: "The command of each row; add a metric to it.", Parts: []document.Block{matrixHTML("commands", compared)}})
	}
	node := summary.MachineSection(r.Machine)
	node.In = document.Browser
	p.Sections = append(p.Sections, node, r.runsSection())
	return p
}

// introduction is the start of the document: where it comes from, and the command.
func (r *Result) introduction() string {
	command := "fabemu reproduce " + r.Paper
	if r.Clock != string(emu.VirtualClock) {
		command += " --clock " + r.Clock
	}
	text := fmt.Sprintf("Source: %s. Command: `%s`.", r.Source, command)
	if len(r.Tally()) == 0 {
		return text
	}
	text += r.committed()
	if r.Seeds > 1 && r.Seeds != defaultSeeds {
		text += fmt.Sprintf(" A value with a deviation is the mean of %d seeds (%d near a bound).", r.Seeds, max(nearSeeds, r.Seeds))
	}
	return text + " [How to read the claims](reading.md)."
}

// held is a table of how many claims hold, by their basis and by whether they have a null result.
func (r *Result) held() document.Block {
	t := document.NewTable("", []string{"claims that hold", "quoted", "derived", "ours"}, nil)
	for _, row := range []struct {
		head string
		of   func(scenario.Basis) (held, all int)
	}{{"with a null result", r.Tally().Held}, {"without", r.Tally().HeldBare}} {
		cells := []string{row.head}
		for _, basis := range []scenario.Basis{scenario.Quoted, scenario.Derived, scenario.Ours} {
			held, all := row.of(basis)
			cells = append(cells, strings.Replace(fmt.Sprintf("%d of %d", held, all), "0 of 0", "–", 1))
		}
		t.Add(cells...)
	}
	return t
}

// committed counts the ranges with a mark; see Range.
func (r *Result) committed() string {
	count, all := map[string]int{}, 0
	for _, f := range r.Figures {
		for i := range f.Claims {
			count[f.Claims[i].Range.mark()]++
			all++
		}
	}
	var marked []string
	for _, mark := range []string{"†", "‡"} {
		if count[mark] > 0 {
			marked = append(marked, fmt.Sprint(count[mark], " ", mark))
		}
	}
	if marked == nil {
		return ""
	}
	return fmt.Sprintf(" Of %d ranges: %s.", all, strings.Join(marked, ", "))
}

// section is the part of the report about a figure. number is its place among those that are
// compared; -1: it is not.
func (f *FigureResult) section(number int) document.Section {
	s := document.Section{Title: f.Title, Command: "fabemu reproduce " + f.Name, Source: f.Source, Text: f.Caption}
	for i := range f.Pictures {
		s.Parts = append(s.Parts, f.Pictures[i].part())
	}
	s.Parts = append(s.Parts, document.In(document.Terminal|document.Browser, summary.Claims(rowsOf(f.Claims, ""))...)...)
	s.Parts = append(s.Parts, document.In(document.Markdown, summary.Claims(joined(rowsOf(f.Claims, f.Source)))...)...)
	if f.Matrix != nil {
		s.Parts = append(s.Parts, document.Only{In: document.Terminal, Block: f.Matrix.table()},
			document.Only{In: document.Terminal | document.Browser, Block: document.List{ID: fmt.Sprint("f", number), Items: f.Matrix.remarks()}})
	}
	if f.Table != nil {
		s.Parts = append(s.Parts, f.Table.parts()...)
	}
	return s
}

// part is the picture in a report.
func (p *Picture) part() document.Block {
	return document.Picture{Drawing: p.Figure, Name: p.Name, Title: p.Title}
}

// rowsOf returns the rows of claims. A claim of the section's source does not name it, nor the
// document on its page.
func rowsOf(claims []ClaimResult, section string) []summary.Row {
	rows := make([]summary.Row, len(claims))
	for i := range claims {
		c, source := &claims[i], claims[i].Source
		if _, place, within := strings.Cut(source, ".md, "); within && section != "" {
			source = place
		}
		if source = strings.TrimPrefix(strings.TrimSuffix(source, ", on "+section), section+", "); source == section {
			source = ""
		}
		rows[i] = summary.Row{Judged: c.Judged, Statement: c.Basis.Statement(c.Says, source), Measured: c.Measured, Value: c.Result(), Accepted: c.Accepted() + c.Range.mark(), Committed: c.Range.says()}
		if c.Null != nil {
			rows[i].Null, rows[i].NullWhy = c.Null.value(c), c.Null.why()
		}
		if c.Reason != "" {
			rows[i].Because = c.because()
		}
	}
	return rows
}

// joined has one row for claims with the same statement, range and outcome, with the IDs and values
// of all.
func joined(rows []summary.Row) (all []summary.Row) {
	for _, r := range rows {
		i := slices.IndexFunc(all, func(o summary.Row) bool {
			return o.Statement == r.Statement && o.Accepted == r.Accepted && o.Outcome == r.Outcome
		})
		if i < 0 {
			all = append(all, r)
			continue
		}
		o := &all[i]
		o.ID += ", " + r.ID
		o.Value += " / " + r.Value
		o.Null += " / " + r.Null
	}
	for i := range all { // one null result is enough where all are equal
		if nulls := slices.Compact(strings.Split(all[i].Null, " / ")); len(nulls) == 1 {
			all[i].Null = nulls[0]
		}
	}
	return all
}

// parts are the table of choices, a row a statement, and its note. A terminal has letters for the
// choices, and describes them above.
func (t *TableResult) parts() []document.Block {
	heads := append([]string{t.Title}, t.Columns...)
	long, means := document.NewTable(t.Title, heads, nil), document.NewTable(t.Title, heads, nil)
	var choices []string
	short := document.NewTable("", []string{""}, nil)
	for i, c := range t.Columns {
		letter := string(rune('a' + i))
		choices = append(choices, letter+"  "+c)
		short.Columns = append(short.Columns, document.Column{Head: letter, Right: true, Least: 9})
	}
	for _, row := range t.Rows {
		cells := []string{row.heading()}
		for i := range row.Cells {
			cells = append(cells, row.Cells[i].marked())
		}
		long.Add(cells...)
		short.Add(append([]string{row.statement()}, cells[1:]...)...)
		for i := range cells {
			cells[i], _, _ = strings.Cut(cells[i], " ± ")
		}
		means.Add(cells...)
	}
	return slices.Concat(document.In(document.Terminal, document.List{Items: choices}, short), document.In(document.Browser, long),
		document.In(document.Markdown, means))
}

// marked prints a value, with a mark where the statement does not hold.
func (c *ClaimResult) marked() string {
	switch {
	case !c.judged():
		return c.Result()
	case c.Outcome == report.Pass:
		return c.print(float64(c.Value), 3) + " ✓"
	}
	return c.print(float64(c.Value), 3) + " ✗"
}

// runsSection lists the runs, and shows each scenario as it was run first.
func (r *Result) runsSection() document.Section {
	heads, rows := []string{"scenario and changes", "seed", "verdict"}, [][]string(nil)
	digests := slices.ContainsFunc(r.Runs, func(x RunResult) bool { return x.Digest != "" })
	if digests {
		heads = append(heads, "digest of the event log")
	}
	s := document.Section{Title: "Runs", In: document.Browser, Text: "To repeat a run: fabemu run --clock virtual SCENARIO, with --set before each change. OLD=>NEW replaces a text in the scenario's file."}
	var shown []string
	for _, x := range r.Runs {
		row := []string{x.Run, fmt.Sprint(x.Seed), string(x.Verdict.Level)}
		if digests {
			row = append(row, x.Digest)
		}
		rows = append(rows, row)
		name, _, _ := strings.Cut(x.Run, " ")
		if !slices.Contains(shown, name) {
			shown = append(shown, name)
			s.Parts = append(s.Parts, document.Fold{Title: "Resolved scenario: " + x.Run, Text: string(x.Resolved)})
		}
	}
	s.Parts = append(s.Parts, document.NewTable("Runs", heads, rows))
	return s
}

// table is a matrix as a table: a row a thing.
func (m *MatrixResult) table() document.Block {
	t := &document.Table{Fixed: 2, Columns: []document.Column{{Head: "family"}, {Head: "scheme"}}}
	for i := range m.Columns {
		t.Columns = append(t.Columns, document.Column{Head: m.Columns[i].Title(), Right: true})
	}
	for _, row := range m.Rows {
		cells := []string{row.Kind, row.Name}
		for i := range row.Cells {
			cells = append(cells, row.Cells[i].String())
		}
		t.Add(cells...)
	}
	return t
}

// matrixHTML is a template of matrix.html for the matrices of figures: their table, each a part of
// it, which sorts by column within the parts, or the commands that repeat the cells.
func matrixHTML(name string, figures []*FigureResult) document.Block {
	data := make([]matrixFigure, len(figures))
	for i, f := range figures {
		data[i] = matrixFigure{f, i}
	}
	var b strings.Builder
	if err := matrixTemplate().ExecuteTemplate(&b, name, data); err != nil {
		panic("reproduce: " + err.Error()) // a template of ours, and memory
	}
	return document.HTML{Text: template.HTML(b.String())}
}

// matrixFigure is a figure on the page.
type matrixFigure struct {
	*FigureResult
	Number int
}

// Order is the sort key of a cell: empty without a value, and behind all others where a level was
// never reached.
func (c *CellResult) Order() string {
	if c.Mean() == never {
		return "1e300"
	}
	return c.Value.Cell(figureDigits)
}

// Tip is the text that a cell shows under the mouse.
func (c *CellResult) Tip() string {
	if c.Missing > 0 && c.Seeds > 0 {
		return fmt.Sprintf("%d seeds have no value", c.Missing)
	}
	return c.Reason
}

// matrixPage is the table, and the commands of its cells.
//
//go:embed matrix.html
var matrixPage string

// matrixScript sorts the table, and shows the command of a cell.
//
//go:embed matrix.js
var matrixScript string

// matrixTemplate is parsed when it is wanted: most calls of the command want none.
var matrixTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("matrix").Parse(matrixPage))
})
