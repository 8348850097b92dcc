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
	"fabemu/emu/guests"
	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/wire/unit"
)

// WriteHTML writes the report of a run for browsers: the verdict, the claims, how
// rates, buffers and limits went, the machine, the scenario.
func WriteHTML(w io.Writer, d *Dir) error {
	r := d.Result
	p := &Page{Title: r.Scenario, Verdict: &r.Verdict,
		Subtitle: strings.TrimPrefix(r.Source+"; "+clockOf(r), "; ")}
	if len(r.Checks) > 0 {
		p.Claims = tallyOf(r.Checks)
		sorted := worstFirst(r.Checks, func(k *Check) Outcome { return k.Outcome })
		shown := max(len(sorted)-passes(sorted), min(listed, len(sorted)))
		claims := Claims(cellsOf(sorted[:shown], (*Check).row))
		if rest := sorted[shown:]; len(rest) > 0 {
			claims = append(claims, behind(fmt.Sprintf("%d more that pass", len(rest)), Claims(cellsOf(rest, (*Check).row))...))
		}
		p.add("Claims", "", claims...)
	}
	picture, err := drawn(RatesFigure(r, d.Series))
	if err != nil {
		return err
	}
	rates := []template.HTML{picture}
	if len(r.Phases) > 0 {
		rates = append(rates, phaseTable(r))
	}
	if len(r.Events) > 0 {
		rates = append(rates, long("Events", []string{"what changed", "when"},
			cellsOf(r.Events, func(e *Event) []string { return []string{e.What, unit.Time(e.AtPs).String()} })))
	}
	p.add("Rates", "", rates...)
	if err := p.addSeries(d); err != nil {
		return err
	}
	p.add("Timing", "", timingTable(r))
	p.add("Flows", "", flowTables(r)...)
	if len(r.Losses) > 0 {
		p.add("Frames that were dropped", "", long("Frames that were dropped", []string{"where", "why", "how many"},
			cellsOf(r.Losses, func(l *Loss) []string { return []string{l.place(), l.Reason, fmt.Sprint(l.Count)} })))
	}
	if len(r.Guests) > 0 {
		text := ""
		if r.realGuests() > 0 {
			text = "Real hosts: the run is not reproducible."
		}
		p.add("Guests", text, long("Guests",
			[]string{"guest", "kind", "address", "packets sent", "received", "dropped by its kernel", "without a flow"},
			cellsOf(r.Guests, func(g *guests.Report) []string {
				return []string{g.Name, string(g.Kind), g.Address.String(), fmt.Sprint(g.Sent), fmt.Sprint(g.Received),
					fmt.Sprint(g.KernelDrops), fmt.Sprint(g.NoFlow)}
			})))
	}
	if len(r.Silences) > 0 {
		p.add("Silence", "", long(r.silent(), []string{"flow", "when", "what kept it"},
			cellsOf(r.Silences, func(s *Silence) []string { return []string{s.Flow, s.when(), s.why()} })))
	}
	p.Sections = append(p.Sections, MachineSection(r.Machine))
	if len(r.Warnings) > 0 {
		p.add("Warnings", strings.Join(r.Warnings, " "))
	}
	p.add("Scenario", "As it was run, with every default.", Folded(ResolvedFile, string(d.Resolved)))
	return p.Write(w)
}

// flowTables returns the table of the flows; where there are many, that of their groups, and of
// the flows on a click.
func flowTables(r *Result) (tables []template.HTML) {
	if len(r.Flows) > listed {
		var groups []string
		of := make(map[string][]*Flow)
		for i := range r.Flows {
			f := &r.Flows[i]
			if of[f.Group] == nil {
				groups = append(groups, f.Group)
			}
			of[f.Group] = append(of[f.Group], f)
		}
		tables = append(tables, long("Groups of flows",
			[]string{"group", "flows", "rate of a flow while active", "frames", "marked"},
			cellsOf(groups, func(g *string) []string {
				low, high, frames, marked := Missing(), Missing(), int64(0), int64(0)
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
			})))
	}
	return append(tables, long("Flows", []string{"flow", "way", "rate while active", "limit at the end", "frames", "marked"},
		cellsOf(r.Flows, func(f *Flow) []string {
			return []string{f.Name, f.From + " to " + f.To, rateText(f.Rate), rateText(f.Limit), fmt.Sprint(f.Frames),
				fmt.Sprint(f.Marked)}
		})))
}

// add adds a section.
func (p *Page) add(title, text string, parts ...template.HTML) {
	p.Sections = append(p.Sections, Section{title, text, parts})
}

