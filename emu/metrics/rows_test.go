package metrics

import (
	"testing"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Rows say what a table of all counters says, and hold no counter before it counts.
func TestRows(t *testing.T) {
	const columns, edges = 40, 30
	random := unit.NewRandom(1, 0)
	r, now := newRows(columns), make([]int64, columns)
	var want [][]int64
	compare := func(when string) {
		t.Helper()
		for k := range want {
			for i, v := range want[k] {
				if got := r.at(k, i); got != v {
					t.Fatalf("%s: counter %d at edge %d is %d, want %d", when, i, k, got, v)
				}
			}
		}
	}
	for range edges {
		for range 3 {
			i := int(random.Below(columns / 2))
			now[i] += int64(random.Below(5))
			r.begin(i, 1)
		}
		r.add(now)
		want = append(want, append([]int64{}, now...))
		compare("added")
		k, i, by := int(random.Below(uint64(len(want)))), int(random.Below(columns-5)), int64(random.Below(3))
		r.change(k, i, by)
		want[k][i] += by
		compare("changed")
	}
	if most := columns - 5; len(r.used) > most || len(r.all[0]) > most {
		t.Errorf("%d counters have a place, and %d ever counted", len(r.used), most)
	}
	if r.at(edges-1, columns-1) != 0 || r.place[columns-1] != 0 {
		t.Error("a counter that never counted has a place")
	}
}

// Where flows and workloads have figures of one name, each object has its own.
func TestFiguresOfOneName(t *testing.T) {
	f, s := everything(port.PauseFrames)
	c, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	for of := range Figures(Workload) {
		if own := Find(Flow, of.Name); of.Of == Flow || own == nil || !own.Expression() || !of.Expression() {
			continue
		}
		for _, end := range of.ends() {
			name := f.Flows[0].Name + "." + of.name(end)
			if g, err := c.objects.figure(name); err != nil || g.row.Of != Flow {
				t.Errorf("%s is of %v (%v)", name, g.row.Of, err)
			}
		}
	}
}
