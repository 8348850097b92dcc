package tune

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/base/terminal"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/study/campaign"
	"fabemu/emu/study/sweep"
	"fabemu/wire"
)

// The files of a search.
const (
	TrialsFile = "trials.csv"
	ResultFile = "tune.json"
	PageFile   = "report.html"
	figureFile = "tune"
)

// BestFile returns the name of the file with the best parameters of a scheme.
func BestFile(scheme string) string {
	return strings.NewReplacer(", ", "-", " ", "-", "/", "-").Replace(scheme) + "-tuned.yaml"
}

// filesOf names all files of a search of a scheme; the first is written last.
func filesOf(scheme string) []string {
	return slices.Concat([]string{ResultFile, TrialsFile, PageFile, BestFile(scheme)}, plot.NamesOf(figureFile))
}

// write writes all files.
func (r *Result) write(d *campaign.Directory, style *plot.Style) error {
	err := d.Write(TrialsFile, r.writeTrials)
	if err == nil {
		err = d.Write(BestFile(r.Scheme), r.writeBest)
	}
	if err == nil {
		err = style.Files(figureFile, r.figure(), d.Write)
	}
	if err == nil {
		err = d.Write(PageFile, func(w io.Writer) error { return r.page(style).WriteHTML(w) })
	}
	if err == nil {
		err = d.Write(ResultFile, func(w io.Writer) error { return report.WriteJSON(w, *r) })
	}
	return err
}

// WriteText writes what a terminal shows of a result.
func (r *Result) WriteText(w io.Writer, look terminal.Look) error {
	return r.page(&plot.Style{}).WriteText(w, look)
}

// best returns the trial that is left.
func (r *Result) best() *Trial { return &r.Trials[r.Best-1] }

