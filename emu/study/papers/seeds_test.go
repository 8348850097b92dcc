package papers

import (
	"testing"

	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// A claim whose mean is near a bound is measured over thirty seeds, unless it is known
// to differ; so is one for which that is wanted. A bound that no share can pass is none.
func TestMoreSeedsNearABound(t *testing.T) {
	of := func(metric string) Quantity {
		return Mean(Run{Scenario: "hpl2002/fig3b", Sets: []string{"model.duration=3ms"}, Seeds: true}, metric, 2*ms, 3*ms)
	}
	probe := &Figure{Claims: []Claim{{Check: scenario.Check{ID: "ratio", High: none}, Value: of(remoteLocal)}, {Check: scenario.Check{ID: "use", High: none}, Value: of(root)}}}
	r, err := Do(t.Context(), &Paper{}, []*Figure{probe}, Options{Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	var mean, deviation [2]float64
	for i := range mean {
		mean[i], deviation[i] = float64(r.Figures[0].Claims[i].Value), float64(r.Figures[0].Claims[i].Deviation)
	}
	if !(deviation[0] > 0) {
		t.Fatalf("the seeds do not differ: %+v", r.Figures[0].Claims)
	}
	claim := func(id, metric string, low, high float64, differs string, u Unit) Claim {
		return Claim{Check: scenario.Check{ID: id, Low: low, High: high, Reason: differs}, Value: of(metric), Unit: u}
	}
	f := &Figure{Claims: []Claim{
		claim("low", remoteLocal, mean[0]-deviation[0], none, "", Plain),
		claim("high", remoteLocal, 0, mean[0]+1.9*deviation[0], "", Plain),
		claim("fails", remoteLocal, mean[0]+deviation[0], none, "", Plain),
		claim("far", remoteLocal, mean[0]-3*deviation[0], mean[0]+3*deviation[0], "", Plain),
		claim("known", remoteLocal, mean[0]+deviation[0], none, "so it is", Plain),
		claim("share", root, 0, 1, "", Percent),
		claim("wanted", remoteLocal, 0, none, "", Plain),
	}}
	f.Claims[6].Near = true
	if r, err = Do(t.Context(), &Paper{}, []*Figure{f}, Options{Seeds: 2}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{30, 30, 30, 2, 2, 2, 30} {
		if c := r.Figures[0].Claims[i]; c.Seeds != want || c.Outcome == report.NotMeasured || !c.Value.Known() {
			t.Errorf("%s: %d seeds, %v, %s; want %d", c.ID, c.Seeds, c.Value, c.Outcome, want)
		}
	}
	if len(r.Runs) != 30 || r.Partial {
		t.Errorf("%d runs, partial %v", len(r.Runs), r.Partial)
	}
}
