package builtin_test

import (
	gocmp "cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

func load(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	src, err := builtin.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load(name+".yaml", src, nil, resolve.Lint(lint.Check))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestList(t *testing.T) {
	var names []string
	found := false
	for _, e := range builtin.List() {
		names = append(names, e.Name)
		found = found || e.Name == builtin.Default
		s := load(t, e.Name)
		if s.Name != e.Name || s.Source != e.Source || s.Description != e.Description {
			t.Errorf("%s: listed as %+v", e.Name, e)
		}
		for _, w := range s.Warnings {
			if strings.Contains(w.Message, "never") {
				t.Errorf("%s has a scheme that never acts: %v", e.Name, w)
			}
		}
		whole, short := builtin.Extent{Duration: s.Model.Duration, Dilation: s.Wall.Dilation}, builtin.Extent{}
		if s.HasShort {
			src, _ := builtin.Read(e.Name)
			brief, err := resolve.Load(e.Name+".yaml", src, nil, resolve.Short())
			if err != nil {
				t.Fatal(err)
			}
			short = builtin.Extent{Duration: brief.Model.Duration, Dilation: brief.Wall.Dilation}
		}
		usual := param.Defaults(scenario.Wall{}).Dilation
		e.Whole.Dilation = gocmp.Or(e.Whole.Dilation, usual)
		if e.Short.Duration > 0 {
			e.Short.Dilation = gocmp.Or(e.Short.Dilation, usual)
		}
		if e.Whole != whole || e.Short != short {
			t.Errorf("%s: it takes %+v, and %+v in short, and is listed with %+v and %+v", e.Name, whole, short, e.Whole, e.Short)
		}
		if _, real := s.Guests(); e.Guests != (real > 0) {
			t.Errorf("%s: listed with guests: %t, and has %d", e.Name, e.Guests, real)
		}
		if e.Source == "" || e.Description == "" || strings.Contains(e.Description, "\n") {
			t.Errorf("%s: what is it? %+v", e.Name, e)
		}
	}
	want := []string{"bcn/asymmetric", "bcn/bursty", "bcn/convergence", "bcn/delay", "bcn/dimensioning", "bcn/gains", "bcn/mixed", "bcn/parking-lot", "bcn/sampling", "bcn/severe", "bcn/two-points", "bcn/two-way",
		"bench/cut", "bench/incast", "bench/parking-lot", "bench/slow-receiver", "bench/transfers", "bench/unequal",
		"cbfc/backpressure", "cbfc/channels", "cbfc/incast", "cbfc/rate", "cbfc/repair", "cbfc/retry", "cbfc/wraps", "cca/incast", "cca/levels", "cca/starvation",
		"dcqcn/bystander", "dcqcn/cnp-delay", "dcqcn/fixed-point", "dcqcn/incast-pfc", "dcqcn/unequal",
		"e2cm/hotspot", "e2cm/hotspot-drops", "e2cm/limiters", "e2cm/oq-limit", "e2cm/probes-lost", "e2cm/rtt",
		"ethernet/dynamic-threshold", "ethernet/ets", "ethernet/failover", "ethernet/headroom", "ethernet/incast", "ethernet/incast-drops", "ethernet/leaf-spine", "ethernet/orders", "ethernet/pause-hol", "ethernet/pause-storm", "ethernet/pfc-hol", "ethernet/ring-deadlock", "ethernet/slow-receiver", "ethernet/slow-spine", "ethernet/spray", "ethernet/spraying", "ethernet/trim",
		"guest/attached", "guest/gigabit", "guest/gigabit-incast", "guest/incast", "guest/incast-qcn", "guest/iperf", "guest/mixed", "guest/netstack", "guest/netstack-incast", "guest/ping", "guest/red", "guest/victim", "guest/victim-qcn",
		"hpcc/cut", "hpcc/incast", "hpcc/steady",
		"hpl2002/fig2", "hpl2002/fig3a", "hpl2002/fig3b", "hpl2002/fig3c", "hpl2002/fig3d",
		"htsim/incast", "htsim/incast-128", "htsim/permutation",
		"infiniband/fat-tree-hotspot", "infiniband/lash-ring", "infiniband/opensm", "infiniband/vl-arbitration",
		"links/length", "links/loss", "links/victim", "llr/mixed", "llr/pause", "llr/replay", "llr/streams",
		"loop/cut", "loop/disorder", "loop/free", "loop/half", "loop/hours", "loop/lost", "loop/many", "loop/repeated", "loop/storm",
		"paths/leaf-spine", "paths/spreading", "pfc/ecn", "pfc/flap", "pfc/headroom", "pfc/lossy", "pfc/ports", "pfc/storm", "pfc/times", "pfc/watchdog",
		"qcn/basic", "qcn/fct", "qcn/lost-cnm", "qcn/og-hotspot", "qcn/rtt-500us", "qcn/single-limiter", "qcn/standard", "qcn/two-points", "qcn/unit-step",
		"roce/ecn", "roce/first", "roce/go-back-n", "swift/target", "swift/thousand",
		"tcp/dctcp", "tcp/droptail", "tcp/ecn", "tcp/fluid", "tcp/lossless", "tcp/lossless-qcn", "tcp/red-boundary", "tcp/red-stable", "tcp/red-unstable", "timely/rest", "timely/splits", "uet/fabrics", "uet/incast", "uet/incast-128", "uet/outcast", "uet/permutation", "uet/permutation-128", "uet/permutation-128-4to1", "uet/permutation-128-8to1", "uet/schemes-incast", "uet/schemes-load", "uet/schemes-permutation", "uet/trimming",
		"workload/all-reduce", "workload/hadoop", "workload/web-search"}
	if diff := cmp.Diff(want, names); diff != "" || !found {
		t.Errorf("(-want +got):\n%s, default listed: %t", diff, found)
	}
}

func TestRead(t *testing.T) {
	for name, hint := range map[string]string{
		"fig3b": `"hpl2002/fig3b"`, "hpl2002/fig3": `"hpl2002/fig3a"`, "hpl202/fig3c": `"hpl2002/fig3c"`, "HPL2002/fig2": `"hpl2002/fig2"`,
		"qcn": "", "": "", "incast": `"bench/incast"`, "dcqcn/nosuch": "", "../scenarios.go": "", "hpl2002": "",
	} {
		_, err := builtin.Read(name)
		if err == nil {
			t.Errorf("%q is there", name)
			continue
		}
		if got := strings.Contains(err.Error(), "did you mean "+hint); got != (hint != "") && hint != "" {
			t.Errorf("%q: %v", name, err)
		}
		_, text, _ := strings.Cut(err.Error(), " are ")
		few := strings.Split(strings.TrimSuffix(text, "; fabemu list shows all"), ", ")
		if len(few) != 5 || hint != "" && few[0] != strings.Trim(hint, `"`) {
			t.Errorf("%q: %q", name, few)
		}
		if hint == "" && name != "hpl2002" && strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestHPL2002 checks the fabric of HPL-2002-224, Fig. 1 and Table I: "a set of 10
// local flows", "10 remote flows", "a victim flow"; "local and remote flows start
// sequentially every 100us, with the local flows starting before the remote
// flows"; "the victim flow is active only in the time interval [40ms,60ms]".
func TestHPL2002(t *testing.T) {
	input := cp.InputParams{Counts: "waiting", Selection: "counters"}
	marking := map[string]scenario.Marking{
		"fig2":  {Scheme: scenario.NoScheme},
		"fig3a": {Scheme: "naive", Params: cp.NaiveParams{}},
		"fig3b": {Scheme: "input", Params: input},
		"fig3c": {Scheme: "input-output", Params: cp.InputOutputParams{Threshold: 4, Exceeds: cp.AtLeast, InputParams: input}},
		"fig3d": {Scheme: "input-output", Params: cp.InputOutputParams{Threshold: 8, Exceeds: cp.AtLeast, InputParams: input}},
	}
	for fig, want := range marking {
		t.Run(fig, func(t *testing.T) {
			s := load(t, "hpl2002/"+fig)
			for _, sw := range s.Switches {
				if diff := cmp.Diff(want, sw.Marking); diff != "" {
					t.Errorf("switch %s (-want +got):\n%s", sw.Name, diff)
				}
				if sw.ForwardingDelay != 40*unit.Nanosecond || sw.Crossbar != "multi-output" || sw.Bypass != 4 {
					t.Errorf("%+v", sw)
				}
			}
			if len(s.Switches) != 2 || len(s.Endpoints) != 23 || len(s.Links) != 24 || len(s.Flows) != 21 {
				t.Errorf("%d switches, %d endpoints, %d links, %d flows", len(s.Switches), len(s.Endpoints), len(s.Links), len(s.Flows))
			}
			for _, l := range s.Links {
				if l.Rate != 8e9 || l.Buffer != (unit.Room{Packets: 4}) || l.FlowControl != port.Credits {
					t.Errorf("%+v", l)
				}
			}
			algorithm := "lipd"
			if fig == "fig2" {
				algorithm = "fixed"
			}
			for i, f := range s.Flows {
				name, to, start, stop := fmt.Sprintf("local.B%d", i+1), "BC", unit.Duration(i)*100*unit.Microsecond, unit.Duration(0)
				switch {
				case i == 20:
					name, to, start, stop = "victim", "BV", 40*unit.Millisecond, 60*unit.Millisecond
				case i >= 10:
					name = fmt.Sprintf("remote.A%d", i-9)
				}
				if f.Name != name || f.To != to || f.Start != start || f.Stop != stop || f.Packet != 2048 || f.Window != 1 || f.Control.Algorithm != algorithm || algorithm == "lipd" && f.Control.Params != any(rp.LIPDParams{Ratio: rp.Ratio{RmaxOverRmin: 256}}) {
					t.Errorf("%+v", f)
				}
			}
			dilation := int64(200)
			if fig == "fig3b" { // the default scenario: as low as two cores keep
				dilation = 50
			}
			if s.Model.Duration != 100*unit.Millisecond || s.Measure.Window != 2*unit.Millisecond || s.Wall.Dilation != dilation {
				t.Errorf("%+v %+v %+v", s.Model, s.Measure, s.Wall)
			}
		})
	}
}

// TestRanges pins the ranges in which the claims hold: they may not be widened.
func TestRanges(t *testing.T) {
	const root, trunk, victim, ratio = "root.B-BC.utilisation", "trunk.A-B.utilisation", "victim.utilisation", "remote.rate / local.rate"
	type claim struct {
		metric    string
		low, high float64
		expected  scenario.Expected
	}
	want := map[string]map[string]claim{
		"fig2": {"IB-1a": {root, 0.995, 1, "holds"}, "IB-1b": {trunk, 0.32, 0.33, "holds"}, "IB-1c": {victim, 0.037, 0.043, "holds"},
			"IB-1d": {"local.utilisation", 0.71, 0.72, "holds"}},
		"fig3a": {"IB-3a": {"local.rate / root.B-BC.rate", 0.88, 0.92, "holds"}, "IB-3b": {victim, 0.75, 1, "holds"}},
		"fig3b": {"IB-5a": {trunk, 0.90, 1, "holds"}, "IB-5b": {ratio, 0.28, 0.45, "holds"}, "IB-5c": {victim, 0.60, 1, "holds"}},
		"fig3c": {"IB-6": {root, 0, 0.85, "holds"}},
		"fig3d": {"IB-7a": {root, 0.97, 1, "holds"}, "IB-7b": {trunk, 0.90, 1, "holds"}, "IB-7c": {ratio, 0.8, 1.25, "differs"}},
	}
	for fig, claims := range want {
		s := load(t, "hpl2002/"+fig)
		if len(s.Expect) != len(claims) {
			t.Errorf("%s has %d checks, not %d", fig, len(s.Expect), len(claims))
		}
		for _, c := range s.Expect {
			if got := (claim{c.Metric, c.Low, c.High, c.Expected}); got != claims[c.ID] {
				t.Errorf("%s %s: %+v, not %+v", fig, c.ID, got, claims[c.ID])
			}
			if c.During != [2]unit.Duration{42 * unit.Millisecond, 60 * unit.Millisecond} {
				t.Errorf("%s %s: during %v", fig, c.ID, c.During)
			}
			if c.Claim == "" || c.Basis != scenario.Ours && !strings.Contains(c.Source, "section") && !strings.Contains(c.Source, "Fig.") {
				t.Errorf("%s %s: claim %q, source %q", fig, c.ID, c.Claim, c.Source)
			}
		}
	}
}
