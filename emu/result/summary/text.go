package summary

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/wire/unit"
)

// WriteText writes r for people: the settings of the run, the claims and their outcomes, first
// those that did not pass, the rates, the verdict, the warnings, the lines of next, and, in the last line, where the
// results lie. It fits into the columns of look unless names are very long.
func WriteText(w io.Writer, r *report.Result, look terminal.Look, next ...string) error {
	t := &text{terminal.Page{Look: look}}
	t.head(r)
	for _, text := range unfinished(r) {
		t.warn("Unfinished: ", text)
	}
	t.claims(r)
	t.rates(r)
	workloads(r).text(&t.Page)
	collectives(r).text(&t.Page)
	changes(r).text(&t.Page)
	t.verdict(r)
	for _, x := range parts(r) {
		x.text(&t.Page)
	}
	t.end(r, next)
	_, err := io.WriteString(w, t.String())
	return err
}

// text is a report that is being written.
type text struct{ terminal.Page }

func (t *text) head(r *report.Result) {
	t.Line("%s", t.Paint(terminal.Bold, r.Scenario))
	if r.Source != "" {
		t.Line("%s", r.Source)
	}
	how := []string{string(r.Clock) + " clock"}
	if r.Clock == mode.VirtualClock && r.Codec {
		how = append(how, throughBytes)
	}
	if r.Clock != mode.VirtualClock {
		how = append(how, fmt.Sprintf("dilation %d", r.Dilation), string(r.Timing)+" timing", r.Link.Over(r.Packing),
			placed(r.Placement))
	}
	how = append(how, fmt.Sprintf("seed %d", r.Seed), unit.Duration(r.DurationPs).String()+" of model time")
	if r.WallSeconds.Known() {
		how[len(how)-1] += fmt.Sprintf(" in %.3g s", float64(r.WallSeconds))
	}
	switch {
	case r.Partial:
		how = append(how, "ended before its time")
	case r.EndedPs > 0 && r.Deadlocks == nil:
		how = append(how, fmt.Sprintf("all flows finished by %v", unit.Time(r.EndedPs)))
	}
	t.Paragraph(0, strings.Join(how, ", "))
}

// throughBytes marks a run on the virtual clock whose frames went through their bytes.
const throughBytes = "frames as bytes"

// phaseColumn is how wide a column of a phase is.
const phaseColumn = 13

func (t *text) rates(r *report.Result) {
	if len(r.Phases) == 0 {
		return
	}
	wide := len("flows that are active")
	for _, x := range r.Phases[0].Rates {
		wide = max(wide, len(x.Name))
	}
	for _, name := range fairnessNames(r.Phases) {
		wide = max(wide, len(name))
	}
	shown := shownRates(r.Phases)
	perTable := max(1, (t.Columns()-2-wide)/phaseColumn)
	for first := 0; first < len(r.Phases); first += perTable {
		phases := r.Phases[first:min(first+perTable, len(r.Phases))]
		t.Line("")
		for _, l := range terminal.Wrap(ratesTitle(r, "Rates in percent of link capacity"), t.Columns()) {
			t.Line("%s", t.Paint(terminal.Bold, l))
		}
		row := func(name string, cell func(p *report.Phase) string) {
			var b strings.Builder
			fmt.Fprintf(&b, "  %-*s", wide, name)
			for i := range phases {
				fmt.Fprintf(&b, "  %*s", phaseColumn-2, cell(&phases[i]))
			}
			t.Line("%s", b.String())
		}
		row("", func(p *report.Phase) string { return milliseconds(p.FromPs) + "-" + milliseconds(p.ToPs) + " ms" })
		hidden := 0
		for i, x := range phases[0].Rates { // every phase has the same
			if !shown[i] {
				hidden++
				continue
			}
			row(x.Name, func(p *report.Phase) string { return (100 * p.Rates[i].Utilisation).Print("%.1f") })
		}
		if hidden > 0 {
			t.Line("  ... %d more like these, less busy, in %s", hidden, report.ResultFile)
		}
		row("flows that are active", func(p *report.Phase) string { return fmt.Sprint(p.Flows) })
		for _, name := range fairnessNames(phases) {
			row(name, func(p *report.Phase) string {
				if k := slices.IndexFunc(p.Fairness, func(x report.Fairness) bool { return jain(&x) == name }); k >= 0 {
					return p.Fairness[k].Jain.Print("%.3f")
				}
				return "-"
			})
		}
	}
}

