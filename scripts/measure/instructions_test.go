package measure

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// recorded has the figures that TestFiguresInstructions compares with.
//
//go:embed instructions.txt
var recorded string

// Links whose messages cost hops of their own.
const dressed = `name: links
model: {duration: 1ms, framing: wire}
defaults:
  link: {rate: 100Gb/s, propagation: 500ns, flow-control: cbfc, cbfc: {limit: 400, lossless: [0]}, retry: fitted}
  switch: {kind: output-queued}
  flow: {packet: 1500B}
switches: {S: {}, T: {}, U: {}}
endpoints: ["a[1-2]", "b[1-2]"]
links: ["a[1-2] - S", {between: S - T, rate: 200Gb/s}, {between: T - U, rate: 200Gb/s}, "b[1-2] - U"]
flows: [{name: f, from: "a[1-2]", to: "b[1-2]"}]
`

// RoCEv2 in messages of a workload, and TCP.
const transports = `name: transports
model: {duration: 1ms, framing: wire}
defaults:
  link: {rate: 10Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 4MB, sharing: pooled, marking: {scheme: ecn, min: 30KB, max: 30KB}}
switches: {S: {}, T: {}}
endpoints: ["a[1-8]", "b[1-8]"]
links: ["a[1-8] - S", {name: trunk, between: S - T, rate: 40Gb/s}, "b[1-8] - T"]
flows: [{name: f, from: "a[1-4]", to: "b[1-4]", packet: 1500B, transport: {kind: tcp, recovery: sack, ecn: true, congestion: dctcp}}]
workload: [{name: w, over: "a[5-8]", pattern: permutation, size: 20KB, load: 0.5, packet: 1024B, transport: {kind: rocev2, ack-every: 16}}]
`

// Pairs that send at line rate, with an ACK for each four packets whatever the transport.
const pairs = `name: pairs
model: {duration: 1ms, framing: wire}
defaults:
  link: {rate: 100Gb/s, propagation: 1us, flow-control: none}
  switch: {kind: output-queued, memory: 1MB per port, marking: {scheme: ecn, min: 100KB, max: 400KB, max-p: 0.1}}
  flow: {packet: 4096B, transport: {kind: uet}, control: {algorithm: nscc}}
switches: {S: {}, T: {}}
endpoints: ["a[1-8]", "b[1-8]"]
links: ["a[1-8] - S", {name: trunk, between: S - T, rate: 800Gb/s}, "b[1-8] - T"]
flows: [{name: f, from: "a[1-8]", to: "b[1-8]"}]
`

// star is a fabric of so many endpoints with checks, to be read and laid out.
func star(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `name: star
model: {duration: 10ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pause}
  switch: {kind: output-queued, marking: {scheme: qcn, octets: 14}}
  flow: {packet: 1500B, control: {algorithm: qcn}}
switches: {S: {}}
endpoints: ["e[1-%[1]d]", to]
links: ["e[1-%[1]d] - S", S - to]
flows: [{name: f, from: "e[1-%[1]d]", to: to}]
expect:
`, n)
	for i := range 20 {
		fmt.Fprintf(&b, "  - {id: c%d, metric: f.e%d.rate, during: [0ms, 10ms], low: 0, high: 1e12}\n", i, i+1)
	}
	return b.String()
}

