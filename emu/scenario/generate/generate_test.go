package generate_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/golden"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// load writes a scenario and reads it, with its metrics.
func load(t testing.TB, kind string, o generate.Options) *scenario.Scenario {
	t.Helper()
	text, err := generate.Write(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load(kind+".yaml", text, nil, resolve.Lint(lint.Check), resolve.CheckMetrics(func(expr string, s *scenario.Scenario) error {
		f, err := fabric.Build(s)
		if err != nil {
			return err
		}
		_, err = metrics.Compile(expr, f)
		return err
	}))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// TestModelKinds: each kind, in several sizes, is right, has no warnings and the size
// that was asked for, and its claims hold on the virtual clock.
func TestModelKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	sizes := []int{0, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 30, 54, 100}
	for _, k := range generate.Kinds() {
		for _, n := range sizes {
			if n != 0 && n < k.Least || n%k.Step != 0 {
				continue
			}
			o := generate.Options{Endpoints: n}
			if n == 7 {
				o.Rates, o.Name = []unit.Rate{10e9}, "my/own"
			}
			t.Run(fmt.Sprintf("%s/%d", k.Name, n), func(t *testing.T) {
				t.Parallel()
				s := load(t, k.Name, o)
				if n == 0 {
					n = k.Endpoints
				}
				s.Warnings = slices.DeleteFunc(s.Warnings, func(w scenario.Warning) bool {
					return strings.HasPrefix(w.Message, "no flow uses") // a size that does not fill the tree, or leaves one over
				})
				if len(s.Endpoints) != n || len(s.Warnings) > 0 || len(s.Expect) == 0 || s.Description == "" {
					t.Errorf("%d endpoints, %d checks, warnings %v", len(s.Endpoints), len(s.Expect), s.Warnings)
				}
				if want := fmt.Sprintf("%s-%d", k.Name, n); o.Name == "" && s.Name != want || o.Name != "" && s.Name != o.Name {
					t.Errorf("named %s", s.Name)
				}
				result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range result.Checks {
					if c.Outcome != report.Pass {
						t.Errorf("%s: %s is %v, from %v to %v is wanted", c.ID, c.Metric, c.Value, c.Low, c.High)
					}
				}
				if result.Verdict.Violations > 0 {
					t.Errorf("violations: %+v", result.Violations)
				}
			})
		}
	}
}

// variants are calls with options, by the name of a golden file.
func variants() map[string]struct {
	kind string
	o    generate.Options
} {
	type call = struct {
		kind string
		o    generate.Options
	}
	const us = unit.Microsecond
	return map[string]call{
		"leaf-spine": {"leaf-spine", generate.Options{}},
		"uneven":     {"fat-tree", generate.Options{Endpoints: 17}},
		"fat-tree":   {"fat-tree", generate.Options{Ports: 4, Pods: 3}},
		"tiers": {"fat-tree", generate.Options{Pods: 2, Leaves: 2, PerLeaf: 8, Oversubscription: []float64{2, 1},
			Rates: []unit.Rate{25e9, 50e9, 100e9}, Delays: []unit.Duration{us / 10, us / 2, 2 * us}}},
		"dcqcn": {"leaf-spine", generate.Options{Leaves: 2, PerLeaf: 4, Oversubscription: []float64{2}, Scheme: "dcqcn",
			Rates: []unit.Rate{25e9, 50e9}, Delays: []unit.Duration{us, 10 * us}}},
		"pfc":    {"incast", generate.Options{FlowControl: "pfc", Rates: []unit.Rate{1e9}}},
		"marks":  {"dumbbell", generate.Options{Endpoints: 4, Scheme: "lipd,input-output"}},
		"rails":  {"rail-optimised", generate.Options{}},
		"rails4": {"rail-optimised", generate.Options{Rails: 4, Pods: 3, PerLeaf: 2}},
		"hadoop": {"fat-tree", generate.Options{Ports: 4, Rates: []unit.Rate{25e9}, Scheme: "dcqcn", Traffic: "hadoop", Load: 0.3, Incast: 12}},
		"uet": {"leaf-spine", generate.Options{Leaves: 4, PerLeaf: 8, Oversubscription: []float64{4}, Scheme: "rccc", FlowControl: "none",
			Rates: []unit.Rate{100e9}, Delays: []unit.Duration{us}}},
		"rails-load": {"rail-optimised", generate.Options{Rails: 4, Pods: 2, PerLeaf: 2, Rates: []unit.Rate{100e9}, Traffic: "1MB", Incast: 3}},
	}
}

// TestModelVariants: the golden files have fabrics with options. Their claims hold, and nothing is
// doubtful but where dcqcn meets more flows than its defaults are for.
func TestModelVariants(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, c := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := generate.Write(c.kind, c.o)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+name+".yaml", text)
			s := load(t, c.kind, c.o)
			if len(s.Warnings) > 0 && name != "uneven" {
				t.Errorf("warnings %v", s.Warnings)
			}
			result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range result.Checks {
				if c.Outcome != report.Pass {
					t.Errorf("%s: %s is %v, from %v to %v is wanted", c.ID, c.Metric, c.Value, c.Low, c.High)
				}
			}
			if result.Verdict.Violations > 0 {
				t.Errorf("violations: %+v", result.Violations)
			}
		})
	}
}

