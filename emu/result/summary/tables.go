package summary

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// lists returns the tables that follow the verdict, in their order. Many are empty.
func lists(r *report.Result) []*document.Table {
	all := []*document.Table{violations(r), losses(r), countersOf("Link layer retry", r.Retries),
		countersOf("Credits of channels", r.Credits), storms(r), guests(r), kernelTimes(r), programs(r)}
	return append(append(all, deadlocks(r)...), failures(r), rankWaits(r), silences(r), derived(r))
}

// listOf completes a table with a row for each item; of an item without cells there is none.
// Columns are heads between "|": ">" is in front of one whose cells end at the right, and "/" and
// the least width of the column behind it.
func listOf[T any](t document.Table, columns string, items []T, row func(*T) []string) *document.Table {
	addColumns(&t, columns)
	for i := range items {
		if cells := row(&items[i]); cells != nil {
			t.Add(cells...)
		}
	}
	return &t
}

// addColumns adds columns to a table, as of listOf; none if there are none.
func addColumns(t *document.Table, columns string) {
	if columns == "" {
		return
	}
	for column := range strings.SplitSeq(columns, "|") {
		head, least, _ := strings.Cut(column, "/")
		c := document.Column{}
		c.Head, c.Right = strings.CutPrefix(head, ">")
		c.Least, _ = strconv.Atoi(least) // 0 without one
		t.Columns = append(t.Columns, c)
	}
}

// violations are the promises of the fabric that were broken.
func violations(r *report.Result) *document.Table {
	all := fmt.Sprintf("... %d in all", r.Verdict.Violations)
	return listOf(document.Table{Bare: true, Words: true, Label: "Broken promises of the fabric", Color: terminal.Red, Most: 5, More: all},
		">when|port/8|violation|>figure", r.Violations, func(v *report.Violation) []string {
			return []string{unit.Text(unit.Time(v.AtPs)), v.Node + ", " + v.Port, v.Reason, fmt.Sprint(v.Figure)}
		})
}

// deadlocks are the cycles of outputs that wait for each other, and the end of the run in them.
func deadlocks(r *report.Result) (all []*document.Table) {
	add := func(caption string, lines []string) {
		all = append(all, listOf(document.Table{Bare: true, Words: true, Label: caption, Color: terminal.Red}, "wait", lines, one))
	}
	for _, d := range r.Deadlocks {
		add("Deadlock, found at "+unit.Text(unit.Time(d.AtPs)), cellsOf(d.Cycle, func(w *report.Waiting) string {
			return fmt.Sprintf("%s waits for %s by %s (%s, class %d) since %v", w.Node, w.For, w.Link, w.Cause, w.Class, unit.Text(unit.Time(w.SincePs)))
		}))
	}
	switch {
	case r.EndedPs > 0 && r.Deadlocks != nil:
		add("Early end", []string{fmt.Sprintf("Nothing else could happen: the run was ended at %v.", unit.Text(unit.Time(r.EndedPs)))})
	case r.Deadlocked:
		add("End", []string{"The run ended in a deadlock."})
	}
	return all
}

// one is the row of a line.
func one(line *string) []string { return []string{*line} }

// failures are the queue pairs that have failed.
func failures(r *report.Result) *document.Table {
	return listOf(document.Table{Bare: true, Label: "Queue pairs that failed after their retry-count", Color: terminal.Red, Most: 8},
		"flow/16|from and to/16|>when/10|why|>packets without an ACK", r.Failures, func(x *report.Failure) []string {
			return []string{x.Flow, x.From + " to " + x.To, unit.Text(unit.Time(x.AtPs)), x.Reason, fmt.Sprint(x.Packets)}
		})
}

// unwritten are the files that could not be written, with the reasons.
func unwritten(r *report.Result) *document.Table {
	return listOf(document.Table{Bare: true, Words: true, Label: "Not written", Color: terminal.Red}, "reason", r.Unwritten, one)
}

