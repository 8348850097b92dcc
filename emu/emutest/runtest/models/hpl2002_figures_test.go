package models_test

import (
	"context"
	"fabemu/emu"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
)

// The figures of HPL-2002-224 (Santos, Turner, Janakiraman), each as the mean over
// five seeds of [42, 60) ms, while the victim is active. The ranges are those in
// which the statements of the text hold; they are not to be widened.

const seeds = 5

// means runs a scenario on the virtual clock with each seed and returns the mean
// of each expression.
func means(t *testing.T, open func(seed int) (*scenario.Scenario, error), expressions ...string) []float64 {
	t.Helper()
	var all [seeds][]float64
	var wait sync.WaitGroup
	for seed := range seeds {
		wait.Go(func() {
			s, err := open(seed + 1)
			if err != nil {
				t.Error(err)
				return
			}
			r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
			if err != nil {
				t.Error(err)
				return
			}
			if n := r.Verdict.Violations; n != 0 {
				t.Errorf("seed %d: %d violations, the first: %+v", seed+1, n, r.Violations[0])
			}
			all[seed] = figures(t, r, expressions)
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	sums := make([]float64, len(expressions))
	for i := range sums {
		for _, f := range all {
			sums[i] += f[i] / seeds
		}
	}
	return sums
}

// figure opens a scenario that comes with the program.
func figure(name string) func(seed int) (*scenario.Scenario, error) {
	return func(seed int) (*scenario.Scenario, error) {
		return emu.Open(name, scenario.Set{Path: "model.seed", Value: fmt.Sprint(seed)}, untilVictimStops)
	}
}

func TestFiguresOfHPL2002(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const (
		root, trunk  = "root.B-BC.utilisation", "trunk.A-B.utilisation"
		local        = "local.rate / root.B-BC.rate"
		victim       = "victim.utilisation"
		remoteLocal  = "remote.rate / local.rate"
		localOfLink  = "local.utilisation"
		some         = math.SmallestNonzeroFloat64
		all, nothing = 1.0, 0.0
	)
	type wanted struct {
		expression string
		low, high  float64
	}
	got := map[string]map[string]float64{}
	for _, test := range []struct {
		figure string
		text   string // of section III or IV
		wanted []wanted
	}{
		{"fig2", "the victim flow uses only 4% of the bandwidth on the inter-switch link, even though the inter-switch link is only 32.5% utilized",
			[]wanted{{root, 0.995, all}, {trunk, 0.32, 0.33}, {victim, 0.037, 0.043}, {localOfLink, 0.71, 0.72}}},
		{"fig3a", "the local flows utilize 90% of the available root link bandwidth; the naive mechanism can avoid congestion spreading and allow the victim flow to receive high throughput",
			[]wanted{{local, 0.88, 0.92}, {victim, 0.75, all}, {remoteLocal, some, all}}},
		{"fig3b", "this marking policy also avoids congestion spreading and keeps the inter-switch link at high utilization",
			[]wanted{{remoteLocal, 0.28, 0.45}, {trunk, 0.90, all}, {victim, 0.60, all}}},
		{"fig3c", "With a small output threshold of 4 packets, packets are too frequently marked before an input buffer fills, resulting in low utilization of the congested link",
			[]wanted{{root, nothing, 0.85}}},
		{"fig3d", "With a higher threshold of eight packets, the root link has high utilization without congestion spreading",
			[]wanted{{root, 0.97, all}, {trunk, 0.90, all}, {remoteLocal, some, all}}},
	} {
		expressions := make([]string, len(test.wanted))
		for i, w := range test.wanted {
			expressions[i] = w.expression
		}
		got[test.figure] = map[string]float64{}
		for i, v := range means(t, figure("hpl2002/"+test.figure), expressions...) {
			w := test.wanted[i]
			got[test.figure][w.expression] = v
			t.Logf("%-6s %-30s %.4f  wanted %.3g to %.3g", test.figure, w.expression, v, w.low, w.high)
			if !(v >= w.low && v <= w.high) {
				t.Errorf("%s: %s is %.4f, want %.3g to %.3g: %q", test.figure, w.expression, v, w.low, w.high, test.text)
			}
		}
	}
	// "fairness between the remote and local flows is improved when compared to the
	// naive scheme" (IV.B)
	if a, b := got["fig3a"][remoteLocal], got["fig3b"][remoteLocal]; b <= a {
		t.Errorf("remote/local is %.3f in Fig. 3(b), not above the %.3f of 3(a)", b, a)
	}
	// "Although fairness is degraded with the higher threshold, it is still better than
	// that achieved by the input-triggered marking mechanism" (IV.C)
	if b, d := got["fig3b"][remoteLocal], got["fig3d"][remoteLocal]; d <= b {
		t.Errorf("remote/local is %.3f in Fig. 3(d), not above the %.3f of 3(b)", d, b)
	}
}

// Without congestion control the root link serves packets in the order in which
// they came. Each of N local inputs always has one packet there, and the input
// from switch A has as many as its buffer holds, so the remote flows get
// cap/(N+cap) of the root link: no parameter is free.
func TestFiguresWithoutControlAreThoseOfTheBuffer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, test := range []struct{ n, capacity int }{{10, 4}, {10, 2}, {10, 6}, {15, 4}, {20, 8}} {
		open := func(seed int) (*scenario.Scenario, error) {
			src, err := builtin.Read("hpl2002/fig2")
			if err != nil {
				return nil, err
			}
			text := strings.ReplaceAll(string(src), "[1-10]", fmt.Sprintf("[1-%d]", test.n))
			text, _, _ = strings.Cut(text, "\nexpect:")
			return resolve.Load("fig2.yaml", []byte(text), []scenario.Set{
				{Path: "model.seed", Value: fmt.Sprint(seed)},
				untilVictimStops,
				{Path: "defaults.link.buffer", Value: fmt.Sprintf("%d packets", test.capacity)},
			})
		}
		want := float64(test.capacity) / float64(test.n+test.capacity)
		got := means(t, open, "remote.utilisation")[0]
		t.Logf("N %d, capacity %d: remote %.4f, closed form %.4f", test.n, test.capacity, got, want)
		if math.Abs(got-want) > 0.005 {
			t.Errorf("N %d, capacity %d: the remote flows get %.4f of the root link, want %.4f within 0.005", test.n, test.capacity, got, want)
		}
	}
}
