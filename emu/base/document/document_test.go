package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fabemu/emu/base/terminal"
)

func sample() *Table {
	t := &Table{Caption: "Ports", Columns: []Column{{Head: "port"}, {Head: "rate", Right: true}, {Head: "marks", Right: true, Least: 6}}}
	t.Add("a", "1 Gb/s", "3")
	t.Add("long|name", "10 Gb/s", "–")
	t.Rows[0][2].Color = terminal.Red
	return t
}

func text(t *Table, look terminal.Look) string {
	p := terminal.Page{Look: look}
	t.Text(&p, 2)
	return p.String()
}

func TestText(t *testing.T) {
	const want = "  port          rate   marks\n  a           1 Gb/s       3\n  long|name  10 Gb/s       –\n"
	if got := text(sample(), terminal.Look{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	bare := sample()
	bare.Bare = true
	if got, want := text(bare.Pick(2, 0), terminal.Look{Color: true}), "       \x1b[31m3\x1b[0m  a\n       –  long|name\n"; got != want {
		t.Errorf("without heads, two columns in another order: %q, want %q", got, want)
	}
}

// Tables that are too wide come in parts, each with the first column again.
func TestSplit(t *testing.T) {
	for room, want := range map[int]int{100: 1, 26: 1, 25: 2, 5: 2} {
		table := sample()
		table.Fixed = 1
		if got := table.split(room); len(got) != want || got[0].Columns[0].Head != "port" || len(got[want-1].Rows) != 2 {
			t.Errorf("in %d columns there are %d tables, want %d", room, len(got), want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	const want = "| port | rate | marks |\n|---|---:|---:|\n| a | 1 Gb/s | 3 |\n| long\\|name | 10 Gb/s | – |\n"
	if got := sample().Markdown(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// drawing is SVG as it is in a file, or an error.
type drawing struct{ err error }

func (d drawing) SVG(w io.Writer) error {
	io.WriteString(w, "<?xml?>\n<svg></svg>")
	return d.err
}

// Everything is on the page, and texts are no HTML there. Long tables are behind a fold.
func TestPage(t *testing.T) {
	picture := Picture{Drawing: drawing{}, Name: "p", Title: "a picture"}
	broken := Page{Sections: []Section{{Parts: []Block{Picture{Drawing: drawing{errors.New("no ink")}}}}}}
	if err := broken.WriteHTML(io.Discard); err == nil || !strings.Contains(err.Error(), "no ink") {
		t.Errorf("a picture that cannot be drawn is on the page: %v", err)
	}
	words := sample()
	words.Caption, words.Label, words.Words = "", "Words", true
	words.Rows[0][0] = Cell{Text: "<b>", Class: "w", Mark: "o", Notes: []string{"a note"}}
	many := sample()
	for range Listed {
		many.Add("x", "y", "z")
	}
	many.Folds = true
	p := Page{Title: "<title>", Outcome: Fair, Verdict: "Verdict: fair.", Reason: "So.", Claims: "2 of 3", Sections: []Section{
		{Title: "All", Text: "These:", Parts: []Block{sample(), words, many, picture, Fold{Title: "Long", Text: "a\nb"}}}}}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>&lt;title&gt;</title>", `<p class="verdict fair"><b>Verdict: fair.</b> So.<br>2 of 3.</p>`, "<p>These:</p>",
		`<caption>Ports</caption>`, `<th scope="col">port</th><th scope="col" class="n">rate</th>`, "<td>a</td><td class=\"n\">1\u00a0Gb/s</td>",
		`aria-label="Words"`, `<td class="w"><span class="o">&lt;b&gt;</span><br><span class="small">a note</span></td><td>1` + "\u00a0Gb/s</td>",
		"<summary>Ports: all 14</summary>", `<div class="figure"><svg></svg></div>`, "<summary>Long</summary><pre>a\nb</pre>",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not have %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "<script") || strings.Contains(b.String(), "script-src") {
		t.Error("a page without a script lets one run")
	}
	p.Script = "go()"
	b.Reset()
	if err := p.WriteHTML(&b); err != nil || !strings.Contains(b.String(), "script-src") || !strings.Contains(b.String(), "<script>go()</script>") {
		t.Errorf("a page with a script: %v\n%s", err, b.String())
	}
}

// A table that does not fit into a window has a line for each cell there, with its head.
func TestNarrowTables(t *testing.T) {
	row := func(n int, text string) *Table {
		heads, cells := make([]string, n), make([]string, n)
		for i := range n {
			heads[i], cells[i] = fmt.Sprint("head ", i), text
		}
		return NewTable("", heads, [][]string{cells, {"one cell goes across all columns, and is as wide as the window"}})
	}
	last := 0
	for _, x := range []struct {
		columns int
		text    string
		want    int
	}{{3, "12.5", 0}, {3, "123456789012345", 30}, {6, "1234567", 30}, {6, "12345678901", 44}, {30, "12345678901", 72}} {
		table := row(x.columns, x.text)
		if got := table.narrow(); got != x.want || got < last {
			t.Errorf("%d columns of %q have lines of their own below %d rem, want %d", x.columns, x.text, got, x.want)
		}
		last = x.want
		html, err := table.HTML()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{fmt.Sprintf(`class="m%d"`, x.want), `data-h="head 1"`} {
			if got := strings.Contains(string(html), want); got != (x.want > 0) {
				t.Errorf("%d columns: the page has %s: %t", x.columns, want, got)
			}
		}
	}
	if words := NewTable("", []string{"a", "b"}, [][]string{{"x", strings.Repeat("many words ", 90)}}); words.Words || words.narrow() != 72 {
		t.Errorf("figures are on one line: %d", words.narrow())
	} else if words.Words = true; words.narrow() != 0 {
		t.Errorf("words are broken: %d", words.narrow())
	}
	var b bytes.Buffer
	if err := (&Page{}).WriteHTML(&b); err != nil || strings.Count(b.String(), "attr(data-h)") != len(steps) {
		t.Errorf("the page has not all of its rules: %v", err)
	}
}

// No line of a page ends between a number and its unit, in any kind of text.
func TestNumbersKeepTheirUnits(t *testing.T) {
	for text, want := range map[string]string{
		"4 % of 5 µs at 10 Gb/s": "4~% of 5~µs at 10~Gb/s", "2 KiB, 1.5 GB/s, 0.25 T": "2~KiB, 1.5~GB/s, 0.25~T",
		"5 so, 3 paths, a s, 7 Bits, %": "5 so, 3 paths, a s, 7 Bits, %",
	} {
		if got := strings.ReplaceAll(unbroken(text), "\u00a0", "~"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	const text, want = "4 %", "4\u00a0%"
	cells := &Table{Columns: []Column{{Head: "x"}, {Head: "y"}}, Rows: [][]Cell{{{Text: text, Notes: []string{text}}, {Text: text, Mark: "m"}}}}
	p := Page{Verdict: text, Reason: text, Claims: text, Sections: []Section{{Text: text, Parts: []Block{cells, Paragraph(text), Line(text), List{Items: []string{text}}}}}}
	var b bytes.Buffer
	if err := p.WriteHTML(&b); err != nil || strings.Contains(b.String(), text) || strings.Count(b.String(), want) != 10 {
		t.Errorf("%v: %d of 10 are unbroken\n%s", err, strings.Count(b.String(), want), b.String())
	}
}

// The same page on a terminal and as a document: sections and parts that are meant for others are
// left out, long cells are broken, and the notes of a row are below it.
func TestTextAndMarkdown(t *testing.T) {
	claims := &Table{Columns: []Column{{Head: "claim", Wrap: true}, {Head: "result", Right: true}}}
	claims.Rows = [][]Cell{{{Lead: "C-1", Text: "the link is never idle, and the queue is short", Notes: []string{"Measured: so."}}, {Text: "97 %"}}}
	p := Page{Title: "T", Outcome: Bad, Verdict: "Verdict: void.", Reason: "Why.", Claims: "0 of 1 hold", Last: []string{"Results: d"}, Sections: []Section{
		{In: Markdown, Parts: []Block{Paragraph("for readers"), Paragraph("")}},
		{In: Browser, Title: "Machine", Text: "for browsers"},
		{Title: "Subject", Command: "fabemu x", Source: "Fig. 1", Text: "Caption.", Parts: []Block{
			Picture{Drawing: drawing{}, Name: "p", Title: "a picture"}, Picture{Drawing: drawing{}, Name: "q"}, claims,
			List{ID: "l", Items: []string{"one", "two"}}, Only{Terminal, Line("a line")}, Only{Markdown, sample()}, Fold{Title: "long"}}},
	}}
	var text, md, html strings.Builder
	link := func(name string) string { return map[string]string{"p": "p.svg"}[name] }
	for _, err := range []error{p.WriteText(&text, terminal.Look{Wide: 46}), p.WriteMarkdown(&md, link), p.WriteHTML(&html)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const wantText = `T

Subject
  fabemu x (Fig. 1)
  claim                                 result
  C-1 the link is never idle, and the     97 %
  queue is short
      Measured: so.
  one
  two
a line

Claims: 0 of 1 hold.
Verdict: void. Why.
Results: d
`
	const wantMarkdown = `# T

for readers

## Subject

` + "`x`" + ` (Fig. 1). Caption.

![a picture](p.svg)

| claim | result |
|---|---:|
| **C-1** the link is never idle, and the queue is short | 97 % |

* one
* two

| port | rate | marks |
|---|---:|---:|
| a | 1 Gb/s | 3 |
| long\|name | 10 Gb/s | – |
`
	if got := text.String(); got != wantText {
		t.Errorf("text:\n%s\nwant\n%s", got, wantText)
	}
	if got := md.String(); got != wantMarkdown {
		t.Errorf("document:\n%s\nwant\n%s", got, wantMarkdown)
	}
	for want, there := range map[string]bool{"Machine</h2>": true, "<code>fabemu x</code> (Fig. 1)": true, "<b>C-1</b>": true, `<ul id="l"><li>one</li>`: true,
		"for readers": false, "a line": false, "1\u00a0Gb/s": false} {
		if strings.Contains(html.String(), want) != there {
			t.Errorf("%q on the page: %v", want, !there)
		}
	}
}

// A terminal shows of a table what it says: its name, its columns in another order, some of its
// rows, cells of so many lines with the notes behind them, and parts as wide as the terminal, each
// with its name.
func TestWhatATerminalShows(t *testing.T) {
	few := sample()
	few.Bare, few.Color, few.Order, few.Most = true, terminal.Bold, []int{2, 0}, 1
	named := sample()
	named.Color, named.Fixed = terminal.Bold, 1
	named.Add("a remark that is wider than the columns")
	claims := &Table{Hang: 4, Columns: []Column{{Head: "id"}, {Head: "claim", Wrap: true, Fill: true, Lines: 2, Least: 9}, {Head: "result", Right: true}}}
	claims.Add("C-1", "the link is never idle, and the queue is short and stays so", "97 %")
	claims.Add("C-2", "short", "3")
	claims.Rows[0][2].Notes = []string{"a reason that needs two lines here"}
	more := sample()
	more.Bare, more.Most, more.More = true, 1, "... and others"
	p := Page{Title: "T", Lead: "Verdict: ", Verdict: "void.", Color: terminal.Red, Reason: "Why.", Claims: "0 of 1 hold", Sections: []Section{
		{Title: "for browsers", Untitled: true, Parts: []Block{Remark{"Note: ", "this goes on in a line below the first one"}, few, claims}},
		{Judged: true, Parts: []Block{Line("  figures"), named, more}}}}
	var text strings.Builder
	if err := p.WriteText(&text, terminal.Look{Wide: 30, Color: true}); err != nil {
		t.Fatal(err)
	}
	const want = `*T#
^Note: #this goes on in a line
      below the first one

*Ports#
       !3#  a
  ... 2 in all
  id   claim            result
  C-1  the link is        97 %
       never idle,...
      a reason that needs two
      lines here
  C-2  short                 3

*Verdict: #!void#. Why.
  figures

*Ports#
  port          rate   marks
  a           1 Gb/s       !3#
  long|name  10 Gb/s       –
  a remark that is wider than the columns
  a  1 Gb/s       !3#
  ... and others
`
	got := strings.NewReplacer("\x1b[1m", "*", "\x1b[33m", "^", "\x1b[31m", "!", "\x1b[0m", "#").Replace(text.String())
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
