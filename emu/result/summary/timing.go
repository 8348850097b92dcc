package summary

import (
	"fmt"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
)

// addTiming adds the verdict on a terminal, and the figures behind it.
func (p page) addTiming(r *report.Result) {
	rows := timing(r)
	s := document.Section{In: document.Terminal, Judged: true}
	for _, row := range rows {
		s.Line("  %-7s %s", row[0], row[1])
	}
	p.Sections = append(p.Sections, s)
	if r.Digest != "" {
		rows = append(rows, []string{"digest", r.Digest + " of the event log"})
	}
	if len(rows) > 0 {
		t := document.NewTable("", []string{"figure", "value"}, rows)
		t.Label, t.Words = "Timing", true
		p.add("Timing", document.Only{In: document.Browser, Block: t})
	}
}

// timing returns the figures behind a verdict, each with a word before it.
func timing(r *report.Result) (rows [][]string) {
	v := &r.Verdict
	add := func(word, format string, args ...any) {
		rows = append(rows, []string{word, fmt.Sprintf(format, args...)})
	}
	if q := r.Questions; q != nil {
		add("asked", "%s of algorithms in other programs, %s s in total, %s µs each in the mean", terminal.Count(q.Count, "question"),
			q.Seconds.Short(), (q.Seconds * 1e6 / report.Number(q.Count)).Short())
	}
	if r.Clock == mode.VirtualClock {
		if r.WallSeconds > 0 {
			add("speed", "%s million frame-hops a second of wall time",
				report.Significant(float64(r.FrameHops)/1e6/float64(r.WallSeconds), 3))
		}
		return rows
	}
	if v.Order.Frames > 0 {
		add("frames", "%s", handed(v))
	}
	p := &v.Pace
	if p.Achieved.Known() {
		add("pace", "dilation %s (requested %s), %s in the slowest hundredth of the run", p.Achieved.Short(), p.Requested.Short(), p.Peak.Short())
	}
	if p.Holds > 0 {
		add("held", "the clock, %s: %s ms in total, at most %s ms at a time",
			terminal.Count(p.Holds, "time"), (p.HeldUs / 1e3).Short(), (p.LongestUs / 1e3).Short())
	}
	if p.OffShare.Known() {
		add("gaps", "%s off by more than 5 %% of a packet time; p99 of those without a hold is %s",
			p.OffShare.Percent(), p.GapErrorT.P99.Short())
	}
	lateness := func(name, after string, us, packetTimes *report.Percentiles) {
		add(name, "p50 %s, p95 %s, p99 %s, max %s µs after %s; p99 is %s packet times",
			us.P50.Short(), us.P95.Short(), us.P99.Short(), us.Max.Short(), after, packetTimes.P99.Short())
	}
	if p.LatenessUs.P50.Known() {
		lateness("leaving", "the due time", &p.LatenessUs, &p.LatenessPacketTimes)
	}
	if s := v.Starts; s != nil && s.Packets > 0 {
		lateness("starts", "the limiter let the packet", &s.LatenessUs, &s.LatenessPacketTimes)
	}
	if v.WorstLink != "" {
		add("worst", "%s", v.WorstLink)
	}
	if p.LateShare.Known() {
		add("late", "%s of the frames left more than 5 %% of a packet time late (an idle loop: %s)",
			p.LateShare.Percent(), p.FloorShare.Percent())
	}
	if v.Clocks != nil {
		for _, h := range v.Clocks.Hosts {
			add("clock", "of %s: %s µs ahead of the clock of rank 0, at the end %s µs more; its error was at most %s µs",
				h.Host, h.OffsetUs.Short(), h.DriftUs.Short(), h.ErrorUs.Short())
		}
	}
	add("losses", "%s lost, %s, %s",
		terminal.Count(v.LostDatagrams, "datagram"), strangers(&v.Figures), terminal.Count(v.Violations, "violation"))
	if n := realGuests(r); n > 0 {
		add("guests", "%d, not reproducible: there is no log to compare this one with, and no digest", n)
	}
	switch {
	case !v.CPUSeconds.Known():
	case r.Placement != mode.InGoroutines:
		add("cpu", "the processes of the run used %s s of processor time", v.CPUSeconds.Short())
	case v.BusySeconds.Known():
		add("cpu", "the loop was busy for %s s, this process used %s s of processor time",
			v.BusySeconds.Short(), v.CPUSeconds.Short())
	}
	for _, s := range v.Silent {
		add("silent", "%s did not answer for %s s: its process was stopped, or got no processor",
			s.Part, s.Seconds.Short())
	}
	if v.GCCycles > 0 || v.ForeignCPUs.Known() {
		add("machine", "%s of the Go runtime, %s processors used by other programs",
			terminal.Count(v.GCCycles, "collection"), v.ForeignCPUs.Short())
	}
	return rows
}

// handed describes how many frames were handed to nodes, and whether their events are those of the
// virtual clock.
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
