package summary

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/wire/unit"
)

// page is a report for browsers that is being made.
type page struct{ *document.Page }

// WriteHTML writes the report of a run for browsers: the verdict, the claims, the course of
// rates, buffers and limits, the machine, the scenario.
func WriteHTML(w io.Writer, d *report.Dir) error {
	r := d.Result
	sorted, shown, tally := checksOf(r)
	p := page{Page(r.Scenario, strings.TrimPrefix(r.Source+"; "+clockOf(r), "; "), &r.Verdict, tally)}
	if open := unfinished(r); len(open) > 0 {
		p.add("Unfinished flows", strings.Join(open, " "))
	}
	if len(sorted) > 0 {
		claims := Claims(cellsOf(sorted[:shown], rowOf))
		if rest := sorted[shown:]; len(rest) > 0 {
			title := fmt.Sprintf("%d more that pass", len(rest))
			claims = append(claims, document.Fold{Title: title, Parts: Claims(cellsOf(rest, rowOf))})
		}
		p.add("Claims", "", claims...)
	}
	rates := []document.Part{document.Picture{Drawing: RatesFigure(r, d.Series), Name: "rates"}}
	if len(r.Phases) > 0 {
		rates = append(rates, phaseTable(r).Long())
	}
	if x := changes(r); len(x.table.Rows) > 0 {
		rates = append(rates, x.table.Long())
	}
	p.add("Rates", "", rates...)
	p.addWorkloads(r)
	p.addSeries(d)
	p.add("Timing", "", timingTable(r))
	p.add("Flows", "", flowTables(r)...)
	for _, x := range parts(r) {
		p.addPart(x)
	}
	p.Sections = append(p.Sections, MachineSection(r.Machine))
	if len(r.Warnings) > 0 {
		p.add("Warnings", strings.Join(r.Warnings, " "))
	}
	p.addPart(unwritten(r))
	p.add("Scenario", "As it was run, with every default.", document.Fold{Title: report.ResolvedFile, Text: string(d.Resolved)})
	return p.WriteHTML(w)
}

// add adds a section.
func (p page) add(title, text string, parts ...document.Part) {
	p.Sections = append(p.Sections, document.Section{Title: title, Text: text, Parts: parts})
}

// addPart adds a section with a part, unless the part is empty.
func (p page) addPart(x *part) {
	if len(x.table.Rows) == 0 {
		return
	}
	t := *x.table
	if x.wide != nil {
		t = *x.wide
	}
	title := t.Caption // it is said once
	t.Caption = ""
	p.add(title, "", t.Long())
}

// addWorkloads adds the figures of workloads, and the pictures of their slowdown.
func (p page) addWorkloads(r *report.Result) {
	if len(r.Workloads) == 0 {
		return
	}
	parts := []document.Part{workloads(r).table.Long()}
	if x := collectives(r); len(x.table.Rows) > 0 {
		parts = append(parts, x.table.Long())
	}
	for _, f := range Slowdowns(r) {
		parts = append(parts, document.Picture{Drawing: f, Name: "slowdown"})
	}
	p.add("Workloads", "", parts...)
}