// addSeries adds a picture of each kind of series that a run has.
func (p *Page) addSeries(d *Dir) error {
	for _, x := range []struct{ title, kind, label string }{
		{"Rate limits of the sources", metrics.FlowLimit, "limit of the rate limiter"},
		{"Congestion windows of TCP", metrics.FlowWindow, "congestion window"},
		{"Buffers", metrics.BufferOccupancy, "mean occupancy"},
		{"Queues", metrics.LinkQueue, "mean queue of an output"},
		{"Pace", "pace", "departures frames that left late, by more than 5 % of a packet time"},
	} {
		f := d.seriesFigure(d.Series, x.title, x.kind, x.label)
		if f == nil {
			continue
		}
		u := metrics.UnitOf(x.kind, d.InBytes())
		if x.kind == "pace" {
			u = metrics.Share()
		}
		DrawIn(f, u)
		picture, err := drawn(f)
		if err != nil {
			return err
		}
		p.add(x.title, "", picture)
	}
	return nil
}

// drawn draws a figure for a page.
func drawn(f *plot.Figure) (template.HTML, error) {
	var svg bytes.Buffer
	err := f.SVG(&svg)
	return Drawing(svg.Bytes()), err
}

// cellsOf returns the rows of a table, one for each of a list.
func cellsOf[T, R any](list []T, row func(*T) R) []R {
	rows := make([]R, len(list))
	for i := range list {
		rows[i] = row(&list[i])
	}
	return rows
}

// row returns a check as a page has it.
func (k *Check) row() Row {
	x := Row{Judged: k.Judged, Says: k.Basis.Statement(k.Claim, k.Source, k.From),
		Measured: fmt.Sprintf("%s from %v to %v", k.Metric, unit.Duration(k.DuringPs[0]), unit.Duration(k.DuringPs[1])),
		CameOut:  k.CameOut(), Accepted: k.Wanted()}
	if k.Reason != "" {
		x.Reason = because(k)
	}
	return x
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
	heads := cellsOf(r.Phases, func(p *Phase) string {
		return fmt.Sprintf("%v to %v", unit.Duration(p.FromPs), unit.Duration(p.ToPs))
	})
	var rows [][]string
	for i, x := range r.Phases[0].Rates {
		cells := cellsOf(r.Phases, func(p *Phase) string { return percent(p.Rates[i].Utilisation) })
		rows = append(rows, append([]string{x.Kind + " " + x.Name}, cells...))
	}
	return long(ratesTitle(r, "Means in percent of link capacity"), append([]string{"what"}, heads...), rows)
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
	add := func(figure, value string) { rows = append(rows, []string{figure, value}) }
	if r.Digest != "" {
		add("digest of the event log", r.Digest)
	}
	if v.Verify != "" {
		add("log against the virtual clock", string(v.Verify))
	}
	if v.Clocks != nil {
		add("the clock of a host was off, at the most", percent(v.Clocks.ErrorPacketTimes)+" of a packet time")
	}
	if v.Order.SumsApart.Known() {
		add("greatest difference of a sum over flows from the virtual clock's: "+v.Order.SumsOf,
			short(100*v.Order.SumsApart)+" points")
	}
	if p := &v.Pace; p.Ratio.Known() {
		us := func(n Number) string { return significant(float64(n), 3) + " us" }
		add("pace", percent(p.Ratio))
		add("wall-time lateness of departures: median", us(p.LatenessUs.P50))
		add("99 %", us(p.LatenessUs.P99))
		add("greatest", us(p.LatenessUs.Max))
		add("frames that left late, by more than 5 % of a packet time", percent(p.LateShare))
		add("the machine's floor", percent(p.FloorShare))
		add("wall time in which the driver stalled", percent(p.StalledShare))
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
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	return len(known) == 0 || slices.Min(known) == slices.Max(known)
}

// fullest returns the n curves that have the highest mean, in their order.
func fullest(curves []plot.Curve, n int) []plot.Curve {
	means := cellsOf(curves, func(c *plot.Curve) float64 {
		sum := 0.0
		for _, v := range c.Y {
			sum += v
		}
		return sum / float64(len(c.Y))
	})
	order := make([]int, len(curves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(means[b], means[a]) })
	order = slices.Sorted(slices.Values(order[:n]))
	return cellsOf(order, func(k *int) plot.Curve { return curves[*k] })
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
	return !slices.ContainsFunc(values, func(v float64) bool { return v > 0 })
}
