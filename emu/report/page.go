package report

import (
	"bytes"
	"html/template"
	"io"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/terminal"
)

// PageFile is a report for browsers: one file that opens offline.
const PageFile = "report.html"

// Page is a report as HTML: everything it shows is in it. Text is escaped; only
// what has the type template.HTML is taken as it is.
type Page struct {
	Title    string
	Subtitle string
	Summary  string // of the claims, in a sentence
	Verdict  *Verdict
	Sections []Section
}

// Section is a part of a page.
type Section struct {
	Title string
	Text  string
	Parts []template.HTML // tables and pictures, in their order
}

// Row is a claim on a page.
type Row struct {
	Basis                                        scenario.Basis
	Says                                         string // the claim with its source, as Statement prints it
	ID, Measured, CameOut, Accepted, Why, Reason string
	Outcome                                      Outcome
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// Claims makes a table of the claims of a source and one of ours, a row each.
func Claims(rows []Row) []template.HTML {
	var tables []template.HTML
	sourced, ours := ByBasis(rows, func(r *Row) scenario.Basis { return r.Basis })
	if len(sourced) > 0 {
		tables = append(tables, parts("claims", map[string]any{"Says": "what the source says", "Rows": sourced}))
	}
	if len(ours) > 0 {
		tables = append(tables, parts("claims", map[string]any{"Says": "what is expected", "Rows": ours}))
	}
	return tables
}

// Table makes a table; cells from the second column on are set to the right.
func Table(heads []string, rows [][]string) template.HTML {
	return parts("table", map[string]any{"Heads": heads, "Rows": rows})
}

// Folded is a long text that is shown on a click.
func Folded(title, text string) template.HTML {
	return parts("folded", map[string]any{"Title": title, "Text": text})
}

// Drawing puts a picture in SVG into a page, with what it shows for those who do not
// see it.
func Drawing(svg []byte, shows string) template.HTML {
	if i := bytes.Index(svg, []byte("<svg")); i > 0 {
		svg = svg[i:] // what comes before is for files of their own
	}
	return parts("drawing", map[string]any{"SVG": template.HTML(svg), "Shows": shows})
}

// Machines makes a table of the computer.
func (m Machine) table() template.HTML {
	return Table([]string{"", ""}, [][]string{{"system", m.System}, {"architecture", m.Arch}, {"processor", m.CPU}, {"processors", terminal.Count(m.CPUs, "core")}, {"Go", m.Go}})
}

// MachineSection is the part of a page about the computer.
func MachineSection(m Machine) Section {
	return Section{Title: "Machine", Parts: []template.HTML{m.table()}}
}

func parts(name string, data any) template.HTML {
	var b strings.Builder
	if err := pageTemplate.ExecuteTemplate(&b, name, data); err != nil {
		panic("report: " + err.Error()) // a template of ours, and memory
	}
	return template.HTML(b.String())
}

var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
body { font: 15px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; color: #222; background: #fff; max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ddd; }
.sub { color: #555; margin-top: 0; }
.verdict { border-left: 6px solid #888; background: #f6f6f6; padding: .6rem 1rem; }
.exact, .faithful, .virtual { border-color: #009e73; } .order-only { border-color: #e69f00; } .degraded, .void { border-color: #d55e00; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .9rem; }
th { text-align: left; border-bottom: 2px solid #888; } th, td { padding: .3rem .6rem; vertical-align: top; } tr + tr td { border-top: 1px solid #e4e4e4; }
td.n { text-align: right; white-space: nowrap; } td.w { white-space: nowrap; } .small { color: #555; font-size: .85rem; }
.o { font-weight: bold; white-space: nowrap; } .o-pass { color: #00654a; } .o-fail { color: #b03a00; } .o-differs, .o-unexpected-pass { color: #7a5200; }
.figure svg { width: 100%; height: auto; } .figure { margin: 1rem 0; border: 1px solid #e4e4e4; }
pre { overflow-x: auto; background: #f6f6f6; padding: .8rem; font-size: .8rem; line-height: 1.35; }
nav a { margin-right: 1rem; } summary { cursor: pointer; }
@media print { body { max-width: none; } .figure { break-inside: avoid; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p class="sub">{{.Subtitle}}</p>
<p class="verdict {{.Verdict.Level}}"><b>Verdict: {{.Verdict.Level}}.</b> {{.Verdict.Sentence}}{{with .Summary}}<br>{{.}}.{{end}}</p>
<nav>{{range $i, $s := .Sections}}<a href="#s{{$i}}">{{$s.Title}}</a> {{end}}</nav>
{{range $i, $s := .Sections}}<section id="s{{$i}}">
<h2>{{$s.Title}}</h2>
{{with $s.Text}}<p>{{.}}</p>
{{end}}{{range $s.Parts}}{{.}}
{{end}}</section>
{{end}}</body>
</html>
{{define "claims"}}<table>
<tr><th>id</th><th>{{.Says}}</th><th>came out</th><th>accepted</th><th>outcome</th></tr>
{{range .Rows}}<tr><td class="w">{{.ID}}</td><td>{{.Says}}<br><span class="small">Measured: {{.Measured}}</span></td><td class="n">{{.CameOut}}</td><td><span class="o">{{.Accepted}}</span>{{with .Why}}<br><span class="small">{{.}}</span>{{end}}</td><td><span class="o o-{{.Outcome}}">{{.Outcome.Word}}</span>{{with .Reason}}<br><span class="small">{{.}}</span>{{end}}</td></tr>
{{end}}</table>{{end}}
{{define "table"}}<table>
<tr>{{range .Heads}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range $i, $c := .}}<td{{if $i}} class="n"{{end}}>{{$c}}</td>{{end}}</tr>
{{end}}</table>{{end}}
{{define "folded"}}<details><summary>{{.Title}}</summary><pre>{{.Text}}</pre></details>{{end}}
{{define "drawing"}}<div class="figure" role="img" aria-label="{{.Shows}}">{{.SVG}}</div>{{end}}
`))
