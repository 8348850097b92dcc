//go:build !race

package emu

import (
	"context"
	"fmt"
	"testing"

	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/emu/study/generate"
)

// sized returns a generated fabric of so many machines.
func sized(t *testing.T, kind string, machines int, duration, dilation string) *scenario.Scenario {
	t.Helper()
	const switches = 2 // of a dumbbell
	text, err := generate.Write(kind, generate.Options{Endpoints: machines - switches})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load(kind+".yaml", text, []scenario.Set{{Path: "model.duration", Value: duration}, {Path: "wall.dilation", Value: dilation}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Switches) + len(s.Endpoints); n != machines || len(s.Expect) == 0 {
		t.Fatalf("%d machines, %d checks", n, len(s.Expect))
	}
	return s
}

// holds runs a scenario and says which of its checks do not hold.
func holds(t *testing.T, s *scenario.Scenario, o Options) (complaints []string) {
	t.Helper()
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("dilation %d: %s: %s", s.Wall.Dilation, r.Verdict.Level, r.Verdict.Reason)
	if r.Verdict.Level == report.Void {
		complaints = append(complaints, "the run is void: "+r.Verdict.Reason)
	}
	for _, c := range r.Checks {
		t.Logf("%s: %.4f", c.Claim, float64(c.Value))
		if c.Outcome != report.Pass {
			complaints = append(complaints, fmt.Sprintf("%s: %.4f is not in %v to %v", c.Claim, float64(c.Value), c.Low, c.High))
		}
	}
	return complaints
}

// Two hundred machines in one process: their log is the virtual clock's, so their
// figures are, at any pace.
func TestWallTwoHundredMachines(t *testing.T) {
	for _, c := range holds(t, sized(t, "dumbbell", 200, "10ms", "200"), Options{}) {
		t.Error(c)
	}
}

// Sixty processes: in the last two of 3 ms each of 29 senders has 30 packets.
func TestWallSixtyProcesses(t *testing.T) {
	atSomePace(t, []pace{{"1000", "3ms"}, {"2000", "3ms"}, {"5000", "3ms"}}, func(t *testing.T, p pace) []string {
		return holds(t, sized(t, "dumbbell", 60, p.duration, p.dilation), Options{Placement: InProcesses, Sync: Late})
	})
}
