package document

import (
	"bytes"
	"errors"
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
		if got := sample().Split(room, 1); len(got) != want || got[0].Columns[0].Head != "port" || len(got[want-1].Rows) != 2 {
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

// drawing is SVG as it stands in a file, or an error.
type drawing struct{ err error }

func (d drawing) SVG(w io.Writer) error {
	io.WriteString(w, "<?xml?>\n<svg></svg>")
	return d.err
}

// Everything is on the page, and texts are no HTML there. Long tables stand behind a fold.
func TestPage(t *testing.T) {
	picture, err := Picture(drawing{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Picture(drawing{errors.New("no ink")}); err == nil {
		t.Error("a picture that cannot be drawn is on the page")
	}
	words := sample()
	words.Caption, words.Label, words.Words = "", "Words", true
	words.Rows[0][0] = Cell{Text: "<b>", Class: "w", Mark: "o", Notes: []string{"a note"}}
	many := sample()
	for range Listed {
		many.Add("x", "y", "z")
	}
	p := Page{Title: "<title>", Outcome: Fair, Verdict: "Verdict: fair.", Reason: "So.", Claims: "2 of 3", Sections: []Section{
		{Title: "All", Text: "These:", Parts: []Part{sample(), words, many.Long(), picture, Fold{Title: "Long", Text: "a\nb"}}}}}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>&lt;title&gt;</title>", `<p class="verdict fair"><b>Verdict: fair.</b> So.<br>2 of 3.</p>`, "<p>These:</p>",
		`<caption>Ports</caption>`, `<th scope="col">port</th><th scope="col" class="n">rate</th>`, `<td>a</td><td class="n">1 Gb/s</td>`,
		`aria-label="Words"`, `<td class="w"><span class="o">&lt;b&gt;</span><br><span class="small">a note</span></td><td>1 Gb/s</td>`,
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
	if err := p.Write(&b); err != nil || !strings.Contains(b.String(), "script-src") || !strings.Contains(b.String(), "<script>go()</script>") {
		t.Errorf("a page with a script: %v\n%s", err, b.String())
	}
}