// TestSchemes: each kind is right with each preset of the tables, on the links that belong to it,
// and is named by the name of the preset.
func TestSchemes(t *testing.T) {
	tables := scenario.BuiltIn()
	for _, k := range generate.Kinds() {
		for _, p := range tables.Presets() {
			o := generate.Options{Scheme: p.Name}
			if p.Family == wire.Ethernet {
				o.FlowControl = "pause"
			}
			s := load(t, k.Name, o)
			points := []string{cmp.Or(p.Point, "none")}
			for _, x := range slices.Concat(p.Paths, p.Narrow) {
				if x.Path == "defaults.switch.marking.scheme" {
					points = append(points, x.Value)
				}
			}
			if got := s.Flows[0].Control.Algorithm; got != p.Algorithm || s.Links[0].Family() != p.Family || !slices.Contains(points, s.Switches[0].Marking.Scheme) {
				t.Errorf("%s with %s: %s on %v", k.Name, p.Name, got, s.Links[0].Family())
			}
		}
	}
}

// TestModelLarge: 2000 endpoints are written and read, without warnings.
func TestModelLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, k := range generate.Kinds() {
		s := load(t, k.Name, generate.Options{Endpoints: 2000})
		if len(s.Endpoints) != 2000 || len(s.Warnings) > 0 {
			t.Errorf("%s: %d endpoints, warnings %v", k.Name, len(s.Endpoints), s.Warnings)
		}
	}
}

// TestLines: each line is short enough to read, and the first says how the file was made.
func TestLines(t *testing.T) {
	for _, k := range generate.Kinds() {
		text, err := generate.Write(k.Name, generate.Options{Endpoints: 200})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# Written by: fabemu generate "+k.Name+" --endpoints 200 --rate 1GB/s\n") {
			t.Errorf("%s begins with %.80q", k.Name, text)
		}
		for line := range strings.Lines(string(text)) {
			if len(line) > 190 {
				t.Errorf("%s: a line of %d characters: %s", k.Name, len(line), line)
			}
		}
	}
}

