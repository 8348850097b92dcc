package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"sync"

	"fabemu/emu/base/terminal"
)

// Page is a report. On the page for browsers, text is escaped; only values of the type
// template.HTML are taken as they are.
type Page struct {
	Title    string
	Subtitle string  // for browsers
	Outcome  Outcome // the colour of the verdict for browsers
	Lead     string  // before the verdict, in bold
	Verdict  string  // in bold, and on a terminal in Color
	Color    terminal.Color
	Reason   string // behind the verdict
	Claims   string // how many claims hold; empty: there are none
	Sections []Section
	Last     []string    // lines at the end, on a terminal
	Script   template.JS // of our own, without texts from files; the only one that the page lets run
}

// Format is a form of a report, or several.
type Format uint8

// The formats. None of them stands for all.
const (
	Browser  Format = 1 << iota // one HTML file, which opens offline
	Terminal                    // text in columns
	Markdown                    // a document
)

func (f Format) has(x Format) bool { return f == 0 || f&x != 0 }

// Scripts names the scripts that may run, for the page's policy: its own, by its hash, or none.
func (p *Page) Scripts() string {
	if p.Script == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.Script))
	return "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Outcome is how good the result on a page is.
type Outcome string

// The outcomes.
const (
	Good Outcome = "good"
	Fair Outcome = "fair"
	Bad  Outcome = "bad"
)

// Section is a part of a page.
type Section struct {
	Title   string
	Command string  // that makes it again; may be empty
	Source  string  // where it is in the source, shown with the command
	Text    string  // an introduction, which a terminal leaves out
	Parts   []Block // in their order
	In      Format  // where it is shown

	// Untitled leaves out the title on a terminal. Judged puts the verdict of the page at the top
	// there; otherwise it is at the end, with the claims.
	Untitled, Judged bool
}

// Line adds a line of text.
func (s *Section) Line(format string, args ...any) {
	s.Parts = append(s.Parts, Line(fmt.Sprintf(format, args...)))
}

// Add adds a table that begins at the left edge of a terminal.
func (s *Section) Add(t *Table) {
	t.Flush = true
	s.Parts = append(s.Parts, t)
}

// Shown returns the sections of the page for browsers.
func (p *Page) Shown() (all []Section) {
	for _, s := range p.Sections {
		if s.In.has(Browser) {
			all = append(all, s)
		}
	}
	return all
}

// Block is something in a section: a *Table, Picture, Paragraph, Line, List or Fold, HTML, or one
// of them in Only some formats.
type Block interface {
	HTML() (template.HTML, error)
	text(p *terminal.Page)
	markdown(link func(picture string) string) string
}

// forBrowsers is a part that only the page for browsers has.
type forBrowsers struct{}

func (forBrowsers) text(*terminal.Page)                 {}
func (forBrowsers) markdown(func(string) string) string { return "" }

// HTML is a part for browsers that is written already.
type HTML struct {
	forBrowsers
	Text template.HTML
}

// HTML returns the part.
func (h HTML) HTML() (template.HTML, error) { return h.Text, nil }

// Fold is a long text, or parts, that browsers show on a click.
type Fold struct {
	forBrowsers
	Title string
	Text  string
	Parts []Block
}

// HTML is the fold on a page.
func (f Fold) HTML() (template.HTML, error) { return parts("fold", f) }

// Drawing is a picture that this program draws.
type Drawing interface{ SVG(io.Writer) error }

// Picture is a drawing in a report. A picture that was read from a file is left out there, because
// it may hold a script.
type Picture struct {
	Drawing
	Name  string // by which a document links to it
	Title string
}

// HTML is the picture on a page. The error is of the drawing.
func (x Picture) HTML() (template.HTML, error) {
	var svg bytes.Buffer
	if err := x.SVG(&svg); err != nil {
		return "", fmt.Errorf("picture %s: %w", x.Name, err)
	}
	_, b, _ := bytes.Cut(svg.Bytes(), []byte("<svg")) // the lines before it are their own for files
	return parts("drawing", template.HTML("<svg"+string(b)))
}

func (Picture) text(*terminal.Page) {}

func (x Picture) markdown(link func(string) string) string {
	to := link(x.Name)
	if to == "" {
		return ""
	}
	return "![" + x.Title + "](" + to + ")"
}

// WriteHTML writes the page for browsers.
func (p *Page) WriteHTML(w io.Writer) error { return pageTemplate().Execute(w, p) }

// Listed is how many rows of a list are shown without a click.
const Listed = 12

