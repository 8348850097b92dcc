//go:build timing

package emu

import (
	"context"
	"testing"

	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// sized returns a generated fabric of so many nodes.
func sized(t *testing.T, kind string, nodes int, duration, dilation string) *scenario.Scenario {
	t.Helper()
	const switches = 2 // of a dumbbell
	text, err := generate.Write(kind, generate.Options{Endpoints: nodes - switches})
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load(kind+".yaml", text, []scenario.Set{{Path: "model.duration", Value: duration}, {Path: "wall.dilation", Value: dilation}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Switches) + len(s.Endpoints); n != nodes || len(s.Expect) == 0 {
		t.Fatalf("%d nodes, %d checks", n, len(s.Expect))
	}
	return s
}

// completed runs a scenario. It is not void, and each flow delivers frames.
func completed(t *testing.T, s *scenario.Scenario, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	if r.Verdict.Level == report.Void || r.Partial {
		t.Errorf("the run is void or partial: %s", r.Verdict.Reason)
	}
	for _, f := range r.Flows {
		if f.Frames == 0 {
			t.Errorf("%s has delivered nothing", f.Name)
		}
	}
	return r
}

// Two hundred nodes in one process: their log is the virtual clock's, so their
// figures are, at any pace.
func TestWallTwoHundredNodes(t *testing.T) {
	for _, c := range completed(t, sized(t, "dumbbell", 200, "10ms", "200"), Options{}).Checks {
		if c.Outcome != report.Pass {
			t.Errorf("%s: %.4f is not in %v to %v", c.Claim, float64(c.Value), c.Low, c.High)
		}
	}
}

// Sixty processes, with 29 senders.
func TestWallSixtyProcesses(t *testing.T) {
	completed(t, sized(t, "dumbbell", 60, "3ms", "1000"), Options{Settings: Settings{Placement: InProcesses}})
}
