package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"fabemu/emu/files"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/wire/unit"
)

// WriteHTML writes the report of a run for browsers: the verdict, the claims, how
// rates, buffers and limits went, the machine, the scenario.
func WriteHTML(w io.Writer, d *Dir) error {
	r := d.Result
	p := &Page{Title: r.Scenario, Subtitle: r.Source, Verdict: &r.Verdict}
	p.Subtitle = strings.TrimPrefix(p.Subtitle+"; "+clockOf(r), "; ")
	if len(r.Checks) > 0 {
		tally := Tally{}
		rows := make([]Row, len(r.Checks))
		for i := range r.Checks {
			k := &r.Checks[i]
			measured := fmt.Sprintf("%s from %v to %v",
				k.Metric, unit.Duration(k.DuringPs[0]), unit.Duration(k.DuringPs[1]))
			tally.Add(k.Basis, k.Outcome)
			rows[i] = Row{Judged: k.Judged, Says: k.Basis.Statement(k.Claim, k.Source, k.From), Measured: measured,
				CameOut: k.CameOut(), Accepted: k.Wanted()}
			if k.Reason != "" {
				rows[i].Reason = because(k)
			}
		}
		p.Claims = tally
		p.Sections = append(p.Sections, Section{Title: "Claims", Parts: Claims(rows)})
	}
	var picture bytes.Buffer
	if err := RatesFigure(r, d.Series).SVG(&picture); err != nil {
		return err
	}
	rates := Section{Title: "Rates", Parts: []template.HTML{Drawing(picture.Bytes())}}
	if len(r.Phases) > 0 {
		rates.Parts = append(rates.Parts, phaseTable(r))
	}
	if len(r.Events) > 0 {
		rows := [][]string{}
		for _, e := range r.Events {
			rows = append(rows, []string{e.What, unit.Time(e.AtPs).String()})
		}
		rates.Parts = append(rates.Parts, Table("Events", []string{"what changed", "when"}, rows))
	}
	p.Sections = append(p.Sections, rates)
	for _, x := range []struct{ title, kind, label string }{
		{"Rate limits of the sources", metrics.FlowLimit, "limit of the rate limiter"},
		{"Congestion windows of TCP", metrics.FlowWindow, "congestion window"},
		{"Buffers", metrics.BufferOccupancy, "mean occupancy"},
		{"Queues", metrics.LinkQueue, "mean queue of an output"},
		{"Pace", "pace", "departures frames that left late, by more than 5 % of a packet time"},
	} {
		f := r.seriesFigure(d.Series, x.title, x.kind, x.label)
		if f == nil {
			continue
		}
		u := metrics.UnitOf(x.kind, r.InBytes())
		if x.kind == "pace" {
			u = metrics.Share()
		}
		DrawIn(f, u)
		var svg bytes.Buffer
		if err := f.SVG(&svg); err != nil {
			return err
		}
		p.Sections = append(p.Sections, Section{Title: x.title, Parts: []template.HTML{Drawing(svg.Bytes())}})
	}
	p.Sections = append(p.Sections, Section{Title: "Timing", Parts: []template.HTML{timingTable(r)}})
	flows := [][]string{}
	for _, f := range r.Flows {
		flows = append(flows,
			[]string{f.Name, f.From + " to " + f.To, rateText(f.Rate), rateText(f.Limit), fmt.Sprint(f.Frames),
				fmt.Sprint(f.Marked)})
	}
	p.Sections = append(p.Sections,
		Section{Title: "Flows",
			Parts: []template.HTML{Table("Flows", []string{"flow", "way", "rate while active", "limit at the end", "frames", "marked"}, flows)}})
	if len(r.Losses) > 0 {
		rows := [][]string{}
		for i := range r.Losses {
			l := &r.Losses[i]
			rows = append(rows, []string{l.place(), l.Reason, fmt.Sprint(l.Count)})
		}
		p.Sections = append(p.Sections,
			Section{Title: "Frames that were dropped",
				Parts: []template.HTML{Table("Frames that were dropped", []string{"where", "why", "how many"}, rows)}})
	}
	if len(r.Guests) > 0 {
		rows, text := [][]string{}, ""
		if r.realGuests() > 0 {
			text = "Real hosts: the run is not reproducible."
		}
		for i := range r.Guests {
			g := &r.Guests[i]
			rows = append(rows,
				[]string{g.Name, string(g.Kind), g.Address.String(), fmt.Sprint(g.Sent), fmt.Sprint(g.Received),
					fmt.Sprint(g.KernelDrops), fmt.Sprint(g.NoFlow)})
		}
		p.Sections = append(p.Sections, Section{Title: "Guests", Text: text, Parts: []template.HTML{Table("Guests",
			[]string{"guest", "kind", "address", "packets sent", "received", "dropped by its kernel", "without a flow"}, rows)}})
	}
	if len(r.Silences) > 0 {
		rows := [][]string{}
		for i := range r.Silences {
			s := &r.Silences[i]
			rows = append(rows, []string{s.Flow, s.when(), s.why()})
		}
		p.Sections = append(p.Sections,
			Section{Title: "Silence",
				Parts: []template.HTML{Table(r.silent(), []string{"flow", "when", "what kept it"}, rows)}})
	}
	p.Sections = append(p.Sections, MachineSection(r.Machine))
	if len(r.Warnings) > 0 {
		p.Sections = append(p.Sections, Section{Title: "Warnings", Text: strings.Join(r.Warnings, " ")})
	}
	p.Sections = append(p.Sections,
		Section{Title: "Scenario", Text: "As it was run, with every default.",
			Parts: []template.HTML{Folded(ResolvedFile, string(d.Resolved))}})
	return p.Write(w)
}

