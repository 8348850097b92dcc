package reproduce

import (
	"fmt"
	"html/template"
	"strings"
	"sync"

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

// markdown writes a matrix as a table, with what its columns are.
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
func matrixHTML(figures []*FigureResult) (table, commands template.HTML) {
	data := make([]matrixPart, len(figures))
	for i, f := range figures {
		data[i] = matrixPart{f, i}
	}
	execute := func(name string) template.HTML {
		var b strings.Builder
		if err := matrixTemplate().ExecuteTemplate(&b, name, data); err != nil {
			panic("reproduce: " + err.Error()) // a template of ours, and memory
		}
		return template.HTML(b.String())
	}
	return execute("matrix"), execute("commands")
}

// matrixPart is a figure on the page.
type matrixPart struct {
	*FigureResult
	Number int
}

// Columns are those of its matrix.
func (f matrixPart) Columns() []Column { return f.Matrix.Columns }

// Title returns the name of a column with its unit.
func (c Column) Title() string { return c.title() }

// Order is what a cell is sorted by: nothing where there is no value, and behind all others
// what was never reached.
func (c *CellResult) Order() string {
	if c.String() == "never" {
		return "1e300"
	}
	return number(c.Value)
}

// Tip is what a cell says beside its value.
func (c *CellResult) Tip() string {
	if c.Missing > 0 && c.Seeds > 0 {
		return fmt.Sprintf("%d seeds have no value", c.Missing)
	}
	return c.Reason
}

// notesHTML says what the columns are in the figure of a number on the page.
func (m *MatrixResult) notesHTML(number int) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, "<ul id=\"f%d\">", number)
	for _, text := range append(m.says(), m.notes()...) {
		fmt.Fprintf(&b, "<li>%s</li>", template.HTMLEscapeString(text))
	}
	return template.HTML(b.String() + "</ul>")
}

// matrixTemplate is parsed when it is wanted: most calls of the command want none.
var matrixTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("matrix").Parse(`<style>
.matrix { overflow: auto; max-height: 85vh; margin: 1rem 0; border: 1px solid var(--line); }
.matrix table { width: max-content; min-width: 100%; font-size: .85rem; border-collapse: separate; border-spacing: 0; }
.matrix thead th { position: sticky; top: 0; z-index: 2; background: var(--box); text-align: right; border-bottom: 2px solid #888; }
.matrix thead th:first-child { left: 0; z-index: 3; text-align: left; }
.matrix tbody th { position: sticky; left: 0; z-index: 1; background: var(--back); text-align: left; font-weight: normal; border: 0; border-top: 1px solid var(--line); max-width: 11rem; }
.matrix tbody tr.part th { background: var(--box); font-weight: bold; max-width: none; position: static; }
.matrix tbody tr.part a { position: sticky; left: .6rem; }
.matrix th, .matrix td { padding: .3rem .5rem; }
.matrix td { text-align: right; white-space: nowrap; min-width: 0; border-top: 1px solid var(--line); }
.matrix td a { color: inherit; text-decoration: none; } .matrix td a:hover, .matrix td a:focus-visible { color: var(--link); text-decoration: underline; }
.matrix button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: right; max-width: 6.5rem; }
.matrix [aria-sort=ascending] button::after { content: " \2191"; } .matrix [aria-sort=descending] button::after { content: " \2193"; }
.kind { color: var(--soft); font-size: .8rem; display: block; }
#command { position: fixed; bottom: 0; left: 0; right: 0; z-index: 4; max-height: 50vh; overflow: auto; background: var(--box); border-top: 2px solid #888; padding: .6rem 1.5rem; }
#command pre { margin: .3rem 0; padding: 0; white-space: pre-wrap; overflow-wrap: anywhere; } #command button { font: inherit; }
@media (max-width: 40rem) { .matrix th, .matrix td { padding: .25rem .4rem; } .matrix tbody th { max-width: 7.5rem; } }
</style>
<div class="matrix" role="region" aria-label="All schemes" tabindex="0"><table>
<thead><tr><th scope="col">scheme</th>{{range (index . 0).Columns}}<th scope="col"><button type="button">{{.Title}}</button></th>{{end}}</tr></thead>
{{range $f := .}}<tbody><tr class="part"><th colspan="{{len .Columns}}" scope="rowgroup"><a href="#f{{.Number}}">{{.Title}}</a></th><th></th></tr>
{{range $r, $row := .Matrix.Rows}}<tr data-run="{{.Command}}"><th scope="row">{{.Name}}<span class="kind">{{.Kind}}</span></th>{{range $i, $c := .Cells}}<td data-v="{{.Order}}"{{with .Tip}} title="{{.}}"{{end}}>{{if .Measured}}<a href="#r{{$f.Number}}-{{$r}}" data-m="{{.Measured}}">{{.String}}</a>{{else}}{{.String}}{{end}}</td>{{end}}</tr>
{{end}}</tbody>
{{end}}</table></div>
<div id="command" role="status" hidden><b></b> <button type="button">copy</button> <button type="button">close</button><pre></pre></div>
{{define "commands"}}{{range $f := .}}<details id="c{{.Number}}"><summary>{{.Title}}</summary>
<table><tr><th scope="col">what is measured</th><th scope="col">how</th></tr>
{{$row := index .Matrix.Rows 0}}{{range $i, $c := $row.Cells}}{{if .Measured}}<tr><td>{{(index $f.Columns $i).Name}}</td><td><code>{{.Measured}}</code></td></tr>
{{end}}{{end}}</table>
{{range $r, $row := .Matrix.Rows}}{{if .Command}}<p id="r{{$f.Number}}-{{$r}}">{{.Kind}}: {{.Name}}</p><pre>{{.Command}}</pre>
{{end}}{{end}}</details>
{{end}}{{end}}
`))
})

// matrixScript sorts the table, and shows the command of a cell.
const matrixScript template.JS = `
(() => {
  const table = document.querySelector(".matrix table"), heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => head.querySelector("button")?.addEventListener("click", () => {
    const sign = head.ariaSort === "ascending" ? -1 : 1;
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.ariaSort = sign > 0 ? "ascending" : "descending";
    for (const body of table.tBodies) {
      const value = row => row.cells[i].dataset.v === "" ? NaN : +row.cells[i].dataset.v;
      const rows = [...body.rows].slice(1);
      rows.sort((a, b) => { const x = value(a), y = value(b); return isNaN(x) - isNaN(y) || sign * (x - y) || 0; });
      body.append(...rows);
    }
  }));
  const panel = document.getElementById("command"), text = panel.querySelector("pre"), [copy, close] = panel.querySelectorAll("button");
  table.addEventListener("click", event => {
    const cell = event.target.closest("a[data-m]");
    if (!cell) return;
    event.preventDefault();
    const row = cell.closest("tr");
    panel.querySelector("b").textContent = row.cells[0].firstChild.textContent + ": " + heads[cell.parentNode.cellIndex].textContent + " = " + cell.textContent;
    text.textContent = row.dataset.run + " " + cell.dataset.m;
    panel.hidden = false;
  });
  copy.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNodeContents(text);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    navigator.clipboard?.writeText(text.textContent);
  });
  close.addEventListener("click", () => { panel.hidden = true; });
})();
`