func parts(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := pageTemplate().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// quantity finds a number and its unit.
var quantity = regexp.MustCompile(`(\d) (%|(?:[pnµm]?s|[KMGT]?i?B(?:/s)?|[kMGT]?b/s|T)\b)`)

// unbroken is a text in which no line ends between a number and its unit.
func unbroken(text string) string { return quantity.ReplaceAllString(text, "$1\u00a0$2") }

// pageTemplate is parsed when it is wanted: most calls of the command want none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"unbroken": unbroken, "steps": func() []int { return steps }}).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'{{.Scripts}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; --ink: #222; --soft: #555; --back: #fff; --box: #f6f6f6; --line: #ddd; --good: #00654a; --bad: #b03a00; --fair: #7a5200; --link: #0059b3; }
@media (prefers-color-scheme: dark) { :root { --ink: #ddd; --soft: #aaa; --back: #161616; --box: #222; --line: #444; --good: #4cd3a5; --bad: #ff8f5e; --fair: #e6b34d; --link: #7db8ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 72rem; margin: 2rem auto; padding: 0 1.5rem; overflow-wrap: break-word; }
a { color: var(--link); }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
.sub { color: var(--soft); margin-top: 0; }
.verdict { border-left: 6px solid; background: var(--box); padding: .6rem 1rem; }
.good { border-color: #009e73; } .fair { border-color: #e69f00; } .bad { border-color: #d55e00; }
.scroll { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
caption { text-align: left; color: var(--soft); font-size: .85rem; }
th { text-align: left; border-bottom: 2px solid #888; } th, td { padding: .3rem .6rem; vertical-align: top; } tr + tr td { border-top: 1px solid var(--line); }
td { min-width: 4rem; overflow-wrap: normal; } td.l { min-width: 14rem; }
.n { text-align: right; white-space: nowrap; } td.w { white-space: nowrap; } .small { color: var(--soft); font-size: .85rem; }
.o { font-weight: bold; white-space: nowrap; } .o-pass { color: var(--good); } .o-fail { color: var(--bad); } .o-differs, .o-unexpected-pass, .o-not-measured { color: var(--fair); }
.figure svg { width: 100%; height: auto; display: block; } .figure { margin: 1rem 0; border: 1px solid var(--line); }
pre { overflow-x: auto; background: var(--box); padding: .8rem; font-size: .8rem; line-height: 1.35; }
nav a { margin-right: 1rem; } summary { cursor: pointer; }
@media (max-width: 40rem) { body { margin: 1rem auto; padding: 0 .8rem; } th, td { padding: .3rem .35rem; } td { min-width: 0; } td.l { min-width: 9rem; } }
{{range steps}}@media (max-width: {{.}}rem) { .m{{.}}, .m{{.}} tbody, .m{{.}} tr, .m{{.}} td, .m{{.}} caption { display: block; } .m{{.}} tr:first-child { display: none; }
.m{{.}} tr { padding: .4rem 0; border-top: 1px solid var(--line); } .m{{.}} td { border: 0 !important; padding: .1rem 0; min-width: 0; text-align: right; white-space: normal; overflow-wrap: anywhere; overflow: hidden; }
.m{{.}} td::before { content: attr(data-h); float: left; margin-right: 1rem; color: var(--soft); } .m{{.}} td:first-child { font-weight: bold; text-align: left; } .m{{.}} td:first-child::before { content: none; } }
{{end}}@media print { body { max-width: none; } .figure { break-inside: avoid; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p class="sub">{{.Subtitle}}</p>
<main>
<p class="verdict {{.Outcome}}"><b>{{.Lead}}{{unbroken .Verdict}}</b>{{with .Reason}} {{unbroken .}}{{end}}{{with .Claims}}<br>{{unbroken .}}.{{end}}</p>
<nav aria-label="Parts of the report">{{range $i, $s := .Shown}}<a href="#s{{$i}}">{{$s.Title}}</a> {{end}}</nav>
{{range $i, $s := .Shown}}<section id="s{{$i}}" aria-labelledby="h{{$i}}">
<h2 id="h{{$i}}">{{$s.Title}}</h2>
{{with $s.Text}}<p>{{unbroken .}}</p>
{{end}}{{with $s.Command}}<p class="small"><code>{{.}}</code>{{with $s.Source}} ({{.}}){{end}}</p>
{{end}}{{range $s.Parts}}{{.HTML}}
{{end}}</section>
{{end}}</main>
{{with .Script}}<script>{{.}}</script>
{{end}}</body>
</html>
{{define "table"}}{{$t := .}}<div class="scroll" role="region" aria-label="{{.Name}}" tabindex="0"><table{{with .Narrow}} class="m{{.}}"{{end}}>
{{with .Caption}}<caption>{{.}}</caption>
{{end}}<tr>{{range $i, $c := .Columns}}<th scope="col"{{if and $i (not $t.Words)}} class="n"{{end}}>{{.Head}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range $i, $c := .}}<td{{with $t.ClassOf $i $c}} class="{{.}}"{{end}}{{with $t.HeadOf $i}} data-h="{{.}}"{{end}}>{{with .Lead}}<b>{{.}}</b> {{end}}{{with .Mark}}<span class="{{.}}">{{unbroken $c.Text}}</span>{{else}}{{unbroken .Text}}{{end}}{{range .Notes}}<br><span class="small">{{unbroken .}}</span>{{end}}</td>{{end}}</tr>
{{end}}</table></div>{{end}}
{{define "fold"}}<details><summary>{{.Title}}</summary>{{with .Text}}<pre>{{.}}</pre>{{end}}{{range .Parts}}{{.HTML}}{{end}}</details>{{end}}
{{define "paragraph"}}{{with .}}<p>{{unbroken .}}</p>{{end}}{{end}}
{{define "list"}}<ul{{with .ID}} id="{{.}}"{{end}}>{{range .Items}}<li>{{unbroken .}}</li>{{end}}</ul>{{end}}
{{define "drawing"}}<div class="figure">{{.}}</div>{{end}}
`))
})
