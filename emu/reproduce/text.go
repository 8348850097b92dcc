package reproduce

import (
	"fmt"
	"io"
	"strings"

	"fabemu/emu/report"
)

// width is how many columns the text has.
const width = 110

// WriteText writes the claims for people, one row a claim and below it why its range
// is what it is; tables; and the verdict.
func (r *Result) WriteText(w io.Writer, color bool) error {
	var b strings.Builder
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
	}
	id, got, range_ := len("id"), len("came out"), len("accepted")
	for _, f := range r.Figures {
		for i := range f.Claims {
			c := &f.Claims[i]
			id, got, range_ = max(id, len(c.ID)), max(got, runes(c.CameOut())), max(range_, runes(c.Accepted()))
		}
	}
	says := max(30, width-2-id-got-range_-len("UNEXPECTED PASS")-4*2)
	line("%s", paint("1", r.Source+": "+r.Title))
	for _, f := range r.Figures {
		line("")
		line("%s", paint("1", fmt.Sprintf("%s  %s: %s", f.Name, f.Source, f.Title)))
		if len(f.Claims) > 0 {
			line("  %s  %s  %s  %s", pad("id", id), pad("the paper says", says), left("came out", got), left("accepted", range_))
		}
		for i := range f.Claims {
			c := &f.Claims[i]
			lines := wrap(c.Says, says)
			line("  %s  %s  %s  %s  %s", pad(c.ID, id), pad(lines[0], says), left(c.CameOut(), got), left(c.Accepted(), range_), paint(codeOf(c.Outcome), report.Row{Outcome: c.Outcome}.Word()))
			for _, l := range lines[1:] {
				line("  %s  %s", pad("", id), l)
			}
			rest := []string{"Measured: " + c.Measured + ". Range: " + c.Why}
			if c.Reason != "" {
				rest = append(rest, c.because())
			}
			for _, text := range rest {
				for _, l := range wrap(text, width-id-6) {
					line("  %s    %s", pad("", id), l)
				}
			}
		}
		if f.Table != nil {
			f.Table.write(line, paint)
		}
	}
	line("")
	for _, l := range wrap(fmt.Sprintf("Claims: %s. %d runs in %.0f s.", r.Summary(), len(r.Runs), r.WallSeconds), width) {
		line("%s", l)
	}
	for i, l := range wrap("Verdict: "+string(r.Verdict.Level)+". "+r.Verdict.Sentence(), width) {
		if i == 0 {
			l = strings.Replace(l, string(r.Verdict.Level), paint(levelCode(r.Verdict.Level), string(r.Verdict.Level)), 1)
		}
		line("%s", l)
	}
	if r.Partial {
		line("It was ended before its time: what was not run has no value.")
	}
	if r.Directory != "" {
		line("Results: %s (open %s in a browser)", r.Directory, PageFile)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// write writes a table of choices: a row a statement, and of each choice the value,
// with a mark where the statement does not hold.
func (t *TableResult) write(line func(string, ...any), paint func(code, s string) string) {
	says, wide, judged := 0, 9, false
	for _, row := range t.Rows {
		says = max(says, runes(row.statement()))
		for i := range row.Cells {
			judged = judged || row.Cells[i].judged()
		}
	}
	if !judged {
		wide = 18
	}
	for i, c := range t.Columns {
		line("  %c  %s", 'a'+i, c)
	}
	head := "  " + pad("", says)
	for i := range t.Columns {
		head += "  " + left(string(rune('a'+i)), wide)
	}
	line("%s", head)
	for _, row := range t.Rows {
		text := "  " + pad(row.statement(), says)
		for i := range row.Cells {
			c := &row.Cells[i]
			value := c.print(float64(c.Value))
			switch {
			case !c.judged():
				text += "  " + left(c.CameOut(), 18)
			case c.Outcome == report.Pass:
				text += "  " + left(value, 8) + " "
			default:
				text += "  " + paint("31", left(value, 8)+"!")
			}
		}
		line("%s", text)
	}
	if judged {
		line("  ! the statement does not hold")
	}
}

func codeOf(o report.Outcome) string {
	switch o {
	case report.Pass:
		return "32"
	case report.Fail:
		return "31"
	}
	return "33"
}

func levelCode(l report.Level) string {
	switch {
	case l.Strict():
		return "32"
	case l == report.OrderOnly:
		return "33"
	}
	return "31"
}

func runes(s string) int { return len([]rune(s)) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-runes(s))) }

func left(s string, n int) string { return strings.Repeat(" ", max(0, n-runes(s))) + s }

// wrap breaks a text into lines of at most n columns, as far as words allow.
func wrap(s string, n int) []string {
	lines := []string{""}
	for _, w := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case runes(*last)+1+runes(w) <= n:
			*last += " " + w
		default:
			lines = append(lines, w)
		}
	}
	return lines
}
