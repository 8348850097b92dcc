package papers

import (
	"fmt"
	"math"
	"regexp"
	"testing"

	"fabemu/emu/metrics"
)

// No figure is printed, or drawn, in a unit that its quantity does not have: a rate is not a share,
// however large the percentage.
func TestModelUnitsArePrintedOfWhatHasThem(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	printed := map[Unit]int{}
	for _, p := range Papers() {
		for i := range p.Figures {
			f := &p.Figures[i]
			f.whole()
			fits := func(what string, u Unit, q *Quantity) {
				printed[u]++
				if !u.of(q.unit) {
					t.Errorf("%s/%s: %s is printed in %s, and is in %q", p.Name, f.Name, what, u, q.unit.Word)
				}
			}
			for k := range f.Claims {
				fits(f.Claims[k].ID, f.Claims[k].Unit, &f.Claims[k].Value)
			}
			if f.Table != nil {
				for _, row := range f.Table.Rows {
					for k := range row.Cells {
						fits(row.Claim.Claim, row.Claim.Unit, &row.Cells[k])
					}
				}
			}
			if f.Matrix != nil {
				for _, row := range f.Matrix.Rows {
					for k := range row.Cells {
						if row.Cells[k].Absent == "" {
							fits(row.Name+", "+f.Matrix.Columns[k].Name, f.Matrix.Columns[k].Unit, &row.Cells[k].Value)
						}
					}
				}
			}
			for _, x := range f.Plots {
				for _, c := range x.Curves {
					if err := drawnIn(x.Y.Label, &c); err != nil {
						t.Errorf("%s/%s: %s, curve %s: %v", p.Name, f.Name, f.pictureName(&x), c.Name, err)
					}
				}
			}
		}
	}
	for _, u := range []Unit{Percent, Points, Plain, Milliseconds, Kilobytes, Gigabits} {
		if printed[u] == 0 {
			t.Errorf("nothing is printed in %q: this test compares nothing for it", u)
		}
	}
}

// inBrackets is the unit that the label of an axis ends with, and what may follow it.
var inBrackets = regexp.MustCompile(`\((KB|packets|Gb/s|%|ms|s)\b.*\)$|\((%).*\)$`)

// drawnIn says why a curve is not in the unit of its axis.
func drawnIn(label string, c *Curve) error {
	m := inBrackets.FindStringSubmatch(label)
	if m == nil {
		return nil
	}
	word := m[1] + m[2]
	scale := c.Scale
	if scale == 0 {
		scale = 1
	}
	sizes := metrics.Sizes()
	want := map[string]struct {
		word  string
		scale float64 // 0: any
	}{
		"KB": {sizes.Word, 1e-3}, "packets": {sizes.Word, 0}, "Gb/s": {unitOf("x.rate").Word, gbps},
		"%": {metrics.Share().Word, 100}, "ms": {metrics.Seconds().Word, 1e3}, "s": {metrics.Seconds().Word, 1},
	}[word]
	var of metrics.Unit
	switch {
	case c.Course != nil:
		of = unitOf(c.Course.Metric)
	case len(c.Points) > 0:
		of = c.Points[0].Y.unit
		if of.Word == "" { // a number that is scaled already
			return nil
		}
	default:
		return nil
	}
	parts := want.scale / scale // of what a sum of so many is the mean of
	if of.Word != want.word || want.scale != 0 && (parts < 1 || parts != math.Round(parts)) {
		return fmt.Errorf("%q by %g, on an axis in %s", of.Word, scale, word)
	}
	return nil
}

// A unit is printed of nothing else.
func TestUnitOfQuantity(t *testing.T) {
	r := Run{Scenario: "dcqcn/bystander"}
	rate, queue, share := Mean(r, "F1.limit", 0, ms), Mean(r, "trunk.S2-S1.queue", 0, ms), Mean(r, "F1.utilisation", 0, ms)
	time := Mean(r, "trunk.S2-S1.recovery.95", 0, ms)
	for _, x := range []struct {
		name string
		q    Quantity
		fits []Unit
	}{
		{"a rate", rate, []Unit{Gigabits}},
		{"a rate in Gb/s", scaled(rate, gbps), nil},
		{"a rate over a rate", Over(rate, rate), []Unit{Percent, Points}},
		{"a quotient of rates", Mean(r, "F1.rate / F2.rate", 0, ms), []Unit{Percent, Points}},
		{"a rate over a queue", Over(rate, queue), nil},
		{"the highest of two queues", highest(queue, queue), []Unit{Kilobytes}},
		{"the highest of a queue and a rate", highest(queue, rate), nil},
		{"a share less a share", minus(share, share), []Unit{Percent, Points}},
		{"the distance of a quotient from one", fromOne(Over(queue, queue)), []Unit{Percent, Points}},
		{"a time", spread(time, time), []Unit{Milliseconds}},
		{"Jain's index", Mean(r, "burst.fairness", 0, ms), nil},
		{"a count", Mean(r, "F1.drops", 0, ms), nil},
	} {
		for _, u := range []Unit{Percent, Points, Milliseconds, Kilobytes, Gigabits} {
			want := false
			for _, v := range x.fits {
				want = want || u == v
			}
			if got := u.of(x.q.unit); got != want {
				t.Errorf("%s in %s: %v, want %v", x.name, u, got, want)
			}
		}
		if !Plain.of(x.q.unit) {
			t.Errorf("%s is not printed plainly", x.name)
		}
	}
}

// of reports whether a quantity in u may be printed in the unit.
func (printed Unit) of(u metrics.Unit) bool {
	switch printed {
	case Percent, Points:
		return u.Word == metrics.Share().Word
	case Milliseconds:
		return u.Word == metrics.Seconds().Word
	case Kilobytes:
		return u.Word == metrics.Sizes().Word
	case Gigabits:
		return u.Time < 0
	}
	return printed == Plain
}
