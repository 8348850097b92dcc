package live

import (
	"slices"
	"strings"
	"testing"

	"fabemu/emu/result/report"
)

// TestModelResults: of the results of runs the page shows what the papers say: in Fig. 2 of
// HPL-2002-224 the trunk waits for the port to BC while the victim is active, and the victim with
// it; in the ring all three wait for each other, from when that was found.
func TestModelResults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	c, moments, err := Results(resultsOf(t, "hpl2002/fig2"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Over || c.Knobs || len(moments) < 100 {
		t.Errorf("over %v, knobs %v, %d moments", c.Over, c.Knobs, len(moments))
	}
	m := moments[len(moments)/2]
	line := func(name string) int { return slices.IndexFunc(c.Lines, func(l Line) bool { return l.Name == name }) }
	trunk, root := line("trunk.A-B"), line("root.B-BC")
	if m.Stop[trunk] != NoCredit || m.Used[root] < 0.95 || !slices.Equal(m.Waits, []Wait{{trunk, root}}) {
		t.Errorf("the trunk: %d, the root is used %v, %v waits", m.Stop[trunk], m.Used[root], m.Waits)
	}
	if len(m.Roots) != 1 || m.Roots[0].Link != "root.B-BC" || m.Roots[0].Words != "B's port to BC is the root; 11 flows wait; victim: victim." {
		t.Errorf("%+v", m.Roots)
	}
	for i := range moments[1:] {
		if moments[i+1].ModelPs <= moments[i].ModelPs {
			t.Fatalf("moment %d is at %d", i+1, moments[i+1].ModelPs)
		}
	}
	open, decided := 0, 0
	for i := range c.Checks {
		if moments[0].Checks[i].State == "" {
			open++
		}
		if s := moments[len(moments)-1].Checks[i]; s.State != "" && s.Came != "" {
			decided++
		}
	}
	if open != len(c.Checks) || decided != open || open == 0 {
		t.Errorf("of %d checks %d are open at first, and %d decided at last", len(c.Checks), open, decided)
	}

	c, moments, err = Results(resultsOf(t, "ethernet/ring-deadlock"))
	if err != nil {
		t.Fatal(err)
	}
	last := moments[len(moments)-1]
	if len(moments[0].Deadlocks) != 0 || len(last.Deadlocks) != 1 || len(last.Deadlocks[0].Links) != 3 || !strings.Contains(last.Deadlocks[0].Words, "A waits for B, B for C, C for A") {
		t.Errorf("at first %+v, at last %+v", moments[0].Deadlocks, last.Deadlocks)
	}
	if last.Stop[0] != Paused && last.Stop[1] != Paused {
		t.Errorf("what is stopped: %v", last.Stop)
	}
}

// TestResultsHaveOneShareOfLateFrames: it is that of the result, as in the report, at each moment.
func TestResultsHaveOneShareOfLateFrames(t *testing.T) {
	d := resultsOf(t, "hpl2002/fig2")
	d.Verdict.Pace.LateShare = 0.569
	late := d.Series[0]
	late.Kind, late.Name, late.Values = "pace", "late-share", slices.Repeat([]float64{1}, len(late.Times))
	d.Series = append(d.Series, late)
	_, moments, err := Results(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moments {
		if m.Late != 0.569 {
			t.Fatalf("at %d the share of late frames is %v", m.ModelPs, m.Late)
		}
	}
}

// TestResultsWithoutSeries: a run that ended before there was anything has nothing to show.
func TestResultsWithoutSeries(t *testing.T) {
	d := resultsOf(t, "ethernet/ring-deadlock")
	if _, _, err := Results(&report.Dir{Result: d.Result, Resolved: d.Resolved}); err == nil {
		t.Error("nothing is shown, without a message")
	}
}
