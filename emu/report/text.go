package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"fabemu/emu/proc"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"
)

// WriteText writes r for people: what was run, the claims and what came out, first
// what did not pass, the rates, the verdict, the warnings, and where the results lie. It fits into
// the columns of look unless names are very long.
func WriteText(w io.Writer, r *Result, look terminal.Look) error {
	t := &page{terminal.Page{Look: look}}
	t.title(r)
	t.claims(r)
	t.rates(r)
	t.events(r)
	t.verdict(r)
	t.end(r)
	_, err := io.WriteString(w, t.String())
	return err
}

// page is a report that is being written.
type page struct{ terminal.Page }

func (t *page) title(r *Result) {
	t.Line("%s", t.Paint(terminal.Bold, r.Scenario))
	if r.Source != "" {
		t.Line("%s", r.Source)
	}
	how := []string{string(r.Clock) + " clock"}
	if r.Clock == VirtualClock && r.Codec {
		how = append(how, throughBytes)
	}
	if r.Clock != VirtualClock {
		how = append(how, fmt.Sprintf("dilation %d", r.Dilation), r.Timing+" timing", string(r.Link),
			placed(r.Placement))
	}
	how = append(how, fmt.Sprintf("seed %d", r.Seed), unit.Duration(r.DurationPs).String()+" of model time")
	if r.WallSeconds.Known() {
		how[len(how)-1] += fmt.Sprintf(" in %.3g s", float64(r.WallSeconds))
	}
	if r.Partial {
		how = append(how, "ended before its time")
	}
	t.Paragraph(0, strings.Join(how, ", "))
}

// throughBytes says of a run on the virtual clock that its frames were no values.
const throughBytes = "frames as bytes"

// phaseColumn is how wide a column of a phase is.
const phaseColumn = 13

func (t *page) rates(r *Result) {
	if len(r.Phases) == 0 {
		return
	}
	name := len("flows that are active")
	for _, x := range r.Phases[0].Rates {
		name = max(name, len(x.Name))
	}
	for _, x := range fairnessNames(r.Phases) {
		name = max(name, len(x))
	}
	shown := shownRates(r.Phases[0].Rates)
	perTable := max(1, (t.Columns()-2-name)/phaseColumn)
	for first := 0; first < len(r.Phases); first += perTable {
		phases := r.Phases[first:min(first+perTable, len(r.Phases))]
		t.Line("")
		for _, l := range terminal.Wrap(ratesTitle(r, "Rates in percent of link capacity"), t.Columns()) {
			t.Line("%s", t.Paint(terminal.Bold, l))
		}
		row := func(what string, cell func(p *Phase) string) {
			var b strings.Builder
			fmt.Fprintf(&b, "  %-*s", name, what)
			for i := range phases {
				fmt.Fprintf(&b, "  %*s", phaseColumn-2, cell(&phases[i]))
			}
			t.Line("%s", b.String())
		}
		row("", func(p *Phase) string { return milliseconds(p.FromPs) + "-" + milliseconds(p.ToPs) + " ms" })
		hidden := 0
		for i, x := range phases[0].Rates { // every phase has the same
			if !shown[i] {
				hidden++
				continue
			}
			row(x.Name, func(p *Phase) string { return tenths(100*p.Rates[i].Utilisation, 1) })
		}
		if hidden > 0 {
			t.Line("  ... %d more like these in %s", hidden, ResultFile)
		}
		row("flows that are active", func(p *Phase) string { return fmt.Sprint(p.Flows) })
		for _, name := range fairnessNames(phases) {
			row(name, func(p *Phase) string {
				if k := slices.IndexFunc(p.Fairness, func(x Fairness) bool { return x.name() == name }); k >= 0 {
					return tenths(p.Fairness[k].Jain, 3)
				}
				return "-"
			})
		}
	}
}

// likeShown is how many rates are printed of those whose names are alike but for numbers, where
// there are many.
const likeShown = 2

var digits = regexp.MustCompile(`[0-9]+`)

// shownRates says which rates are printed: all, or where there are many, of each kind some.
func shownRates(rates []Rate) []bool {
	shown, like := make([]bool, len(rates)), make(map[string]int)
	for i, x := range rates {
		key := x.Kind + " " + digits.ReplaceAllString(x.Name, "*")
		like[key]++
		shown[i] = len(rates) <= 2*listed || like[key] <= likeShown
	}
	return shown
}

