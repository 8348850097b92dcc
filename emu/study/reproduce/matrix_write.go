package reproduce

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"fabemu/emu/document"
	"fabemu/emu/terminal"
)

// write writes a matrix for people: a row a thing, the columns as wide as they must be.
func (m *MatrixResult) write(p *terminal.Page) {
	kind, name := 0, 0
	wide := make([]int, len(m.Columns))
	for i := range m.Columns {
		wide[i] = terminal.Columns(m.Columns[i].title())
	}
	for _, row := range m.Rows {
		kind, name = max(kind, terminal.Columns(row.Kind)), max(name, terminal.Columns(row.Name))
		for i := range row.Cells {
			wide[i] = max(wide[i], terminal.Columns(row.Cells[i].String()))
		}
	}
	// A part of the columns at a time, where they are too many for the terminal.
	for from := 0; from < len(m.Columns); {
		to, room := from, p.Columns()-2-kind-2-name
		for to < len(m.Columns) && (to == from || room >= 2+wide[to]) {
			room -= 2 + wide[to]
			to++
		}
		line := "  " + terminal.Left("", kind) + "  " + terminal.Left("", name)
		for i := from; i < to; i++ {
			line += "  " + terminal.Right(m.Columns[i].title(), wide[i])
		}
		p.Line("%s", line)
		for _, row := range m.Rows {
			line := "  " + terminal.Left(row.Kind, kind) + "  " + terminal.Left(row.Name, name)
			for i := from; i < to; i++ {
				line += "  " + terminal.Right(row.Cells[i].String(), wide[i])
			}
			p.Line("%s", line)
		}
		from = to
	}
	for _, text := range append(m.says(), m.notes()...) {
		p.Paragraph(2, text)
	}
}

// markdown writes a matrix as a table, with descriptions of its columns.
func (m *MatrixResult) markdown(line func(string, ...any)) {
	line("")
	head := "| | |"
	for i := range m.Columns {
		head += " " + m.Columns[i].title() + " |"
	}
	line("%s", head)
	line("|---|---|%s", strings.Repeat("---:|", len(m.Columns)))
	for _, row := range m.Rows {
		cells := []string{row.Kind, cellText(row.Name)}
		for i := range row.Cells {
			cells = append(cells, row.Cells[i].String())
		}
		line("| %s |", strings.Join(cells, " | "))
	}
	line("")
	for _, text := range append(m.says(), m.notes()...) {
		line("* %s", text)
	}
}

// matrixHTML is one table of the matrices of figures, each a part of it, which sorts by
// column within the parts. A cell leads to the command that repeats it.
func matrixHTML(figures []*FigureResult) (table, commands document.Part) {
	data := make([]matrixPart, len(figures))
	for i, f := range figures {
		data[i] = matrixPart{f, i}
	}
	execute := func(name string) document.Part {
		var b strings.Builder
		if err := matrixTemplate().ExecuteTemplate(&b, name, data); err != nil {
			panic("reproduce: " + err.Error()) // a template of ours, and memory
		}
		return document.HTML(b.String())
	}
	return execute("matrix"), execute("commands")
}

// matrixPart is a figure on the page.
type matrixPart struct {
	*FigureResult
	Number int
}

// Columns returns the columns of its matrix.
func (f matrixPart) Columns() []Column { return f.Matrix.Columns }

// Title returns the name of a column with its unit.
func (c Column) Title() string { return c.title() }

// Order is the sort key of a cell: empty without a value, and behind all others where a level was never
// reached.
func (c *CellResult) Order() string {
	if c.Mean() == never {
		return "1e300"
	}
	return number(c.Value)
}

// Tip is the text that a cell shows under the mouse.
func (c *CellResult) Tip() string {
	if c.Missing > 0 && c.Seeds > 0 {
		return fmt.Sprintf("%d seeds have no value", c.Missing)
	}
	return c.Reason
}

// notesHTML describes the columns in the figure of a number on the page.
func (m *MatrixResult) notesHTML(number int) document.Part {
	var b strings.Builder
	fmt.Fprintf(&b, "<ul id=\"f%d\">", number)
	for _, text := range append(m.says(), m.notes()...) {
		fmt.Fprintf(&b, "<li>%s</li>", template.HTMLEscapeString(text))
	}
	return document.HTML(b.String() + "</ul>")
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
