package resolve_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// small is a fabric of one switch that the tests build on.
const small = `name: small
source: nowhere
model: {duration: 10ms}
defaults:
  link: {rate: 1GB/s}
switches: {S: {}, T: {marking: {scheme: naive}}}
endpoints: ["A[1-3]", B]
links:
  - "A[1-3] - S"
  - {name: trunk, between: S - T}
  - B - T
flows:
  - {name: in, from: "A[1-3]", to: B, start: 1ms + 100us, stop: 5ms}
  - {name: out, from: B, to: A2}
expect:
  - {id: C1, metric: in.rate, during: [1ms, 2ms], low: 0, high: 1}
`

func load(t testing.TB, src string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := loadErr(t, src, sets...)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return s
}

func loadErr(t testing.TB, src string, sets ...string) (*scenario.Scenario, error) {
	t.Helper()
	return resolve.Load("small.yaml", []byte(src), setsOf(t, sets), resolve.Lint(lint.Check))
}

func setsOf(t testing.TB, texts []string) (sets []scenario.Set) {
	t.Helper()
	for _, text := range texts {
		set, err := scenario.ParseSet(text)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	return sets
}

// TestDefaults names every default, with where it comes from in the table of
// the language.
func TestDefaults(t *testing.T) {
	s := load(t, small)
	link := scenario.Link{Name: "A1 - S", A: "A1", B: "S", Rate: 8e9, Propagation: unit.Nanosecond, FlowControl: port.Credits,
		Buffer: unit.Room{Packets: 4}, Resend: 262144 * unit.Nanosecond}
	if diff := cmp.Diff(link, s.Links[0]); diff != "" {
		t.Errorf("link (-want +got):\n%s", diff)
	}
	sw := scenario.Switch{Name: "S", Kind: "input-buffered", ForwardingDelay: 40 * unit.Nanosecond, Crossbar: "multi-output", Bypass: 4,
		Marking: scenario.Marking{Scheme: "none"}}
	if diff := cmp.Diff(sw, s.Switches[0]); diff != "" {
		t.Errorf("switch (-want +got):\n%s", diff)
	}
	// The jitter is half of 2068 bytes at 1 byte/ns.
	flow := scenario.Flow{Name: "out", Group: "out", From: "B", To: "A2", Jitter: 1034 * unit.Nanosecond, Traffic: traffic.Greedy, Source: scenario.Source{Packet: 2048,
		Window: 1, AckSL: scenario.AcksApart, Limiter: "ipd", Control: scenario.Control{Algorithm: "fixed", Params: rp.FixedParams{}}}}
	if diff := cmp.Diff(flow, s.Flows[3]); diff != "" {
		t.Errorf("flow (-want +got):\n%s", diff)
	}
	rest := []any{
		scenario.Model{Duration: 10 * unit.Millisecond, Seed: 1, Framing: wire.PaperFraming}, s.Model,
		scenario.Wall{Dilation: 200, Buffer: 128 * unit.KiB}, s.Wall,
		scenario.Measure{Window: 100 * unit.Microsecond}, s.Measure,
		scenario.Check{ID: "C1", Basis: scenario.Ours, Metric: "in.rate", During: [2]unit.Duration{unit.Millisecond, 2 * unit.Millisecond}, High: 1, Expected: "holds"}, s.Expect[0],
	}
	for i := 0; i < len(rest); i += 2 {
		if diff := cmp.Diff(rest[i], rest[i+1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestRanges checks names, order and starts of what ranges stand for.
func TestRanges(t *testing.T) {
	s := load(t, `name: ranges
model: {duration: 10ms}
defaults: {link: {rate: 10Gb/s}}
switches: {S: {}}
endpoints: ["a[08-11]", "b[1-4]x", c]
links: ["a[08-11] - S", "S - b[1-4]x", c - S]
flows:
  - {name: pairs, from: "a[08-09]", to: "b[3-4]x", start: 1us + 2us}
  - {name: fan, from: c, to: "b[1-2]x"}
  - {name: in, group: all, from: "a[10-11]", to: c}
`)
	var got []string
	for _, l := range s.Links {
		got = append(got, l.Name)
	}
	for _, f := range s.Flows {
		got = append(got, fmt.Sprintf("%s (%s): %s to %s at %v", f.Name, f.Group, f.From, f.To, f.Start))
	}
	want := []string{
		"a08 - S", "a09 - S", "a10 - S", "a11 - S", "S - b1x", "S - b2x", "S - b3x", "S - b4x", "c - S",
		"pairs.a08 (pairs): a08 to b3x at 1us", "pairs.a09 (pairs): a09 to b4x at 3us",
		"fan.b1x (fan): c to b1x at 0s", "fan.b2x (fan): c to b2x at 0s",
		"in.a10 (all): a10 to c at 0s", "in.a11 (all): a11 to c at 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDependentDefaults(t *testing.T) {
	full := func(exempt bool) cp.Full { return cp.Full{IdleExempt: exempt} }
	both := func(threshold int) cp.InputOutputParams {
		return cp.InputOutputParams{Threshold: threshold, Exceeds: cp.AtLeast, InputParams: cp.InputParams{Counts: "waiting", Selection: "counters"}}
	}
	for _, c := range []struct {
		sets []string
		want any // of T, where naive marking is the rule
	}{
		{nil, cp.NaiveParams{Full: full(false)}},
		{[]string{"defaults.switch.crossbar=single-output"}, cp.NaiveParams{Full: full(true)}},
		{[]string{"defaults.switch.crossbar=single-output", "switches.T.crossbar=multi-output"}, cp.NaiveParams{Full: full(false)}},
		{[]string{"defaults.switch.crossbar=single-output", "switches.T.marking.idle-exempt=false"}, cp.NaiveParams{Full: full(false)}},
		{[]string{"switches.T.marking.scheme=input-output"}, both(4)},
		{[]string{"switches.T.marking.scheme=input-output", "defaults.switch.marking.threshold=8"}, both(8)},
		{[]string{"switches.T.marking.scheme=input-output", "defaults.switch.marking.threshold=none"}, both(0)},
		{[]string{"defaults.switch.marking.threshold=none"}, cp.NaiveParams{Full: full(false)}},
	} {
		s := load(t, small, c.sets...)
		if diff := cmp.Diff(c.want, s.Switches[1].Marking.Params); diff != "" || s.Switches[0].Marking.Params != nil {
			t.Errorf("%v (-want +got):\n%s; S has %+v", c.sets, diff, s.Switches[0].Marking)
		}
	}
}

// TestBuilt: a scenario that is built in Go is that of a file that says the same.
func TestBuilt(t *testing.T) {
	want := load(t, `name: built
model: {duration: 1ms}
switches: {S: {}}
endpoints: [a, b]
links: [{between: a - S, rate: 1GB/s}, {name: exit, between: S - b, rate: 2GB/s}]
flows: [{name: f, from: a, to: b, jitter: 0s}]
expect: [{id: c, metric: f.rate, during: [0ms, 1ms], low: 0, high: 1}]
`)
	s := scenario.New("built", unit.Millisecond)
	s.Switches = []scenario.Switch{scenario.NewSwitch("S")}
	s.Endpoints = scenario.NewEndpoints("a", "b")
	s.Links = []scenario.Link{scenario.NewLink("a", "S", 8e9), scenario.NewLink("S", "b", 16e9)}
	s.Links[1].Name = "exit"
	s.Flows = []scenario.Flow{scenario.NewFlow("f", "a", "b")}
	s.Expect = []scenario.Check{{ID: "c", Basis: scenario.Ours, Metric: "f.rate", During: [2]unit.Duration{0, unit.Millisecond}, High: 1, Expected: "holds"}}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(scenario.Scenario{}, scenario.Workload{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("(-file +built):\n%s", diff)
	}
	roundTrip(t, s)
}

func TestWireFramingJitter(t *testing.T) {
	s := load(t, small, "model.framing=wire")
	if got := s.Flows[0].Jitter; got != 1037*unit.Nanosecond { // 2074 bytes
		t.Errorf("jitter %v", got)
	}
}

// TestSet changes one field after another and looks at it.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		set string
		got func(s *scenario.Scenario) any
		str string
	}{
		{"model.seed=18446744073709551615", func(s *scenario.Scenario) any { return s.Model.Seed }, "18446744073709551615"},
		{" model.duration = 20ms ", func(s *scenario.Scenario) any { return s.Model.Duration }, "20ms"},
		{"wall.dilation=1", func(s *scenario.Scenario) any { return s.Wall.Dilation }, "1"},
		{"wall.udp-port=4000", func(s *scenario.Scenario) any { return s.Wall.UDPPort }, "4000"},
		{"wall.socket-buffer=1MiB", func(s *scenario.Scenario) any { return s.Wall.Buffer }, "1MiB"},
		{"description=a, b", func(s *scenario.Scenario) any { return s.Description }, "a, b"},
		{"defaults.link.buffer=8packets", func(s *scenario.Scenario) any { return s.Links[4].Buffer }, "8 packets"},
		{"defaults.link.buffer=150KB", func(s *scenario.Scenario) any { return s.Links[0].Buffer }, "150KB"},
		{"defaults.flow.control.algorithm=lipd", func(s *scenario.Scenario) any { return s.Flows[0].Control.Algorithm }, "lipd"},
		{"links.trunk.rate=2GB/s", func(s *scenario.Scenario) any { return s.Links[3].Rate }, "2GB/s"},
		{"links.S - T.rate=3GB/s", func(s *scenario.Scenario) any { return s.Links[3].Rate }, "3GB/s"},
		{"links.A[1-3] - S.rate=4GB/s", func(s *scenario.Scenario) any { return s.Links[2].Rate }, "4GB/s"},
		{"links.B - T.propagation=5us", func(s *scenario.Scenario) any { return s.Links[4].Propagation }, "5us"},
		{"flows.in.stop=6ms", func(s *scenario.Scenario) any { return s.Flows[2].Stop }, "6ms"},
		{"flows.in.stop=end", func(s *scenario.Scenario) any { return s.Flows[2].Stop }, "0s"},
		{"flows.in.start=0us + 1us", func(s *scenario.Scenario) any { return s.Flows[2].Start }, "2us"},
		{"switches.S.marking.scheme=input", func(s *scenario.Scenario) any { return s.Switches[0].Marking.Scheme }, "input"},
		{"switches.S.forwarding-delay=1us", func(s *scenario.Scenario) any { return s.Switches[0].ForwardingDelay }, "1us"},
		{"measure.window=1ms", func(s *scenario.Scenario) any { return s.Measure.Window }, "1ms"},
		{"expect.C1.low=-0.5", func(s *scenario.Scenario) any { return s.Expect[0].Low }, "-0.5"},
	} {
		s := load(t, small, c.set)
		if got := fmt.Sprint(c.got(s)); got != c.str {
			t.Errorf("%s: %s, not %s", c.set, got, c.str)
		}
	}
	if s := load(t, small, "model.seed=2", "model.seed=3"); s.Model.Seed != 3 {
		t.Errorf("the last of two does not hold: %d", s.Model.Seed)
	}
}

// Keys of earlier versions mean what they did, in files, defaults, items and sets.
func TestOldKeys(t *testing.T) {
	lipd := func(text string, sets ...string) {
		t.Helper()
		s := load(t, text, sets...)
		if got := s.Flows[0].Control.Algorithm; got != "lipd" {
			t.Errorf("%q: the algorithm is %s, want lipd", sets, got)
		}
		again, err := resolve.Text(s)
		if err != nil || !strings.Contains(string(again), "algorithm: lipd") || strings.Contains(string(again), "law:") {
			t.Errorf("the resolved file does not have the present key: %v\n%s", err, again)
		}
	}
	lipd(strings.Replace(small, "link: {rate: 1GB/s}", "link: {rate: 1GB/s}\n  flow: {control: {law: lipd}}", 1))
	lipd(strings.Replace(small, "stop: 5ms", "stop: 5ms, control: {law: lipd}", 1))
	lipd(small, "defaults.flow.control.law=lipd")
	lipd(strings.Replace(small, "stop: 5ms", "stop: 5ms, control: {law: fixed}", 1), "flows.in.control.algorithm=lipd")
	_, err := loadErr(t, strings.Replace(small, "stop: 5ms", "stop: 5ms, control: {law: lipd, algorithm: fixed}", 1))
	if err == nil || !strings.Contains(err.Error(), "law is the old name of algorithm: give one of them") {
		t.Errorf("both keys: %v", err)
	}
}

// TestBadSets compares what is said about bad overrides with a golden: first
// those that are no PATH=VALUE, then those that do not fit the file.
func TestBadSets(t *testing.T) {
	var b strings.Builder
	for _, text := range []string{"", "model.seed", "=2", "model.seed=", "model..seed=2", ".=1"} {
		_, err := scenario.ParseSet(text)
		if err == nil {
			t.Errorf("%q is taken", text)
		}
		fmt.Fprintln(&b, err)
	}
	for _, text := range []string{
		"modle.seed=2", "model.sed=2", "model=2", "model.seed.low=2", "model.seed=two",
		"defaults.link.buffr=8packets", "defaults.link.buffer=8cows", "defaults.link.buffer=2,3,4", "defaults.link=1GB/s",
		"links.trnk.rate=1GB/s", "links.trunk=1GB/s", "links=1", "links.trunk.speed=1GB/s", "links.trunk.rate=0GB/s",
		"flows.in.A1.stop=5ms", "flows.inn.stop=5ms", "flows.in.stop=500us", "flows.out.control.algorithm=none",
		"switches.U.crossbar=multi-output", "switches.S=none", "switches=S", "switches.T.marking.scheme=naif",
		"events.0.rate=1GB/s", "endpoints=C", "endpoints.A1=C", "expect.C1.during=1ms", "expect.C2.low=1", "expect=1",
		"flows.out.control.cct=0:0,4:1", "wall.dilation=0.5", "name=a b", "model.duration=1ns", "defaults.link.rate=100Mb/s",
	} {
		s, err := loadErr(t, small, text)
		if err == nil {
			t.Errorf("%q is taken: %+v", text, s)
			continue
		}
		fmt.Fprintln(&b, err)
	}
	golden.File(t, "testdata/sets.golden", b.String())
}

// TestSetWithCommas: a table is one value.
func TestSetWithCommas(t *testing.T) {
	s, err := loadErr(t, small, "flows.out.control.algorithm=cca", "flows.out.control.cct=0:0,0:1,1:3")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Flows {
		if p, ok := f.Control.Params.(rp.CCAParams); ok && (p.CCT != "0:0,0:1,1:3" || p.Limit != 2) {
			t.Errorf("%+v", p)
		} else if ok {
			return
		}
	}
	t.Error("no flow has the table")
}

// TestSetOnBadFile: a --set and a mistake in the file are both reported, the
// --set last.
func TestSetOnBadFile(t *testing.T) {
	_, err := loadErr(t, strings.Replace(small, "duration", "durration", 1), "model.seed=x", "model=y")
	list := err.(*scenario.Errors).List
	if len(list) != 3 || list[0].Line != 3 || list[2].Line != 0 || list[2].File != "" {
		t.Errorf("%v", err)
	}
	for _, e := range err.(*scenario.Errors).List {
		if e.Error() == "" {
			t.Error("an empty message")
		}
	}
}

// TestBuiltin loads every embedded scenario, prints it resolved, and reads that
// back. Neither has warnings. The resolved form of one of them is a golden.
func TestBuiltin(t *testing.T) {
	for _, e := range builtin.List() {
		src, err := builtin.Read(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		s := load(t, string(src))
		out, back := roundTrip(t, s)
		if e.Name == "hpl2002/fig3b" {
			golden.File(t, "testdata/fig3b.resolved.golden", out)
		}
		for _, w := range slices.Concat(s.Warnings, back.Warnings) {
			if (e.Name == "cbfc/rate" || e.Name == "links/length") && strings.Contains(w.Message, "do not keep the link busy") {
				continue // its claim is the rate of a channel with too few credits
			}
			if e.Name == "ethernet/ring-deadlock" && strings.Contains(w.Message, "wait for one another in a cycle") {
				continue // its claim is the deadlock
			}
			if slices.Contains([]string{"pfc/ecn", "timely/rest", "timely/splits"}, e.Name) && strings.Contains(w.Message, "may not suit links") {
				continue // its claims are about the values of a paper, on other links
			}
			if strings.HasPrefix(e.Name, "uet/") && (strings.HasSuffix(w.Message, "there is one path: it has no effect") || strings.HasPrefix(w.Message, "no flow uses") || strings.HasSuffix(w.Message, "nothing is trimmed")) {
				continue // fabrics and flows are whole as in the model's files
			}
			// The slides on BCN try gains that are too large for a link on purpose.
			if !strings.HasPrefix(e.Name, "bcn/") || !strings.Contains(w.Message, ": one message can ") {
				t.Errorf("%s: %v", e.Name, w)
			}
		}
	}
}

// TestEthernet loads a file with everything that Ethernet has; its resolved form,
// with all that is computed, is a golden.
func TestEthernet(t *testing.T) {
	src, err := os.ReadFile("testdata/ethernet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, string(src))
	if len(s.Warnings) > 0 {
		t.Errorf("warnings: %v", s.Warnings)
	}
	resolved, _ := roundTrip(t, s)
	golden.File(t, "testdata/ethernet.resolved.golden", resolved)
}

// TestHeadroomOfALinkThatChanges: it is that of the highest rate, behind a frame at the
// lowest.
func TestHeadroomOfALinkThatChanges(t *testing.T) {
	const text = `name: rates
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pause}
  switch: {kind: output-queued, memory: 100KB per port}
  flow: {packet: 1500B}
switches: {S: {}}
endpoints: [A, B]
links: [{name: a, between: A - S}, B - S]
flows:
  - {name: there, from: A, to: B}
  - {name: back, from: B, to: A}
`
	high := func(more string) unit.Size { return load(t, text+more).Switches[0].High }
	same := high("")
	if got := high("events: [{at: 1us, link: B - S, state: down}]\n"); got != same {
		t.Errorf("a link goes down: %v, want %v as before", got, same)
	}
	// 25 Gb/s bring 3125 bytes in twice 500 ns, and at 1 Gb/s a frame takes 12 µs, in which
	// come 37 500; then there are PAUSE, 512 ns or 1600 bytes, and two frames less a byte each.
	got := high("events:\n  - {at: 1us, link: a, rate: 25Gb/s}\n  - {at: 2us, link: a, rate: 1Gb/s}\n")
	if want := unit.Size(100_000 - 3125 - 37_500 - 1600 - 2*1500 + 2); got != want {
		t.Errorf("the watermark is %v, want %v; %v without changes", got, want, same)
	}
}

// TestSchemes does the same for what the schemes of Ethernet have.
func TestSchemes(t *testing.T) {
	for _, name := range []string{"alpha", "qcn", "bcn", "e2cm", "dcqcn", "red", "tcp", "cca", "rocev2", "ecn", "faults", "hpcc"} {
		src, err := os.ReadFile("testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s, err := resolve.Load(name+".yaml", src, nil)
		if err != nil {
			t.Fatal(err)
		}
		resolved, _ := roundTrip(t, s)
		golden.File(t, "testdata/"+name+".resolved.golden", resolved)
	}
}

// roundTrip checks that the resolved form of a scenario reads back to it.
func roundTrip(t *testing.T, s *scenario.Scenario) (resolved string, back *scenario.Scenario) {
	t.Helper()
	out, err := resolve.Text(s)
	if err != nil {
		t.Fatal(err)
	}
	back = load(t, string(out))
	want, got := *s, *back
	want.Warnings, got.Warnings = nil, nil // their places differ
	want.HasShort = false                  // what is resolved is one of the two
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(scenario.Scenario{}, scenario.Workload{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Fatalf("read back (-want +got):\n%s\n%s", diff, out)
	}
	again, err := resolve.Text(back)
	if err != nil || string(again) != string(out) {
		t.Fatalf("printed again it differs: %v\n%s", err, cmp.Diff(string(out), string(again)))
	}
	return string(out), back
}

// TestResolvedProperty makes scenarios at random and checks that their resolved
// forms read back to them.
func TestResolvedProperty(t *testing.T) {
	for seed := range uint64(100) {
		s := load(t, randomScenario(rand.New(rand.NewPCG(seed, 0))))
		roundTrip(t, s)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomScenario writes a right scenario with values drawn at random.
func randomScenario(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	maybe := func(text string) string {
		if r.IntN(2) == 0 {
			return ""
		}
		return text
	}
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\n", pick("a", "yes/no", "'null'", "x.y-z/v_1", "true"))
	b.WriteString(maybe("source: " + pick(`"a \"quoted\" one: \\ # %"`, "plain", "'it''s'", `"é 日本 \u2028 🦆"`, "|\n  two\n  lines", "~x", `""`) + "\n"))
	b.WriteString(maybe("description: " + pick("'- dash'", "'[x'", "123", "0x1f", "1e3", "no", "'null'") + "\n"))
	fmt.Fprintf(&b, "model: {duration: %dus, seed: %d, framing: %s}\n", 100000+r.IntN(1000), r.Uint64(), pick("paper", "wire"))
	b.WriteString(maybe(fmt.Sprintf("wall: {dilation: %d, udp-port: %d, socket-buffer: %dB}\n", 1+r.IntN(1000), r.IntN(60000), 4186+r.IntN(1<<20))))
	fmt.Fprintf(&b, "defaults:\n  link: {rate: %dMb/s%s%s%s}\n", 8000+r.IntN(1000), maybe(fmt.Sprintf(", propagation: %dps", 1000+r.IntN(9999))),
		maybe(", buffer: "+pick("1 packet", "7 packets", "100KB", "64KiB", "8192B")), maybe(fmt.Sprintf(", resend: %dns", 1+r.IntN(1e6))))
	b.WriteString(maybe(fmt.Sprintf("  flow: {packet: %dB, window: %d, jitter: %dps, control: {algorithm: %s, rmax-over-rmin: %d, factor: %v}}\n",
		4+4*r.IntN(1024), 1+r.IntN(99), r.IntN(1e7), pick("fixed", "lipd", "fimd", "aimd"), 1+r.IntN(2000), 1+r.Float64()+1e-9)))
	b.WriteString("switches:\n")
	for _, name := range []string{"S", "on", "T-1"} {
		fmt.Fprintf(&b, "  '%s': {forwarding-delay: %dns%s%s}\n", name, 40+r.IntN(100), maybe(", crossbar: "+pick("multi-output", "single-output")+", bypass: 9"),
			maybe(fmt.Sprintf(", marking: {scheme: %s, threshold: %s, exceeds: '%s', counts: %s%s%s, skip-blocked: %s%s}", pick("none", "naive", "input", "input-output"),
				pick("none", "1", "16"), pick(">", ">="), pick("waiting", "waiting-and-sending"), maybe(", selection: "+pick("counters", "scan")), maybe(", full-at: "+pick("whole", "1 packet", "64B")), pick("true", "false"), maybe(", idle-exempt: "+pick("true", "false")))))
	}
	n := 1 + r.IntN(30)
	fmt.Fprintf(&b, "endpoints: ['A[1-%d]', y, B]\nlinks:\n  - 'A[1-%d] - S'\n  - S - on\n  - {name: up, between: on - T-1, rate: %dGb/s}\n", n, n, 8+r.IntN(90))
	b.WriteString(maybe("  - {name: up2, between: T-1 - on}\n") + "  - T-1 - y\n  - B - on\nflows:\n")
	fmt.Fprintf(&b, "  - {name: in, from: 'A[1-%d]', to: y, start: %dus + %dns%s}\n", n, r.IntN(100), r.IntN(1000), maybe(", stop: 90ms"))
	fmt.Fprintf(&b, "  - {name: 'off', group: g.x, from: y, to: B, traffic: constant, rate: %dMb/s}\n", 1+r.IntN(1000))
	b.WriteString(maybe("events:\n  - {at: 1ms, link: up, rate: 1Mb/s}\n  - {at: 2ms, link: B - on, rate: 3b/s}\n"))
	b.WriteString(maybe("measure: {window: 33us}\n"))
	b.WriteString(maybe(fmt.Sprintf("expect:\n  - {id: n, claim: '%s', metric: in.rate / off.rate, during: [1ms, 2ms], low: %v, high: 1e9, expected: differs, reason: 'a: b', why: so%s}\n",
		pick("x", "a: b", "# no"), -r.ExpFloat64(), pick("", ", basis: ours", ", basis: quoted, source: 'p: 1'", ", basis: derived, source: p, from: 'b: a'"))))
	return b.String()
}

// TestResolvedRefuses: what Load would not have returned does not print.
func TestResolvedRefuses(t *testing.T) {
	for name, change := range map[string]func(s *scenario.Scenario){
		"rate":    func(s *scenario.Scenario) { s.Links[0].Rate = 0 },
		"name":    func(s *scenario.Scenario) { s.Name = "a b" },
		"flow":    func(s *scenario.Scenario) { s.Flows[0].To = "nobody" },
		"scheme":  func(s *scenario.Scenario) { s.Switches[0].Marking.Scheme = "" },
		"between": func(s *scenario.Scenario) { s.Links[0].A = "A1 - S" },
		"text":    func(s *scenario.Scenario) { s.Source = "two\nlines" },
		"rates":   func(s *scenario.Scenario) { s.Flows[0].Rate = 1 },
	} {
		s := load(t, small)
		change(s)
		if out, err := resolve.Text(s); err == nil {
			t.Errorf("%s: printed\n%s", name, out)
		}
	}
}

// FuzzLoad: whatever the file, Load returns a scenario that reads back or a list
// of mistakes, and does not panic.
func FuzzLoad(f *testing.F) {
	runtest.MinimizeLittle(f)
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "model.seed=2")
	}
	large := regexp.MustCompile(`\[1-([5-9]|\d{2,})\]`) // four endpoints of a kind say what a thousand do, and sooner
	for i, e := range runtest.Seeds(builtin.List(), 60) {
		src, err := builtin.Read(e.Name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(large.ReplaceAll(src, []byte("[1-4]")), []string{"flows.victim.stop=50ms", "model.duration=1.5ms"}[i%2])
	}
	for _, src := range runtest.Seeds(runtest.Mutants([]byte(small), 50), 5) {
		f.Add(src, "model.seed=2")
	}
	if src, err := os.ReadFile("testdata/ethernet.yaml"); err == nil {
		f.Add(src, "defaults.switch.memory=30KB per port")
		f.Add(src, "endpoints.C.ingress=10KB")
	}
	f.Add([]byte(small), "links.S - T.rate=1GB/s")
	f.Add([]byte(small), "model.duration=1150us")
	f.Fuzz(func(t *testing.T, src []byte, set string) {
		var sets []scenario.Set
		if s, err := scenario.ParseSet(set); err == nil {
			sets = append(sets, s)
		}
		s, err := resolve.Load("fuzz.yaml", src, sets)
		if err != nil {
			list, ok := err.(*scenario.Errors)
			if !ok || len(list.List) == 0 || err.Error() == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if len(s.Endpoints) > 30 || len(s.Flows) > 30 {
			return // right, and slow to print
		}
		roundTrip(t, s)
	})
}

// The forms of a limiter mean the same, in a file and by --set, and are printed so that
// they read back.
func TestLimiterForms(t *testing.T) {
	const file = `
name: forms
model: {duration: 10ms}
defaults: {flow: {limiter: {rate: 2Gb/s}}}
endpoints: [A, B]
links: [{between: A - B, rate: 10Gb/s}]
flows: [{name: f, from: A, to: B%s}]
`
	want := scenario.Source{Limiter: "token-bucket", RateLimit: 1e9, Depth: 3000}
	for _, tc := range []struct {
		keys string
		sets []string
		want scenario.Source
	}{
		{"", nil, scenario.Source{Limiter: "ipd", RateLimit: 2e9}},
		{", rate-limit: unlimited", nil, scenario.Source{Limiter: "ipd"}},
		{", limiter: {}", nil, scenario.Source{Limiter: "ipd", RateLimit: 2e9}},
		{", limiter: {kind: token-bucket, rate: 1Gb/s, depth: 3KB}", nil, want},
		{", limiter: token-bucket, rate-limit: 1Gb/s, depth: 3KB", nil, want},
		{", limiter: {kind: token-bucket, rate: 5Gb/s, depth: 3KB}", []string{"flows.f.limiter.rate=1Gb/s"}, want},
		{", limiter: {kind: token-bucket, depth: 3KB}", []string{"flows.f.rate-limit=1Gb/s"}, want},
		{", limiter: token-bucket", []string{"defaults.flow.limiter.rate=1Gb/s", "flows.f.limiter.depth=3KB"}, want},
		{", limiter: {rate: 1Gb/s}", []string{"flows.f.limiter=token-bucket", "flows.f.limiter.depth=3KB"}, want},
		{", limiter: {rate: 1Gb/s}", []string{"flows.f.limiter.kind=token-bucket", "flows.f.depth=3KB"}, want},
	} {
		s := load(t, fmt.Sprintf(file, tc.keys), tc.sets...)
		f := s.Flows[0]
		if got := (scenario.Source{Limiter: f.Limiter, RateLimit: f.RateLimit, Depth: f.Depth}); got != tc.want {
			t.Errorf("%s %v: %+v, want %+v", tc.keys, tc.sets, got, tc.want)
		}
		text, err := resolve.Text(s) // which reads it back
		if err != nil {
			t.Error(err)
		}
		if given := strings.Contains(string(text), "rate-limit: "); given != (tc.want.RateLimit > 0) {
			t.Errorf("%s: printed as\n%s", tc.keys, text)
		}
	}
}

// TestSwitchRange: switches of a range have the same fields, which --set changes by the range.
func TestSwitchRange(t *testing.T) {
	src := strings.NewReplacer("switches: {S: {}, T: {marking: {scheme: naive}}}", `switches: {S: {}, "T[1-2]": {forwarding-delay: 1us}}`,
		"between: S - T}", "between: S - T1}", "- B - T\n", "- B - T1\n  - T1 - T2\n").Replace(small)
	s := load(t, src, "switches.T[1-2].forwarding-delay=2us")
	if n := len(s.Switches); n != 3 || s.Switches[2].Name != "T2" || s.Switches[1].ForwardingDelay != 2*unit.Microsecond || s.Switches[2].ForwardingDelay != 2*unit.Microsecond {
		t.Errorf("%d switches: %+v", n, s.Switches)
	}
	if _, err := loadErr(t, strings.Replace(src, "{S: {},", "{S: {}, T2: {},", 1)); err == nil || !strings.Contains(err.Error(), `duplicate name "T2"`) {
		t.Errorf("a switch of two names: %v", err)
	}
	if _, err := loadErr(t, strings.Replace(src, "T[1-2]", "T[1-9]", 1)); err == nil || strings.Count(err.Error(), "has no link") != 1 {
		t.Errorf("seven switches without a link: %v", err)
	}
}
