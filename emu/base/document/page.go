package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
)

// Page is a report as HTML: everything it shows is in it. Text is escaped; only
// values of the type template.HTML are taken as they are.
type Page struct {
	Title    string
	Subtitle string
	Outcome  Outcome // the colour at the top
	Verdict  string  // in bold
	Reason   string  // behind the verdict
	Claims   string  // how the claims came out; empty: there are none
	Sections []Section
	Script   template.JS // of our own, without texts from files; the only one that the page lets run
}

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
	Title string
	Text  string
	Parts []Part // tables and pictures, in their order
}

// Part is something in a section: a *Table, a Fold, or HTML such as a Picture.
type Part interface{ HTML() template.HTML }

// HTML is a part that is written already.
type HTML template.HTML

// HTML returns the part.
func (h HTML) HTML() template.HTML { return template.HTML(h) }

// Fold is a long text, or parts, that are shown on a click.
type Fold struct {
	Title string
	Text  string
	Parts []Part
}

// HTML is the fold on a page.
func (f Fold) HTML() template.HTML { return parts("fold", f) }

// Drawing is a picture that this program draws.
type Drawing interface{ SVG(io.Writer) error }

// Picture draws a picture for a page. A picture that was read from a file has no place there, since it may
// hold a script.
func Picture(d Drawing) (Part, error) {
	var svg bytes.Buffer
	if err := d.SVG(&svg); err != nil {
		return nil, err
	}
	_, b, _ := bytes.Cut(svg.Bytes(), []byte("<svg")) // the lines before it are for files of their own
	return HTML(parts("drawing", template.HTML("<svg"+string(b)))), nil
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return pageTemplate().Execute(w, p) }

// Listed is how many rows of a list are shown without a click.
const Listed = 12

// Long returns the table, behind a fold where it has many rows.
func (t *Table) Long() Part {
	if len(t.Rows) > Listed {
		return Fold{Title: fmt.Sprintf("%s: all %d", t.Caption, len(t.Rows)), Parts: []Part{t}}
	}
	return t
}

func parts(name string, data any) template.HTML {
	var b strings.Builder
	if err := pageTemplate().ExecuteTemplate(&b, name, data); err != nil {
		panic("document: " + err.Error()) // a template of ours, and memory
	}
	return template.HTML(b.String())
}

// pageTemplate is parsed when it is wanted: most calls of the command want none.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(`<!DOCTYPE html>
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
@media (max-width: 40rem) { body { margin: 1rem auto; padding: 0 .8rem; } }
@media print { body { max-width: none; } .figure { break-inside: avoid; } }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p class="sub">{{.Subtitle}}</p>
<main>
<p class="verdict {{.Outcome}}"><b>{{.Verdict}}</b>{{with .Reason}} {{.}}{{end}}{{with .Claims}}<br>{{.}}.{{end}}</p>
<nav aria-label="Parts of the report">{{range $i, $s := .Sections}}<a href="#s{{$i}}">{{$s.Title}}</a> {{end}}</nav>
{{range $i, $s := .Sections}}<section id="s{{$i}}" aria-labelledby="h{{$i}}">
<h2 id="h{{$i}}">{{$s.Title}}</h2>
{{with $s.Text}}<p>{{.}}</p>
{{end}}{{range $s.Parts}}{{.HTML}}
{{end}}</section>
{{end}}</main>
{{with .Script}}<script>{{.}}</script>
{{end}}</body>
</html>
{{define "table"}}{{$t := .}}<div class="scroll" role="region" aria-label="{{.Name}}" tabindex="0"><table>
{{with .Caption}}<caption>{{.}}</caption>
{{end}}<tr>{{range $i, $c := .Columns}}<th scope="col"{{if and $i (not $t.Words)}} class="n"{{end}}>{{.Head}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range $i, $c := .}}<td{{with $t.ClassOf $i $c}} class="{{.}}"{{end}}>{{with .Mark}}<span class="{{.}}">{{$c.Text}}</span>{{else}}{{.Text}}{{end}}{{range .Notes}}<br><span class="small">{{.}}</span>{{end}}</td>{{end}}</tr>
{{end}}</table></div>{{end}}
{{define "fold"}}<details><summary>{{.Title}}</summary>{{with .Text}}<pre>{{.}}</pre>{{end}}{{range .Parts}}{{.HTML}}{{end}}</details>{{end}}
{{define "drawing"}}<div class="figure">{{.}}</div>{{end}}
`))
})