// flowTables returns the table of the flows. Where there are many, a table of their groups comes first, and
// the flows are shown on a click.
func flowTables(r *report.Result) (tables []document.Part) {
	if len(r.Flows) > document.Listed {
		var groups []string
		of := make(map[string][]*report.Flow)
		for i := range r.Flows {
			f := &r.Flows[i]
			if of[f.Group] == nil {
				groups = append(groups, f.Group)
			}
			of[f.Group] = append(of[f.Group], f)
		}
		tables = append(tables, document.NewTable("Groups of flows",
			[]string{"group", "flows", "rate of a flow while active", "frames", "marked"},
			cellsOf(groups, func(g *string) []string {
				low, high, frames, marked := report.Missing(), report.Missing(), int64(0), int64(0)
				for _, f := range of[*g] {
					if f.Rate.Known() && !(f.Rate >= low) {
						low = f.Rate
					}
					if f.Rate.Known() && !(f.Rate <= high) {
						high = f.Rate
					}
					frames, marked = frames+f.Frames, marked+f.Marked
				}
				rate := rateText(low)
				if high != low && high.Known() {
					rate += " to " + rateText(high)
				}
				return []string{*g, fmt.Sprint(len(of[*g])), rate, fmt.Sprint(frames), fmt.Sprint(marked)}
			})).Long())
	}
	return append(tables, document.NewTable("Flows", []string{"flow", "path", "rate while active", "limit at the end", "frames", "marked"},
		cellsOf(r.Flows, func(f *report.Flow) []string {
			return []string{f.Name, f.From + " to " + f.To, rateText(f.Rate), rateText(f.Limit), fmt.Sprint(f.Frames),
				fmt.Sprint(f.Marked)}
		})).Long())
}

// addSeries adds a picture of each kind of series that a run has.
func (p page) addSeries(d *report.Dir) {
	for _, x := range []struct{ title, kind, label string }{
		{"Rate limits of the sources", metrics.FlowLimit, "limit of the rate limiter"},
		{"Congestion windows of TCP", metrics.FlowWindow, "congestion window"},
		{"Buffers", metrics.BufferOccupancy, "mean occupancy"},
		{"Queues", metrics.LinkQueue, "mean queue of an output"},
		{"Pace", "pace", "departures frames that left late, by more than 5 % of a packet time"},
	} {
		f := seriesFigure(d.Result, d.Series, x.title, x.kind, x.label)
		if f == nil {
			continue
		}
		u := metrics.UnitOf(x.kind, d.InBytes())
		if x.kind == "pace" {
			u = metrics.Share()
		}
		DrawIn(f, u)
		p.add(x.title, "", document.Picture{Drawing: f, Name: x.title})
	}
}

// cellsOf returns the rows of a table, one for each of a list.
func cellsOf[T, R any](list []T, row func(*T) R) []R {
	rows := make([]R, len(list))
	for i := range list {
		rows[i] = row(&list[i])
	}
	return rows
}

// rowOf returns a check as a row of a page.
func rowOf(k *report.Check) Row {
	x := Row{Judged: k.Judged, Statement: k.Basis.Statement(k.Claim, k.Source),
		Measured: fmt.Sprintf("%s from %v to %v", k.Metric, unit.Duration(k.DuringPs[0]), unit.Duration(k.DuringPs[1])),
		Value:    k.Result(), Accepted: k.Accepted()}
	x.Because = because(k)
	return x
}

// WritePage writes the report of a results directory into it, and returns its
// path.
func WritePage(d *report.Dir) (string, error) {
	path := filepath.Join(d.Directory, report.PageFile)
	return path, files.Write(path, func(w io.Writer) error { return WriteHTML(w, d) })
}

// WritePictures draws the pictures of a results directory in a style, and returns their paths.
func WritePictures(d *report.Dir, style *plot.Style) (paths []string, err error) {
	for _, p := range Pictures(d.Result, d.Series) {
		err := style.Files(strings.TrimSuffix(p.Name, ".svg"), p.Drawing.(plot.Drawing), func(name string, to func(io.Writer) error) error {
			paths = append(paths, filepath.Join(d.Directory, name))
			return files.Write(paths[len(paths)-1], to)
		})
		if err != nil {
			return paths, err
		}
	}
	return paths, nil
}

func clockOf(r *report.Result) string {
	s := string(r.Clock) + " clock"
	if r.Clock == mode.VirtualClock && r.Codec {
		s += ", " + throughBytes
	}
	if r.Clock != mode.VirtualClock {
		s += fmt.Sprintf(" over %s, dilation %d", r.Link.Over(r.Packing), r.Dilation)
	}
	return fmt.Sprintf("%s; %v of model time; seed %d; fabemu %s", s, unit.Duration(r.DurationPs), r.Seed, r.Fabemu)
}

