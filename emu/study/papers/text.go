package papers

import (
	"fmt"
	"io"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
)

// WriteText writes the claims for people, one row a claim and below it the reason for its
// range; tables; and the verdict.
func (r *Result) WriteText(w io.Writer, look terminal.Look) error {
	p := terminal.Page{Look: look}
	id, got, range_ := len("id"), len("came out"), len("accepted")
	for _, f := range r.Figures {
		for i := range f.Claims {
			c := &f.Claims[i]
			id, got, range_ = max(id, len(c.ID)), max(got, terminal.Columns(c.CameOut())), max(range_, terminal.Columns(c.Accepted()))
		}
	}
	says := max(30, p.Columns()-2-id-got-range_-len("UNEXPECTED PASS")-4*2)
	p.Line("%s", p.Paint(terminal.Bold, r.Source+": "+r.Title))
	for _, f := range r.Figures {
		p.Line("")
		p.Line("%s", p.Paint(terminal.Bold, fmt.Sprintf("%s  %s: %s", f.Name, f.Source, f.Title)))
		table := func(head string, claims []ClaimResult) {
			if len(claims) == 0 {
				return
			}
			p.Line("  %s  %s  %s  %s", terminal.Left("id", id), terminal.Left(head, says), terminal.Right("came out", got), terminal.Right("accepted", range_))
			for i := range claims {
				c := &claims[i]
				lines := terminal.Wrap(c.statement(), says)
				p.Line("  %s  %s  %s  %s  %s", terminal.Left(c.ID, id), terminal.Left(lines[0], says), terminal.Right(c.CameOut(), got), terminal.Right(c.Accepted(), range_), p.Paint(c.Outcome.Color(), c.Outcome.Word()))
				for _, l := range lines[1:] {
					p.Line("  %s  %s", terminal.Left("", id), l)
				}
				rest := []string{"Measured: " + c.Measured + ". Range: " + c.Why}
				if c.Null != nil {
					rest = append(rest, "If nothing works: "+c.Nothing())
				}
				if c.Reason != "" {
					rest = append(rest, c.because())
				}
				for _, text := range rest {
					for _, l := range terminal.Wrap(text, p.Columns()-id-6) {
						p.Line("  %s    %s", terminal.Left("", id), l)
					}
				}
			}
		}
		sourced, ours := report.ByBasis(f.Claims)
		table("statement of the source", sourced)
		table("we expect", ours)
		if f.Table != nil {
			f.Table.write(&p)
		}
		if f.Matrix != nil {
			f.Matrix.write(&p)
		}
	}
	p.Line("")
	done := r.runsIn() + "."
	if tally := r.Tally(); len(tally) > 0 {
		done = fmt.Sprintf("Claims: %s. %s", tally, done)
	}
	p.Paragraph(0, done)
	for i, l := range terminal.Wrap("Verdict: "+string(r.Verdict.Level)+". "+r.Verdict.Sentence(), p.Columns()) {
		if i == 0 {
			l = strings.Replace(l, string(r.Verdict.Level), p.Paint(r.Verdict.Level.Color(), string(r.Verdict.Level)), 1)
		}
		p.Line("%s", l)
	}
	if r.Partial {
		p.Line("It was ended before its time: runs that did not begin have no value.")
	}
	if r.Directory != "" {
		p.Line("Results: %s (open %s in a browser)", r.Directory, PageFile)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// write writes a table of choices: a row a statement, and of each choice the value,
// with a mark where the statement does not hold.
func (t *TableResult) write(p *terminal.Page) {
	out, judged := &document.Table{Columns: make([]document.Column, 1)}, false
	for i, c := range t.Columns {
		p.Line("  %c  %s", 'a'+i, c)
		out.Columns = append(out.Columns, document.Column{Head: string(rune('a' + i)), Right: true, Least: 9})
	}
	for _, row := range t.Rows {
		cells := []document.Cell{{Text: row.statement()}}
		for i := range row.Cells {
			c := &row.Cells[i]
			x := document.Cell{Text: c.print(float64(c.Value), 3) + " "}
			switch {
			case !c.judged():
				x.Text = terminal.Right(c.CameOut(), 18)
			case c.Outcome != report.Pass:
				x.Text, x.Color = strings.TrimSuffix(x.Text, " ")+"!", terminal.Red
			}
			cells, judged = append(cells, x), judged || c.judged()
		}
		out.Rows = append(out.Rows, cells)
	}
	out.Text(p, 2)
	if judged {
		p.Line("  ! the statement does not hold")
	}
}