// losses are the places at which frames were dropped.
func losses(r *report.Result) *document.Table {
	const most = 8
	left := int64(0)
	for _, l := range r.Losses[min(most, len(r.Losses)):] {
		left += l.Count
	}
	elsewhere := fmt.Sprintf("%10d  elsewhere", left)
	return listOf(document.Table{Bare: true, Label: "Frames that were dropped", Color: terminal.Bold, Order: []int{2, 0, 1}, Most: most, More: elsewhere},
		"where/24|why|>how many/10", r.Losses, func(l *report.Loss) []string {
			where := "at " + l.Node
			if l.Link != "" {
				where += ", from " + l.Link
			}
			return []string{where, l.Reason, fmt.Sprint(l.Count)}
		})
}

// countersOf are the counters of links, by the end that counts.
func countersOf(caption string, all []report.RetryCount) *document.Table {
	return listOf(document.Table{Label: caption, Color: terminal.Bold, Most: 16}, "at/8|towards/10|counter|>count/8", all,
		func(x *report.RetryCount) []string { return []string{x.Node, x.Link, x.Counter, fmt.Sprint(x.Count)} })
}

// storms are the PFC storms that watchdogs have found.
func storms(r *report.Result) *document.Table {
	return listOf(document.Table{Label: "PFC storms that a watchdog has found", Color: terminal.Bold, Most: 8},
		"queue/12|>priority|>found/10|>over/10", r.Storms, func(s *report.Storm) []string {
			over := "not yet"
			if s.ToPs > 0 {
				over = unit.Text(unit.Time(s.ToPs))
			}
			return []string{s.Link, fmt.Sprint(s.Priority), unit.Text(unit.Time(s.FromPs)), over}
		})
}

// workloads are the figures of workloads.
func workloads(r *report.Result) *document.Table {
	x := figures[report.Workload]{of: metrics.Workload, first: "workload/12",
		object: func(w *report.Workload) any { return w },
		before: func(w *report.Workload) []string { return []string{w.Name} },
		cell: func(w *report.Workload, v *report.Value, text string) string {
			switch {
			case v.Figure.JSON == "open" && w.Waiting > 0:
				return fmt.Sprintf("%s, %d waiting", text, w.Waiting)
			case !v.Number.Known() && w.Transfers > w.Lost: // a high percentile
				return tooFew
			}
			return text
		}}
	return x.list(document.Table{Caption: "Flows of workloads", Color: terminal.Bold}, r.Workloads)
}

// tooFew is printed for a percentile that too few flows support.
const tooFew = "too few"

// unfinished says of each workload how many flows did not end, and how that biases its figures.
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
func collectives(r *report.Result) *document.Table {
	x := figures[report.Workload]{of: metrics.Collective, first: "workload/12|operation|algorithm",
		object: func(w *report.Workload) any {
			if w.Collective == nil {
				return nil
			}
			return w.Collective
		},
		before: func(w *report.Workload) []string {
			return []string{w.Name, w.Collective.Operation, w.Collective.Algorithm}
		}}
	return x.list(document.Table{Caption: "Collective operations", Color: terminal.Bold}, r.Workloads)
}

// inUs prints seconds as microseconds.
func inUs(n report.Number) string {
	if !n.Known() {
		return "-"
	}
	return report.Significant(1e6*float64(n), 4) + "µs"
}