// fairnessNames returns whose indices phases have.
func fairnessNames(phases []Phase) (names []string) {
	for i := range phases {
		for _, x := range phases[i].Fairness {
			if !slices.Contains(names, x.name()) {
				names = append(names, x.name())
			}
		}
	}
	return names
}

// ratesTitle is the title of the phases' means, and says which part of a phase they leave
// out.
func ratesTitle(r *Result, what string) string {
	if slices.ContainsFunc(r.Phases, func(p Phase) bool { return p.FromPs-p.BeginPs < r.WindowPs }) {
		return what
	}
	what += ", after the first " + unit.Duration(r.WindowPs).String() + " of each phase"
	if short := shortPhases(r); len(short) > 0 {
		what += "; too short for means over two windows: " + strings.Join(short, ", ")
	}
	return what
}

// shortPhases returns the parts of a run that belong to no phase, if they are longer than
// a window.
func shortPhases(r *Result) (parts []string) {
	end := int64(0)
	for _, p := range append(slices.Clip(r.Phases), Phase{BeginPs: r.DurationPs}) {
		if p.BeginPs-end > r.WindowPs {
			parts = append(parts, milliseconds(end)+"-"+milliseconds(p.BeginPs)+" ms")
		}
		end = p.ToPs
	}
	return parts
}

// eventsShown is how many events are printed.
const eventsShown = 12

func (t *page) events(r *Result) {
	if len(r.Events) == 0 {
		return
	}
	t.Title("Events")
	for i, e := range r.Events {
		if i == eventsShown && len(r.Events) > eventsShown+1 {
			t.Line("  ... %d more in %s", len(r.Events)-i, ResultFile)
			break
		}
		t.Line("  %9v  %s", unit.Time(e.AtPs), e.What)
	}
}

// name says whose index a row shows.
func (x *Fairness) name() string {
	if x.Kind == "bottleneck" {
		return "Jain's index at " + x.Name
	}
	return "Jain's index of " + x.Name
}

func (t *page) claims(r *Result) {
	if len(r.Checks) == 0 {
		return
	}
	id, wanted, got := len("id"), len("wanted"), len("came out")
	for i := range r.Checks {
		k := &r.Checks[i]
		id, wanted, got = max(id, len(k.ID)), max(wanted, len(k.Wanted())), max(got, len(k.CameOut()))
	}
	sorted := worstFirst(r.Checks, func(k *Check) Outcome { return k.Outcome })
	shown := max(len(sorted)-passes(sorted), min(listed, len(sorted)))
	sourced, ours := ByBasis(sorted[:shown])
	t.checks("Claims", "what the source says", sourced, id, wanted, got)
	t.checks("Checks", "what is expected", ours, id, wanted, got)
	if more := len(sorted) - shown; more > 0 {
		t.Line("  ... %d more that pass", more)
	}
	t.Paragraph(2, tallyOf(r.Checks).String())
}

// checks writes a table of checks, unless there are none.
func (t *page) checks(title, says string, checks []Check, id, wanted, got int) {
	if len(checks) == 0 {
		return
	}
	t.Title(title)
	const outcome = len("UNEXPECTED PASS")
	claim := max(20, t.Columns()-2-id-wanted-got-outcome-4*2)
	t.Line("  %-*s  %-*s  %*s  %*s", id, "id", claim, says, wanted, "wanted", got, "came out")
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
			id, k.ID, claim, lines[0], wanted, k.Wanted(), got, k.CameOut(),
			t.Paint(k.Outcome.Color(), k.Outcome.Word()))
		rest := lines[1:]
		if k.Reason != "" && k.Outcome != Pass {
			rest = append(rest, terminal.Wrap(because(k), t.Columns()-2-id-2)...)
		}
		for _, l := range rest {
			t.Line("  %-*s  %s", id, "", l)
		}
	}
}

