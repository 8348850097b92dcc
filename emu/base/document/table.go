package document

import (
	"cmp"
	"html/template"
	"slices"
	"strings"

	"fabemu/emu/base/terminal"
)

// Table is rows of cells under heads.
type Table struct {
	Caption string // on a page; empty: none
	Label   string // names a table without a caption, for readers who do not see it
	Columns []Column
	Rows    [][]Cell
	Bare    bool // in text without heads
	Words   bool // on a page all columns begin at the left; else those after the first end at the right
}

// Column is a column of a table.
type Column struct {
	Head  string
	Right bool // in text and Markdown, cells end at the right
	Least int  // the least width in text, in columns of the terminal
}

// Cell is a cell of a table.
type Cell struct {
	Text  string
	Color terminal.Color // in text
	Class string         // of the cell on a page
	Mark  string         // the class of the text on a page; empty: plain text
	Notes []string       // below the text on a page, in small letters
}

// NewTable returns a table of texts.
func NewTable(caption string, heads []string, rows [][]string) *Table {
	t := &Table{Caption: caption}
	for _, head := range heads {
		t.Columns = append(t.Columns, Column{Head: head})
	}
	for _, row := range rows {
		t.Add(row...)
	}
	return t
}

// Add adds a row of texts.
func (t *Table) Add(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Rows = append(t.Rows, row)
}

// Widths returns how wide the columns are in text.
func (t *Table) Widths() []int {
	wide := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if wide[i] = c.Least; !t.Bare {
			wide[i] = max(c.Least, terminal.Columns(c.Head))
		}
		for _, row := range t.Rows {
			wide[i] = max(wide[i], terminal.Columns(row[i].Text))
		}
	}
	return wide
}

// Pick returns a table of some columns, in the order of their numbers here.
func (t *Table) Pick(columns ...int) *Table {
	out := &Table{Caption: t.Caption, Bare: t.Bare, Rows: make([][]Cell, len(t.Rows))}
	for _, k := range columns {
		out.Columns = append(out.Columns, t.Columns[k])
		for i, row := range t.Rows {
			out.Rows[i] = append(out.Rows[i], row[k])
		}
	}
	return out
}

// Split returns tables that fit into so many columns of text, each with the first fixed columns of this one
// and some of the others.
func (t *Table) Split(room, fixed int) (all []*Table) {
	wide := t.Widths()
	var first []int
	for i, w := range wide[:fixed] {
		first = append(first, i)
		room -= w + 2
	}
	for from := fixed; from < len(wide); {
		columns, left := slices.Clone(first), room+2
		for ; from < len(wide) && (len(columns) == fixed || left >= 2+wide[from]); from++ {
			columns, left = append(columns, from), left-2-wide[from]
		}
		all = append(all, t.Pick(columns...))
	}
	return all
}

// Text writes the table with an indent of so many columns. A column is as wide as its widest cell.
func (t *Table) Text(p *terminal.Page, indent int) {
	wide := t.Widths()
	line := func(row []Cell) {
		text := strings.Repeat(" ", indent)
		for i, c := range row {
			pad := strings.Repeat(" ", wide[i]-terminal.Columns(c.Text))
			if t.Columns[i].Right {
				text += pad + p.Paint(c.Color, c.Text) + "  "
			} else {
				text += p.Paint(c.Color, c.Text) + pad + "  "
			}
		}
		p.Line("%s", text)
	}
	if !t.Bare {
		heads := make([]Cell, len(t.Columns))
		for i, c := range t.Columns {
			heads[i].Text = c.Head
		}
		line(heads)
	}
	for _, row := range t.Rows {
		line(row)
	}
}

// Markdown returns the table as GitHub's Markdown has it.
func (t *Table) Markdown() string {
	var b strings.Builder
	line := func(cell func(i int) string) {
		for i := range t.Columns {
			b.WriteString("| " + strings.ReplaceAll(cell(i), "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(func(i int) string { return t.Columns[i].Head })
	for _, c := range t.Columns {
		if c.Right {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		line(func(i int) string { return row[i].Text })
	}
	return b.String()
}

// ClassOf is the class of a cell on a page.
func (t *Table) ClassOf(column int, c Cell) string {
	if c.Class == "" && column > 0 && !t.Words {
		return "n"
	}
	return c.Class
}

// Name is the caption, or the label.
func (t *Table) Name() string { return cmp.Or(t.Caption, t.Label) }

// HTML is the table on a page.
func (t *Table) HTML() template.HTML { return parts("table", t) }
