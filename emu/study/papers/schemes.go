package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fabemu/emu/result/plot"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// CompareSchemes is the bench on which all schemes of some tables are tried: the tables of the
// program, or tables of another Go program.
func CompareSchemes(tables scenario.Schemes) *Paper { return compareSchemes(&tables, false) }

// compareSchemes is the bench, or its short form.
func compareSchemes(tables *scenario.Schemes, short bool) *Paper {
	p := &Paper{Name: "compare-schemes", Title: "Six situations under every scheme", Source: "The bench of all schemes", About: read("compare-schemes.md")}
	if short {
		p.Name, p.Title = p.Name+"-short", p.Title+", in short"
	}
	tried := trials(tables)
	for _, s := range situations().Situations {
		p.Figures = append(p.Figures, s.figure(tried, short))
	}
	return p
}

// trial is a scheme as it is tried.
type trial struct {
	kind, name string
	sets       []string
	schemes    *scenario.Schemes
}

// The families, and the changes that make a scenario of the bench one of a family.
const (
	infiniBand = "InfiniBand"
	ethernet   = "Ethernet"
)

var (
	infiniBandSets = [...]string{"defaults.flow.window=16"}
	ethernetSets   = [...]string{"defaults.link.flow-control=pause", "defaults.switch.kind=output-queued"}
)

// trials returns all schemes of the tables: schemes of InfiniBand, then schemes of Ethernet.
func trials(tables *scenario.Schemes) (all []trial) {
	for _, p := range tables.Presets() {
		t := trial{infiniBand, p.Name, infiniBandSets[:], tables}
		if p.Family == wire.Ethernet {
			t.kind, t.sets = ethernet, ethernetSets[:]
		}
		for _, s := range p.Sets {
			t.sets = append(t.sets[:len(t.sets):len(t.sets)], s.String())
		}
		all = append(all, t)
	}
	return all
}

// schemed returns what gives a run a scheme in the place of the one that its scenario has, as
// fabemu sweep --scheme does it.
func schemed() func(r Run, scheme string) Run {
	var known sync.Map // the changes by run and scheme
	return func(r Run, scheme string) Run {
		key := r.String() + "\n" + scheme
		if sets, ok := known.Load(key); ok {
			return r.With(sets.([]string)...)
		}
		_, all, err := generate.SchemeOf(scheme, must(r.open()))
		if err != nil {
			fault("%v", err)
		}
		var sets []string
		for _, s := range all {
			if s.Value != "" { // the scenario has none that would have to be cleared
				sets = append(sets, s.String())
			}
		}
		known.Store(key, sets)
		return r.With(sets...)
	}
}

// schemesWords is the content of words/compare-schemes.yaml.
type schemesWords struct {
	Columns    []columnWords
	Situations []situation
}

// columnWords is a measurement of every scheme.
type columnWords struct {
	Key, Name string
	Unit      Unit
	Best      Best
	Never     bool
	Metric    string // of the {link} or the {group} of a situation
	Says      string
}

// figureOf is a column in a situation.
type figureOf struct {
	Metric string // over the time of the situation; time95 from its instant on, drops over all
	Says   string
	Absent string // why there is none
}

// columnAt returns the index of a column.
func columnAt(key string) int {
	return slices.IndexFunc(situations().Columns, func(c columnWords) bool { return c.Key == key })
}

// situation is a scenario in which all schemes are tried.
type situation struct {
	Name, Title, Caption string
	Link, Group          string // of the usual metrics
	Times, Short         times
	Columns              map[string]figureOf // in place of the usual ones, by key
	Overview             string              // the key of the column that stands for it in the overview
	OverviewSays         string              `yaml:"overview-says"` // its description there; empty: as in the column
	Course               string              // the metric that is drawn
	Label                string
	Scale                float64
	Shares               bool // it has rows of fair shares, which are computed
}

// times are when a situation is measured, in ms.
type times struct {
	During [2]unit.Time // the interval of means
	Since  unit.Time    // from when on the time to 95 % counts
	End    unit.Time
}

// situations returns the columns and the situations. Times are in ps.
var situations = sync.OnceValue(func() schemesWords {
	var w schemesWords
	load("compare-schemes.yaml", &w)
	for i := range w.Situations {
		for _, t := range []*times{&w.Situations[i].Times, &w.Situations[i].Short} {
			t.During[0], t.During[1], t.Since, t.End = t.During[0]*ms, t.During[1]*ms, t.Since*ms, t.End*ms
		}
	}
	return w
})

