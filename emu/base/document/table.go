package document

import (
	"cmp"
	"fmt"
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
	Rows    [][]Cell // one of a single cell goes across the columns, in text
	Words   bool     // on a page all columns begin at the left; else those after the first end at the right
	Folds   bool     // on a page the table is behind a fold if it has more than Listed rows

	// In text:
	Bare  bool           // without heads
	Flush bool           // without an indent
	Color terminal.Color // of the caption or label above the table; Plain: there is none
	Order []int          // of the columns; nil: as on a page
	Most  int            // rows at most; 0: all
	More  string         // a line at the end, where Most leaves out rows or is 0; empty: how many rows there are
	Fixed int            // a table that is too wide comes in parts, each with so many columns from the left; 0: it does not
	Hang  int            // how far the notes of a row are behind it; 0: 4 columns
}

// Column is a column of a table.
type Column struct {
	Head  string
	Right bool // in text and Markdown, cells end at the right
	Least int  // the least width in text, in columns of the terminal
	Wrap  bool // in text, cells are broken between words, and the column has the room that others leave
	Fill  bool // a column to be broken has all this room, also where it needs less
	Lines int  // into which cells are broken at most; 0: any number
}

// Cell is a cell of a table.
type Cell struct {
	Lead  string // in bold before the text
	Text  string
	Color terminal.Color // in text
	Class string         // of the cell on a page
	Mark  string         // the class of the text on a page; empty: plain text
	Notes []string       // below the text on a page, in small letters; in text below the row
}

// plain is the cell in text.
func (c *Cell) plain() string {
	if c.Lead == "" {
		return c.Text
	}
	return c.Lead + " " + c.Text
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

// widths returns how wide the columns are in text.
func (t *Table) widths() []int {
	wide := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if wide[i] = c.Least; !t.Bare {
			wide[i] = max(c.Least, terminal.Columns(c.Head))
		}
		for _, row := range t.Rows {
			if len(row) == len(t.Columns) {
				wide[i] = max(wide[i], terminal.Columns(row[i].plain()))
			}
		}
	}
	return wide
}

// Pick returns a table of some columns, in the order of their numbers here.
func (t *Table) Pick(columns ...int) *Table {
	out := *t
	out.Columns, out.Rows, out.Order, out.Fixed = nil, slices.Clone(t.Rows), nil, 0
	for _, k := range columns {
		out.Columns = append(out.Columns, t.Columns[k])
	}
	for i, row := range t.Rows {
		if len(row) == len(t.Columns) {
			out.Rows[i] = make([]Cell, 0, len(columns))
			for _, k := range columns {
				out.Rows[i] = append(out.Rows[i], row[k])
			}
		}
	}
	return &out
}

