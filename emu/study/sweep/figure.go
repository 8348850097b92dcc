package sweep

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"fabemu/emu"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"
	"fabemu/emu/study/campaign"
)

// drawAll writes the table, and a figure for each metric.
func (l *layout) drawAll(d *campaign.Directory, cells []Cell, style *plot.Style) error {
	err := d.Write(TableFile, func(w io.Writer) error { return WriteTable(w, &l.Plan, cells) })
	if err == nil {
		err = d.Write(ParametersFile, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(l.parameterCells()) })
	}
	if err == nil {
		err = d.Write(CaptionFile, func(w io.Writer) error {
			_, err := io.WriteString(w, l.caption())
			return err
		})
	}
	if err == nil && l.Seeds > 0 {
		err = d.Write(MeansFile, func(w io.Writer) error { return WriteMeans(w, &l.Plan, cells) })
	}
	for i := range l.drawings {
		if err != nil {
			return err
		}
		err = style.Files(l.drawings[i].file, l.figure(&l.drawings[i], cells), d.Write)
	}
	if err == nil && l.Seeds > 0 {
		err = l.drawSlowdowns(d, cells, style)
	}
	return err
}

// varied lists the axes with more than one value, except for the seeds of repetitions.
func (p *Plan) varied() []int {
	var list []int
	for i, a := range p.apart() {
		if len(a.Values) > 1 {
			list = append(list, i)
		}
	}
	return list
}

// figure returns the figure of one metric.
func (l *layout) figure(d *drawing, cells []Cell) *plot.Figure {
	varied := l.varied()
	first := l.Axes[varied[0]]
	x, at := positions(first)
	f := &plot.Figure{
		Title: d.title, Subtitle: l.Scenario + ", a point for each run", Stamp: l.stamp(cells),
		X: x, Y: plot.Axis{Label: d.label},
	}
	if l.Seeds > 0 {
		f.Subtitle = fmt.Sprintf("%s, means of %d seeds with their 95 %% confidence intervals", l.Scenario, l.Seeds)
	}
	index := make(map[string]int)
	least, most, without, why := math.MaxInt, 0, 0, ""
	for _, g := range l.groups(cells) {
		var parts []string
		for _, k := range varied[1:] {
			parts = append(parts, inLegend(l.Axes[k].Path, g.values[k]))
		}
		curve := strings.Join(parts, ", ")
		k, ok := index[curve]
		if !ok {
			k = len(f.Curves)
			index[curve] = k
			f.Curves = append(f.Curves, plot.Curve{Name: curve, Points: x.Names == nil, Apart: x.Names != nil})
		}
		e, c := g.Find(d.metric), &f.Curves[k]
		c.X, c.Y, c.Values = append(c.X, at[g.values[varied[0]]]), append(c.Y, float64(e.Mean)), append(c.Values, e.Flows)
		if e.Flows > 0 && e.Mean.Known() {
			least, most = min(least, e.Flows), max(most, e.Flows)
		}
		if !e.Mean.Known() && e.Why != "" {
			without, why = without+1, cmp.Or(why, e.Why)
		}
		if l.Seeds > 0 {
			c.Spread = append(c.Spread, float64(e.Interval))
		}
	}
	summary.DrawIn(f, d.unit)
	for i := range f.Curves {
		if sortByX(&f.Curves[i]); most == 0 {
			f.Curves[i].Values = nil
		}
	}
	switch {
	case most == 0:
	case least == most:
		f.Subtitle += fmt.Sprintf("; %d flows a point", most)
	default:
		f.Subtitle += fmt.Sprintf("; %d to %d flows a point", least, most)
	}
	var notes []string
	if without > 0 {
		notes = append(notes, fmt.Sprintf("%d without a point: %s", without, why))
	}
	if void := levels(cells)[report.Void]; void > 0 {
		notes = append(notes, fmt.Sprintf("%d void runs are not drawn", void))
	}
	if more := len(f.Curves) - plot.MaxCurves; more > 0 {
		f.Curves = f.Curves[:plot.MaxCurves]
		notes = append(notes, fmt.Sprintf("%d more curves: see %s", more, TableFile))
	}
	if x.Names != nil {
		spread(f.Curves)
	}
	f.Note, f.Caption = strings.Join(notes, "; "), l.caption()
	return f
}

// levels counts the runs of each level.
func levels(cells []Cell) map[report.Level]int {
	count := make(map[report.Level]int)
	for _, c := range cells {
		count[c.Level]++
	}
	return count
}

// stamp returns the text in the corner of a figure: the verdicts, unless the clock is virtual and
// all are valid.
func (l *layout) stamp(cells []Cell) string {
	count := levels(cells)
	if count[report.Virtual] == len(cells) {
		return ""
	}
	var parts []string
	for _, level := range report.Levels() {
		if n := count[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, level))
		}
	}
	return fmt.Sprintf("verdicts: %s; %s clock", strings.Join(parts, ", "), cmp.Or(l.Clock, string(emu.WallClock)))
}

