package sets_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/scenario/sets"
)

// TestRanges: ranges reach over the values that sources have for the place, by rule or in
// proportion to the rate for which they were made; those that no source has say that they are ours.
func TestRanges(t *testing.T) {
	ranges := func(rate, control, marking string) map[string]string {
		s := pod(t, rate, control, marking, across)
		p, _ := sets.Of(s)
		got := map[string]string{}
		for path, params := range map[string]any{"control": s.Flows[0].Control.Params, "marking": s.Switches[0].Marking.Params} {
			for _, r := range p.Ranges(path, params) {
				got[r.Path] = fmt.Sprintf("%s to %s, %s, %s", r.Low, r.High, r.Usual, r.Source)
				if r.Ours != strings.HasPrefix(r.Source, "ours") {
					t.Errorf("%+v", r)
				}
			}
		}
		return got
	}
	for _, c := range []struct {
		rate, control, marking string
		want                   map[string]string
	}{
		{"100Gb/s", "algorithm: dcqcn, preset: hpcc", "scheme: ecn, preset: hpcc", map[string]string{
			"control.rate-timer": "55us to 300us, 300us, paper (Zhu et al. 2015) to hpcc (HPCC's simulator, run.py)",
			// 40 Mb/s for 40 Gb/s is 25 Mb/s for the 25 Gb/s to which the increases of the set
			// scale.
			"control.active-increase": "5Mb/s to 25Mb/s, 5Mb/s, hpcc (HPCC's simulator, run.py) to paper (Zhu et al. 2015)",
			"control.increase-per":    "", // it scales others
			"control.alpha-start":     "", // it is not to be searched
			"control.byte-counter":    "", // the set has none
			"control.gd":              "", // all sources have the same
			"control.phases":          "", // it is a word
			// A fifth of what 25 Gb/s carry in 2.65 us; 5 KB for 40 Gb/s is 3125 bytes for 25 Gb/s.
			"marking.min":   "1653B to 100KB, 100KB, uet-htsim (uet-htsim, main_uec.cpp: 0.2 * rate * rtt) to hpcc (HPCC's simulator, run.py)",
			"marking.max-p": "0.01 to 1, 0.2, paper (Zhu et al. 2015) to ns3-rdma (ns3-rdma, mix/config.txt)",
		}},
		// Without a rate to which the thresholds scale they are those of the links.
		{"40Gb/s", "algorithm: dcqcn", "scheme: ecn", map[string]string{
			"marking.min": "3252B to 160KB, 5KB, uet-htsim (uet-htsim, main_uec.cpp: 0.2 * rate * rtt) to hpcc (HPCC's simulator, run.py)",
		}},
		{"100Gb/s", "algorithm: swift, base-target: 2us", "scheme: none", map[string]string{
			"control.base-target":   "1.37us to 20us, 2us, paper (Kumar et al. 2020: one-switch / 0.5) to htsim (htsim, sim/swift.cpp, a guess)",
			"control.decrease-gain": "0.4 to 1, 0.8, ours: from the value over 2 to the value times 2",
		}},
		{"100Gb/s", "algorithm: hpcc, base-rtt: 2us", "scheme: none", map[string]string{
			"control.eta": "0.9 to 0.98, 0.95, ours", "control.base-rtt": "",
		}},
	} {
		got := ranges(c.rate, c.control, c.marking)
		for path, want := range c.want {
			if got[path] != want {
				t.Errorf("%s, %s, %s: %q, want %q", c.rate, c.control, path, got[path], want)
			}
		}
	}
}

// TestValuesOfRanges: equal shares are equal ratios, with three digits and in the form of a file.
func TestValuesOfRanges(t *testing.T) {
	s := pod(t, "100Gb/s", "algorithm: dcqcn", "scheme: ecn", across)
	for _, c := range []struct{ key, low, high, want string }{
		{"rate-timer", "1us", "100us", "10us"},
		{"g", "0.001", "0.1", "0.01"},
		{"threshold", "1", "9", "3"},
		{"min-decrease", "0", "51", "26"}, // from zero, equal shares are equal differences
		{"active-increase", "1Mb/s", "7Mb/s", "2.65Mb/s"},
	} {
		r, err := sets.Given("defaults.flow.control", s.Flows[0].Control.Params, c.key, c.low, c.high)
		if err != nil || r.At(0.5) != c.want {
			t.Errorf("%s: %v, %s, want %s", c.key, err, r.At(0.5), c.want)
		}
	}
}