// TestUltraEthernet: its schemes bring what they need in a fabric, and no more: packets are sprayed
// where switches choose among several paths by a hash, switches trim where they drop unless the
// file says how, and credit becomes less where the core is narrow. The timer is 15 us and the time
// of six queues of 300 KB for each of 8, 5 or 6 ports, rounded up. Marks follow the rule of their
// set: 0.2 and 0.8 of 100 Gb/s times the round trip, which Place measures.
func TestUltraEthernet(t *testing.T) {
	const base = `name: base
model: {duration: 1ms}
routing: %s
defaults:
  link: {rate: 100Gb/s, propagation: 1us, %s}
  switch: {kind: output-queued%s}
  flow: {packet: 2048B, transport: rocev2}
switches: {a: {}, b: {}, "s[1-%d]": {}}
endpoints: ["h[1-8]"]
links: ["h[1-4] - a", "h[5-8] - b", "a x s[1-%[4]d]", "b x s[1-%[4]d]"]
flows: [{name: f, from: "h[1-4]", to: "h[5-8]"}]
`
	const marks = "switch.marking.preset=uet-htsim switch.marking.min=22450B switch.marking.max=89799B"
	for _, c := range []struct {
		routing, control, trim string
		spines                 int
		scheme, want           string
	}{
		{"ecmp", "flow-control: pfc", "", 4, "nscc", "switch.marking.scheme=ecn flow.control.algorithm=nscc flow.transport.kind=uet flow.transport.rto=1.2ms flow.transport.probe-after=27us flow.transport.spray=mixed " + marks},
		{"ecmp", "flow-control: pause", "", 4, "rccc", "flow.control.algorithm=rccc flow.transport.kind=uet flow.transport.rto=1.2ms flow.transport.probe-after=27us flow.transport.spray=mixed switch.marking.scheme=ecn " + marks},
		{"ecmp", "flow-control: none", "", 4, "nscc", "switch.marking.scheme=ecn flow.control.algorithm=nscc flow.transport.kind=uet flow.transport.rto=1.2ms flow.transport.probe-after=27us flow.transport.spray=mixed switch.trim=64B flow.transport.ack-dscp=48 " + marks},
		{"ecmp", "flow-control: none", ", trim: 128B", 4, "nscc-rccc", "switch.marking.scheme=ecn flow.control.algorithm=nscc-rccc flow.transport.kind=uet flow.transport.rto=1.2ms flow.transport.probe-after=27us flow.transport.spray=mixed " + marks},
		{"{paths: ecmp, balance: adaptive}", "flow-control: pfc", "", 4, "nscc", "switch.marking.scheme=ecn flow.control.algorithm=nscc flow.transport.kind=uet flow.transport.rto=1.2ms flow.transport.probe-after=27us " + marks},
		{"ecmp", "flow-control: pfc", "", 1, "rccc", "flow.control.algorithm=rccc flow.transport.kind=uet flow.transport.rto=740us flow.transport.probe-after=27us flow.control.oversubscription=4 switch.marking.scheme=ecn " + marks},
		{"shortest", "flow-control: pfc", "", 4, "rccc", "switch.marking.scheme=none flow.control.algorithm=rccc flow.transport.kind=uet flow.transport.rto=1.2ms flow.transport.probe-after=27us"},
		{"shortest", "flow-control: cbfc, cbfc: {limit: port, port-limit: 1000}", "", 2, "nscc", "switch.marking.scheme=ecn flow.control.algorithm=nscc flow.transport.kind=uet flow.transport.rto=880us flow.transport.probe-after=27us " + marks},
		{"ecmp", "flow-control: none", "", 4, "swift", "switch.marking.scheme=none flow.control.algorithm=swift flow.transport.kind=rocev2 flow.control.base-target=8.9us flow.control.hop-target=2.27us flow.control.scaling-range=44.5us"},
	} {
		text := fmt.Sprintf(base, c.routing, c.control, c.trim, c.spines)
		s, err := resolve.Load("base.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		_, sets, err := generate.SchemeOf(c.scheme, s)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range sets {
			if x.Value != "" {
				got = append(got, strings.TrimPrefix(x.String(), "defaults."))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v:\n%s", c, strings.Join(got, " "))
		}
		if _, err := resolve.Load("base.yaml", []byte(text), sets); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		kind string
		o    generate.Options
		want string
	}{
		{"ring", generate.Options{}, `there is no kind "ring"; there are dumbbell, incast, parking-lot, leaf-spine, fat-tree, rail-optimised, hpl2002`},
		{"incast", generate.Options{Endpoints: 1}, "incast has from 2 to 20000 endpoints, not 1"},
		{"hpl2002", generate.Options{Endpoints: 4}, "hpl2002 has from 5 to 20000 endpoints, not 4"},
		{"incast", generate.Options{Endpoints: 20_001}, "incast has from 2 to 20000 endpoints, not 20001"},
		{"incast", generate.Options{Rates: []unit.Rate{1e9}}, "a rate of 1Gb/s is too low"},
		{"torus", generate.Options{}, "there is no torus: frames on its shortest paths would wait for one another in a circle. Routes"},
		{"dragonfly", generate.Options{}, "there is no dragonfly: frames"},
		{"fat-tree", generate.Options{Ports: 7}, "--k 7: half of the ports of a switch lead downwards, so k is even: 6 or 8"},
		{"fat-tree", generate.Options{Ports: 8, Pods: 9}, "fat-tree: a core has 9 links, and --k 8 gives a switch 8 ports: give a larger --k, or less of --pods"},
		{"leaf-spine", generate.Options{Ports: 8, PerLeaf: 6}, "leaf-spine: a leaf has 12 links, and --k 8"},
		{"rail-optimised", generate.Options{Ports: 8}, "rail-optimised: a spine has 16 links, and --k 8"},
		{"fat-tree", generate.Options{Oversubscription: []float64{0.5}}, "an oversubscription of 0.5: it is"},
		{"leaf-spine", generate.Options{Oversubscription: []float64{math.NaN()}}, "an oversubscription of NaN"},
		{"fat-tree", generate.Options{Oversubscription: []float64{3}, PerLeaf: 4}, "fat-tree: the leaves: 4 links of 1GB/s downwards and an oversubscription of 3 need 1.33 links of 1GB/s upwards: 1 would be an oversubscription of 4, and 2 one of 2"},
		{"incast", generate.Options{Oversubscription: []float64{2}}, "incast has no --oversubscription: leave it out, or"},
		{"incast", generate.Options{Pods: 3}, "incast has no --pods: leave it out, or write a fat-tree or a rail-optimised"},
		{"leaf-spine", generate.Options{Endpoints: 16, Leaves: 4}, "--leaves and --endpoints both give the size"},
		{"leaf-spine", generate.Options{Rates: make([]unit.Rate, 3)}, "3 values of --rate: leaf-spine takes 2"},
		{"leaf-spine", generate.Options{Rates: []unit.Rate{400e9, 1e6}}, "leaf-spine: 1600004 switches and 16 endpoints are more than the 49151 addresses (LIDs)"},
		{"leaf-spine", generate.Options{Leaves: -1}, "--leaves -1: from 1 to 20000 are possible"},
		{"fat-tree", generate.Options{Ports: 200}, "fat-tree: 2000000 endpoints are too many: at most 20000"},
		{"fat-tree", generate.Options{Pods: 20_000, Leaves: 20_000, PerLeaf: 20_000}, "fat-tree: 8000000000000 endpoints are too many"},
		{"rail-optimised", generate.Options{Endpoints: 17}, "rail-optimised: 17 endpoints are not a whole number of hosts, at least two, with 8 links each: 24 would be"},
		{"fat-tree", generate.Options{Traffic: "hadoop", Incast: 16}, "--incast 16: 1 to 15 of 16 endpoints can send to another"},
		{"rail-optimised", generate.Options{Traffic: "hadoop", Incast: 4}, "--incast 4: 1 to 3 of 4 endpoints"},
		{"fat-tree", generate.Options{Incast: 4}, "--load and --incast are a load of flows"},
		{"incast", generate.Options{Delays: []unit.Duration{0}}, "a delay of less than 1ns"},
		{"incast", generate.Options{Scheme: "dcqn"}, `there is no scheme "dcqn" (did you mean "dcqcn"?); there are none, lipd`},
		{"incast", generate.Options{Scheme: "lipd"}, `lipd supports several congestion points: give --scheme "lipd, naive", or "lipd, input", "lipd, input-output"`},
		{"incast", generate.Options{Scheme: "dcqcn", FlowControl: "credit"}, "the scheme dcqcn is not compatible with flow control credit"},
		{"incast", generate.Options{FlowControl: "pcf"}, `there is no flow control "pcf" (did you mean "pfc"?)`},
	} {
		if _, err := generate.Write(c.kind, c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %+v: %v", c.kind, c.o, err)
		}
	}
}