// writeTrials writes a row for each trial: its number, the rounds that it took part in, its seeds,
// the mean of the metric over them, and its values; those of the source for the first.
func (r *Result) writeTrials(w io.Writer) error {
	head := []string{"trial", "rounds", "seeds", r.Metric}
	for i := range r.Ranges {
		head = append(head, r.Ranges[i].Path)
	}
	rows := [][]string{head}
	for i := range r.Trials {
		t := &r.Trials[i]
		const digits = 8
		row := []string{strconv.Itoa(t.Number), strconv.Itoa(len(t.Means)), strconv.Itoa(t.Seeds), t.Mean().Cell(digits)}
		rows = append(rows, append(row, r.valuesOf(t)...))
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// valuesOf returns the values of a trial, in the order of the ranges.
func (r *Result) valuesOf(t *Trial) (all []string) {
	for i := range r.Ranges {
		value := r.Ranges[i].Usual
		if t.Values != nil {
			value = t.Values[i].Value
		}
		all = append(all, value)
	}
	return all
}

// writeBest writes the best parameters as fabemu sweep --scheme takes them.
func (r *Result) writeBest(w io.Writer) error {
	v := sweep.Variant{Scheme: r.Scheme, Sets: r.best().sets()}
	return sweep.WriteVariant(w, &v, fmt.Sprintf("The best of %d sets of parameters of %s in %s, by the %s %s.", len(r.Trials), r.Scheme, r.Scenario, r.wanted(), r.Metric),
		r.verdict(), "For fabemu sweep --scheme FILE,...")
}

func (r *Result) wanted() string {
	if r.Highest {
		return "highest"
	}
	return "lowest"
}

// scale is the unit in which values of the metric are printed.
func (r *Result) scale() metrics.Scale {
	inBytes := slices.ContainsFunc(r.search.opened.Links, func(k scenario.Link) bool { return k.Family() == wire.Ethernet })
	return metrics.UnitOf(r.Metric, inBytes).Fit(float64(r.Trials[0].Mean()))
}

// printed is an estimate in that unit.
func (r *Result) printed(e report.Estimate) string {
	s := r.scale()
	e.Mean, e.Interval = e.Mean/report.Number(s.Base), e.Interval/report.Number(s.Base)
	return strings.TrimSpace(e.String() + " " + s.Word)
}

// verdict says in a sentence what the search has gained.
func (r *Result) verdict() string {
	j := r.Judged
	if j == nil {
		return fmt.Sprintf("No other set of parameters of %d was better than that of the source.", len(r.Trials))
	}
	seeds := j.Difference.Values
	change := fmt.Sprintf("%s is %s with the tuned parameters, and %s with those of the source", metrics.Words(r.Metric), r.printed(j.Best), r.printed(j.Source))
	paired := fmt.Sprintf("(difference %s, %d pairs of runs with further seeds, 95 %% interval)", r.printed(j.Difference), seeds)
	switch j.Gain {
	case Better:
		return fmt.Sprintf("Tuning gains: %s %s.", change, paired)
	case Worse:
		return fmt.Sprintf("The tuned parameters are worse on new seeds: %s %s.", change, paired)
	}
	return fmt.Sprintf("Tuning gains nothing that %d seeds show: %s %s.", seeds, change, paired)
}

// page is the report, with the words of a style in its picture.
func (r *Result) page(style *plot.Style) *document.Page {
	p := &document.Page{Title: r.Scheme + ", tuned", Subtitle: fmt.Sprintf("%s, by the %s %s; fabemu %s", r.Scenario, r.wanted(), r.Metric, r.Fabemu),
		Verdict: r.verdict(), Outcome: document.Fair}
	if r.Judged != nil && r.Judged.Gain == Better {
		p.Outcome, p.Color = document.Good, terminal.Green
	}
	how := fmt.Sprintf("Successive halving: %d sets of parameters were drawn at random within the ranges (seed %d), the first is that of the source. In each of %d rounds all ran with new seeds, the same for all, and the better half by the mean went on.",
		len(r.Trials), r.Seed, Rounds(len(r.Trials)))
	if r.Judged != nil {
		how += fmt.Sprintf(" The last was compared with the source on the seeds %d to %d, which did not choose it.", r.Judged.FirstSeed, r.Judged.LastSeed)
	}
	values := document.NewTable("", []string{"parameter", "source", "tuned", "range", "source of the range"}, nil)
	values.Words = true
	for i, tuned := range r.valuesOf(r.best()) {
		x := &r.Ranges[i]
		values.Add(strings.TrimPrefix(x.Path, "defaults."), x.Usual, tuned, x.Low+" to "+x.High, x.Source)
	}
	values.Columns[4].Wrap = true
	best := document.Section{Title: "Parameters", Text: how, Parts: []document.Block{values}}
	trials := document.Section{Title: "Trials", In: document.Browser, Text: TrialsFile + " and " + ResultFile + " have the same.",
		Parts: []document.Block{document.Picture{Drawing: style.Worded(r.figure()), Name: "trials"}, r.trialsTable()}}
	use := document.Section{Title: "Use them", Parts: []document.Block{
		document.Line("fabemu sweep " + campaign.Quote(r.Scenario) + " --scheme " + BestFile(r.Scheme) + ",... --seeds 10")}}
	if set := r.setFlags(); set != "" {
		use.Parts = append(use.Parts, document.Line("fabemu run "+campaign.Quote(r.Scenario)+set+"   # if it has the scheme "+r.Scheme))
	}
	p.Sections = []document.Section{best, trials, use}
	return p
}

// setFlags are the tuned values as flags of fabemu run.
func (r *Result) setFlags() string {
	var b strings.Builder
	for _, v := range slices.Concat(r.Settings, r.best().Values) {
		b.WriteString(" --set " + campaign.Quote(v.Path+"="+v.Value))
	}
	return b.String()
}

// trialsTable has a row for each trial, the best first.
func (r *Result) trialsTable() *document.Table {
	s := r.scale()
	heads := []string{"trial", "rounds", "seeds", strings.TrimSpace(metrics.Words(r.Metric) + " " + bracketed(s.Word))}
	for i := range r.Ranges {
		heads = append(heads, lastOf(r.Ranges[i].Path))
	}
	t := document.NewTable("", heads, nil)
	var all []*Trial
	for i := range r.Trials {
		all = append(all, &r.Trials[i])
	}
	all = r.search.better(all)
	slices.SortStableFunc(all, func(a, b *Trial) int { return cmp.Compare(len(b.Means), len(a.Means)) })
	for _, x := range all {
		row := []string{strconv.Itoa(x.Number), strconv.Itoa(len(x.Means)), strconv.Itoa(x.Seeds), (x.Mean() / report.Number(s.Base)).Print("%.4g")}
		if x.Number == 1 {
			row[0] = "source"
		}
		t.Add(append(row, r.valuesOf(x)...)...)
	}
	return t
}

// bracketed is a unit behind the name of a quantity.
func bracketed(unit string) string {
	if unit == "" {
		return ""
	}
	return "(" + unit + ")"
}

// lastOf returns the last word of a path.
func lastOf(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// figure draws the trials in each round, and the judgement. In a round all trials have the same
// seeds, so only those of one round are compared.
func (r *Result) figure() plot.Drawing {
	s := r.scale()
	label := strings.TrimSpace(metrics.Words(r.Metric) + " " + bracketed(s.Word))
	rounds := Rounds(len(r.Trials))
	trials := &plot.Figure{Title: fmt.Sprintf("%s in %s: parameters tried", r.Scheme, r.Scenario),
		Subtitle: "means of the trials in each round, over the same seeds for all of a round",
		X:        plot.Axis{Label: "round", Low: 0.5, High: float64(rounds) + 0.5}, Y: plot.Axis{Label: label}}
	low, high := math.Inf(1), 0.0
	curve := func(name string, t *Trial, c plot.Curve) plot.Curve {
		c.Name = name
		for k, mean := range t.Means {
			if y := float64(mean) / s.Base; mean.Known() {
				low, high = min(low, y), max(high, y)
				c.X, c.Y = append(c.X, float64(k+1)), append(c.Y, y)
			}
		}
		return c
	}
	others := plot.Curve{Apart: true}
	for i := range r.Trials {
		if n := r.Trials[i].Number; n != 1 && n != r.Best {
			others = curve("other trials", &r.Trials[i], others)
		}
	}
	if others.X != nil {
		trials.Curves = append(trials.Curves, others)
	}
	trials.Curves = append(trials.Curves, curve("the source's parameters", &r.Trials[0], plot.Curve{Points: true}))
	if r.Best != 1 {
		trials.Curves = append(trials.Curves, curve(fmt.Sprintf("trial %d, the best", r.Best), r.best(), plot.Curve{Points: true}))
	}
	for k := range rounds {
		seeds := 0
		for i := range r.Trials {
			if t := &r.Trials[i]; len(t.Means) == k+1 {
				seeds = t.Seeds
			}
		}
		trials.X.Ticks = append(trials.X.Ticks, float64(k+1))
		name := fmt.Sprintf("%d: seeds 1 to %d", k+1, seeds)
		if seeds == 1 {
			name = "1: seed 1"
		}
		trials.X.Names = append(trials.X.Names, name)
	}
	const much = 10
	trials.Y.Log = low > 0 && high > much*low
	j := r.Judged
	if j == nil {
		return trials
	}
	judged := &plot.Figure{Title: "Tuned and source on seeds that did not choose", X: plot.Axis{Names: []string{"source", "tuned"}, Ticks: []float64{1, 2}, Low: 0.5, High: 2.5},
		Y: plot.Axis{Label: label}, Subtitle: fmt.Sprintf("means of %d seeds with their 95 %% confidence intervals; by pairs: %s", j.Best.Values, r.printed(j.Difference))}
	for i, e := range []report.Estimate{j.Source, j.Best} {
		judged.Curves = append(judged.Curves, plot.Curve{Name: judged.X.Names[i], Apart: true, X: []float64{float64(i + 1)},
			Y: []float64{float64(e.Mean) / s.Base}, Spread: []float64{float64(e.Interval) / s.Base}})
	}
	return plot.Stack{trials, judged}
}