func (s *situation) figureOf(c *columnWords) figureOf {
	fill := strings.NewReplacer("{link}", s.Link, "{group}", s.Group).Replace
	own := s.Columns[c.Key]
	if own.Absent != "" {
		return own
	}
	return figureOf{Metric: cmp.Or(own.Metric, fill(c.Metric)), Says: cmp.Or(own.Says, fill(c.Says))}
}

// figure is a situation under all schemes.
func (s *situation) figure(tried []trial, short bool) Figure {
	t, in := s.Times, ""
	if short {
		t = s.Short
		in = fmt.Sprintf(" In short: it ends at %v, and figures are from %v to %v.", unit.Duration(t.End), unit.Duration(t.During[0]), unit.Duration(t.During[1]))
	}
	f := Figure{Name: s.Name, Source: "bench/" + s.Name, Title: s.Title, Caption: s.Caption + in, Matrix: &Matrix{OverviewSays: s.OverviewSays}}
	columns := situations().Columns
	measures := make([]figureOf, len(columns))
	for i := range columns {
		c := &columns[i]
		measures[i] = s.figureOf(c)
		f.Matrix.Columns = append(f.Matrix.Columns, Column{c.Name, c.Unit, measures[i].Says, c.Never, c.Best})
		if c.Key == s.Overview {
			f.Matrix.Overview = i
		}
	}
	plots := map[string]*Plot{}
	kinds := []string{}
	for _, x := range tried {
		r := Run{Scenario: "bench/" + s.Name, Sets: x.sets, Seeds: true, Short: short, Schemes: x.schemes}
		row := MatrixRow{Kind: x.kind, Name: x.name}
		for i, m := range measures {
			during := t.During
			switch columns[i].Key {
			case "time95":
				during = [2]unit.Time{t.Since, t.End}
			case "drops":
				during = [2]unit.Time{0, t.End}
			}
			c := Cell{Absent: m.Absent, Value: nothing()}
			if m.Absent == "" {
				c = Cell{Run: r, Metric: m.Metric, During: during, Value: Mean(r, m.Metric, during[0], during[1])}
			}
			row.Cells = append(row.Cells, c)
		}
		f.Matrix.Rows = append(f.Matrix.Rows, row)
		p := plots[x.kind]
		if p == nil {
			kinds = append(kinds, x.kind)
			p = &Plot{Name: s.Name + "-" + strings.ToLower(x.kind), Title: s.Title + ": " + x.kind, X: plot.Axis{Label: "model time (ms)"}, Y: plot.Axis{Label: s.Label, High: s.Scale}, Panels: true}
			plots[x.kind] = p
		}
		p.Curves = append(p.Curves, Curve{Name: x.name, Scale: s.Scale, Course: &Course{r, s.Course}})
	}
	for _, k := range kinds {
		f.Plots = append(f.Plots, *plots[k])
	}
	if s.Shares && len(tried) > 0 {
		f.Matrix.Rows = append(f.Matrix.Rows, fairShares(Run{Scenario: "bench/" + s.Name, Sets: tried[0].sets, Short: short, Schemes: tried[0].schemes}, t.During)...)
	}
	return f
}

// nothing is a quantity of no run.
func nothing() Quantity {
	return Quantity{of: func(func(*leaf) float64) float64 { return 0 }}
}

// fairShares are the rows of max-min and of proportional fairness in the parking lot.
func fairShares(r Run, during [2]unit.Time) []MatrixRow {
	var rows []MatrixRow
	for _, kind := range []string{"max-min", "proportional"} {
		row := MatrixRow{Kind: "computed", Name: kind + " fairness", Cells: slices.Repeat([]Cell{{Absent: "it is computed, not run", Value: nothing()}}, len(situations().Columns))}
		var rates []Quantity
		for _, flow := range []string{"both.A1", "both.A2", "both.A3", "both.A4", "one", "other"} {
			rates = append(rates, Mean(r, flow+"."+kind, during[0], during[1]))
		}
		row.Cells[columnAt("fairness")] = Cell{Value: Combine(unit.Jain, rates...)}
		row.Cells[columnAt("bystander")] = Cell{Value: Mean(r, "one."+kind+" / one.max-min", during[0], during[1])}
		rows = append(rows, row)
	}
	return rows
}
