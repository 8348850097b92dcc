package reproduce

import (
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"strings"
	"testing"
)

func pseudo(l *leaf) float64 {
	key := fmt.Sprintf("%v|%v|%v|%v|%s", l.run, l.run.Seeds, l.run.Near, l.run.Short, l.key)
	if l.key == "" {
		panic("no key: " + key)
	}
	h := fnv.New64a()
	h.Write([]byte(key))
	r := rand.New(rand.NewSource(int64(h.Sum64())))
	if l.count == nil {
		return 0.5 + r.Float64()
	}
	c := &census{}
	for g := range flowGroups {
		c.packets[g] = 1 + r.Float64()
		c.marks[0][g], c.marks[1][g] = 1+r.Float64(), 1+r.Float64()
		c.events[0].waiting[g], c.events[1].waiting[g] = 1+r.Float64(), 1+r.Float64()
	}
	c.fills, c.withVictim, c.events[0].n, c.events[1].n = 1+r.Float64(), r.Float64(), 1+r.Float64(), 1+r.Float64()
	return l.count(c)
}

func TestDump(t *testing.T) {
	out := os.Getenv("DUMP")
	if out == "" {
		t.Skip("no DUMP")
	}
	only := os.Getenv("PAPER")
	for _, p := range Papers() {
		if only != "" && p.Name != only {
			continue
		}
		var b strings.Builder
		q := func(x *Quantity) string {
			seeds := map[string]bool{}
			for _, l := range x.leaves {
				seeds[fmt.Sprintf("%v%v", l.run.Seeds, l.run.Near)] = true
			}
			return fmt.Sprintf("%.10g %v", x.of(pseudo), seeds)
		}
		fmt.Fprintf(&b, "%s|%s|%s|%d\n", p.Name, p.Title, p.Source, len(p.About))
		var figures []*Figure
		for i := range p.Figures {
			f := &p.Figures[i]
			f.whole()
			figures = append(figures, f)
			fmt.Fprintf(&b, "FIGURE %s|%s|%s|%s\n", f.Name, f.Source, f.Title, f.Caption)
			for _, x := range f.Plots {
				fmt.Fprintf(&b, " PLOT %s|%s|%+v|%+v|%v|%+v\n", x.Name, x.Title, x.X, x.Y, x.Panels, x.References)
				for _, c := range x.Curves {
					if c.Scale == 0 {
						c.Scale = 1
					}
					fmt.Fprintf(&b, "  CURVE %s|%.10g", c.Name, c.Scale)
					if c.Course != nil {
						fmt.Fprintf(&b, "|%v|%s", c.Course.Run, c.Course.Metric)
					}
					for _, pt := range c.Points {
						fmt.Fprintf(&b, "|%v:%s", pt.X, q(&pt.Y))
					}
					if c.Solved != nil {
						xs, ys := c.Solved()
						sx, sy := 0.0, 0.0
						for i := range xs {
							sx, sy = sx+xs[i]*float64(i+1), sy+ys[i]*float64(i+1)
						}
						fmt.Fprintf(&b, "|solved %d %.10g %.10g", len(xs), sx, sy)
					}
					b.WriteString("\n")
				}
			}
			claim := func(c *Claim) string {
				v := "-"
				if c.Null.Value != nil {
					v = fmt.Sprint(*c.Null.Value)
				}
				return fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|%s|%.12g|%.12g|%s|%s|%v|%s|%s", c.ID, c.Basis, c.Source, c.Claim, c.From, c.Metric, c.Why, c.Reason, c.Low, c.High, c.Unit, v, c.Null.Set, c.Null.How, c.Null.None)
			}
			for i := range f.Claims {
				c := &f.Claims[i]
				fmt.Fprintf(&b, " CLAIM %s|%s\n", claim(c), q(&c.Value))
			}
			if f.Table != nil {
				fmt.Fprintf(&b, " TABLE %s|%s|%q\n", f.Table.Title, f.Table.Note, f.Table.Columns)
				for _, r := range f.Table.Rows {
					fmt.Fprintf(&b, "  ROW %s", claim(&r.Claim))
					for i := range r.Cells {
						fmt.Fprintf(&b, "|%s", q(&r.Cells[i]))
					}
					b.WriteString("\n")
				}
			}
			if f.Matrix != nil {
				fmt.Fprintf(&b, " MATRIX %+v|%d|%s\n", f.Matrix.Columns, f.Matrix.Overview, f.Matrix.OverviewSays)
				for _, r := range f.Matrix.Rows {
					fmt.Fprintf(&b, "  ROW %s|%s", r.Kind, r.Name)
					for _, c := range r.Cells {
						fmt.Fprintf(&b, "|%v %v %v %s %s", c.Run, c.Metric, c.During, c.Absent, q(&c.Value))
					}
					b.WriteString("\n")
				}
			}
		}
		for _, j := range collect(figures, Options{}).jobs {
			fmt.Fprintf(&b, "JOB %s\n", keyOf(j.run, j.index))
		}
		if err := os.WriteFile(out+"/"+p.Name+".txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