// split returns tables that fit into so many columns of text, each with the first fixed columns of
// this one and some of the others.
func (t *Table) split(room int) (all []*Table) {
	wide, fixed := t.widths(), t.Fixed
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

// leastWrap is the least width of a column whose cells are broken, in columns of the terminal,
// unless it has its own.
const leastWrap = 30

// broken returns the lines of a cell in a width.
func (c *Column) broken(words string, wide int) []string {
	if !c.Wrap || terminal.Columns(words) <= wide {
		return []string{words}
	}
	lines := terminal.Wrap(words, wide)
	if n := c.Lines; n > 0 {
		if len(lines) > n {
			lines = append(lines[:n-1], strings.Join(lines[n-1:], " "))
		}
		for i := range lines {
			lines[i] = terminal.Shorten(lines[i], wide)
		}
	}
	return lines
}

// Text writes the table with an indent, a number of columns. A column is as wide as its widest
// cell, or has the room that is left.
func (t *Table) Text(p *terminal.Page, indent int) {
	all := len(t.Rows)
	if t.Most > 0 && all > t.Most {
		cut := *t
		cut.Rows, t = t.Rows[:t.Most], &cut
	}
	wide := t.widths()
	room := p.Columns() - indent + 2
	for i := range wide {
		room -= wide[i] + 2
	}
	for i, c := range t.Columns {
		if c.Wrap && (room < 0 || c.Fill) {
			wide[i] = max(min(wide[i], cmp.Or(c.Least, leastWrap)), wide[i]+room)
		}
	}
	var line func(row []Cell)
	line = func(row []Cell) {
		text := strings.Repeat(" ", indent)
		var rest []Cell
		for i, c := range row {
			lines := t.Columns[i].broken(c.plain(), wide[i])
			words := lines[0]
			if len(lines) > 1 {
				if rest == nil {
					rest = make([]Cell, len(row))
				}
				rest[i].Text = strings.Join(lines[1:], " ")
			}
			pad := strings.Repeat(" ", max(0, wide[i]-terminal.Columns(words)))
			if t.Columns[i].Right {
				text += pad + p.Paint(c.Color, words) + "  "
			} else {
				text += p.Paint(c.Color, words) + pad + "  "
			}
		}
		p.Line("%s", text)
		if rest != nil {
			line(rest)
		}
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
		for _, c := range row {
			for _, note := range c.Notes {
				p.Paragraph(indent+cmp.Or(t.Hang, 4), note)
			}
		}
	}
	if more := cmp.Or(t.More, fmt.Sprintf("... %d in all", all)); all > len(t.Rows) || t.Most == 0 && t.More != "" {
		p.Line("%*s%s", indent, "", more)
	}
}

func (t *Table) text(p *terminal.Page) {
	if t.Order != nil {
		t = t.Pick(t.Order...)
	}
	if t.Fixed > 0 {
		for _, part := range t.split(p.Columns() - 2) {
			part.text(p)
		}
		return
	}
	if t.Color != terminal.Plain {
		p.Heading(t.Color, t.Name())
	}
	indent := 2
	if t.Flush {
		indent = 0
	}
	t.Text(p, indent)
}

func (t *Table) markdown(func(string) string) string { return t.Markdown() }

// Markdown returns the table as in GitHub's Markdown.
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
		line(func(i int) string {
			if row[i].Lead == "" {
				return row[i].Text
			}
			return "**" + row[i].Lead + "** " + row[i].Text
		})
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

// steps are the widths of windows, in rem, below which tables that need more have a line for each
// cell: so on a narrow screen, and on paper, no column is outside.
var steps = []int{24, 30, 36, 44, 52, 60, 72}

// narrow returns the width of a window, one of steps, below which the table does not fit; 0: it
// always fits. The widths of characters are those of a usual font.
func (t *Table) narrow() int {
	const rem, character, padding, page = 16, 7.8, 12, 28
	need := 0.
	for i, c := range t.Columns {
		least := terminal.Columns(c.Head)
		for _, row := range t.Rows {
			if len(row) != len(t.Columns) {
				continue
			}
			text := row[i].plain()
			if class := t.ClassOf(i, row[i]); class == "n" || class == "w" || row[i].Mark != "" {
				least = max(least, terminal.Columns(text))
				continue
			}
			word := 0
			for w := range strings.FieldsSeq(text) {
				word = max(word, terminal.Columns(w))
			}
			least = max(least, word, min(terminal.Columns(text), wordy))
		}
		need += float64(least)*character + padding
	}
	if need += page; need <= 20*rem {
		return 0
	}
	for _, s := range steps {
		if need <= float64(s)*rem {
			return s
		}
	}
	return steps[len(steps)-1]
}

// wordy is how many characters a column of words has at least, unless its texts are shorter.
const wordy = 16

// onPage is a table as it is written on a page.
type onPage struct {
	*Table
	Narrow int // Table.narrow
}

// HeadOf is the head of a cell, which it has beside it on a narrow screen.
func (t onPage) HeadOf(column int) string {
	if column >= len(t.Columns) || t.Narrow == 0 {
		return ""
	}
	return t.Columns[column].Head
}

// Name is the caption, or the label.
func (t *Table) Name() string { return cmp.Or(t.Caption, t.Label) }

// HTML is the table on a page.
func (t *Table) HTML() (template.HTML, error) {
	if t.Folds && len(t.Rows) > Listed {
		open := *t
		open.Folds = false
		return Fold{Title: fmt.Sprintf("%s: all %d", cmp.Or(t.Name(), t.Columns[0].Head), len(t.Rows)), Parts: []Block{&open}}.HTML()
	}
	return parts("table", onPage{t, t.narrow()})
}