// WritePage writes the report of a directory of results into it, and returns its
// path.
func WritePage(d *Dir) (string, error) {
	path := filepath.Join(d.Directory, PageFile)
	return path, files.Write(path, func(w io.Writer) error { return WriteHTML(w, d) })
}

// WritePNG draws the rates of a directory of results as PNG, and returns its path.
func WritePNG(d *Dir) (string, error) {
	path := filepath.Join(d.Directory, PNGFile)
	return path, files.Write(path, RatesFigure(d.Result, d.Series).PNG)
}

func clockOf(r *Result) string {
	s := string(r.Clock) + " clock"
	if r.Clock == VirtualClock && r.Codec {
		s += ", " + throughBytes
	}
	if r.Clock != VirtualClock {
		s += fmt.Sprintf(" over %s, dilation %d", r.Link, r.Dilation)
	}
	return fmt.Sprintf("%s; %v of model time; seed %d; fabemu %s", s, unit.Duration(r.DurationPs), r.Seed, r.Fabemu)
}

func phaseTable(r *Result) template.HTML {
	heads := []string{"what"}
	for _, p := range r.Phases {
		heads = append(heads, fmt.Sprintf("%v to %v", unit.Duration(p.FromPs), unit.Duration(p.ToPs)))
	}
	var rows [][]string
	for i, x := range r.Phases[0].Rates {
		row := []string{x.Kind + " " + x.Name}
		for _, p := range r.Phases {
			row = append(row, percent(p.Rates[i].Utilisation))
		}
		rows = append(rows, row)
	}
	return Table(ratesTitle(r, "Means in percent of link capacity"), heads, rows)
}

func timingTable(r *Result) template.HTML {
	v := &r.Verdict
	rows := [][]string{
		{"frames handed to machines", fmt.Sprint(v.Order.Frames)},
		{"frames overtaken", fmt.Sprint(v.Order.Overtaken)},
		{"time in which the end of a link was blind, at the most", percent(v.Order.BlindShare)},
		{"datagrams that the kernel lost", fmt.Sprint(v.LostDatagrams)},
		{"broken promises of the fabric", fmt.Sprint(v.Violations)},
	}
	if r.Digest != "" {
		rows = append(rows, []string{"digest of the event log", r.Digest})
	}
	if v.Verify != "" {
		rows = append(rows, []string{"log against the virtual clock", string(v.Verify)})
	}
	if v.Clocks != nil {
		rows = append(rows, []string{"the clock of a host was off, at the most", percent(v.Clocks.ErrorPacketTimes) + " of a packet time"})
	}
	if v.Order.SumsApart.Known() {
		rows = append(rows,
			[]string{"greatest difference of a sum over flows from the virtual clock's: " + v.Order.SumsOf,
				significant(100*float64(v.Order.SumsApart), 2) + " points"})
	}
	if v.Pace.Ratio.Known() {
		us := func(n Number) string { return significant(float64(n), 3) + " us" }
		rows = append(rows, []string{"pace", percent(v.Pace.Ratio)},
			[]string{"wall-time lateness of departures: median", us(v.Pace.LatenessUs.P50)},
			[]string{"99 %", us(v.Pace.LatenessUs.P99)}, []string{"greatest", us(v.Pace.LatenessUs.Max)},
			[]string{"frames that left late, by more than 5 % of a packet time", percent(v.Pace.LateShare)},
			[]string{"the machine's floor", percent(v.Pace.FloorShare)},
			[]string{"wall time in which the driver stalled", percent(v.Pace.StalledShare)})
	}
	return Table("Timing", []string{"figure", "value"}, rows)
}

