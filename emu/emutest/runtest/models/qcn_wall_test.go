package models_test

import (
	"context"
	"testing"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
)

// Short runs, on real sockets: the checks are those of the whole, with their ranges. The log is
// that of the virtual clock at any dilation, so it is a low one.
func TestModelShortRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, dilation := range map[string]string{"qcn/two-points": "10", "bcn/delay": "20", "e2cm/hotspot": "20"} {
		t.Run(name, func(t *testing.T) { shortRun(t, name, dilation) })
	}
}

func shortRun(t *testing.T, name, dilation string) {
	s, err := emu.OpenShort(name, scenario.Set{Path: "wall.dilation", Value: dilation})
	if err != nil {
		t.Fatal(err)
	}
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.WallClock}, Verify: emu.VerifyOn})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	if r.Verdict.Verify != "equal" {
		t.Errorf("the event log compared with that of the virtual clock: %s", r.Verdict.Verify)
	}
	claimsHold(t, r)
	whole, err := emu.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range whole.Expect {
		if got := r.Checks[i]; got.ID != c.ID || float64(got.Low) != c.Low || float64(got.High) != c.High {
			t.Errorf("%s from %v to %v, in the whole run %s from %v to %v", got.ID, got.Low, got.High, c.ID, c.Low, c.High)
		}
	}
}

// claimsHold says which claims were not as expected, and whether
// the fabric broke a promise.
func claimsHold(t *testing.T, r *emu.Result) {
	t.Helper()
	if n := r.Verdict.Violations; n != 0 {
		t.Errorf("%d violations", n)
	}
	for _, c := range r.Checks {
		if c.Outcome != report.Pass && c.Outcome != report.Differs {
			t.Errorf("%s is %v, of %v to %v: %s", c.ID, c.Value, c.Low, c.High, c.Outcome.Word())
		}
	}
}
