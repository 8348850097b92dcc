package document

import (
	"html/template"
	"io"
	"strings"

	"fabemu/emu/base/terminal"
)

// WriteText writes the page for a terminal: the title, the sections without their introductions,
// the verdict, and the last lines.
func (p *Page) WriteText(w io.Writer, look terminal.Look) error {
	t := &terminal.Page{Look: look}
	if p.Title != "" {
		t.Title(p.Title)
	}
	judged := false
	for i := range p.Sections {
		s := &p.Sections[i]
		if !s.In.has(Terminal) {
			continue
		}
		if s.Title != "" && !s.Untitled {
			t.Title(s.Title)
		}
		if s.Judged {
			t.Line("")
			p.verdict(t)
			judged = true
		}
		if s.Command != "" {
			t.Line("  %s%s", s.Command, s.place())
		}
		for _, part := range s.Parts {
			part.text(t)
		}
	}
	if !judged && (p.Verdict != "" || p.Claims != "") {
		t.Line("")
		if p.Claims != "" {
			t.Paragraph(0, "Claims: "+p.Claims+".")
		}
		p.verdict(t)
	}
	for _, line := range p.Last {
		t.Line("%s", line)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// place is the source in brackets.
func (s *Section) place() string {
	if s.Source == "" {
		return ""
	}
	return " (" + s.Source + ")"
}

// verdict writes the verdict and its reason.
func (p *Page) verdict(t *terminal.Page) {
	head := p.Lead + strings.TrimSuffix(p.Verdict, ".")
	for i, line := range terminal.Wrap(p.Lead+p.Verdict+" "+p.Reason, t.Columns()) {
		if rest, whole := strings.CutPrefix(line, head); i == 0 && whole {
			line = t.Paint(terminal.Bold, p.Lead) + t.Paint(p.Color, head[len(p.Lead):]) + rest
		}
		if line != "" {
			t.Line("%s", line)
		}
	}
}

// WriteMarkdown writes the sections as a document, where each names the last word of its command.
// link returns where a picture is, by its name; empty leaves the picture out.
func (p *Page) WriteMarkdown(w io.Writer, link func(picture string) string) error {
	blocks := []string{"# " + p.Title}
	add := func(text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			blocks = append(blocks, text)
		}
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		if !s.In.has(Markdown) {
			continue
		}
		if s.Title != "" {
			add("## " + s.Title)
		}
		text := s.Text
		if s.Command != "" {
			text = "`" + s.Command[strings.LastIndex(s.Command, " ")+1:] + "`" + s.place() + ". " + text
		}
		add(strings.TrimSpace(text))
		for _, part := range s.Parts {
			add(part.markdown(link))
		}
	}
	_, err := io.WriteString(w, strings.Join(blocks, "\n\n")+"\n")
	return err
}

// Only shows a part in some formats.
type Only struct {
	In    Format
	Block Block
}

// In shows each of some parts in some formats.
func In(formats Format, all ...Block) []Block {
	only := make([]Block, len(all))
	for i, part := range all {
		only[i] = Only{formats, part}
	}
	return only
}

// HTML is the part on a page.
func (o Only) HTML() (template.HTML, error) {
	if !o.In.has(Browser) {
		return "", nil
	}
	return o.Block.HTML()
}

func (o Only) text(p *terminal.Page) {
	if o.In.has(Terminal) {
		o.Block.text(p)
	}
}

func (o Only) markdown(link func(string) string) string {
	if !o.In.has(Markdown) {
		return ""
	}
	return o.Block.markdown(link)
}

// Paragraph is text, broken between words on a terminal.
type Paragraph string

// HTML is the paragraph on a page.
func (s Paragraph) HTML() (template.HTML, error) { return parts("paragraph", string(s)) }

func (s Paragraph) text(p *terminal.Page)               { p.Paragraph(0, string(s)) }
func (s Paragraph) markdown(func(string) string) string { return string(s) }

// Line is a line of text, however long; an empty one separates parts.
type Line string

// HTML is the line on a page.
func (s Line) HTML() (template.HTML, error) { return Paragraph(s).HTML() }

func (s Line) text(p *terminal.Page)               { p.Line("%s", string(s)) }
func (s Line) markdown(func(string) string) string { return string(s) }

// Remark is a paragraph that has, on a terminal, a word in yellow before it.
type Remark struct{ Word, Text string }

// HTML is the text on a page.
func (x Remark) HTML() (template.HTML, error) { return Paragraph(x.Text).HTML() }

func (x Remark) text(p *terminal.Page) {
	p.Hang(p.Paint(terminal.Yellow, x.Word), strings.Repeat(" ", len(x.Word)), x.Text)
}

func (x Remark) markdown(func(string) string) string { return x.Word + x.Text }

// List is remarks.
type List struct {
	ID    string // of the list on a page, for links; may be empty
	Items []string
}

// HTML is the list on a page.
func (l List) HTML() (template.HTML, error) { return parts("list", l) }

func (l List) text(p *terminal.Page) {
	for _, item := range l.Items {
		p.Paragraph(2, item)
	}
}

func (l List) markdown(func(string) string) string {
	var b strings.Builder
	for _, item := range l.Items {
		b.WriteString("* " + item + "\n")
	}
	return b.String()
}
