package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"

	"golang.org/x/term"
)

// view shows a run on a terminal while it goes on: lines that are written over again and again.
// It changes no mode of the terminal, so that there is nothing to restore but these lines,
// however the program ends.
type view struct {
	to    *os.File
	page  terminal.Page // for its colours
	ascii bool          // the terminal shows no blocks
	drawn []int         // columns of the lines that stand there
}

// viewEvery is how often the view is drawn.
const viewEvery = 200 * time.Millisecond

func newView(to *os.File) *view {
	return &view{to: to, page: terminal.Page{Look: terminal.LookOf(to)}, ascii: !utf8Locale()}
}

// utf8Locale reports whether the user's terminal takes UTF-8, by the variables of POSIX.
func utf8Locale() bool {
	locale := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
}

// Observe draws the view (observe.Observer).
func (v *view) Observe(s *observe.Snapshot) {
	if s.Last {
		return // end clears it
	}
	columns, rows, err := term.GetSize(int(v.to.Fd()))
	if err != nil || columns < 20 || rows < 4 {
		return
	}
	v.draw(v.lines(s, columns-1, rows-1), columns)
}

// end takes the view away.
func (v *view) end() {
	if columns, _, err := term.GetSize(int(v.to.Fd())); err == nil {
		v.draw(nil, columns)
	}
}

