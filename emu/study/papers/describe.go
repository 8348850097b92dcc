package papers

import (
	"cmp"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/wire/unit"
)

// whole makes the plots, claims and table of a figure. It reads words and scenarios, so that it
// runs only where a figure is found, or run.
func (f *Figure) whole() {
	if f.words == nil {
		return
	}
	words := f.words()
	f.words = nil
	of := words.Figures[f.Name]
	f.Caption = of.Caption
	s := scope{words.language, map[string]any{"figure": f.Name, "title": f.Title}}
	for item, x := range rows(s, of.Plots, func(x *plotWords) any { return x.Each }) {
		f.Plots = append(f.Plots, x.plot(item, words))
	}
	f.claims(s, of.Claims, words)
	if of.Table != nil {
		f.Table = of.Table.table(s)
	}
}

func (f *Figure) claims(s scope, list []claimWords, p *paperWords) {
	for item, row := range rows(s, list, eachOf) {
		switch {
		case row.Checks != nil:
			f.checks(p, row.Checks)
		case row.Value != "" && (row.If == "" || item.eval(row.If).(bool)):
			f.Claims = append(f.Claims, row.claim(item, list))
		}
	}
}

// rows returns each row with the scopes of its items. Rows that follow one another with the same
// items are taken together: all rows for the first item, then all for the second.
func rows[T any](s scope, list []T, each func(*T) any) iter.Seq2[scope, *T] {
	return func(yield func(scope, *T) bool) {
		for rest := list; len(rest) > 0; {
			n := 1
			first := each(&rest[0])
			for first != nil && n < len(rest) && reflect.DeepEqual(each(&rest[n]), first) {
				n++
			}
			for _, item := range s.items(first) {
				for i := range rest[:n] {
					if !yield(item, &rest[i]) {
						return
					}
				}
			}
			rest = rest[n:]
		}
	}
}

func eachOf(c *claimWords) any { return c.Each }

// claim makes the claim of a row. Reason, null result and seeds come from the row that has the ID
// of the item itself, if there is one.
func (c *claimWords) claim(s scope, all []claimWords) Claim {
	x := Claim{Value: s.quantity(c.Value), Unit: c.Unit, Null: c.Null}
	fill := func(text string) string { return text }
	if c.Each != nil {
		fill = s.fill
	}
	x.ID, x.Basis, x.Source, x.Claim, x.From = fill(c.ID), c.Basis, c.Source, fill(c.Claim), fill(c.From)
	x.Metric, x.Why, x.Reason = fill(c.Metric), fill(c.Why), c.Reason
	x.Low, x.High = c.bounds()
	x.Above, x.Below = c.Above != nil, c.Below != nil
	if c.Printed != "" {
		printed := s.number(c.Printed)
		x.Low, x.High = printed/1.25, printed*1.25
	}
	x.Near = c.Near
	if own := find(all, x.ID); own != nil && own != c {
		x.Reason, x.Near = cmp.Or(own.Reason, x.Reason), x.Near || own.Near
		if own.Null.given() {
			x.Null = own.Null
		}
	}
	return x
}

// find returns the row of an ID, or nil.
func find(rows []claimWords, id string) *claimWords {
	if i := slices.IndexFunc(rows, func(c claimWords) bool { return c.ID == id }); i >= 0 {
		return &rows[i]
	}
	return nil
}

// checks takes over the claims that are in scenarios.
func (f *Figure) checks(p *paperWords, names []string) {
	for _, name := range names {
		for _, c := range must(emu.Open(name)).Expect {
			words := claimWords{}
			if own := find(p.Figures[f.Name].Claims, c.ID); own != nil {
				words = *own
			}
			scale, u := p.printed(c.Metric, words.Unit)
			mean := Mean(Run{Scenario: name, Seeds: true}, c.Metric, unit.Time(c.During[0]), unit.Time(c.During[1]))
			c.Low, c.High = c.Low*scale, c.High*scale
			if words.Null.Value != nil {
				words.Null.Value = new(*words.Null.Value * scale)
			}
			c.Reason = cmp.Or(words.Reason, c.Reason)
			f.Claims = append(f.Claims, Claim{Check: c, Unit: u, Value: scaled(mean, scale), Null: words.Null, Near: words.Near})
		}
	}
}

// printed returns how a metric of a scenario's claim is printed: in the unit that the words give,
// or in the unit of its quantity. Queues are counted in the paper's own unit.
func (p *paperWords) printed(metric string, given Unit) (scale float64, u Unit) {
	switch of := unitOf(metric); {
	case given != Plain:
		return 1, given
	case strings.Contains(metric, " / "):
		return 1, Plain
	case of.Time > 0:
		return 1, Milliseconds
	case of.Time < 0:
		return 1, Gigabits
	case of.Word == metrics.Sizes().Word:
		return p.queues(), Plain
	case of.Word == metrics.Share().Word:
		return 1, Percent
	}
	return 1, Plain
}

