package resolve_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
)

// TestCutShort: a --set of model.duration leaves out what lies beyond the new
// end, and says so; what is left reads back without it.
func TestCutShort(t *testing.T) {
	const src = small + `  - {id: C2, metric: in.A3.rate, during: [0ms, 1ms], low: 0, high: 1}
  - {id: C3, metric: nothing.at.all, during: [4ms, 6ms], low: 0, high: 1}
events: [{at: 1ms, link: trunk, rate: 2GB/s}, {at: 6ms, link: trunk, rate: 1GB/s}]
measure: {window: 3ms}
`
	for _, c := range []struct {
		sets     []string
		flows    int
		events   int
		checks   string
		warnings []string
	}{
		{[]string{"model.duration=10ms"}, 4, 2, "C1 C2 C3", nil},
		{[]string{"model.duration=5ms"}, 4, 1, "C1 C2", []string{
			"later events are left out: trunk at 6ms",
			"checks that look further are left out: C3",
		}},
		{[]string{"model.duration=1.15ms"}, 3, 1, "", []string{
			"the run is shorter than the measuring window of 3ms: rates are means over all of it",
			"flows that start later are left out: 1 of 3 of in",
			"later events are left out: trunk at 6ms",
			"checks that look further are left out: C1, C3",
			"checks of flows that start later are left out: C2",
		}},
		{[]string{"model.duration=1ms", "expect.C2.metric=out.rate"}, 1, 0, "C2", []string{
			"the run is shorter than the measuring window of 3ms: rates are means over all of it",
			"flows that start later are left out: in",
			"later events are left out: trunk at 1ms, trunk at 6ms",
			"checks that look further are left out: C1, C3",
		}},
	} {
		s, err := loadMetrics(t, src, c.sets...)
		if err != nil {
			t.Fatalf("%v: %v", c.sets, err)
		}
		var got, checks []string
		for _, w := range s.Warnings {
			if w.Excerpt != "--set "+c.sets[0] || w.Line != 0 {
				t.Errorf("%v: %+v has another place", c.sets, w)
			}
			got = append(got, w.Message)
		}
		for _, check := range s.Expect {
			checks = append(checks, check.ID)
		}
		if diff := cmp.Diff(c.warnings, got); diff != "" || len(s.Flows) != c.flows || len(s.Events) != c.events || strings.Join(checks, " ") != c.checks {
			t.Errorf("%v: %d flows, %d events, checks %v (-want +got):\n%s", c.sets, len(s.Flows), len(s.Events), checks, diff)
		}
		roundTrip(t, s)
	}

	for _, c := range []struct{ sets, message string }{
		{"model.duration=1ms flows.out.start=2ms", "--set flows.out.start=2ms: the flow starts at 2ms, but the run ends at 1ms (--set model.duration=1ms)"},
		{"model.duration=500us defaults.flow.start=1ms flows.out.start=1ms flows.in.start=0s", "--set flows.out.start=1ms: the flow starts at 1ms, but the run ends at 500us (--set model.duration=500us)"},
		{"model.duration=1ms measure.window=2ms", "--set measure.window=2ms: the window of 2ms does not fit: the run ends at 1ms (--set model.duration=1ms)"},
	} {
		if _, err := loadMetrics(t, src, strings.Fields(c.sets)...); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.sets, err)
		}
	}
	_, err := loadErr(t, strings.Replace(small, "to: A2", "to: A2, start: 2ms", 1), "model.duration=1ms")
	if err == nil || err.Error() != "--set model.duration=1ms: no flow starts before the end of the run" {
		t.Errorf("no flow is left: %v", err)
	}
}

// loadMetrics calls Load with a checker of expressions that requires their flows to exist.
func loadMetrics(t *testing.T, src string, sets ...string) (*scenario.Scenario, error) {
	t.Helper()
	return resolve.Load("small.yaml", []byte(src), setsOf(t, sets), resolve.CheckMetrics(func(expr string, s *scenario.Scenario) error {
		for _, f := range s.Flows {
			if expr == f.Name+".rate" || expr == f.Group+".rate" || expr == "nothing.at.all" {
				return nil
			}
		}
		return os.ErrNotExist
	}))
}
