package summary

import (
	"cmp"
	"fmt"
	"time"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// part is a table of the text and of the page.
type part struct {
	color terminal.Color        // of the title
	order []int                 // of the columns in text; nil: as on the page
	shown int                   // how many rows the text has; 0: all
	more  func(from int) string // the line below a list that is cut; nil: how many rows there are
	table *document.Table
	wide  *document.Table // on the page instead of table; nil: the same
}

// parts returns the parts that follow the verdict, in their order. Many are empty.
func parts(r *report.Result) []*part {
	all := []*part{violations(r), losses(r), retries(r), credits(r), storms(r), guests(r), kernelTimes(r), programs(r)}
	return append(append(all, deadlocks(r)...), rankWaits(r), silences(r), derived(r))
}

// violations are the promises of the fabric that were broken.
func violations(r *report.Result) *part {
	t := &document.Table{Bare: true, Words: true, Caption: "Broken promises of the fabric", Columns: []document.Column{
		{Head: "when", Right: true}, {Head: "port", Least: 8}, {Head: "violation"}, {Head: "figure", Right: true}}}
	for _, v := range r.Violations {
		t.Add(unit.Time(v.AtPs).String(), v.Node+", "+v.Port, v.Reason, fmt.Sprint(v.Figure))
	}
	all := func(int) string { return fmt.Sprintf("... %d in all", r.Verdict.Violations) }
	return &part{color: terminal.Red, shown: 5, more: all, table: t}
}

// deadlocks are the cycles of outputs that wait for each other, and the early end of the run after them.
func deadlocks(r *report.Result) (all []*part) {
	list := func(caption string) *document.Table {
		return &document.Table{Bare: true, Words: true, Caption: caption, Columns: []document.Column{{Head: "wait"}}}
	}
	for _, d := range r.Deadlocks {
		t := list("Deadlock, found at " + unit.Time(d.AtPs).String())
		for _, w := range d.Cycle {
			t.Add(fmt.Sprintf("%s waits for %s by %s (%s, class %d) since %v", w.Node, w.For, w.Link, w.Cause, w.Class, unit.Time(w.SincePs)))
		}
		all = append(all, &part{color: terminal.Red, table: t})
	}
	if r.EndedPs > 0 && r.Deadlocks != nil {
		t := list("Early end")
		t.Add(fmt.Sprintf("Nothing else could happen: the run was ended at %v.", unit.Time(r.EndedPs)))
		all = append(all, &part{color: terminal.Red, table: t})
	}
	return all
}

// unwritten are the files that could not be written, with the reasons.
func unwritten(r *report.Result) *part {
	t := &document.Table{Bare: true, Words: true, Caption: "Not written", Columns: []document.Column{{Head: "reason"}}}
	for _, reason := range r.Unwritten {
		t.Add(reason)
	}
	return &part{color: terminal.Red, table: t}
}

// text writes the part, unless it is empty.
func (x *part) text(p *terminal.Page) {
	if len(x.table.Rows) == 0 {
		return
	}
	p.Line("")
	p.Line("%s", p.Paint(x.color, x.table.Caption))
	t := *x.table
	if x.order != nil {
		t = *t.Pick(x.order...)
	}
	if x.shown > 0 && len(t.Rows) > x.shown {
		t.Rows = t.Rows[:x.shown]
	}
	t.Text(p, 2)
	switch all := len(x.table.Rows); {
	case len(t.Rows) == all:
	case x.more != nil:
		p.Line("  %s", x.more(x.shown))
	default:
		p.Line("  ... %d in all", all)
	}
}

// losses are the places at which frames were dropped.
func losses(r *report.Result) *part {
	t := &document.Table{Bare: true, Caption: "Frames that were dropped",
		Columns: []document.Column{{Head: "where", Least: 24}, {Head: "why"}, {Head: "how many", Right: true, Least: 10}}}
	for i := range r.Losses {
		l := &r.Losses[i]
		where := "at " + l.Node
		if l.Link != "" {
			where += ", from " + l.Link
		}
		t.Add(where, l.Reason, fmt.Sprint(l.Count))
	}
	elsewhere := func(from int) string {
		left := int64(0)
		for i := range r.Losses[from:] {
			left += r.Losses[from+i].Count
		}
		return fmt.Sprintf("%10d  elsewhere", left)
	}
	return &part{order: []int{2, 0, 1}, shown: 8, more: elsewhere, table: t}
}

// retries are the counters of the retry of links, by the end that counts.
func retries(r *report.Result) *part { return countersOf("Link layer retry", r.Retries) }

// credits are the counters of credits of channels, by the end that counts.
func credits(r *report.Result) *part { return countersOf("Credits of channels", r.Credits) }

func countersOf(caption string, all []report.RetryCount) *part {
	t := &document.Table{Caption: caption, Columns: []document.Column{{Head: "at", Least: 8}, {Head: "towards", Least: 10},
		{Head: "counter"}, {Head: "count", Right: true, Least: 8}}}
	for _, x := range all {
		t.Add(x.Node, x.Link, x.Counter, fmt.Sprint(x.Count))
	}
	return &part{color: terminal.Bold, shown: 16, table: t}
}

// storms are the PFC storms that watchdogs have found.
func storms(r *report.Result) *part {
	t := &document.Table{Caption: "PFC storms that a watchdog has found", Columns: []document.Column{{Head: "queue", Least: 12},
		{Head: "priority", Right: true}, {Head: "found", Right: true, Least: 10}, {Head: "over", Right: true, Least: 10}}}
	for _, s := range r.Storms {
		over := "not yet"
		if s.ToPs > 0 {
			over = unit.Time(s.ToPs).String()
		}
		t.Add(s.Link, fmt.Sprint(s.Priority), unit.Time(s.FromPs).String(), over)
	}
	return &part{color: terminal.Bold, shown: 8, table: t}
}

// workloads are the figures of workloads.
func workloads(r *report.Result) *part {
	t := &document.Table{Caption: "Transfers of workloads", Columns: []document.Column{{Head: "workload", Least: 12},
		{Head: "ended", Right: true, Least: 8}, {Head: "open", Right: true, Least: 6}, {Head: "completion: p50", Right: true, Least: 12},
		{Head: "p99", Right: true, Least: 9}, {Head: "slowdown: mean", Right: true}, {Head: "p50", Right: true, Least: 6},
		{Head: "p95", Right: true, Least: 6}, {Head: "p99", Right: true, Least: 6}, {Head: "p99.9", Right: true, Least: 6}}}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		s := &w.Slowdown
		open := fmt.Sprint(w.Open)
		if w.Waiting > 0 {
			open += fmt.Sprintf(", %d waiting", w.Waiting)
		}
		t.Add(w.Name, fmt.Sprint(w.Transfers), open, inUs(w.Completion.P50), tail(w, w.Completion.P99, inUs),
			s.Mean.Short(), s.P50.Short(), s.P95.Short(), tail(w, s.P99, report.Number.Short), tail(w, s.P999, report.Number.Short))
	}
	return &part{color: terminal.Bold, table: t}
}