// likeShown is how many rates are printed with names that are alike but for numbers, where
// there are many.
const likeShown = 2

var digits = regexp.MustCompile(`[0-9]+`)

// shownRates marks the rates that are printed: all, or where there are many, the busiest of each kind.
func shownRates(phases []report.Phase) []bool {
	rates := phases[0].Rates
	shown, like := make([]bool, len(rates)), make(map[string]int)
	busy, order := make([]report.Number, len(rates)), make([]int, len(rates))
	for i := range rates {
		order[i] = i
		for _, p := range phases {
			if u := p.Rates[i].Utilisation; u.Known() {
				busy[i] += u
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(busy[b], busy[a]) })
	for _, i := range order {
		key := rates[i].Kind + " " + digits.ReplaceAllString(rates[i].Name, "*")
		like[key]++
		shown[i] = len(rates) <= 2*document.Listed || like[key] <= likeShown
	}
	return shown
}

// fairnessNames returns whose indices phases have.
func fairnessNames(phases []report.Phase) (names []string) {
	for i := range phases {
		for _, x := range phases[i].Fairness {
			if !slices.Contains(names, jain(&x)) {
				names = append(names, jain(&x))
			}
		}
	}
	return names
}

// ratesTitle is the title of the phases' means, with the part of a phase that they leave
// out.
func ratesTitle(r *report.Result, title string) string {
	if slices.ContainsFunc(r.Phases, func(p report.Phase) bool { return p.FromPs-p.BeginPs < r.WindowPs }) {
		return title
	}
	title += ", after the first " + unit.Duration(r.WindowPs).String() + " of each phase"
	if short := shortPhases(r); len(short) > 0 {
		title += "; too short for means over two windows: " + strings.Join(short, ", ")
	}
	return title
}

// shortPhases returns the parts of a run that belong to no phase, if they are longer than
// a window.
func shortPhases(r *report.Result) (parts []string) {
	end := int64(0)
	for _, p := range append(slices.Clip(r.Phases), report.Phase{BeginPs: r.DurationPs}) {
		if p.BeginPs-end > r.WindowPs {
			parts = append(parts, milliseconds(end)+"-"+milliseconds(p.BeginPs)+" ms")
		}
		end = p.ToPs
	}
	return parts
}

// jain names the index that a row shows.
func jain(x *report.Fairness) string {
	if x.Kind == "bottleneck" {
		return "Jain's index at " + x.Name
	}
	return "Jain's index of " + x.Name
}

func (t *text) claims(r *report.Result) {
	if len(r.Checks) == 0 {
		return
	}
	id, accepted, result := len("id"), len("accepted"), len("result")
	for i := range r.Checks {
		k := &r.Checks[i]
		id, accepted, result = max(id, len(k.ID)), max(accepted, len(k.Accepted())), max(result, len(k.Result()))
	}
	sorted, shown, tally := checksOf(r)
	sourced, ours := report.ByBasis(sorted[:shown])
	t.checks("Claims", "claim of the source", sourced, id, accepted, result)
	t.checks("Checks", "expectation", ours, id, accepted, result)
	if more := len(sorted) - shown; more > 0 {
		t.Line("  ... %d more that pass", more)
	}
	t.Paragraph(2, tally.String())
}

// checks writes a table of checks, unless there are none.
func (t *text) checks(title, says string, checks []report.Check, id, accepted, result int) {
	if len(checks) == 0 {
		return
	}
	t.Title(title)
	const outcome = len("UNEXPECTED PASS")
	claim := max(20, t.Columns()-2-id-accepted-result-outcome-4*2)
	t.Line("  %-*s  %-*s  %*s  %*s", id, "id", claim, says, accepted, "accepted", result, "result")
	for i := range checks {
		k := &checks[i]
		lines := terminal.Wrap(k.Claim, claim)
		for n := range lines {
			lines[n] = terminal.Shorten(lines[n], claim)
		}
		if len(lines) > 2 {
			lines = []string{lines[0], terminal.Shorten(lines[1]+" "+lines[2], claim)}
		}
		t.Line("  %-*s  %-*s  %*s  %*s  %s",
			id, k.ID, claim, lines[0], accepted, k.Accepted(), result, k.Result(),
			t.Paint(k.Outcome.Color(), k.Outcome.Word()))
		rest := lines[1:]
		if k.Reason != "" && k.Outcome != report.Pass {
			rest = append(rest, terminal.Wrap(because(k), t.Columns()-2-id-2)...)
		}
		for _, l := range rest {
			t.Line("  %-*s  %s", id, "", l)
		}
	}
}

func (t *text) verdict(r *report.Result) {
	v := &r.Verdict
	t.Line("")
	head := "Verdict: " + string(v.Level)
	lines := terminal.Wrap(head+". "+v.Sentence(), t.Columns())
	lines[0] = t.Paint(terminal.Bold, "Verdict: ") + t.Paint(v.Level.Color(), string(v.Level)) +
		strings.TrimPrefix(lines[0], head)
	for _, l := range lines {
		t.Line("%s", l)
	}
	if r.Clock == mode.VirtualClock {
		if r.WallSeconds > 0 {
			t.Line("  speed   %s million frame-hops a second of wall time",
				report.Significant(float64(r.FrameHops)/1e6/float64(r.WallSeconds), 3))
		}
		return
	}
	if v.Order.Frames > 0 {
		t.Line("  frames  %s", handed(v))
	}
	p := &v.Pace
	if p.Achieved.Known() {
		t.Line("  pace    dilation %s (requested %s), %s in the slowest hundredth of the run", p.Achieved.Short(), p.Requested.Short(), p.Peak.Short())
	}
	if p.Holds > 0 {
		t.Line("  held    the clock, %s: %s ms in total, at most %s ms at a time",
			terminal.Count(p.Holds, "time"), (p.HeldUs / 1e3).Short(), (p.LongestUs / 1e3).Short())
	}
	if p.OffShare.Known() {
		t.Line("  gaps    %s off by more than 5 %% of a packet time; p99 of those without a hold is %s",
			p.OffShare.Percent(), p.GapErrorT.P99.Short())
	}
	lateness := func(name, after string, us, packetTimes *report.Percentiles) {
		t.Line("  %-7s p50 %s, p95 %s, p99 %s, max %s us after %s; p99 is %s packet times",
			name, us.P50.Short(), us.P95.Short(), us.P99.Short(), us.Max.Short(), after, packetTimes.P99.Short())
	}
	if p.LatenessUs.P50.Known() {
		lateness("leaving", "the due time", &p.LatenessUs, &p.LatenessPacketTimes)
	}
	if s := v.Starts; s != nil && s.Packets > 0 {
		lateness("starts", "the limiter let the packet", &s.LatenessUs, &s.LatenessPacketTimes)
	}
	if v.WorstLink != "" {
		t.Line("  worst   %s", v.WorstLink)
	}
	if p.LateShare.Known() {
		t.Line("  late    %s of the frames left more than 5 %% of a packet time late (an idle loop: %s)",
			p.LateShare.Percent(), p.FloorShare.Percent())
	}
	if v.Clocks != nil {
		for _, h := range v.Clocks.Hosts {
			t.Line("  clock   of %s: %s us ahead of the clock of rank 0, at the end %s us more; its error was at most %s us",
				h.Host, h.OffsetUs.Short(), h.DriftUs.Short(), h.ErrorUs.Short())
		}
	}
	t.Line("  losses  %s lost, %s, %s",
		terminal.Count(v.LostDatagrams, "datagram"), strangers(&v.Figures), terminal.Count(v.Violations, "violation"))
	if n := realGuests(r); n > 0 {
		t.Line("  guests  %d, not reproducible: there is no log to compare this one with, and no digest", n)
	}
	switch {
	case !v.CPUSeconds.Known():
	case r.Placement != mode.InGoroutines:
		t.Line("  cpu     the processes of the run used %s s of processor time", v.CPUSeconds.Short())
	case v.BusySeconds.Known():
		t.Line("  cpu     the loop was busy for %s s, this process used %s s of processor time",
			v.BusySeconds.Short(), v.CPUSeconds.Short())
	}
	for _, s := range v.Silent {
		t.Line("  silent  %s did not answer for %s s: its process was stopped, or got no processor",
			s.Part, s.Seconds.Short())
	}
	if v.GCCycles > 0 || v.ForeignCPUs.Known() {
		t.Line("  machine %s of the Go runtime, %s processors used by other programs",
			terminal.Count(v.GCCycles, "collection"), v.ForeignCPUs.Short())
	}
}

// handed describes how many frames were handed to nodes, and whether their events are those of the virtual clock.
func handed(v *report.Verdict) string {
	handed := fmt.Sprintf("%d handed to nodes", v.Order.Frames)
	switch v.Verify {
	case report.VerifiedEqual:
		handed += "; the event log equals the virtual clock's" + repeated(v)
	case report.VerifiedDiffers:
		handed += "; the event log differs from the virtual clock's" + repeated(v)
	}
	return handed
}

// repeated names, under actual timing, the run on the virtual clock that the log is compared with.
func repeated(v *report.Verdict) string {
	if v.Starts == nil {
		return ""
	}
	return ", with the measured instants repeated"
}

// strangers describes the datagrams of others.
func strangers(f *report.Figures) string {
	words := terminal.Count(f.Refused, "stranger") + " refused"
	var why []string
	for _, c := range f.RefusedFor {
		why = append(why, fmt.Sprintf("%d %s", c.Count, c.Reason))
	}
	if len(why) > 0 {
		words += " (" + strings.Join(why, ", ") + ")"
	}
	if f.Unreachable > 0 {
		words += ", " + terminal.Count(f.Unreachable, "ICMP error")
	}
	return words
}

// warn writes a text behind a word in colour.
func (t *text) warn(word, text string) {
	head := t.Paint(terminal.Yellow, word)
	for _, l := range terminal.Wrap(text, t.Columns()-len(word)) {
		t.Line("%s%s", head, l)
		head = strings.Repeat(" ", len(word))
	}
}

func (t *text) end(r *report.Result, next []string) {
	if len(r.Warnings) > 0 {
		t.Line("")
		for _, warning := range r.Warnings {
			t.warn("Warning: ", warning)
		}
	}
	unwritten(r).text(&t.Page)
	if r.Directory != "" {
		t.Line("")
		for _, line := range next {
			t.Line("%s", line)
		}
		t.Line("Results: %s", r.Directory)
	}
}

// milliseconds prints an instant to a thousandth of a millisecond at most.
func milliseconds(ps int64) string {
	s := fmt.Sprintf("%.3f", float64(ps)/float64(unit.Millisecond))
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// placed describes where the nodes of a run lived.
func placed(placement mode.Placement) string {
	return map[mode.Placement]string{
		mode.InGoroutines: "a goroutine for each node",
		mode.InProcesses:  "a process for each node",
		mode.InDomains:    "a process for each switch and its endpoints",
		mode.InHosts:      "several hosts",
	}[placement]
}