func (t *page) verdict(r *Result) {
	v := &r.Verdict
	t.Line("")
	head := "Verdict: " + string(v.Level)
	lines := terminal.Wrap(head+". "+v.Sentence(), t.Columns())
	lines[0] = t.Paint(terminal.Bold, "Verdict: ") + t.Paint(v.Level.Color(), string(v.Level)) +
		strings.TrimPrefix(lines[0], head)
	for _, l := range lines {
		t.Line("%s", l)
	}
	if r.Clock == VirtualClock {
		if r.WallSeconds > 0 {
			t.Line("  speed   %s million frame-hops a second of wall time",
				significant(float64(r.FrameHops)/1e6/float64(r.WallSeconds), 3))
		}
		return
	}
	if v.Order.Frames > 0 {
		t.Line("  order   %s", v.order())
	}
	p := &v.Pace
	if p.Ratio.Known() {
		t.Line("  pace    %s of the wall time that the dilation asks for", percent(p.Ratio))
	}
	if l := &p.LatenessUs; l.P50.Known() {
		t.Line("  leaving p50 %s, p95 %s, p99 %s, max %s us after the due time; p99 is %s packet times",
			short(l.P50), short(l.P95), short(l.P99), short(l.Max), short(p.LatenessPacketTimes.P99))
	}
	if s := v.Starts; s != nil && s.Packets > 0 {
		l := &s.LatenessUs
		t.Line("  starts  p50 %s, p95 %s, p99 %s, max %s us after the limiter let the packet; p99 is %s packet times",
			short(l.P50), short(l.P95), short(l.P99), short(l.Max), short(s.LatenessPacketTimes.P99))
	}
	if v.WorstLink != "" {
		t.Line("  worst   %s", v.WorstLink)
	}
	if p.LateShare.Known() {
		t.Line("  late    %s of the frames left more than 5 %% of a packet time late; the machine's floor is %s",
			percent(p.LateShare), percent(p.FloorShare))
	}
	for _, line := range v.Clocks.lines() {
		t.Line("  clock   %s", line)
	}
	t.Line("  losses  %s lost, %s, %s",
		terminal.Count(v.LostDatagrams, "datagram"), v.strangers(), terminal.Count(v.Violations, "violation"))
	if n := r.realGuests(); n > 0 {
		t.Line("  guests  %d, not reproducible: there is no log to compare this one with, and no digest", n)
	}
	if v.BusySeconds.Known() && v.CPUSeconds.Known() {
		t.Line("  cpu     the loop was busy for %s s, this process used %s s of processor time",
			short(v.BusySeconds), short(v.CPUSeconds))
	}
	for _, s := range v.Silent {
		t.Line("  silent  %s did not answer for %s s: its process was stopped, or got no processor",
			s.Part, short(s.Seconds))
	}
	if v.Stalls > 0 || v.GCCycles > 0 || v.ForeignCPUs.Known() {
		t.Line("  machine %s (%s us, %s), %s of the Go runtime, %s processors used by others",
			terminal.Count(v.Stalls, "stall"), short(v.StalledUs), percent(p.StalledShare),
			terminal.Count(v.GCCycles, "collection"), short(v.ForeignCPUs))
	}
}

// order says how the order of events was.
func (v *Verdict) order() string {
	o := &v.Order
	order := fmt.Sprintf("%d of %d frames overtaken", o.Overtaken, o.Frames)
	if o.Overtaken > 0 && o.WorstPacketTimes.Known() {
		order += fmt.Sprintf(", by %s packet times at the worst", short(o.WorstPacketTimes))
	}
	if o.BlindLink != "" {
		order += fmt.Sprintf("; %s blind for %s of the time", o.BlindLink, percent(o.BlindShare))
	}
	switch v.Verify {
	case VerifiedEqual:
		order += "; the event log equals the virtual clock's" + v.repeated()
	case VerifiedDiffers:
		order += "; the event log differs from the virtual clock's" + v.repeated()
	}
	if o.SumsApart.Known() {
		order += fmt.Sprintf("; sums over flows are within %s points of the virtual clock's (%s)",
			short(100*o.SumsApart), o.SumsOf)
	}
	return order
}

// repeated says, under actual timing, of which run on the virtual clock the log is.
func (v *Verdict) repeated() string {
	if v.Starts == nil {
		return ""
	}
	return ", with the measured instants repeated"
}

