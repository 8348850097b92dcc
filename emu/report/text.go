package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fabemu/emu/metrics"
	"fabemu/emu/proc"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"
)

// WriteText writes r for people: what was run, the rates, the claims and what
// came out, the verdict, the warnings, and where the results lie. It fits into
// the columns of look unless names are very long.
func WriteText(w io.Writer, r *Result, look terminal.Look) error {
	t := &page{terminal.Page{Look: look}}
	t.title(r)
	t.rates(r)
	t.events(r)
	t.claims(r)
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
	for _, l := range terminal.Wrap(strings.Join(how, ", "), t.Columns()) {
		t.Line("%s", l)
	}
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
	for _, p := range r.Phases {
		for _, x := range p.Fairness {
			name = max(name, len(fairnessName(&x)))
		}
	}
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
		for i, x := range phases[0].Rates { // every phase has the same
			row(x.Name, func(p *Phase) string { return tenths(100*p.Rates[i].Utilisation, 1) })
		}
		row("flows that are active", func(p *Phase) string { return fmt.Sprint(p.Flows) })
		seen := map[string]bool{}
		for i := range phases {
			for _, x := range phases[i].Fairness {
				what := fairnessName(&x)
				if seen[what] {
					continue
				}
				seen[what] = true
				row(what, func(p *Phase) string {
					for k := range p.Fairness {
						if fairnessName(&p.Fairness[k]) == what {
							return tenths(p.Fairness[k].Jain, 3)
						}
					}
					return "-"
				})
			}
		}
	}
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
	t.Line("")
	t.Line("%s", t.Paint(terminal.Bold, "Events"))
	for i, e := range r.Events {
		if i == eventsShown && len(r.Events) > eventsShown+1 {
			t.Line("  ... %d more in %s", len(r.Events)-i, ResultFile)
			break
		}
		t.Line("  %9v  %s", unit.Time(e.AtPs), e.What)
	}
}

// fairnessName says whose index a row shows.
func fairnessName(x *Fairness) string {
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
	tally := Tally{}
	for i := range r.Checks {
		k := &r.Checks[i]
		id, wanted, got = max(id, len(k.ID)), max(wanted, len(k.Wanted())), max(got, len(k.CameOut()))
		tally.Add(k.Basis, k.Outcome)
	}
	sourced, ours := ByBasis(r.Checks)
	t.checks("Claims", "what the source says", sourced, id, wanted, got)
	t.checks("Checks", "what is expected", ours, id, wanted, got)
	for _, l := range terminal.Wrap(tally.String(), t.Columns()-2) {
		t.Line("  %s", l)
	}
}

// checks writes a table of checks, unless there are none.
func (t *page) checks(title, says string, checks []Check, id, wanted, got int) {
	if len(checks) == 0 {
		return
	}
	t.Line("")
	t.Line("%s", t.Paint(terminal.Bold, title))
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

// because says why a check came out as it did.
func because(k *Check) string {
	if k.Outcome == UnexpectedPass {
		return "It was expected to differ: " + k.Reason
	}
	return k.Reason
}

// CameOut prints the value of a check, with so many digits that it does not look
// like a bound that it only comes near to.
func (k *Check) CameOut() string {
	if k.Outcome == NotMeasured {
		return "-"
	}
	for digits := 3; ; digits++ {
		s := valueTo(k, k.Value, digits)
		near := func(bound Number) bool { return k.Value != bound && s == valueTo(k, bound, digits) }
		if digits == 9 || !near(k.Low) && !near(k.High) {
			return s
		}
	}
}

// valueTo prints a figure in the way of the check's metric (metrics.Unit).
func valueTo(k *Check, v Number, digits int) string {
	f := float64(v)
	u := metrics.UnitOf(k.Metric, false)
	switch {
	case math.IsNaN(f):
		return "undefined"
	case u.Whole:
		return strconv.FormatFloat(f, 'f', -1, 64)
	case len(u.Scales) == 0:
		return significant(f, digits)
	case len(u.Scales) > 1:
		digits++
	}
	s := u.Fit(f)
	return significant(f/s.Base, digits) + " " + s.Word
}

// bound prints a bound of a check as it was given: to so many digits that 1.0005 is not 1.
func bound(k *Check, v Number) string { return valueTo(k, v, 6) }

// Wanted prints the range of a check as it was given.
func (k *Check) Wanted() string {
	low, high := k.Low.Known(), k.High.Known()
	switch {
	case k.Low.Known() && k.Low == k.High:
		return bound(k, k.Low)
	case low && high:
		from := bound(k, k.Low)
		to := bound(k, k.High)
		if a, b := unitOf(from), unitOf(to); a == b {
			from = strings.TrimSuffix(from, a)
		}
		return from + " to " + to
	case low:
		return ">= " + bound(k, k.Low)
	case high:
		return "<= " + bound(k, k.High)
	}
	return "any"
}

// unitOf returns the unit of a printed figure with the space before it.
func unitOf(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return s[i:]
	}
	return ""
}