// A hop on the virtual clock, and an endpoint that is checked, take as many instructions as
// instructions.txt records, within 2 %. A long run is compared with a short one that has as many
// bins and points. Cachegrind counts.
func TestFiguresInstructions(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "valgrind")
	if runtime.GOARCH != "amd64" {
		t.Skip("the recorded counts are of amd64")
	}
	header, _, _ := strings.Cut(recorded, "\n")
	version := regexp.MustCompile(`go1\.[0-9.]+`).FindString(header)
	program := filepath.Join(t.TempDir(), "fabemu")
	build := exec.Command("go", "build", "-trimpath", "-pgo=off", "-o", program, "../../cmd/fabemu")
	build.Env = append(os.Environ(), "GOTOOLCHAIN="+version, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]float64{}
	for line := range strings.Lines(recorded) {
		name, figure, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "#" {
			continue
		}
		n, err := strconv.ParseFloat(figure, 64)
		if _, twice := want[name]; twice || err != nil || n <= 0 {
			t.Errorf("instructions.txt: %q is no case and its figure, once", line)
		}
		want[name] = n
	}
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tree, err := exec.Command(program, "generate", "fat-tree", "--k", "8", "--flow-control", "none", "--delay", "500ns").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		scenario string
		short    float64 // ms; a long run is five times as long
		more     []string
	}{
		{"dumbbell", "peers/dumbbell.yaml", 10, nil},
		{"marks", "peers/dumbbell.yaml", 5, []string{"--set", "defaults.switch.marking.scheme=ecn", "--set", "defaults.switch.marking.preset=dctcp"}},
		{"events", "peers/dumbbell.yaml", 2, []string{"--events=binary"}},
		{"infiniband", "peers/dumbbell-ib.yaml", 5, nil},
		{"incast", "peers/incast.yaml", 10, nil},
		{"fat-tree", file("fat-tree.yaml", string(tree)), 0.1, []string{"--set", "defaults.flow.traffic=constant", "--set", "defaults.flow.load=0.94"}},
		{"links", file("links.yaml", dressed), 0.2, nil},
		{"transports", file("transports.yaml", transports), 0.5, []string{"--codec"}},
		{"rocev2", file("rocev2.yaml", strings.NewReplacer("kind: uet", "kind: rocev2, ack-every: 4", "nscc", "dcqcn").Replace(pairs)), 0.1, nil},
		{"uet", file("uet.yaml", pairs), 0.1, nil},
		{"uet-credit", file("uet-credit.yaml", strings.ReplaceAll(pairs, "nscc", "nscc-rccc")), 0.1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := func(ms float64) (instructions, hops float64) {
				out := t.TempDir()
				instructions = count(t, program, append([]string{"run", c.scenario, "--clock", "virtual", "--loops", "1", "--out", out, "--force",
					"--set", fmt.Sprintf("model.duration=%gus", 1000*ms), "--set", fmt.Sprintf("measure.window=%gus", 50*ms)}, c.more...)...)
				b, err := os.ReadFile(filepath.Join(out, "result.json"))
				var r struct {
					Verdict struct{ Order struct{ Frames float64 } }
				}
				if err == nil {
					err = json.Unmarshal(b, &r)
				}
				if err != nil {
					t.Fatal(err)
				}
				return instructions, r.Verdict.Order.Frames
			}
			few, begun := run(c.short)
			many, ended := run(5 * c.short)
			compare(t, c.name, want[c.name], (many-few)/(ended-begun))
		})
	}
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		few := count(t, program, "check", file("few.yaml", star(250)))
		many := count(t, program, "check", file("many.yaml", star(1000)))
		compare(t, "check", want["check"], (many-few)/750)
	})
}

// A packet of Ultra Ethernet under NSCC costs at most 1.3 times as much as one of RoCEv2 under
// DCQCN: with the same packets, and an ACK for each four, both have the same hops. RCCC has a frame
// of credit for each four packets, too, and is not held to it.
func TestCostOfUltraEthernet(t *testing.T) {
	figure := func(name string) (n float64) {
		_, rest, found := strings.Cut(recorded, "\n"+name+" ")
		if _, err := fmt.Sscan(rest, &n); !found || err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	if uet, roce := figure("uet"), figure("rocev2"); uet > 1.3*roce {
		t.Errorf("%v instructions per hop, and %v with RoCEv2", uet, roce)
	}
}

// count returns how many instructions a command takes, but for those of the kernel. One processor
// and no collection of garbage let it vary by a thousandth.
func count(t *testing.T, program string, args ...string) float64 {
	t.Helper()
	c := exec.CommandContext(t.Context(), "valgrind", append([]string{"--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", program}, args...)...)
	c.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	out, err := c.CombinedOutput()
	m := regexp.MustCompile(`I +refs: +([0-9,]+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%v: %v\n%s", c, err, out)
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(string(m[1]), ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// compare fails where a cost differs from the recorded one by more than 2 %.
func compare(t *testing.T, name string, want, got float64) {
	t.Helper()
	if math.Abs(got/want-1) <= 0.02 {
		return
	}
	t.Errorf("%s: %.0f instructions, recorded are %.0f. If this is to stay, write the line into scripts/measure/instructions.txt, and the reason into the commit message:\n%s %.0f",
		name, got, want, name, got)
}
