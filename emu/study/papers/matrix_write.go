package papers

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
)

// table is a matrix as a table: a row a thing.
func (m *MatrixResult) table() *document.Table {
	t := &document.Table{Columns: make([]document.Column, 2)}
	for i := range m.Columns {
		t.Columns = append(t.Columns, document.Column{Head: m.Columns[i].title(), Right: true})
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

// write writes a matrix for people, a part of the columns at a time where they are too many for the terminal.
func (m *MatrixResult) write(p *terminal.Page) {
	for _, t := range m.table().Split(p.Columns()-2, 2) {
		t.Text(p, 2)
	}
	for _, text := range m.remarks() {
		p.Paragraph(2, text)
	}
}

// markdown writes a matrix as a table, with descriptions of its columns.
func (m *MatrixResult) markdown(line func(string, ...any)) {
	line("\n%s", strings.Replace(m.table().Markdown(), "|  |  |", "| | |", 1)) // two columns have no head
	for _, text := range m.remarks() {
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
	return c.Value.Cell(figureDigits)
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
	for _, text := range m.remarks() {
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
