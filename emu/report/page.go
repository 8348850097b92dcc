package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"fabemu/emu/host"
	"fabemu/emu/terminal"
)

// PageFile is a report for browsers: one file that opens offline.
const PageFile = "report.html"

// Page is a report as HTML: everything it shows is in it. Text is escaped; only
// what has the type template.HTML is taken as it is.
type Page struct {
	Title    string
	Subtitle string
	Claims   Tally    // nil: there are none
	Verdict  *Verdict // of a run; nil: Says and Bad are what is said in its place
	Says     string
	Bad      bool
	Sections []Section
	Script   template.JS // of ours, without a string of a file; the only one that the page lets run
}

// Scripts is which scripts may run, for the page's policy: its own, by its hash, or none.
func (p *Page) Scripts() string {
	if p.Script == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.Script))
	return "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Section is a part of a page.
type Section struct {
	Title string
	Text  string
	Parts []template.HTML // tables and pictures, in their order
}

// Row is a claim on a page.
type Row struct {
	Judged
	Says                        string // the claim with its source, as Statement prints it
	Measured, CameOut, Accepted string
	Null                        string // what comes out if nothing works; empty: it is not said
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error { return pageTemplate().Execute(w, p) }

// Claims makes a table of the claims of a source and one of ours, a row each.
func Claims(rows []Row) []template.HTML {
	var tables []template.HTML
	sourced, ours := ByBasis(rows)
	for _, x := range []struct {
		says string
		rows []Row
	}{{"what the source says", sourced}, {"what is expected", ours}} {
		if len(x.rows) > 0 {
			tables = append(tables, parts("claims", map[string]any{"Says": x.says, "Rows": x.rows}))
		}
	}
	return tables
}

// Bar is how good the outcome is, as the colour at the top of the page has it: "good",
// "fair" or "bad". The worst of the verdict and the claims counts.
func (p *Page) Bar() string {
	switch {
	case p.Verdict != nil:
	case p.Bad:
		return "bad"
	default:
		return "good"
	}
	level := p.Verdict.Level
	switch {
	case level == Degraded, level == Void, p.Claims.Of(Fail) > 0:
		return "bad"
	case level == OrderOnly, p.Claims.Of(NotMeasured) > 0, p.Claims.Of(UnexpectedPass) > 0:
		return "fair"
	}
	return "good"
}

// Table makes a table with a caption; cells from the second column on are set to the right.
func Table(caption string, heads []string, rows [][]string) template.HTML {
	return parts("table", map[string]any{"Caption": caption, "Heads": heads, "Rows": rows})
}

// listed is how many rows of a list are shown without a click.
const listed = 12

// long makes a table whose rows are shown on a click where there are many.
func long(caption string, heads []string, rows [][]string) template.HTML {
	table := Table(caption, heads, rows)
	if len(rows) > listed {
		return behind(fmt.Sprintf("%s: all %d", caption, len(rows)), table)
	}
	return table
}

// behind makes parts that are shown on a click.
func behind(title string, of ...template.HTML) template.HTML {
	return parts("behind", map[string]any{"Title": title, "Parts": of})
}

// Folded is a long text that is shown on a click.
func Folded(title, text string) template.HTML {
	return parts("folded", map[string]any{"Title": title, "Text": text})
}

// Drawing puts a picture in SVG that this program has drawn into a page: never one that
// was read from a file, which may hold a script. The picture itself says what it shows for those
// who do not see it.
func Drawing(svg []byte) template.HTML {
	if i := bytes.Index(svg, []byte("<svg")); i > 0 {
		svg = svg[i:] // what comes before is for files of their own
	}
	return parts("drawing", template.HTML(svg))
}

// MachineSection is the part of a page about the computer.
func MachineSection(m host.Computer) Section {
	return Section{Title: "Machine", Parts: []template.HTML{Table("The computer of the run",
		[]string{"part", "what it is"},
		[][]string{{"system", m.System}, {"architecture", m.Arch}, {"processor", m.CPU},
			{"processors", terminal.Count(m.CPUs, "core")}, {"Go", m.Go}})}}
}

func parts(name string, data any) template.HTML {
	var b strings.Builder
	if err := pageTemplate().ExecuteTemplate(&b, name, data); err != nil {
		panic("report: " + err.Error()) // a template of ours, and memory
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
<p class="verdict {{.Bar}}">{{with .Verdict}}<b>Verdict: {{.Level}}.</b> {{.Sentence}}{{else}}<b>{{.Says}}</b>{{end}}{{with .Claims}}<br>{{.}}.{{end}}</p>
<nav aria-label="Parts of the report">{{range $i, $s := .Sections}}<a href="#s{{$i}}">{{$s.Title}}</a> {{end}}</nav>
{{range $i, $s := .Sections}}<section id="s{{$i}}" aria-labelledby="h{{$i}}">
<h2 id="h{{$i}}">{{$s.Title}}</h2>
{{with $s.Text}}<p>{{.}}</p>
{{end}}{{range $s.Parts}}{{.}}
{{end}}</section>
{{end}}</main>
{{with .Script}}<script>{{.}}</script>
{{end}}</body>
</html>
{{define "claims"}}<div class="scroll" role="region" aria-label="Claims: {{.Says}}" tabindex="0"><table>
<tr><th scope="col">id</th><th scope="col">{{.Says}}</th><th scope="col">came out</th><th scope="col">accepted</th><th scope="col">outcome</th></tr>
{{range .Rows}}<tr><td class="w">{{.ID}}</td><td class="l">{{.Says}}<br><span class="small">Measured: {{.Measured}}</span></td><td class="n">{{.CameOut}}</td><td class="l"><span class="o">{{.Accepted}}</span>{{with .Why}}<br><span class="small">{{.}}</span>{{end}}{{with .Null}}<br><span class="small">If nothing works: {{.}}</span>{{end}}</td><td><span class="o o-{{.Outcome}}">{{.Outcome.Word}}</span>{{with .Reason}}<br><span class="small">{{.}}</span>{{end}}</td></tr>
{{end}}</table></div>{{end}}
{{define "table"}}<div class="scroll" role="region" aria-label="{{.Caption}}" tabindex="0"><table>
<caption>{{.Caption}}</caption>
<tr>{{range $i, $h := .Heads}}<th scope="col"{{if $i}} class="n"{{end}}>{{$h}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range $i, $c := .}}<td{{if $i}} class="n"{{end}}>{{$c}}</td>{{end}}</tr>
{{end}}</table></div>{{end}}
{{define "behind"}}<details><summary>{{.Title}}</summary>{{range .Parts}}{{.}}{{end}}</details>{{end}}
{{define "folded"}}<details><summary>{{.Title}}</summary><pre>{{.Text}}</pre></details>{{end}}
{{define "drawing"}}<div class="figure">{{.}}</div>{{end}}
`))
})
