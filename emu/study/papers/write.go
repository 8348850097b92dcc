package papers

import (
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/files"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
)

// The files that WriteDir writes, beside a picture for each plot.
const (
	ClaimsFile   = "claims.json"
	TableFile    = "claims.csv"
	DocumentFile = "claims.md"
	PageFile     = report.PageFile
	MatrixFile   = "matrix.csv" // where something is compared
	OverviewName = "overview"   // of a picture, likewise
)

// Files returns the names of all files that WriteDir writes for figures. The first is ClaimsFile: where
// it exists, the others are complete.
func Files(figures []*Figure) []string {
	names := []string{ClaimsFile, TableFile, DocumentFile, PageFile}
	for _, f := range figures {
		var pictures []string
		if f.Matrix != nil && !slices.Contains(names, MatrixFile) {
			names, pictures = append(names, MatrixFile), []string{OverviewName}
		}
		for i := range f.Plots {
			pictures = append(pictures, f.pictureName(&f.Plots[i]))
		}
		for _, name := range pictures {
			for _, format := range plot.Formats() {
				names = append(names, name+"."+format)
			}
		}
	}
	return names
}

// WriteDir writes the result into a directory, which is made where it does not exist:
// pictures in the formats (plot.Formats), claims.csv, claims.md, report.html, and
// claims.json at last, so that where it stands everything stands. It sets r.Directory.
func (r *Result) WriteDir(dir string, formats ...string) error {
	if err := files.MakeAll(dir); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	write := func(name string, to func(io.Writer) error) error {
		if err := files.Write(filepath.Join(dir, name), to); err != nil {
			return fmt.Errorf("results: %w", err)
		}
		return nil
	}
	for _, p := range r.pictures() {
		for _, format := range formats {
			if err := write(p.Name+"."+format, func(w io.Writer) error { return p.Figure.Write(w, format) }); err != nil {
				return err
			}
		}
	}
	pictures := func(name string) string {
		if len(formats) == 0 {
			return ""
		}
		return name + "." + formats[0]
	}
	for _, x := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{TableFile, r.WriteCSV},
		{MatrixFile, r.WriteMatrix},
		{DocumentFile, func(w io.Writer) error { return r.WriteMarkdown(w, pictures) }},
		{PageFile, r.WritePage},
		{ClaimsFile, r.WriteJSON},
	} {
		if x.name == MatrixFile && r.matrices() == nil {
			continue
		}
		if err := write(x.name, x.write); err != nil {
			return err
		}
	}
	r.Directory = dir
	return nil
}

// pictures returns the overview, where there is one, and the pictures of the figures.
func (r *Result) pictures() (all []Picture) {
	if o := r.overview(); o != nil {
		all = append(all, *o)
	}
	for i := range r.Figures {
		all = append(all, r.Figures[i].Pictures...)
	}
	return all
}

// WritePage writes report.html.
func (r *Result) WritePage(w io.Writer) error {
	clock := r.Clock + " clock"
	if r.Dilation > 0 {
		clock += fmt.Sprintf(", dilation %d", r.Dilation)
	} else if r.Seeds > 1 {
		clock += fmt.Sprintf("; where a value has a deviation, it is the mean of %d seeds", r.Seeds)
	}
	p := summary.Page(r.Source+": "+r.Title,
		fmt.Sprintf("Reproduced with fabemu %s; %s; %s", r.Fabemu, clock, r.runsIn()), &r.Verdict, r.Tally())
	if r.Partial {
		p.Subtitle += "; ended before its time"
	}
	compared := r.matrices()
	var commands document.Part
	if compared != nil {
		var table document.Part
		table, commands = matrixHTML(compared)
		p.Script = template.JS(matrixScript)
		if o := r.overview(); o != nil {
			picture, err := o.html()
			if err != nil {
				return err
			}
			p.Sections = append(p.Sections, document.Section{Title: "At a glance", Text: overviewSays, Parts: []document.Part{picture}})
		}
		text := "Sorted by the column whose head is chosen, each situation by itself. A value shows the command that repeats it. A dash: there is none, for the reason in the part on the situation."
		if r.Seeds > 1 {
			text = fmt.Sprintf("Means over %d seeds, with half of their 95 %% confidence intervals, where these are not 0. ", r.Seeds) + text
		}
		p.Sections = append(p.Sections, document.Section{Title: "All schemes", Text: text, Parts: []document.Part{table}})
	}
	for _, f := range r.Figures {
		s := document.Section{Title: f.Source, Text: f.Title + ". " + f.Caption}
		if i := slices.IndexFunc(compared, func(c *FigureResult) bool { return c.Name == f.Name }); i >= 0 {
			s.Parts = append(s.Parts, f.Matrix.notesHTML(i))
		}
		for _, x := range f.Pictures {
			picture, err := x.html()
			if err != nil {
				return err
			}
			s.Parts = append(s.Parts, picture)
		}
		if f.Table != nil {
			t := f.Table.table()
			t.Columns[0].Head = "statement"
			s.Parts = append(s.Parts, t)
		}
		if len(f.Claims) > 0 {
			s.Parts = append(s.Parts, summary.Claims(rowsOf(f.Claims))...)
		}
		p.Sections = append(p.Sections, s)
	}
	if compared != nil {
		p.Sections = append(p.Sections, document.Section{Title: "Commands", Text: "The command of each row. Its metric is to be added.", Parts: []document.Part{commands}})
	}
	p.Sections = append(p.Sections, summary.MachineSection(r.Machine), r.runsSection())
	return p.Write(w)
}

// html is the picture as a page has it.
func (p *Picture) html() (document.Part, error) {
	part, err := document.Picture(p.Figure)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return part, nil
}

func rowsOf(claims []ClaimResult) []summary.Row {
	rows := make([]summary.Row, len(claims))
	for i := range claims {
		c := &claims[i]
		rows[i] = summary.Row{Judged: c.Judged, Statement: c.statement(), Measured: c.Measured, CameOut: c.CameOut(), Accepted: c.Accepted(), Null: c.Nothing()}
	}
	return rows
}

// table is the table of choices: the heading of each row, and its values.
func (t *TableResult) table() *document.Table {
	out := document.NewTable(t.Title, append([]string{t.Title}, t.Columns...), nil)
	for _, row := range t.Rows {
		cells := []string{row.heading()}
		for i := range row.Cells {
			cells = append(cells, row.Cells[i].marked())
		}
		out.Add(cells...)
	}
	return out
}

// marked prints a value, with a mark where the statement does not hold.
func (c *ClaimResult) marked() string {
	switch {
	case !c.judged():
		return c.CameOut()
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
	s := document.Section{Title: "Runs", Text: "Each run can be had alone: fabemu run --clock virtual SCENARIO, with --set before each change. OLD=>NEW replaces a text in the scenario's file."}
	var shown []string
	var resolved []document.Part
	for _, x := range r.Runs {
		row := []string{x.Run, fmt.Sprint(x.Seed), string(x.Verdict.Level)}
		if digests {
			row = append(row, x.Digest)
		}
		rows = append(rows, row)
		name, _, _ := strings.Cut(x.Run, " ")
		if !slices.Contains(shown, name) {
			shown = append(shown, name)
			resolved = append(resolved, document.Fold{Title: "Resolved scenario: " + x.Run, Text: string(x.Resolved)})
		}
	}
	s.Parts = append(resolved, document.NewTable("Runs", heads, rows))
	return s
}