func rateText(n Number) string {
	if !n.Known() {
		return "-"
	}
	return significant(float64(n)/1e6, 4) + " MB/s"
}

// seriesFigure draws the series of a kind, or returns nil where there are none. Of
// flows of a group, which are alike, the first is drawn where there are many.
func (r *Result) seriesFigure(series []metrics.Series, title, kind, label string) *plot.Figure {
	f := &plot.Figure{
		Title: title, Subtitle: r.Scenario, Stamp: Stamp(r),
		X: plot.Axis{Label: "model time (ms)", High: float64(r.DurationPs) / float64(unit.Millisecond)},
		Y: plot.Axis{Label: label},

		Events: eventMarks(r),
	}
	first := map[string]bool{} // groups of which one is there
	left, which := 0, "one of each group"
	for _, s := range series {
		if s.Kind != kind || kind == "pace" && s.Name != "late-share" || kind != "pace" && quiet(s.Values) {
			continue
		}
		if kind == metrics.FlowLimit && steady(s.Values) {
			continue // nothing ever changed it
		}
		if kind == metrics.FlowLimit && len(r.Flows) > plot.MaxCurves {
			group := r.groupOf(s.Name)
			if first[group] {
				left++
				continue
			}
			first[group] = true
		}
		c := plot.Curve{Name: s.Name}
		for i, v := range s.Values {
			c.X, c.Y = append(c.X, float64(s.Times[i])/float64(unit.Millisecond)), append(c.Y, v)
		}
		f.Curves = append(f.Curves, c)
	}
	if more := len(f.Curves) - plot.MaxCurves; more > 0 &&
		(kind == metrics.BufferOccupancy || kind == metrics.LinkQueue) {
		f.Curves, left, which = fullest(f.Curves, plot.MaxCurves), more, "the fullest"
	}
	if left > 0 {
		f.Note = fmt.Sprintf("(%s; %d more in %s)", which, left, SeriesFile)
	}
	if f.Curves == nil {
		return nil
	}
	return f
}

// DrawIn scales the values of a figure to the largest of the scales of a unit that makes
// the highest one or more, and says so at the axis.
func DrawIn(f *plot.Figure, u metrics.Unit) {
	highest := 0.0
	for _, c := range f.Curves {
		for _, y := range c.Y {
			if Number(y).Known() {
				highest = max(highest, math.Abs(y))
			}
		}
	}
	s := u.Fit(highest)
	if s.Word != "" {
		f.Y.Label += " (" + s.Word + ")"
	}
	for _, c := range f.Curves {
		for i := range c.Y {
			c.Y[i] /= s.Base
		}
	}
}

// steady reports whether the values that are known are all the same.
func steady(values []float64) bool {
	first := math.NaN()
	for _, v := range values {
		switch {
		case math.IsNaN(v):
		case math.IsNaN(first):
			first = v
		case v != first:
			return false
		}
	}
	return true
}

// fullest returns the n curves that have the highest mean, in their order.
func fullest(curves []plot.Curve, n int) []plot.Curve {
	mean := func(c *plot.Curve) float64 {
		sum := 0.0
		for _, v := range c.Y {
			sum += v
		}
		return sum / float64(len(c.Y))
	}
	order := make([]int, len(curves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(mean(&curves[b]), mean(&curves[a])) })
	order = order[:n]
	slices.Sort(order)
	out := make([]plot.Curve, n)
	for i, k := range order {
		out[i] = curves[k]
	}
	return out
}

// InBytes reports whether the occupancy of buffers is in bytes, as on Ethernet, not in
// blocks of credit.
func (r *Result) InBytes() bool {
	return slices.ContainsFunc(r.Buffers, func(b Buffer) bool { return !b.MeanBlocks.Known() })
}

func (r *Result) groupOf(flow string) string {
	for i := range r.Flows {
		if r.Flows[i].Name == flow {
			return r.Flows[i].Group
		}
	}
	return flow
}

// quiet reports whether nothing of a series is above zero.
func quiet(values []float64) bool {
	for _, v := range values {
		if v > 0 {
			return false
		}
	}
	return true
}