// strangers says what others have sent.
func (f *Figures) strangers() string {
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

// lossesShown is how many places are named at which frames were dropped, silencesShown
// how many flows that delivered nothing.
const lossesShown, silencesShown = 8, 8

// place says where frames were dropped.
func (l *Loss) place() string {
	if l.Link == "" {
		return "at " + l.Machine
	}
	return "at " + l.Machine + ", from " + l.Link
}

func (t *page) end(r *Result) {
	if len(r.Violations) > 0 {
		t.section(terminal.Red, "Broken promises of the fabric")
		for i, v := range r.Violations {
			if i == 5 {
				t.Line("  ... %d in all", r.Verdict.Violations)
				break
			}
			t.Line("  %v  %s, %s: %s (%d)", unit.Time(v.AtPs), v.Machine, v.Port, v.Reason, v.Figure)
		}
	}
	if len(r.Losses) > 0 {
		t.section(terminal.Plain, "Frames that were dropped")
		left := int64(0)
		for i := range r.Losses {
			if l := &r.Losses[i]; i < lossesShown {
				t.Line("  %10d  %-24s  %s", l.Count, l.place(), l.Reason)
			} else {
				left += l.Count
			}
		}
		if left > 0 {
			t.Line("  %10d  elsewhere", left)
		}
	}
	t.guests(r)
	for _, d := range r.Deadlocks {
		t.Line("")
		t.Line("%s, found at %v", t.Paint(terminal.Red, "Deadlock"), unit.Time(d.AtPs))
		for _, w := range d.Cycle {
			t.Line("  %s waits for %s by %s (%s, class %d) since %v",
				w.Machine, w.For, w.Link, w.Cause, w.Class, unit.Time(w.SincePs))
		}
	}
	if r.EndedPs > 0 {
		t.Line("  Nothing else could happen: the run was ended at %v.", unit.Time(r.EndedPs))
	}
	if n := len(r.Silences); n > 0 {
		t.section(terminal.Yellow, r.silent())
		for i := range r.Silences[:min(n, silencesShown)] {
			s := &r.Silences[i]
			t.Line("  %-16s  %-32s  %s", s.Flow, s.when(), s.why())
		}
		if n > silencesShown {
			t.Line("  ... %d in all", n)
		}
	}
	t.derived(r)
	if len(r.Warnings) > 0 {
		t.Line("")
		for _, warning := range r.Warnings {
			head := t.Paint(terminal.Yellow, "Warning: ")
			for _, l := range terminal.Wrap(warning, t.Columns()-len("Warning: ")) {
				t.Line("%s%s", head, l)
				head = "         "
			}
		}
	}
	if len(r.Unwritten) > 0 {
		t.section(terminal.Red, "Not written")
		for _, what := range r.Unwritten {
			t.Paragraph(2, what)
		}
	}
	if r.Directory != "" {
		t.Line("")
		t.Line("Results: %s", r.Directory)
	}
}

// derivedShown is how many derived values are printed.
const derivedShown = 8

// derived writes the watermarks that the scenario does not give.
func (t *page) derived(r *Result) {
	if len(r.Derived) == 0 {
		return
	}
	t.Title("Thresholds that were derived")
	for i := range r.Derived[:min(len(r.Derived), derivedShown)] {
		d := &r.Derived[i]
		t.Line("  %-14s  %12v  %s", d.Key, unit.Size(d.Bytes), d.Where())
	}
	if n := len(r.Derived); n > derivedShown {
		t.Line("  ... %d in all", n)
	}
}

// section begins a part that is not always there.
func (t *page) section(c terminal.Color, title string) {
	t.Line("")
	t.Line("%s", t.Paint(c, title))
}

// guests writes what became of the guests, and of their programs.
func (t *page) guests(r *Result) {
	if len(r.Guests) > 0 {
		t.Title("Packets of guests")
		t.Line("  %-16s  %-15s  %10s  %10s  %s",
			"guest", "address", "sent", "received", "dropped by its kernel, and without a flow")
		for i := range r.Guests {
			g := &r.Guests[i]
			t.Line("  %-16s  %-15s  %10d  %10d  %d, %d", g.Name, g.Address, g.Sent, g.Received, g.KernelDrops, g.NoFlow)
		}
	}
	if len(r.KernelTimes) > 0 {
		t.Title("Times of the guests' kernels")
		t.Line("  %-26s  %9s  %11s  %s", "", "usually", "model time", "set by")
		for _, k := range r.KernelTimes {
			t.Line("  %-26s  %9v  %11v  %s", k.What, k.Usual, k.Model.Round(time.Microsecond), cmp.Or(k.By, "-"))
		}
	}
	if len(r.Programs) > 0 {
		t.Title("Programs")
		for i := range r.Programs {
			x := &r.Programs[i]
			t.Line("  %-16s  %-16s  %9v  %s", x.Name, x.On, unit.Time(x.AtPs), x.Ended)
		}
	}
}

// placed says where the machines of a run lived.
func placed(placement proc.Placement) string {
	switch placement {
	case proc.InDomains:
		return "a process for each switch and its endpoints"
	case proc.InHosts:
		return "several hosts"
	}
	return "a " + string(placement) + " for each machine"
}