// tooFew stands for a percentile that too few transfers support.
const tooFew = "too few"

// tail prints a high percentile of the transfers of a workload.
func tail(w *report.Workload, n report.Number, text func(report.Number) string) string {
	if !n.Known() && w.Transfers > w.Lost {
		return tooFew
	}
	return text(n)
}

// unfinished says of each workload how many transfers did not end, and how that biases its figures.
func unfinished(r *report.Result) (all []string) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		left := int64(w.Open) + w.Waiting
		if left == 0 || w.AtLeast == nil && w.Waiting == 0 || w.Collective != nil {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d flows did not finish and are in no figure. Flows that are open at the end tend to be large or slow, which biases FCT and slowdown low",
			w.Name, left, int64(w.Transfers)+left)
		if x := w.AtLeast; x != nil && x.Mean > w.Slowdown.Mean && x.Mean.Short() != w.Slowdown.Mean.Short() {
			text += fmt.Sprintf(": with the time that they have taken so far, the mean slowdown is at least %s instead of %s", x.Mean.Short(), w.Slowdown.Mean.Short())
			if x.P99 > w.Slowdown.P99 {
				text += fmt.Sprintf(", and p99 at least %s instead of %s", x.P99.Short(), w.Slowdown.P99.Short())
			}
		}
		all = append(all, text+". A longer drain, or a lower load, lets them finish.")
	}
	return all
}