// draw writes lines over those that stand there, in a terminal of so many columns. It may have
// been wider when those were written, and break them now.
func (v *view) draw(lines []string, columns int) {
	var b strings.Builder
	if up := height(v.drawn, columns); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r\x1b[J")
	v.drawn = v.drawn[:0]
	for _, l := range lines {
		v.drawn = append(v.drawn, terminal.Columns(stripped(l)))
		b.WriteString(l + "\n")
	}
	v.to.WriteString(b.String())
}

// height is how many rows lines of so many columns take.
func height(lines []int, columns int) (rows int) {
	for _, n := range lines {
		rows += max(1, (n+columns-1)/columns)
	}
	return rows
}

// colour is the begin or the end of a colour.
var colour = regexp.MustCompile("\x1b\\[[0-9]*m")

// stripped returns s without colours.
func stripped(s string) string { return colour.ReplaceAllString(s, "") }

// lines returns the view of a snapshot, as far as it fits into so many columns and rows.
func (v *view) lines(s *observe.Snapshot, columns, rows int) []string {
	short := func(text string) string { return terminal.Shorten(text, columns) }
	head := []string{v.page.Paint(terminal.Bold, short(v.clock(s)))}
	if s.Level != "" && s.Level != report.Virtual {
		text := short(string(s.Level) + "  " + s.Reason)
		n := min(len(s.Level), len(text))
		head = append(head, v.page.Paint(s.Level.Color(), text[:n])+text[n:])
	}
	for _, p := range s.Silent {
		head = append(head, v.page.Paint(terminal.Red, short(p.String())))
	}
	var tail []string
	for _, t := range s.Trees[:min(3, len(s.Trees))] {
		if len(t.Flows) > 0 {
			tail = append(tail, v.page.Paint(terminal.Yellow, short(t.Words)))
		}
	}
	for _, d := range s.Deadlocks[:min(2, len(s.Deadlocks))] {
		var names []string
		for _, w := range d.Cycle {
			names = append(names, s.Fabric.Machines[w.From.Machine].Name)
		}
		tail = append(tail,
			v.page.Paint(terminal.Red, short("deadlock: "+strings.Join(append(names, names[0]), " waits for "))))
	}
	tail = append(tail, v.checks(s, columns)...)
	links := v.links(s, columns, max(0, rows-len(head)-len(tail)))
	all := slices.Concat(head, links, tail)
	return all[:min(len(all), rows)]
}

// clock shows how far the run is.
func (v *view) clock(s *observe.Snapshot) string {
	text := fmt.Sprintf("%s  %.1f of %.1f ms, %.0f %%",
		s.Scenario.Name, s.Now.Seconds()*1e3, s.End.Seconds()*1e3, 100*float64(s.Now)/float64(s.End))
	left := time.Duration(0)
	switch {
	case s.Dilation > 0:
		left = time.Duration(s.End.Sub(s.Now).Seconds() * float64(s.Dilation) * 1e9)
		text += fmt.Sprintf(", dilation %d", s.Dilation)
	case s.Now > 0:
		left = time.Duration(float64(s.Wall) * (float64(s.End)/float64(s.Now) - 1))
	}
	if left > 0 {
		text += fmt.Sprintf(", %v left", left.Round(100*time.Millisecond))
	}
	return text
}

// linkRow is a direction of a link as the view has it.
type linkRow struct {
	name          string
	between       bool // two switches
	used, kept    float64
	queue         int64
	stopped, down bool
}

// links shows the load of links: links between switches first, then the busiest.
func (v *view) links(s *observe.Snapshot, columns, rows int) (lines []string) {
	if rows == 0 {
		return nil
	}
	all := linkRows(s)
	rest := 0
	if len(all) > rows {
		rest = len(all) - rows + 1
		all = all[:rows-1]
	}
	widest := 0
	for _, l := range all {
		widest = max(widest, terminal.Columns(l.name))
	}
	for _, l := range all {
		lines = append(lines, v.link(&l, min(widest, columns/3), columns))
	}
	if rest > 0 {
		lines = append(lines, terminal.Shorten(fmt.Sprintf("and %d more directions of links", rest), columns))
	}
	return lines
}

// linkRows returns the directions of links in the order of the view.
func linkRows(s *observe.Snapshot) (all []linkRow) {
	figures := map[string][2]float64{}
	for r := range s.Figures.Rows(s.Figures.Window(), "utilisation", "stalled.flow-control") {
		f := figures[r.Object]
		if r.Quantity.Ends == nil {
			f[0] = r.Value
		} else {
			f[1] = r.Value
		}
		figures[r.Object] = f
	}
	isSwitch := func(e fabric.End) bool { return s.Fabric.Machines[e.Machine].Switch != nil }
	for _, h := range s.Fabric.DataLinks() {
		ends := s.Fabric.Wires[h.Wire].Ends
		p, name := s.Link(h), s.Fabric.LinkName(h)
		all = append(all, linkRow{
			name: name, between: isSwitch(ends[0]) && isSwitch(ends[1]),
			used: figures[name][0], kept: figures[name][1], queue: p.Queue, down: p.Down,
			stopped: slices.ContainsFunc(s.Stalls, func(x observe.Stall) bool { return x.Hop == h }),
		})
	}
	slices.SortStableFunc(all, func(a, b linkRow) int {
		switch {
		case a.between == b.between:
			return cmp.Compare(b.used, a.used)
		case a.between:
			return -1
		}
		return 1
	})
	return all
}

// link is the line of a direction of a link, with so many columns for its name.
func (v *view) link(l *linkRow, widest, columns int) string {
	words := fmt.Sprintf(" %4.0f %%", 100*l.used)
	if l.queue > 0 {
		words += fmt.Sprintf("  queue %v", unit.Size(l.queue))
	}
	if l.kept >= 0.005 {
		words += fmt.Sprintf("  stopped %.0f %%", 100*l.kept)
	}
	color := terminal.Green
	switch {
	case l.down:
		color, words = terminal.Red, words+"  down"
	case l.stopped, l.kept >= 0.005:
		color = terminal.Yellow
	}
	const room = 34 // for any words: bars do not jump
	line := terminal.Left(terminal.Shorten(l.name, max(widest, 4)), widest) + " "
	if width := columns - widest - 1 - room; width >= 5 {
		line += v.page.Paint(color, v.bar(l.used, width))
	}
	if left := columns - terminal.Columns(stripped(line)); terminal.Columns(words) > left {
		words = words[:max(0, left)]
	}
	return line + words
}

// bar is a share of so many columns.
func (v *view) bar(share float64, columns int) string {
	full, empty := "█", "░"
	if v.ascii {
		full, empty = "#", "."
	}
	n := min(max(int(share*float64(columns)+0.5), 0), columns)
	return strings.Repeat(full, n) + strings.Repeat(empty, columns-n)
}

// checks shows the outcomes of claims so far.
func (v *view) checks(s *observe.Snapshot, columns int) []string {
	if len(s.Checks) == 0 {
		return nil
	}
	var hold, fail int
	var failed []string
	for i := range s.Checks {
		switch c := &s.Checks[i]; {
		case !c.Decided:
		case c.Outcome == report.Fail:
			fail++
			failed = append(failed, c.ID)
		default:
			hold++
		}
	}
	text, color := fmt.Sprintf("checks: %d of %d decided, as expected", hold+fail, len(s.Checks)), terminal.Plain
	switch {
	case fail > 0:
		text, color = fmt.Sprintf("checks: %d of %d decided, failed: %s",
			hold+fail, len(s.Checks), strings.Join(failed, ", ")), terminal.Red
	case hold == 0:
		text = fmt.Sprintf("checks: %d to come", len(s.Checks))
	case hold == len(s.Checks):
		color = terminal.Green
	}
	return []string{v.page.Paint(color, terminal.Shorten(text, columns))}
}