func (t *page) verdict(r *Result) {
	v := &r.Verdict
	t.Line("")
	sentence := v.Sentence()
	lines := terminal.Wrap("Verdict: "+string(v.Level)+". "+sentence, t.Columns())
	head := "Verdict: " + string(v.Level)
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
		order := fmt.Sprintf("%d of %d frames overtaken", v.Order.Overtaken, v.Order.Frames)
		if v.Order.Overtaken > 0 && v.Order.WorstPacketTimes.Known() {
			order += fmt.Sprintf(", by %s packet times at the worst", significant(float64(v.Order.WorstPacketTimes), 2))
		}
		if v.Order.BlindLink != "" {
			order += fmt.Sprintf("; %s blind for %s of the time", v.Order.BlindLink, percent(v.Order.BlindShare))
		}
		switch v.Verify {
		case VerifiedEqual:
			order += "; the event log equals the virtual clock's"
		case VerifiedDiffers:
			order += "; the event log differs from the virtual clock's"
		}
		if v.Order.SumsApart.Known() {
			order += fmt.Sprintf("; sums over flows are within %s points of the virtual clock's (%s)",
				significant(100*float64(v.Order.SumsApart), 2), v.Order.SumsOf)
		}
		t.Line("  order   %s", order)
	}
	p := &v.Pace
	if p.Ratio.Known() {
		t.Line("  pace    %s of the wall time that the dilation asks for", percent(p.Ratio))
	}
	if l := &p.LatenessUs; l.P50.Known() {
		t.Line("  leaving p50 %s, p95 %s, p99 %s, max %s us after the due time; p99 is %s packet times",
			short(l.P50), short(l.P95), short(l.P99), short(l.Max), short(p.LatenessPacketTimes.P99))
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
		t.Line("")
		t.Line("%s", t.Paint(terminal.Red, "Broken promises of the fabric"))
		for i, v := range r.Violations {
			if i == 5 {
				t.Line("  ... %d in all", r.Verdict.Violations)
				break
			}
			t.Line("  %v  %s, %s: %s (%d)", unit.Time(v.AtPs), v.Machine, v.Port, v.Reason, v.Figure)
		}
	}
	if len(r.Losses) > 0 {
		t.Line("")
		t.Line("Frames that were dropped")
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
	if len(r.Guests) > 0 {
		t.Line("")
		t.Line("%s", t.Paint(terminal.Bold, "Packets of guests"))
		t.Line("  %-16s  %-15s  %10s  %10s  %s",
			"guest", "address", "sent", "received", "dropped by its kernel, and without a flow")
		for i := range r.Guests {
			g := &r.Guests[i]
			t.Line("  %-16s  %-15s  %10d  %10d  %d, %d", g.Name, g.Address, g.Sent, g.Received, g.KernelDrops, g.NoFlow)
		}
	}
	if len(r.KernelTimes) > 0 {
		t.Line("")
		t.Line("%s", t.Paint(terminal.Bold, "Times of the guests' kernels"))
		t.Line("  %-26s  %9s  %11s  %s", "", "usually", "model time", "set by")
		for _, k := range r.KernelTimes {
			t.Line("  %-26s  %9v  %11v  %s", k.What, k.Usual, k.Model.Round(time.Microsecond), cmp.Or(k.By, "-"))
		}
	}
	if len(r.Programs) > 0 {
		t.Line("")
		t.Line("%s", t.Paint(terminal.Bold, "Programs"))
		for i := range r.Programs {
			x := &r.Programs[i]
			t.Line("  %-16s  %-16s  %9v  %s", x.Name, x.On, unit.Time(x.AtPs), x.Ended)
		}
	}
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
		t.Line("")
		t.Line("%s", t.Paint(terminal.Yellow, r.silent()))
		for i := range r.Silences[:min(n, silencesShown)] {
			s := &r.Silences[i]
			t.Line("  %-16s  %-32s  %s", s.Flow, s.when(), s.why())
		}
		if n > silencesShown {
			t.Line("  ... %d in all", n)
		}
	}
	if len(r.Warnings) > 0 {
		t.Line("")
		for _, warning := range r.Warnings {
			for i, l := range terminal.Wrap(warning, t.Columns()-len("Warning: ")) {
				if i == 0 {
					t.Line("%s%s", t.Paint(terminal.Yellow, "Warning: "), l)
				} else {
					t.Line("         %s", l)
				}
			}
		}
	}
	if len(r.Unwritten) > 0 {
		t.Line("")
		t.Line("%s", t.Paint(terminal.Red, "Not written"))
		for _, what := range r.Unwritten {
			t.Paragraph(2, what)
		}
	}
	if r.Directory != "" {
		t.Line("")
		t.Line("Results: %s", r.Directory)
	}
}

// milliseconds prints an instant to a thousandth of a millisecond at the most.
func milliseconds(ps int64) string {
	s := fmt.Sprintf("%.3f", float64(ps)/float64(unit.Millisecond))
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// tenths prints a figure with so many digits behind the point.
func tenths(n Number, digits int) string {
	if !n.Known() {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, float64(n))
}

// short prints a figure for a list of such.
func short(n Number) string {
	if !n.Known() {
		return "-"
	}
	return significant(float64(n), 2)
}

// significant prints v with so many digits that mean something, never in powers
// of ten; those before the point are all printed.
func significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	behind := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	s := fmt.Sprintf("%.*f", max(0, min(behind, 9)), v)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
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
