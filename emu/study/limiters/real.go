package limiters

import (
	"fmt"
	"io"
	"strings"
)

// realHeads are those of the table of what was measured in real time.
var realHeads = []string{"case", "who", "packets", "gap", "gaps", "late 50 %", "late 99 %", "calls 50 %", "calls 99 %"}

// realHeadsDoc says what they are.
const realHeadsDoc = "In real time, at a dilation of 1. Gap: from start to start over what it is at the rate, the mean of the middle half; gaps: 1 % and 99 % of all. " +
	"Late: from the instant that the limiter gave until the kernel has the packet. Calls: of the limiter, for one packet. " +
	"Each is the best of several turns beside the others. time.Sleep: an ideal limiter, whose source waits by it. Without its protocol: a limiter in another program, on a clock that stands still while it is asked; by that it is judged."

// realRows are the rows of that table, nil where nothing was measured in real time.
func (r *Result) realRows() (rows [][]string) {
	for i := range r.Cases {
		o := &r.Cases[i]
		if o.Real == nil {
			continue
		}
		rows = append(rows, o.Real.Limiter.row(o.Case, "this one"))
		if o.Real.Apart != nil {
			rows = append(rows, o.Real.Apart.row("", "without its protocol"))
		}
		rows = append(rows, o.Real.Ideal.row("", "an ideal one"), o.Real.Sleep.row("", "time.Sleep"))
	}
	return rows
}

// row returns the cells of a row.
func (s *Starts) row(name, who string) []string {
	row := []string{name, who, fmt.Sprint(s.Packets), number(s.Gap, 3), s.gaps()}
	for _, ns := range []int64{s.LateP50Ns, s.LateP99Ns, s.CallsP50Ns, s.CallsP99Ns} {
		row = append(row, nanoseconds(ns))
	}
	return row
}

// nanoseconds prints a time to three digits.
func nanoseconds(ns int64) string { return durationText(1000 * ns) }

// gaps returns their range.
func (s *Starts) gaps() string { return number(s.GapP1, 3) + ".." + number(s.GapP99, 3) }

// WriteRealTable writes how limiters kept to real time as a table in Markdown: a row a limiter, the
// ideal one and time.Sleep as they were beside the first, and those of the kernel (RunCase), which
// are stamped where they come out and were never asked.
func WriteRealTable(w io.Writer, results, kernel []*Result) error {
	var b strings.Builder
	var cases []string
	rows := map[string][]string{}
	var order []string
	add := func(name, of, cell string) {
		if rows[name] == nil {
			order = append(order, name)
		}
		for len(rows[name]) < len(cases) {
			rows[name] = append(rows[name], "-")
		}
		for i, c := range cases {
			if c == of {
				rows[name][i] = cell
			}
		}
	}
	cell := func(s *Starts) string {
		return fmt.Sprintf("%s, %s; %s", number(s.Gap, 3), s.gaps(), nanoseconds(s.LateP99Ns))
	}
	for _, r := range results {
		for i := range r.Cases {
			o := &r.Cases[i]
			if o.Real == nil {
				continue
			}
			rate := strings.TrimPrefix(o.Case, "real/")
			if r == results[0] {
				cases = append(cases, rate)
				add("an ideal limiter", rate, cell(&o.Real.Ideal))
				add("an ideal limiter, waited for by `time.Sleep`", rate, cell(&o.Real.Sleep))
			}
			add("`"+r.Limiter+"`", rate, cell(&o.Real.Limiter))
			if o.Real.Apart != nil {
				add("`"+r.Limiter+"`, without its protocol", rate, cell(o.Real.Apart))
			}
		}
	}
	for _, r := range kernel {
		for i := range r.Cases {
			o := &r.Cases[i]
			add("`"+r.Limiter+"`", strings.TrimPrefix(o.Case, "kernel/"), fmt.Sprintf("%s, %s; -", number(o.Gaps.P50, 3), o.gaps()))
		}
	}
	fmt.Fprintf(&b, "| limiter | %s |\n|---|%s\n", strings.Join(cases, " | "), strings.Repeat("---:|", len(cases)))
	for _, name := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(rows[name], " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