// collectives are the figures of collective operations.
func collectives(r *report.Result) *part {
	t := &document.Table{Caption: "Collective operations", Columns: []document.Column{{Head: "workload", Least: 12},
		{Head: "operation"}, {Head: "algorithm"}, {Head: "rounds", Right: true}, {Head: "mean", Right: true, Least: 9},
		{Head: "max", Right: true, Least: 9}, {Head: "least", Right: true, Least: 9}, {Head: "bus bandwidth", Right: true},
		{Head: "last most often"}}}
	for i := range r.Workloads {
		c := r.Workloads[i].Collective
		if c == nil {
			continue
		}
		last := "-"
		if len(c.Stragglers) > 0 {
			last = fmt.Sprintf("%s, %d times", c.Stragglers[0].Endpoint, c.Stragglers[0].Rounds)
		}
		t.Add(r.Workloads[i].Name, c.Operation, c.Algorithm, fmt.Sprint(c.Rounds), inUs(c.Round.Mean), inUs(c.Round.Max),
			inUs(c.LeastSeconds), rateText(c.BusBandwidth), last)
	}
	return &part{color: terminal.Bold, table: t}
}

// inUs prints seconds as microseconds.
func inUs(n report.Number) string {
	if !n.Known() {
		return "-"
	}
	return report.Significant(1e6*float64(n), 4) + "us"
}

// rankWaits are the ranks that wait for each other.
func rankWaits(r *report.Result) *part {
	t := &document.Table{Bare: true, Words: true, Caption: "Ranks that wait, or cannot continue", Columns: []document.Column{
		{Head: "rank", Least: 16}, {Head: "reason"}, {Head: "since", Right: true, Least: 9}}}
	for i := range r.RankWaits {
		w := &r.RankWaits[i]
		where := ""
		switch {
		case w.Line > 0:
			where = fmt.Sprintf(" (%s:%d)", w.File, w.Line)
		case w.Round > 0:
			where = fmt.Sprintf(" (step %d of round %d)", w.Step, w.Round)
		}
		t.Add(fmt.Sprintf("%s: rank %d at %s", w.Workload, w.Rank, w.Endpoint), waitWords(w)+where, unit.Time(w.SincePs).String())
	}
	return &part{color: terminal.Yellow, shown: 12, table: t}
}

// waitWords puts the reason why a rank waits into words.
func waitWords(w *report.RankWait) string {
	switch w.Reason {
	case trace.NoMessage.String():
		return fmt.Sprintf("waits for a message with tag %d from rank %d at %s", w.Tag, w.For, w.ForAt)
	case trace.NoReceive.String():
		return fmt.Sprintf("has no receive for a message with tag %d from rank %d at %s", w.Tag, w.For, w.ForAt)
	case trace.NotSent.String():
		return fmt.Sprintf("cannot deliver a message with tag %d to rank %d at %s", w.Tag, w.For, w.ForAt)
	case trace.RequiresItself.String():
		return "cannot continue: an operation indirectly requires itself"
	case trace.TooManyOpen.String():
		return "cannot continue: too many operations, dependencies or messages are open"
	}
	return "cannot continue: its program cannot be read, or a dependency is too late"
}

// silences are the flows that delivered nothing.
func silences(r *report.Result) *part {
	t := &document.Table{Bare: true, Columns: []document.Column{{Head: "flow", Least: 16}, {Head: "when", Least: 32}, {Head: "cause"}}}
	t.Caption = fmt.Sprintf("Flows that had something to send and delivered nothing for %v or longer", unit.Duration(r.PatiencePs))
	for i := range r.Silences {
		s := &r.Silences[i]
		when := fmt.Sprintf("from %v to the end", unit.Time(s.FromPs))
		if !s.Lasting {
			when = fmt.Sprintf("from %v to %v", unit.Time(s.FromPs), unit.Time(s.ToPs))
		}
		t.Add(s.Flow, when, cause(s))
	}
	return &part{color: terminal.Yellow, shown: 8, table: t}
}

