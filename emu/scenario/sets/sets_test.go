package sets_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/scenario/sets"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// pod is a leaf-spine fabric with what control and marking are given.
func pod(t *testing.T, rate, control, marking, traffic string) *scenario.Scenario {
	t.Helper()
	text := fmt.Sprintf(`name: pod
model: {duration: 1ms}
defaults:
  link: {rate: %s, propagation: 100ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 20MB per port, marking: {%s}}
  flow: {packet: 1000B, transport: rocev2, control: {%s}}
switches: {"leaf[1-2]": {}, spine: {}}
endpoints: ["h[1-4]"]
links:
  - "h[1-4] - leaf[1-2]"
  - {between: "leaf[1-2] - spine", propagation: 400ns}
%s
`, rate, marking, control, traffic)
	s, err := resolve.Load("pod.yaml", []byte(text), nil, resolve.Lint(lint.Check))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	across = `flows: [{name: f, from: h1, to: h3}]`
	load   = `workload: [{name: w, over: "h[1-4]", load: 0.3}]`
)

// TestPlace: the times of a fabric, computed by hand. On a link of 100 Gb/s a packet of 1000 bytes
// with 180 of headers takes 94.4 ns, and an ACK of 84 bytes 6.72 ns. A switch waits for 40 ns.
func TestPlace(t *testing.T) {
	host, spine, wait := 2*100_000+94_400+6720, 2*400_000+94_400+6720, 2*40_000 // ps
	for _, traffic := range []string{across, load} {
		p, ok := sets.Of(pod(t, "100Gb/s", "algorithm: fixed", "scheme: none", traffic))
		want := sets.Place{Rate: 100e9, Trip: unit.Duration(2*host + 2*spine + 3*wait), OneSwitch: unit.Duration(2*host + wait),
			PerSwitch: unit.Duration(spine + wait), Switches: 3, Workload: traffic == load, Oversubscription: 2}
		if !ok || p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	for _, c := range []struct {
		text    string
		several bool
		over    float64
	}{
		{`switches: {a: {}, b: {}}
links: ["h[1-4] - a", "h[5-6] - b", a - b]`, false, 3}, // six hosts, and a trunk up from each side
		{`switches: {a: {}, b: {}, s: {}, t: {}}
links: ["h[1-4] - a", "h[5-6] - b", a - s, b - s, a - t, b - t]`, true, 1.5},
		{`switches: {a: {}, b: {}, s: {}, t: {}, u: {}}
links: ["h[1-4] - a", "h[5-6] - b", a - s, a - t, b - s, b - t, s - u, t - u]`, true, 3}, // the third tier has two links, and no endpoint needs it
		{`switches: {a: {}, s: {}, t: {}}
links: ["h[1-6] - a", a - s, a - t, s - t]`, false, 3}, // two paths lead to no endpoint
	} {
		s, err := resolve.Load("fabric.yaml", []byte("name: fabric\nmodel: {duration: 1ms}\ndefaults: {link: {rate: 100Gb/s, flow-control: pfc}, switch: {kind: output-queued}}\nendpoints: [\"h[1-6]\"]\n"+
			c.text+"\nflows: [{name: f, from: h1, to: h6}]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := sets.Of(s); p.Several != c.several || p.Oversubscription != c.over {
			t.Errorf("%s: several %v, oversubscription %v", c.text, p.Several, p.Oversubscription)
		}
	}
	direct, err := resolve.Load("two.yaml", []byte("name: two\nmodel: {duration: 1ms}\ndefaults: {link: {rate: 1GB/s}}\nendpoints: [a, b]\nlinks: [a - b]\nflows: [{name: f, from: a, to: b}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := sets.Of(direct); ok {
		t.Errorf("without a switch: %+v", p)
	}
}

// TestChoose: the set that was made for the rate, or the first with rules for other rates, or the
// usual one; and the values of its rules.
func TestChoose(t *testing.T) {
	place := sets.Place{Trip: 2 * unit.Microsecond, OneSwitch: 600 * unit.Nanosecond, PerSwitch: 700 * unit.Nanosecond, Switches: 3}
	for _, c := range []struct {
		params   any
		rate     unit.Rate
		like     string
		given    map[string]string
		workload bool
		want     string
	}{
		{rp.DCQCNParams{}, 40e9, "", nil, false, "paper"},
		{rp.DCQCNParams{}, 100e9, "", nil, false, "hpcc preset=hpcc"},
		{rp.DCQCNParams{}, 10e9, "", nil, false, "hpcc preset=hpcc"}, // its increases scale
		{rp.DCQCNParams{}, 100e9, "", map[string]string{"preset": "connectx"}, false, "connectx"},
		{cp.ECNParams{}, 40e9, "paper", nil, false, "paper"},
		{cp.ECNParams{}, 40e9, "hpcc", nil, false, "hpcc preset=hpcc"},
		{cp.ECNParams{}, 400e9, "connectx", nil, false, "hpcc preset=hpcc"},
		{cp.ECNParams{}, 10e9, "dctcp", nil, false, "dctcp preset=dctcp"},
		{rp.TimelyParams{}, 10e9, "", nil, false, "paper"},
		{rp.TimelyParams{}, 100e9, "", nil, false, "hpcc preset=hpcc"},
		{rp.HPCCParams{}, 100e9, "", nil, false, "paper increase=13B base-rtt=2us"}, // 80 B x 2/13 = 12.3 B
		{rp.HPCCParams{}, 400e9, "", map[string]string{"preset": "repository"}, false, "repository increase=40B base-rtt=2us"},
		{rp.HPCCParams{}, 100e9, "", map[string]string{"base-rtt": "9us"}, false, "paper increase=13B"},
		{rp.SwiftParams{}, 100e9, "", nil, false, "paper base-target=1.2us hop-target=700ns scaling-range=6us"},
		{rp.SwiftParams{}, 100e9, "", nil, true, "paper base-target=1.2us hop-target=700ns hops=3 scaling-range=6us"},
		{rp.SwiftParams{}, 100e9, "", map[string]string{"preset": "htsim"}, true, "htsim hops=3"},
		{rp.CCAParams{}, 100e9, "", nil, false, ""},
	} {
		place.Rate, place.Workload = c.rate, c.workload
		set, values := place.Choose(param.Of(c.params), c.like, func(key string) (string, bool) { v, ok := c.given[key]; return v, ok })
		got := set
		for _, v := range values {
			got += " " + v.Key + "=" + v.Text
		}
		if got != c.want {
			t.Errorf("%T at %v, %v given: %q, want %q", c.params, c.rate, c.given, got, c.want)
		}
	}
}

// TestEverySetHasASource: no set, and no value of one, is without a source unless it is a guess or
// the same in all sets.
func TestEverySetHasASource(t *testing.T) {
	var all []any
	for _, l := range rp.Algorithms() {
		all = append(all, l.Params)
	}
	for _, p := range cp.Points() {
		all = append(all, p.Params)
	}
	found := 0
	for _, params := range all {
		s := param.Of(params).Sets()
		if s == nil {
			continue
		}
		found++
		for _, set := range s.Words {
			if s.SourceIn(set) == "" {
				t.Errorf("%T: the set %s has no source", params, set)
			}
		}
		for i := range param.Of(params).Params {
			p := &param.Of(params).Params[i]
			if strings.Contains(p.Source, "guess") {
				t.Errorf("%T: %s has a guess in prose: %s", params, p.Key, p.Source)
			}
		}
	}
	if found < 9 {
		t.Errorf("%d schemes have sets", found)
	}
}

// TestRows: where each value of a scenario comes from.
func TestRows(t *testing.T) {
	s := pod(t, "100Gb/s", "algorithm: swift, base-target: 1.05us, most-window: 500", "scheme: ecn, preset: hpcc, max-p: 0.5", load)
	got := map[string]string{}
	for _, r := range sets.Rows(s) {
		if _, twice := got[r.Object+"."+r.Key]; twice {
			t.Errorf("%s %s is listed twice", r.Object, r.Key)
		}
		got[r.Object+"."+r.Key] = strings.Join(r.Cells()[3:], "|")
	}
	for key, want := range map[string]string{
		"control.base-target":     "1.05us|paper||given|||",
		"control.hop-target":      "3.053us|paper||set|htsim, sim/swift.cpp|a guess|per-switch gives 990ns",
		"control.window-increase": "1|paper||set|htsim, sim/swift.cpp|a guess|",
		"control.reset-after":     "5|paper||set||a guess|",
		"control.scaling-by":      "window|paper||set|Kumar et al. 2020||",
		"control.most-window":     "500|paper||given|||",
		"marking.min":             "100KB|hpcc|25Gb/s to 400Gb/s|set|HPCC's simulator, run.py||",
		"marking.max-p":           "0.5|hpcc|25Gb/s to 400Gb/s|given|||",
		"transport.mtu":           "4096B|||default|IBTA Volume 1, 9.7.2||",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
}

// TestDoubts: check says which values were made for other links, and only those that are not given.
func TestDoubts(t *testing.T) {
	for _, c := range []struct{ rate, control, marking, want string }{
		{"40Gb/s", "algorithm: dcqcn", "scheme: ecn", ""},
		{"100Gb/s", "algorithm: dcqcn, preset: hpcc", "scheme: ecn, preset: hpcc", ""},
		{"100Gb/s", "algorithm: dcqcn, preset: hpcc", "scheme: ecn, min: 5KB, max: 200KB", ""}, // they are given
		{"100Gb/s", "algorithm: dcqcn, preset: hpcc", "scheme: ecn",
			"switch leaf1: the set paper of ecn may not suit links of 100Gb/s and a round trip of 2.65us: min 5KB, made for 40Gb/s; max 200KB, made for 40Gb/s; the set hpcc has values for such links"},
		{"100Gb/s", "algorithm: hpcc, exact: true", "scheme: none", "base-rtt 13us, rtt gives 2.65us; give it the values of its rules"},
		{"100Gb/s", "algorithm: hpcc, exact: true, base-rtt: 2.65us, increase: 17B", "scheme: none", ""},
		{"100Gb/s", "algorithm: timely, preset: hpcc", "scheme: none", "t-low 50us, made for a round trip of 13us; t-high 500us, made for a round trip of 13us; min-rtt 20us, made for a round trip of 13us; its source has no rule for others"},
	} {
		var said []string
		for _, w := range pod(t, c.rate, c.control, c.marking, across).Warnings {
			if strings.Contains(w.Message, "may not suit") {
				said = append(said, w.Message)
			}
		}
		if got := strings.Join(said, "\n"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || len(said) > 1 {
			t.Errorf("%s, %s, %s: %s, want %s", c.rate, c.control, c.marking, got, c.want)
		}
	}
}