// phaseTable has the rates, a column for each phase.
func phaseTable(r *report.Result) *document.Table {
	heads := cellsOf(r.Phases, func(p *report.Phase) string {
		return fmt.Sprintf("%v to %v", unit.Duration(p.FromPs), unit.Duration(p.ToPs))
	})
	t := document.NewTable(ratesTitle(r, "Means in percent of link capacity"), append([]string{"rate"}, heads...), nil)
	for i, x := range r.Phases[0].Rates {
		cells := cellsOf(r.Phases, func(p *report.Phase) string { return p.Rates[i].Utilisation.Percent() })
		t.Add(append([]string{x.Kind + " " + x.Name}, cells...)...)
	}
	return t
}

func timingTable(r *report.Result) *document.Table {
	v := &r.Verdict
	rows := [][]string{
		{"frames handed to nodes", fmt.Sprint(v.Order.Frames)},
		{"datagrams that the kernel lost", fmt.Sprint(v.LostDatagrams)},
		{"broken promises of the fabric", fmt.Sprint(v.Violations)},
	}
	add := func(figure, value string) { rows = append(rows, []string{figure, value}) }
	if r.Digest != "" {
		add("digest of the event log", r.Digest)
	}
	if v.Verify != "" {
		add("log against the virtual clock", string(v.Verify))
	}
	if v.Clocks != nil {
		add("largest error of a host's clock", v.Clocks.ErrorPacketTimes.Percent()+" of a packet time")
	}
	if p := &v.Pace; p.Achieved.Known() {
		us := func(n report.Number) string { return report.Significant(float64(n), 3) + " us" }
		add("requested dilation", p.Requested.Short())
		add("achieved dilation", p.Achieved.Short())
		add("achieved in the slowest hundredth of the run", p.Peak.Short())
		add("times that the clock was held", fmt.Sprint(p.Holds))
		add("wall time for which it was held", us(p.HeldUs))
		add("the longest", us(p.LongestUs))
		add("gaps between frames that were off by more than 5 % of a packet time", p.OffShare.Percent())
		add("error of 99 % of the gaps without a hold, in packet times", p.GapErrorT.P99.Short())
		add("lateness of departures on the run clock: median", us(p.LatenessUs.P50))
		add("99 %", us(p.LatenessUs.P99))
		add("greatest", us(p.LatenessUs.Max))
		add("frames that left late, by more than 5 % of a packet time", p.LateShare.Percent())
		add("the same for an idle loop", p.FloorShare.Percent())
	}
	return document.NewTable("Timing", []string{"figure", "value"}, rows)
}

func rateText(n report.Number) string {
	if !n.Known() {
		return "-"
	}
	return report.Significant(float64(n)/1e6, 4) + " MB/s"
}

// guestTable has the packets of the guests.
func guestTable(r *report.Result) *document.Table {
	caption := "Packets of guests"
	if realGuests(r) > 0 {
		caption += "; with real hosts a run is not reproducible"
	}
	t := document.NewTable(caption, []string{"guest", "kind", "address", "packets sent", "received", "dropped by its kernel",
		"without a flow"}, nil)
	for i := range r.Guests {
		g := &r.Guests[i]
		t.Add(g.Name, string(g.Kind), g.Where(), fmt.Sprint(g.Sent), fmt.Sprint(g.Received),
			fmt.Sprint(g.KernelDrops), fmt.Sprint(g.NoFlow))
	}
	return t
}

// MachineSection is the part of a page about the machine.
func MachineSection(m host.Computer) document.Section {
	return document.Section{Title: "Machine", Parts: []document.Part{document.NewTable("The machine of the run",
		[]string{"part", "value"},
		[][]string{{"system", m.System}, {"architecture", m.Arch}, {"processor", m.CPU},
			{"processors", terminal.Count(m.CPUs, "core")}, {"Go", m.Go}})}}
}