// cause names the reason why a flow delivered nothing.
func cause(s *report.Silence) string {
	switch {
	case s.Cause == "":
		return "cause unknown: nothing stopped its source, and no link on its path was stopped"
	case s.Link != "":
		return s.Cause + " at " + s.Link
	case s.Limit > 0:
		return fmt.Sprintf("%s to %v", s.Cause, unit.Rate(s.Limit))
	}
	return s.Cause + " at its source"
}

// derived are the watermarks that the program has derived.
func derived(r *report.Result) *part {
	t := &document.Table{Bare: true, Words: true, Caption: "Thresholds that were derived",
		Columns: []document.Column{{Head: "threshold", Least: 14}, {Head: "value", Right: true, Least: 12}, {Head: "where"}}}
	for i := range r.Derived {
		d := &r.Derived[i]
		t.Add(d.Key, unit.Size(d.Bytes).String(), d.Where())
	}
	return &part{color: terminal.Bold, shown: 8, table: t}
}

// kernelTimes are the times of the guests' kernels.
func kernelTimes(r *report.Result) *part {
	t := &document.Table{Caption: "Times of the guests' kernels", Columns: []document.Column{
		{Least: 26}, {Head: "usually", Right: true, Least: 9}, {Head: "model time", Right: true, Least: 11}, {Head: "set by"}}}
	for _, k := range r.KernelTimes {
		t.Add(k.What, fmt.Sprint(k.Usual), fmt.Sprint(k.Model.Round(time.Microsecond)), cmp.Or(k.By, "-"))
	}
	return &part{color: terminal.Bold, table: t}
}

// programs are the programs that ran in guests.
func programs(r *report.Result) *part {
	t := &document.Table{Bare: true, Words: true, Caption: "Programs", Columns: []document.Column{
		{Head: "program", Least: 16}, {Head: "guest", Least: 16}, {Head: "at", Right: true, Least: 9}, {Head: "how it ended"}}}
	for i := range r.Programs {
		x := &r.Programs[i]
		t.Add(x.Name, x.On, unit.Time(x.AtPs).String(), x.Ended)
	}
	return &part{color: terminal.Bold, table: t}
}

// changes are the changes of the fabric.
func changes(r *report.Result) *part {
	t := &document.Table{Bare: true, Caption: "Events", Columns: []document.Column{{Head: "change"}, {Head: "when", Right: true, Least: 9}}}
	for _, e := range r.Events {
		t.Add(e.What, unit.Time(e.AtPs).String())
	}
	x := &part{color: terminal.Bold, order: []int{1, 0}, table: t}
	if n := len(t.Rows); n > 13 {
		x.shown = 12
		x.more = func(int) string { return fmt.Sprintf("... %d more in %s", n-12, report.ResultFile) }
	}
	return x
}

// guests are the packets of the guests. The page has more of each.
func guests(r *report.Result) *part {
	t := &document.Table{Caption: "Packets of guests", Columns: []document.Column{
		{Head: "guest", Least: 16}, {Head: "address", Least: 15}, {Head: "sent", Right: true, Least: 10},
		{Head: "received", Right: true, Least: 10}, {Head: "dropped by its kernel, and without a flow"}}}
	for i := range r.Guests {
		g := &r.Guests[i]
		dropped := fmt.Sprintf("%d, %d", g.KernelDrops, g.NoFlow)
		if a := g.RoCE; a != nil {
			dropped += fmt.Sprintf("; CNPs: %d sent, %d handled", a.CNPSent, a.CNPHandled)
		}
		t.Add(g.Name, g.Where(), fmt.Sprint(g.Sent), fmt.Sprint(g.Received), dropped)
	}
	return &part{color: terminal.Bold, table: t, wide: guestTable(r)}
}

// realGuests returns how many guests are real hosts.
func realGuests(r *report.Result) (n int) {
	for i := range r.Guests {
		if r.Guests[i].Kind.Real() {
			n++
		}
	}
	return n
}
