package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
)

// The figures and sentences of HPL-2002-224, each test named after the place that it
// checks. What takes long is checked here by shorter runs, and whole by
// papers_soak_test.go.

// come checks that each claim of a figure is it is expected to, and returns
// them by id.
func come(t *testing.T, f *FigureResult) map[string]ClaimResult {
	t.Helper()
	all := map[string]ClaimResult{}
	for _, c := range f.Claims {
		all[c.ID] = c
		t.Logf("%-10s %-18s %-16s %-8s %s", c.ID, c.Result(), c.Accepted(), c.Outcome, c.Says)
		want := report.Pass
		if slices.Contains([]string{"IB-7c", "IB-8b4", "IB-13", "IB-20c", "IB-20g", "IB-20h", "IB-21a", "IB-27", "IB-18/fimd"}, c.ID) {
			want = report.Differs
		}
		if c.Outcome != want {
			t.Errorf("%s is %s, want %s: %s is %s, accepted is %s", c.ID, c.Outcome, want, c.Measured, c.Result(), c.Accepted())
		}
	}
	return all
}

// Fig. 2 and 3, each a separate test of the same runs.
func TestFigures2And3(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	p := paperNamed("hpl2002")
	var figures []*Figure
	for i := range p.Figures[:5] {
		figures = append(figures, &p.Figures[i])
	}
	r, err := Do(context.Background(), p, figures, Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 18 { // and two with limited sources, one with larger windows, ten for statements without a figure
		t.Errorf("%d runs for five figures", len(r.Runs))
	}
	// And the closed form of the shares: no parameter is free.
	t.Run("Fig. 2, section III: no congestion control", func(t *testing.T) {
		got := come(t, &r.Figures[0])
		for id, want := range map[string]float64{"IB-1b": 4.0/14 + 4.0/14/7, "IB-1c": 4.0 / 14 / 7, "IB-1d": 10.0 / 14} {
			if v := float64(got[id].Value); math.Abs(v-want) > 0.002 {
				t.Errorf("%s is %.4f, in closed form %.4f", id, v, want)
			}
		}
	})
	t.Run("Fig. 3(a), section IV.A: naive marking", func(t *testing.T) { come(t, &r.Figures[1]) })
	t.Run("Fig. 3(b), section IV.B: input-triggered", func(t *testing.T) { come(t, &r.Figures[2]) })
	t.Run("Fig. 3(c), section IV.C: threshold 4", func(t *testing.T) { come(t, &r.Figures[3]) })
	t.Run("Fig. 3(d), section IV.C: threshold 8, two versions", func(t *testing.T) {
		got := come(t, &r.Figures[4])
		if !strings.Contains(got["IB-7c"].Source, "second version") || !strings.Contains(got["IB-7d"].Source, "first version") {
			t.Errorf("%q, %q", got["IB-7c"].Source, got["IB-7d"].Source)
		}
	})
	// "a sliding time window of duration 2ms centered on the corresponding time point": a
	// step in the rate is a ramp of 2 ms around it.
	t.Run("Section III: the window is centred", func(t *testing.T) {
		curves := r.Figures[0].Pictures[0].Figure.(*plot.Figure).Curves
		if len(curves) != 5 {
			t.Fatalf("%d curves", len(curves))
		}
		victim := curves[4]
		at := func(ms float64) float64 {
			for i, x := range victim.X {
				if math.Abs(x-ms) < 1e-6 {
					return victim.Y[i]
				}
			}
			t.Fatalf("no point at %v ms", ms)
			return 0
		}
		if before, middle, after := at(38.9), at(40), at(41.1); before != 0 || math.Abs(middle-after/2) > 0.3 || after < 3.5 {
			t.Errorf("the victim begins at 40 ms: %.2f %%, %.2f %%, %.2f %%", before, middle, after)
		}
	})
}

// values takes quantities; a run that several of them need is done once.
func values(t *testing.T, list ...Quantity) []float64 {
	t.Helper()
	f := &Figure{Name: "values"}
	for _, q := range list {
		f.Claims = append(f.Claims, Claim{Check: scenario.Check{Low: math.Inf(-1), High: none}, Value: q})
	}
	r, err := Do(context.Background(), paperNamed("hpl2002"), []*Figure{f}, Options{Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, c := range r.Figures[0].Claims {
		out = append(out, float64(c.Value))
	}
	return out
}

// defined evaluates an expression with the definitions of the paper whose value is a run.
func defined(format string, args ...any) Run {
	words := paperNamed("hpl2002").Figures[0].words()
	return converted[Run]("Run", scope{language: words.language}.eval(fmt.Sprintf(format, args...)))
}

func cell(buffer, threshold int, sets ...string) Run {
	return defined("cell(%d, %d)", buffer, threshold).With(sets...)
}

// during is while the victim is active, without the window in which it begins.
func during(r Run, metric string) Quantity { return Mean(r, metric, 42*ms, 60*ms) }

// short is a cell of Fig. 4 in runs of 60 ms, of which the first 20 are left out:
// buffers of 2 and 3 have not settled by then, the others have.
func short(buffer, threshold int, sets ...string) Run {
	r := cell(buffer, threshold, sets...)
	return r.With("model.duration=60ms", "flows.victim.stop=60ms")
}

func settled(r Run, metric string) Quantity { return Mean(r, metric, 20*ms, 60*ms) }

// Fig. 4(a), section IV.C: "the root link is underutilized with a low output threshold
// (4) or small input buffer size"; "a slightly higher output threshold (6) enables
// high root link utilization (> 90%), except at the smallest buffer sizes".
func TestFigures4aUtilisation(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	tests := []struct {
		buffer, threshold int
		low, high         float64
	}{
		{2, 0, 0, 0.9}, {12, 4, 0, 0.9}, {2, 6, 0, 0.9}, {4, 6, 0.9, 1}, {12, 6, 0.9, 1}, {12, 8, 0.9, 1},
	}
	var list []Quantity
	for _, test := range tests {
		list = append(list, settled(short(test.buffer, test.threshold), root))
	}
	for i, v := range values(t, list...) {
		if test := tests[i]; !(v >= test.low && v <= test.high) {
			t.Errorf("%d packets, %s: %.3f, want %v to %v", test.buffer, fmt.Sprint("threshold ", test.threshold), v, test.low, test.high)
		}
	}
}

// Fig. 4(b), section IV.C: fairer with larger buffers while marking is
// input-triggered; the same for all buffers above the threshold; from threshold 4 to 8
// the local flows lose, at 16 they gain.
func TestFigures4bFairness(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	ratio := func(buffer, threshold int) Quantity { return settled(short(buffer, threshold), remoteLocal) }
	v := values(t, leastStep(ratio(2, 0), ratio(4, 0), ratio(8, 0)), spread(ratio(8, 4), ratio(12, 4), ratio(20, 4)), ratio(12, 4), ratio(12, 8), ratio(12, 16))
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
func TestFigures4WithOtherNumbersOfFlows(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, n := range []int{5, 20} {
		run := func(buffer, threshold int) Run {
			return defined(`with(withFlows(%d, cell(%d, %d)), "model.duration=60ms", "flows.victim.stop=60ms")`, n, buffer, threshold)
		}
		v := values(t, minus(settled(run(12, 8), root), settled(run(12, 4), root)), minus(settled(run(4, 0), remoteLocal), settled(run(2, 0), remoteLocal)))
		if v[0] <= 0 {
			t.Errorf("%d flows: threshold 4 uses %.3f more of the root link than 8", n, -v[0])
		}
		if v[1] <= 0 {
			t.Errorf("%d flows: a buffer of 4 is less fair by %.3f than one of 2", n, -v[1])
		}
	}
}

// Footnote 1: LIPD is "more efficient" than AIMD; and each algorithm takes back a link as
// fast as it says.
func TestFiguresOfFootnote1Algorithms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	p, figures, err := Find("hpl2002/algorithms")
	if err != nil {
		t.Fatal(err)
	}
	figures[0].Plots, figures[0].Table = nil, nil
	r, err := Do(context.Background(), p, figures, Options{Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	come(t, &r.Figures[0])
}

// Footnote 3: a threshold below full costs small buffers utilisation, and large ones
// none that matters.
func TestFiguresOfFootnote3ThresholdBelowFull(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	full := func(buffer, at int) Quantity {
		return settled(short(buffer, 0, fmt.Sprintf("defaults.switch.marking.full-at=%dpackets", at)), root)
	}
	v := values(t, minus(full(4, 4), full(4, 3)), full(10, 8))
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
			list = append(list, minus(during(r, m), during(r.With(set), m)))
		}
		for i, v := range values(t, list...) {
			if math.Abs(v) > within {
				t.Errorf("%s: %s is %.4f less with %s", name, metrics[i], v, set)
			}
		}
	}
}

// Footnote 4: not to mark what leaves by a blocked link gives "identical" results, where
// it marks less.
func TestFiguresOfFootnote4BlockedLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	plain, skip := short(4, 4), short(4, 4, "defaults.switch.marking.skip-blocked=true")
	var list []Quantity
	for _, m := range []string{root, trunk, local, remote, victim} {
		list = append(list, minus(settled(plain, m), settled(skip, m)))
	}
	list = append(list, minus(Triggers(plain, "", "over-threshold"), Triggers(skip, "", "over-threshold")))
	v := values(t, list...)
	for _, d := range v[:5] {
		if math.Abs(d) > 0.02 {
			t.Errorf("the rates differ by %.4f", v[:5])
			break
		}
	}
	if v[5] == 0 {
		t.Error("the policy has not acted")
	}
}

// Section IV.B: "this counter implementation may mark a different set of packets than a
// direct packet scanning approach, since packets can be transmitted out of order". In
// this fabric no packet overtakes another one for the same output.
func TestFiguresOfSectionIVBCountersAgainstAScan(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	against(t, "defaults.switch.marking.selection=scan", 1e-9, "fig3d")
}

// Footnote 6: "the probability of having a victim packet in a full buffer is very small"
// does not come out; that it does not wait there does.
func TestFiguresOfFootnote6VictimInAFullBuffer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r := Run{Scenario: "hpl2002/fig3b"}.With("model.duration=60ms")
	v := values(t, counted(r, 42*ms, func(c *census) float64 { return c.fills }),
		counted(r, 42*ms, func(c *census) float64 { return c.withVictim / c.fills }), Triggers(r, "B-BV", "full-buffer"))
	if v[0] < 100 || !(v[1] > 0.5 && v[1] < 1) || v[2] != 0 {
		t.Errorf("a buffer was full %v times, with a packet of the victim in %.3f of those; it waited in %v", v[0], v[1], v[2])
	}
}

// auditor checks a census against the switch: as many packets wait as the marking event
// says, the buffer of four never has more, and each mark comes from an event.
type auditor struct {
	*census
	t      *testing.T
	events int
}

func (a *auditor) Record(e *trace.Event) {
	a.census.Record(e)
	if e.Kind == trace.Trigger && e.Node == a.node && e.Port == a.root {
		a.events++
		if n := a.waiting[localFlows] + a.waiting[remoteFlows]; int64(n) != e.B {
			a.t.Errorf("%v: %d packets wait for the root link, the switch says %d", e.At, n, e.B)
		}
	}
	if n := a.resident; n[localFlows] != 0 || n[remoteFlows]+n[victimFlow] > 4 {
		a.t.Errorf("%v: the buffer of the inter-switch link has %v", e.At, n)
	}
}

func TestFiguresOfTheCensus(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r := Run{Scenario: "hpl2002/fig3d"}.With("model.duration=20ms", "flows.victim.start=1ms", "flows.victim.stop=20ms")
	var a *auditor
	v := values(t, Watch(r, func(f *fabric.Fabric) (trace.Sink, func() float64) {
		a = &auditor{census: newCensus(f, 0), t: t}
		return a, func() float64 {
			return a.marks[0][localFlows] + a.marks[0][remoteFlows] + a.marks[1][localFlows] + a.marks[1][remoteFlows]
		}
	}), Take(r, func(x *emu.Result) (float64, error) {
		for _, l := range x.Links {
			if strings.HasPrefix(l.Name, "root") && l.Marked > 0 {
				return float64(l.Marked), nil
			}
		}
		return 0, errors.New("no root link")
	}), Mean(r, remoteLocal, 0, 20*ms))
	if a.events < 100 || v[0] != v[1] || math.Abs(a.packets[remoteFlows]/a.packets[localFlows]-v[2]) > 0.01 {
		t.Errorf("%d events; %v packets were marked, %v by the switch's count; remote/local is %v, not %v", a.events, v[0], v[1], a.packets[remoteFlows]/a.packets[localFlows], v[2])
	}
}

// Footnote 8: "For buffer sizes 12 and greater, all marking is output-triggered
// regardless of output threshold, because the input buffer never becomes full".
func TestFiguresOfFootnote8LargeBuffersNeverFill(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	full := func(buffer, threshold int) Quantity { return Triggers(short(buffer, threshold), "", "full-buffer") }
	v := values(t, sum(full(12, 0), full(12, 8), full(12, 16)), full(10, 0))
	if v[0] != 0 || v[1] == 0 {
		t.Errorf("buffers of 12 were full %v times, one of 10 %v times", v[0], v[1])
	}
}

// Table I: "max bypass: 4", with the crossbar single-output, where nothing is marked: 10
// local and 10 remote packets go in each round, and one local packet more each time that
// the first remote one is bypassed. With 186 ns between the victim's packets that is
// three times; with 180 ns it is four, and then the root link idles for twelve of those
// gaps.
func TestFiguresOfTable1BypassAndThePhaseOfTheVictim(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	run := func(delay string) Run {
		return cell(12, 0, "defaults.switch.crossbar=single-output", "defaults.switch.forwarding-delay="+delay, "model.duration=60ms", "flows.victim.stop=60ms")
	}
	for _, c := range []struct {
		delay     string
		use, flow float64
	}{{"40ns", 1, 10. / 13}, {"38.5ns", 24 / (24 + 12*180/2068.), 10. / 14}} {
		v := values(t, settled(run(c.delay), root), settled(run(c.delay), remoteLocal))
		if math.Abs(v[0]-c.use) > 0.002 || math.Abs(v[1]-c.flow) > 0.005 {
			t.Errorf("forwarding delay %s: root link %.4f, remote/local %.4f; want %.4f, %.4f", c.delay, v[0], v[1], c.use, c.flow)
		}
	}
}