// sortByX sorts the points of a curve by X, because values may be given in any order.
func sortByX(c *plot.Curve) {
	order := make([]int, len(c.X))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, k int) int { return cmp.Compare(c.X[i], c.X[k]) })
	c.X, c.Y, c.Spread, c.Values = inOrder(c.X, order), inOrder(c.Y, order), inOrder(c.Spread, order), inOrder(c.Values, order)
}

// inOrder returns values in another order; nil stays.
func inOrder[T any](values []T, order []int) []T {
	if values == nil {
		return nil
	}
	all := make([]T, len(order))
	for to, from := range order {
		all[to] = values[from]
	}
	return all
}

// positions returns the X axis of a figure, and the positions of the values of an axis on it:
// numeric, if all are different numbers with the same unit; else side by side, each with its name.
func positions(a Axis) (x plot.Axis, at map[string]float64) {
	at = make(map[string]float64)
	taken := make(map[float64]bool)
	unit := ""
	for i, v := range a.Values {
		cut := strings.LastIndexFunc(v, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }) + 1
		place, err := strconv.ParseFloat(v[:cut], 64)
		u := strings.TrimSpace(v[cut:])
		if err != nil || i > 0 && u != unit || taken[place] {
			x = plot.Axis{Label: onAxis(a.Path), Names: named(a.Values), Low: 0.5, High: float64(len(a.Values)) + 0.5}
			for k, v := range a.Values {
				at[v] = float64(k + 1)
				x.Ticks = append(x.Ticks, at[v])
			}
			return x, at
		}
		unit, at[v], taken[place] = u, place, true
		x.Ticks = append(x.Ticks, place)
	}
	slices.Sort(x.Ticks)
	if x.Label = onAxis(a.Path); unit != "" {
		x.Label += " (" + symbol(unit) + ")"
	}
	return x, at
}

// named are values as names on an axis.
func named(values []string) (all []string) {
	for _, v := range values {
		all = append(all, inWords(v))
	}
	return all
}

// spread moves the curves of a figure with named positions apart, so that none hides another.
func spread(curves []plot.Curve) {
	step := min(0.15, 0.6/float64(len(curves)))
	for i := range curves {
		for k := range curves[i].X {
			curves[i].X[k] += step * (float64(i) - float64(len(curves)-1)/2)
		}
	}
}

// inLegend names a value in a legend. The names of algorithms and schemes say what they are.
func inLegend(path, value string) string {
	if key := last(path); key != "algorithm" && path != Scheme {
		return words(key) + " " + inWords(value)
	}
	return value
}

// words are the words of a key: "rate timer" of rate-timer.
func words(key string) string { return strings.ReplaceAll(key, "-", " ") }

// measured is a value with a unit.
var measured = regexp.MustCompile(`^([0-9.]+) *([a-zA-Z/]+)$`)

// inWords is a value in a figure, with a space before its unit: "55 µs" of 55us.
func inWords(value string) string {
	if m := measured.FindStringSubmatch(value); m != nil {
		return m[1] + " " + symbol(m[2])
	}
	return value
}

// symbol is a unit in a figure.
func symbol(unit string) string {
	if unit == "us" {
		return "µs"
	}
	return unit
}

// onAxis is a path in the words of an axis: "min of switch marking" of defaults.switch.marking.min,
// "load of workload web" of workload.web.load.
func onAxis(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "defaults."), ".")
	key := words(parts[len(parts)-1])
	if len(parts) == 1 || parts[0] == "model" {
		return key
	}
	of := parts[:len(parts)-1]
	if len(of) == 2 && !strings.HasPrefix(path, "defaults.") { // a list, and the name of an item
		of[0] = singular(of[0])
	}
	return key + " of " + strings.Join(of, " ")
}

// singular is the word for an item of a list of a scenario.
func singular(list string) string {
	if list == "switches" {
		return "switch"
	}
	return strings.TrimSuffix(list, "s")
}

// last returns the last word of a path.
func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// nameDrawings gives each figure a unique file name. A sweep without an axis has no figures,
// because a single point is no figure.
func (l *layout) nameDrawings() {
	if len(l.varied()) == 0 {
		l.drawings = nil
		return
	}
	taken := map[string]bool{slowdownsFile: true}
	for i := range l.drawings {
		base := fileName(l.drawings[i].metric)
		name := base
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[name] = true
		l.drawings[i].file = name
	}
}

// maxName is the maximum length of the name of a figure's file, in bytes without its extension.
const maxName = 100

// fileName makes a file name from an expression.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, name)
	for len(name) > maxName {
		name = strings.TrimRightFunc(name[:maxName], func(r rune) bool { return r == unicode.ReplacementChar })
	}
	return cmp.Or(strings.Trim(name, "-."), "figure")
}
