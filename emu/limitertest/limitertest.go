package limitertest

import (
	"testing"

	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// Run tests the limiters that new returns, each at the rate of a link. It is called many
// times.
func Run(t *testing.T, new func(line unit.Rate) node.RateLimiter) {
	t.Helper()
	t.Run("allocations", func(t *testing.T) { allocations(t, new) })
	passed := true
	for _, c := range bench.Cases() {
		passed = t.Run(c.Name, func(t *testing.T) { judge(t, c, bench.Measure(new, c, nil)) }) && passed
	}
	if !passed {
		for _, c := range bench.Causes(bench.Of(new), 0) {
			t.Logf("probable cause: %s: %s", c.Text, c.Evidence)
		}
	}
	if testing.Short() {
		return
	}
	for _, c := range bench.RealCases() {
		t.Run(c.Name, func(t *testing.T) {
			r, err := bench.MeasureReal(t.Context(), new, c, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, c, r)
		})
	}
}

// judge fails for each fault.
func judge(t *testing.T, c bench.Case, r *bench.Report) {
	t.Helper()
	t.Log(r)
	for _, f := range r.Faults {
		t.Errorf("%s\n%v", c.Doc, f)
	}
}

// allocations counts the allocations for a packet and for a change of the rate.
func allocations(t *testing.T, new func(line unit.Rate) node.RateLimiter) {
	const line, packet = 1e9, 1500
	l := new(line)
	now := unit.Time(0)
	n := testing.AllocsPerRun(200, func() {
		for next := l.Next(now, packet); next > now && next != unit.Never; next = l.Next(now, packet) {
			now = next
		}
		l.Sent(now, packet)
		l.SetRate(now, line/2)
		l.SetRate(now, line)
	})
	if n != 0 {
		t.Errorf("a packet makes the limiter allocate %v times, want 0", n)
	}
}
