package reproduce

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu/report"
	"fabemu/wire/unit"
)

// The figures and sentences of HPL-2002-224, each test named after the place that it
// checks. What takes long is checked here by shorter runs, and whole by
// hpl2002_soak_test.go.

// came reproduces a figure of the paper and returns its claims by id. Each must come
// out as it is expected to.
func came(t *testing.T, f *Figure, seeds int) map[string]ClaimResult {
	t.Helper()
	r, err := Do(context.Background(), hpl2002(), []*Figure{f}, Options{Seeds: seeds})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]ClaimResult{}
	for _, f := range r.Figures {
		for _, c := range f.Claims {
			all[c.ID] = c
			t.Logf("%-10s %-18s %-16s %-8s %s", c.ID, c.CameOut(), c.Accepted(), c.Outcome, c.Says)
			want := report.Pass
			if c.ID == "IB-7c" || c.ID == "IB-8b4" {
				want = report.Differs
			}
			if c.Outcome != want {
				t.Errorf("%s comes out as %s, want %s: %s is %s, accepted is %s", c.ID, c.Outcome, want, c.Measured, c.CameOut(), c.Accepted())
			}
		}
	}
	return all
}

// named is a figure of the paper.
func named(t *testing.T, name string) *Figure {
	t.Helper()
	_, figures, err := Find("hpl2002/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return figures[0]
}

// Fig. 2, and the closed form of its shares: no parameter is free.
func TestFig2WithoutControl(t *testing.T) {
	got := came(t, named(t, "fig2"), 1)
	for id, want := range map[string]float64{"IB-1b": 4.0/14 + 4.0/14/7, "IB-1c": 4.0 / 14 / 7, "IB-1d": 10.0 / 14} {
		if v := float64(got[id].Value); math.Abs(v-want) > 0.002 {
			t.Errorf("%s is %.4f, in closed form %.4f", id, v, want)
		}
	}
}

// Fig. 3(a), section IV.A: naive marking. The last claim is about all parts of Fig. 3.
func TestFig3aNaiveMarking(t *testing.T) { came(t, named(t, "fig3a"), 1) }

// Fig. 3(b), section IV.B: input-triggered marking.
func TestFig3bInputTriggered(t *testing.T) { came(t, named(t, "fig3b"), 1) }

// Fig. 3(c), section IV.C: threshold 4.
func TestFig3cThreshold4(t *testing.T) { came(t, named(t, "fig3c"), 1) }

// Fig. 3(d), section IV.C: threshold 8, by the two versions of the text.
func TestFig3dThreshold8(t *testing.T) {
	got := came(t, named(t, "fig3d"), 1)
	if !strings.Contains(got["IB-7c"].Source, "second version") || !strings.Contains(got["IB-7d"].Source, "first version") {
		t.Errorf("%q, %q", got["IB-7c"].Source, got["IB-7d"].Source)
	}
}

// values takes quantities; a run that several of them need is done once.
func values(t *testing.T, list ...Quantity) []float64 {
	t.Helper()
	f := &Figure{Name: "values"}
	for _, q := range list {
		f.Claims = append(f.Claims, Claim{Value: q, Low: math.Inf(-1), High: none})
	}
	r, err := Do(context.Background(), hpl2002(), []*Figure{f}, Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, c := range r.Figures[0].Claims {
		out = append(out, float64(c.Value))
	}
	return out
}

// short is a cell of Fig. 4 in runs of 100 ms, of which the first 20 are left out:
// buffers of 2 and 3 have not settled by then, the others have.
func short(buffer, threshold int, sets ...string) Run {
	r := cell(buffer, threshold, sets...)
	return r.With("model.duration=100ms", "flows.victim.stop=100ms")
}

func settled(r Run, metric string) Quantity { return Mean(r, metric, 20*ms, 100*ms) }

// Fig. 4(a), section IV.C: "the root link is underutilized with a low output threshold
// (4) or small input buffer size"; "a slightly higher output threshold (6) enables
// high root link utilization (> 90%), except at the smallest buffer sizes".
func TestFig4aUtilisation(t *testing.T) {
	tests := []struct {
		buffer, threshold int
		low, high         float64
	}{
		{2, 0, 0, 0.9}, {12, 4, 0, 0.9}, {2, 6, 0, 0.9}, {4, 6, 0.9, 1.001}, {12, 6, 0.9, 1.001}, {12, 8, 0.9, 1.001},
	}
	var list []Quantity
	for _, test := range tests {
		list = append(list, settled(short(test.buffer, test.threshold), root))
	}
	for i, v := range values(t, list...) {
		if test := tests[i]; !(v >= test.low && v <= test.high) {
			t.Errorf("%d packets, %s: %.3f, want %v to %v", test.buffer, thresholdName(test.threshold), v, test.low, test.high)
		}
	}
}

// Fig. 4(b), section IV.C: fairer with larger buffers while marking is
// input-triggered; the same for all buffers above the threshold; from threshold 4 to 8
// the local flows lose, at 16 they gain.
func TestFig4bFairness(t *testing.T) {
	ratio := func(buffer, threshold int) Quantity { return settled(short(buffer, threshold), remoteLocal) }
	v := values(t, LeastStep(ratio(2, 0), ratio(4, 0), ratio(8, 0)), Spread(ratio(8, 4), ratio(12, 4), ratio(20, 4)), ratio(12, 4), ratio(12, 8), ratio(12, 16))
	if v[0] <= 0 {
		t.Errorf("no threshold: the least step is %.3f", v[0])
	}
	if v[1] > 0.05 {
		t.Errorf("threshold 4: the spread is %.3f", v[1])
	}
	if four, eight, sixteen := v[2], v[3], v[4]; !(eight > four) || !(math.Abs(sixteen-1) < math.Abs(eight-1)) {
		t.Errorf("12 packets: %.3f, %.3f, %.3f with thresholds 4, 8, 16", four, eight, sixteen)
	}
}

// Section IV.C, after Fig. 4: "varying the number of remote and local flows from 5 to
// 20".
func TestFig4WithOtherNumbersOfFlows(t *testing.T) {
	for _, n := range []int{5, 20} {
		run := func(buffer, threshold int) Run { return withFlows(n, short(buffer, threshold)) }
		v := values(t, Minus(settled(run(12, 8), root), settled(run(12, 4), root)), Minus(settled(run(4, 0), remoteLocal), settled(run(2, 0), remoteLocal)))
		if v[0] <= 0 {
			t.Errorf("%d flows: threshold 4 uses %.3f more of the root link than 8", n, -v[0])
		}
		if v[1] <= 0 {
			t.Errorf("%d flows: a buffer of 4 is less fair by %.3f than one of 2", n, -v[1])
		}
	}
}

// Footnote 1: LIPD is "more efficient" than AIMD; and each law takes back a link as
// fast as it says.
func TestFootnote1Laws(t *testing.T) {
	f := named(t, "laws")
	f.Plots, f.Table = nil, nil
	came(t, f, 2)
}

// Footnote 3: a threshold below full costs small buffers utilisation, and large ones
// none that matters.
func TestFootnote3ThresholdBelowFull(t *testing.T) {
	full := func(buffer, at int) Quantity {
		return settled(short(buffer, 0, fmt.Sprintf("defaults.switch.marking.full-at=%dpackets", at)), root)
	}
	v := values(t, Minus(full(4, 4), full(4, 3)), full(10, 8))
	if v[0] <= 0 {
		t.Errorf("a buffer of 4 that is full at 3 uses %.3f more of the root link", -v[0])
	}
	if v[1] < 0.9 {
		t.Errorf("a buffer of 10 that is full at 8 uses %.3f of the root link", v[1])
	}
}

// against compares two readings of the text by figures of Fig. 3, while the victim is
// active.
func against(t *testing.T, set string, within float64, figures ...string) {
	t.Helper()
	for _, name := range figures {
		r := Run{Scenario: "hpl2002/" + name}.With("model.duration=60ms")
		metrics := []string{root, trunk, local, remote, victim}
		var list []Quantity
		for _, m := range metrics {
			list = append(list, Minus(during(r, m), during(r.With(set), m)))
		}
		for i, v := range values(t, list...) {
			if math.Abs(v) > within {
				t.Errorf("%s: %s is %.4f less with %s", name, metrics[i], v, set)
			}
		}
	}
}

// Footnote 4: not to mark what leaves by a blocked link gives "identical" results.
func TestFootnote4BlockedLinks(t *testing.T) {
	against(t, "defaults.switch.marking.skip-blocked=true", 0.02, "fig3a", "fig3c")
}

// Section IV.B: "this counter implementation may mark a different set of packets than a
// direct packet scanning approach, since packets can be transmitted out of order". In
// this fabric no packet overtakes another one for the same output.
func TestSectionIVBCountersAgainstAScan(t *testing.T) {
	against(t, "defaults.switch.marking.selection=scan", 1e-9, "fig3b", "fig3d")
}

// Footnote 6: "the probability of having a victim packet in a full buffer is very
// small".
func TestFootnote6VictimInAFullBuffer(t *testing.T) {
	r := Run{Scenario: "hpl2002/fig3b"}
	full := Triggers(r, "root.B-BC", "full-buffer")
	v := values(t, full, Over(Triggers(r, "B-BV", "full-buffer"), full))
	if v[0] < 100 || !(v[1] <= 0.05) {
		t.Errorf("a buffer was full %v times, and a victim waits in %.3f of those", v[0], v[1])
	}
}

// Footnote 8: "For buffer sizes 12 and greater, all marking is output-triggered
// regardless of output threshold, because the input buffer never becomes full".
func TestFootnote8LargeBuffersNeverFill(t *testing.T) {
	full := func(buffer, threshold int) Quantity { return Triggers(short(buffer, threshold), "", "full-buffer") }
	v := values(t, Sum(full(12, 0), full(12, 8), full(12, 16)), full(10, 0))
	if v[0] != 0 || v[1] == 0 {
		t.Errorf("buffers of 12 were full %v times, one of 10 %v times", v[0], v[1])
	}
}

// Section III: rates are of "a sliding time window of duration 2ms centered on the
// corresponding time point": a step in the rate is a ramp of 2 ms around it.
func TestSectionIIIWindowIsCentred(t *testing.T) {
	f := named(t, "fig2")
	f.Claims = nil
	r, err := Do(context.Background(), hpl2002(), []*Figure{f}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	curves := r.Figures[0].Pictures[0].Figure.Curves
	if len(curves) != 5 || r.Runs[0].DurationPs != int64(100*unit.Millisecond) {
		t.Fatalf("%d curves", len(curves))
	}
	at := func(curve int, ms float64) float64 {
		for i, x := range curves[curve].X {
			if math.Abs(x-ms) < 1e-6 {
				return curves[curve].Y[i]
			}
		}
		t.Fatalf("curve %d has no point at %v ms", curve, ms)
		return 0
	}
	const victimCurve = 4
	if before, middle, after := at(victimCurve, 38.9), at(victimCurve, 40), at(victimCurve, 41.1); before != 0 || math.Abs(middle-after/2) > 0.3 || after < 3.5 {
		t.Errorf("the victim begins at 40 ms: %.2f %%, %.2f %%, %.2f %%", before, middle, after)
	}
}
