package emu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/metrics"
	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"
)

// stateOf returns all figures of all objects in the state of a run: those of the table, with their
// parts, and those of expressions over the run so far.
func stateOf(v *metrics.View) map[string]float64 {
	all := map[string]float64{}
	for _, f := range metrics.AllFigures() {
		for x := range v.Objects(f.Of) {
			name := fmt.Sprint(f.Name, " of ", x)
			if f.By() == "" {
				all[name] = f.Read(x)
			}
			f.Each(x, func(part string, value float64) { all[name+" by "+part] = value })
		}
	}
	for r := range v.Rows(metrics.Interval{To: v.End()}) {
		all[r.Object+"."+r.Name()] = r.Value
	}
	return all
}

// What observers last saw of a run is what its result is made of: each figure, by each name.
func TestTheLastStateIsThatOfTheResult(t *testing.T) {
	for _, name := range []string{"hpl2002/fig3b", "ethernet/pfc-hol", "ethernet/pause-storm", "cbfc/retry", "llr/replay", "tcp/ecn", "roce/go-back-n"} {
		t.Run(name, func(t *testing.T) {
			s := runtest.Load(t, runtest.Text(t, name))
			if end := unit.Duration(44 * unit.Millisecond); s.Model.Duration > end {
				s.Model.Duration, s.Expect = end, nil
			}
			var last map[string]float64
			seen := make(chan struct{})
			watch := observe.Func(func(s *observe.Snapshot) {
				if s.Last {
					defer close(seen)
					last = stateOf(s.Figures)
				}
			})
			r, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock, Observe: []observe.Request{{Observer: watch}}})
			if err != nil {
				t.Fatal(err)
			}
			<-seen
			want, known := stateOf(r.Metrics.View()), 0
			for name, value := range want {
				got, ok := last[name]
				if !ok || got != value && !(math.IsNaN(got) && math.IsNaN(value)) {
					t.Errorf("%s is %v in the result, and was %v to observers", name, value, got)
				}
				if value > 0 {
					known++
				}
			}
			if len(last) != len(want) || known < 50 {
				t.Errorf("observers saw %d figures of %d, of which %d are not 0", len(last), len(want), known)
			}
		})
	}
}