// rankWaits are the ranks that wait for each other.
func rankWaits(r *report.Result) *document.Table {
	return listOf(document.Table{Bare: true, Words: true, Label: "Ranks that wait, or cannot continue", Color: terminal.Yellow, Most: 12},
		"rank/16|reason|>since/9", r.RankWaits, func(w *report.RankWait) []string {
			where := ""
			switch {
			case w.Line > 0:
				where = fmt.Sprintf(" (%s:%d)", w.File, w.Line)
			case w.Round > 0:
				where = fmt.Sprintf(" (step %d of round %d)", w.Step, w.Round)
			}
			return []string{fmt.Sprintf("%s: rank %d at %s", w.Workload, w.Rank, w.Endpoint), waitWords(w) + where, unit.Text(unit.Time(w.SincePs))}
		})
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
func silences(r *report.Result) *document.Table {
	rate := ratesLike(func(yield func(report.Number) bool) {
		for i := range r.Silences {
			if !yield(report.Number(r.Silences[i].Limit) / 8) {
				return
			}
		}
	})
	caption := fmt.Sprintf("Flows that had something to send and delivered nothing for %v or longer", unit.Text(unit.Duration(r.PatiencePs)))
	return listOf(document.Table{Bare: true, Label: caption, Color: terminal.Yellow, Most: 8}, "flow/16|when/32|cause", r.Silences,
		func(s *report.Silence) []string {
			when := fmt.Sprintf("from %v to the end", unit.Text(unit.Time(s.FromPs)))
			if !s.Lasting {
				when = fmt.Sprintf("from %v to %v", unit.Text(unit.Time(s.FromPs)), unit.Text(unit.Time(s.ToPs)))
			}
			return []string{s.Flow, when, cause(s, rate)}
		})
}

// cause names the reason why a flow delivered nothing.
func cause(s *report.Silence, rate func(report.Number) string) string {
	lost := ""
	if l := s.Lost; l != nil {
		lost = fmt.Sprintf("%d of its frames dropped at %s: %s", l.Count, l.Node, l.Reason)
		if l.Reason == trace.StormDropped.String() {
			lost = fmt.Sprintf("%d of its frames dropped by the watchdog of %s", l.Count, l.Node)
		}
	}
	text := s.Cause + " at its source"
	switch {
	case s.Cause == report.Dropped:
		return lost
	case s.Cause == "":
		return "cause unknown: nothing stopped its source, and no link on its path was stopped"
	case s.Link != "":
		text = s.Cause + " at " + s.Link
	case s.Limit > 0:
		text = s.Cause + " to " + rate(report.Number(s.Limit)/8)
	}
	if lost != "" {
		text += "; " + lost
	}
	return text
}

// derived are the watermarks that the program has derived.
func derived(r *report.Result) *document.Table {
	return listOf(document.Table{Bare: true, Words: true, Label: "Thresholds that were derived", Color: terminal.Bold, Most: 8},
		"threshold/14|>value/12|where", r.Derived, func(d *scenario.Threshold) []string { return []string{d.Key, unit.Size(d.Bytes).String(), d.Where()} })
}

// kernelTimes are the times of the guests' kernels.
func kernelTimes(r *report.Result) *document.Table {
	return listOf(document.Table{Label: "Times of the guests' kernels", Color: terminal.Bold}, "/26|>usually/9|>model time/11|set by", r.KernelTimes,
		func(k *guest.KernelTime) []string {
			return []string{k.What, fmt.Sprint(k.Usual), fmt.Sprint(k.Model.Round(time.Microsecond)), cmp.Or(k.By, "-")}
		})
}

// programs are the programs that ran in guests.
func programs(r *report.Result) *document.Table {
	return listOf(document.Table{Bare: true, Words: true, Label: "Programs", Color: terminal.Bold}, "program/16|guest/16|>at/9|how it ended", r.Programs,
		func(x *guest.ProgramReport) []string {
			return []string{x.Name, x.On, unit.Text(unit.Time(x.AtPs)), x.Ended}
		})
}

// changes are the changes of the fabric.
func changes(r *report.Result) *document.Table {
	t := document.Table{Bare: true, Label: "Events", Color: terminal.Bold, Order: []int{1, 0}}
	if n := len(r.Events); n > 13 {
		t.Most, t.More = 12, fmt.Sprintf("... %d more in %s", n-12, report.ResultFile)
	}
	return listOf(t, "change|>when/9", r.Events, func(e *report.Event) []string { return []string{e.What, unit.Text(unit.Time(e.AtPs))} })
}

// guests are the packets of the guests. A terminal leaves out their kinds.
func guests(r *report.Result) *document.Table {
	x := figures[guest.Report]{of: metrics.Guest, first: "guest/16|kind|address/15", last: "dropped by its kernel, and without a flow",
		object: func(g *guest.Report) any { return &g.Counts },
		before: func(g *guest.Report) []string { return []string{g.Name, string(g.Kind), g.Where()} },
		behind: func(g *guest.Report) []string {
			dropped := fmt.Sprintf("%d, %d", g.KernelDrops, g.NoFlow)
			if a := g.RoCE; a != nil {
				dropped += fmt.Sprintf("; CNPs: %d sent, %d handled", a.CNPSent, a.CNPHandled)
			}
			return []string{dropped}
		}}
	return x.list(document.Table{Label: "Packets of guests", Color: terminal.Bold, Order: []int{0, 2, 3, 4, 5}}, r.Guests)
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