// queues is the paper's unit of queues in bytes, as a factor.
func (p *paperWords) queues() float64 { return 1 / cmp.Or(p.Queues, 1) }

// plot makes the picture of an item.
func (x *plotWords) plot(item scope, p *paperWords) Plot {
	out := Plot{Name: item.fill(x.Name), Title: item.fill(x.Title), X: x.X, Y: x.Y, References: x.References, Panels: x.Panels}
	out.X.Label = cmp.Or(x.X.Label, "model time (ms)")
	for i := range x.Curves {
		c := &x.Curves[i]
		for _, item := range item.items(c.Each) {
			out.Curves = append(out.Curves, c.curve(item, p.scaleOf(x.Y.Label)))
		}
	}
	if x.Fabrics != nil {
		out.X.Label, out.Y.Label = "spine", x.Fabrics.Quantity
		out.Fabrics = x.Fabrics.fabrics(item)
	}
	return out
}

// fabrics makes the pictures of a leaf-spine.
func (x *fabricsWords) fabrics(s scope) *Fabrics {
	out := &Fabrics{Most: x.Most, Columns: x.Columns}
	for item, words := range rows(s, x.Panels, func(x *panelWords) any { return x.Each }) {
		p := FabricPanel{Name: item.fill(words.Name)}
		for _, spine := range item.over("x", words.Over) {
			p.Up, p.Down = append(p.Up, spine.quantity(words.Up)), append(p.Down, spine.quantity(words.Down))
			if words.Label != nil {
				p.Labels = append(p.Labels, FabricNote{words.Label.Format, spine.quantity(words.Label.Value)})
			}
		}
		for _, n := range words.Notes {
			p.Notes = append(p.Notes, FabricNote{n.Format, item.quantity(n.Value)})
		}
		out.Panels = append(out.Panels, p)
	}
	return out
}

// scaleOf returns the factor of a course on an axis, whose label ends with the unit in brackets.
func (p *paperWords) scaleOf(label string) float64 {
	_, rest, _ := strings.Cut(label, "(")
	switch word, _, _ := strings.Cut(rest, ")"); {
	case word == "packets":
		return p.queues()
	case word == "KB":
		return Kilobytes.scale()
	case word == "Gb/s":
		return Gigabits.scale()
	case strings.HasPrefix(word, "%"):
		return Percent.scale()
	}
	return 1
}

func (c *curveWords) curve(s scope, scale float64) Curve {
	out := Curve{Name: s.fill(c.Name)}
	switch {
	case c.Run != "":
		out.Scale, out.Course = scale, &Course{converted[Run](c.Run, s.eval(c.Run)), s.fill(c.Metric)}
	case c.Y != "":
		for _, at := range s.over("x", c.Over) {
			out.Points = append(out.Points, Point{at.number(cmp.Or(c.X, "x")), at.quantity(c.Y)})
		}
	case c.Computed != "":
		out.Solved = func() (xs, ys []float64) {
			for _, at := range s.over("x", c.Over) {
				q := at.quantity(c.Computed)
				xs, ys = append(xs, at.number(cmp.Or(c.X, "x"))), append(ys, q.of(nil))
			}
			return xs, ys
		}
	case c.Solved != "":
		out.Solved = s.eval(c.Solved).(solution)
	}
	if c.Scale != "" {
		out.Scale = s.number(c.Scale)
	}
	return out
}

// table makes a table of choices.
func (t *tableWords) table(s scope) *Table {
	out := &Table{Title: t.Title, Note: t.Note}
	columns := s.items(t.Each)
	for _, item := range columns {
		for _, name := range t.Columns {
			out.Columns = append(out.Columns, item.fill(name))
		}
	}
	for item, row := range rows(s, t.Rows, eachOf) {
		x := Row{Claim: Claim{Unit: row.Unit}}
		x.Claim.Source, x.Claim.Claim, x.Claim.Metric = row.Source, item.fill(row.Claim), row.Metric
		x.Claim.Low, x.Claim.High = row.bounds()
		if row.Low == 0 && row.High == nil && row.Above == nil {
			x.Claim.Low = -none
		}
		for _, cell := range row.Cells {
			x.Cells = append(x.Cells, item.quantity(cell))
		}
		for _, column := range columns {
			if row.Value != "" {
				x.Cells = append(x.Cells, column.with(item.names).quantity(row.Value))
			}
		}
		out.Rows = append(out.Rows, x)
	}
	return out
}

// bounds returns the range.
func (c *claimWords) bounds() (low, high float64) {
	high = none
	if c.High != nil {
		high = *c.High
	}
	switch {
	case c.Above != nil:
		return math.Nextafter(*c.Above, none), high
	case c.Below != nil:
		return -none, math.Nextafter(*c.Below, -none)
	}
	return c.Low, high
}
