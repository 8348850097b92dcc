package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layers is the import policy of the tree.
//
// "a < b" reads: b stands above a, and may import a and all that a may import.
// "a, b < c, d" gives both c and d both a and b. NONE is nothing at all. A line
// is a rule; what is not allowed by some rule is forbidden, and a package that
// no rule names has no place yet.
//
// Do not change this text to make a build pass. An edge that is missing here is
// missing for a reason; a new package comes with a line that says where it
// belongs, and why.
const layers = `
# Quantities, and the tournament tree of deadlines.
NONE < wire/unit < wire/agenda

# Parameters of schemes, as the tags of their structs declare them.
wire/unit < wire/param

# Frames, what machines report about them, one end of a link.
wire/unit < wire < wire/trace < wire/port
wire/agenda < wire/port

# Schemes: reaction points at the endpoint, congestion points in the switch.
# They see frames and time, never a port.
wire/unit, wire, wire/trace < node/rp, switchd/cp
wire/param < node/rp, switchd/cp, emu/scenario
node/rp, switchd/cp < emu/scenario

# What an endpoint is asked to send: numbers only.
wire/unit < node/traffic < node

# Machines. They meet on the wire only: neither knows the other.
wire/port, wire/agenda, node/rp < node
wire/port, wire/agenda, switchd/cp < switchd

# The I/O branch carries bytes and knows no protocol.
wire/unit, wire < wire/link

# Drivers and captures see machines through the contract in wire/port alone.
wire/unit, wire, wire/trace, wire/port, wire/agenda, wire/link < emu/drive, emu/capture
NONE < emu/capture/pcapng < emu/capture

# What reads captures: the format of the file, and the frames in it. What explains
# them to Wireshark is text.
wire/unit, wire, emu/capture/pcapng < emu/capture/dump < cmd/fabemu
NONE < emu/capture/dissector < cmd/fabemu

# Processes: what they report is measured by the driver, and traced.
emu/drive < emu/proc < emu

# Namespaces and veth pairs: what is opened in them is a link.
wire/link < emu/host/netns < emu

# The computer itself: what it measures is its sockets and its clock.
wire/unit, wire/link < emu/host/doctor

# From a file to a fabric; from events to figures. A scenario is checked against
# the sizes of frames and credit blocks, the headroom of ports and the ranges of
# traffic, and each flow must have a path. What is misspelt is told what was meant.
NONE < emu/spelling < emu/scenarios, emu/scenario, emu/metrics, emu/study/reproduce, cmd/fabemu
NONE < emu/terminal < emu/host/doctor, emu/report, emu/study/reproduce, cmd/fabemu
NONE < emu/fabric/paths, emu/report/plot
wire/unit < emu/study/fluid
wire/unit, wire, wire/port, node/traffic, emu/fabric/paths < emu/scenario < emu/schema
emu/scenario, emu/fabric/paths, wire/port, wire, wire/unit < emu/fabric
wire/trace, wire/port, emu/fabric, emu/scenario < emu/metrics < emu/report
emu/report/plot < emu/report

# Where everything meets.
node, switchd, wire/link < emu
emu/drive, emu/capture, emu/fabric, emu/scenario, emu/scenarios, emu/metrics, emu/report, emu/host/doctor < emu
emu, emu/report/plot, emu/study/fluid < emu/study/reproduce
emu, emu/study/reproduce < cmd/fabemu

# What the command shows and writes without running anything.
emu/scenario, emu/fabric < emu/report/graph
wire/unit < emu/study/generate
emu/schema, emu/report/graph, emu/study/generate < cmd/fabemu

# A scenario over lists of values.
emu, emu/report/plot < emu/study/sweep < cmd/fabemu

# Results beside one another.
emu/report < emu/report/compare < cmd/fabemu

# What tests the limiter of somebody else, on both clocks.
emu < emu/limitertest

# A program of somebody else, that brings a scheme.
emu < docs/examples/limiter

# What keeps the house. Pacing compares the line of an endpoint, on the wall driver,
# with what the kernel has.
NONE < scripts/archtest, scripts/testsum, scripts/placement
node, emu/drive, emu < scripts/pacing
`

// A policy says, for each package that it names, what that package may import.
type policy map[string]map[string]bool

// parsePolicy reads the notation described at layers.
func parsePolicy(text string) (policy, error) {
	direct := policy{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sides := strings.Split(line, "<")
		if len(sides) < 2 {
			return nil, fmt.Errorf("line %d: %q has no <", i+1, line)
		}
		var below []string
		for n, side := range sides {
			names := strings.Split(side, ",")
			for j := range names {
				names[j] = strings.TrimSpace(names[j])
				name := names[j]
				if name == "" || strings.ContainsAny(name, " \t") {
					return nil, fmt.Errorf("line %d: %q is not a list of packages with commas", i+1, strings.TrimSpace(side))
				}
				if name == "NONE" {
					if n > 0 || len(names) > 1 {
						return nil, fmt.Errorf("line %d: NONE stands alone and first", i+1)
					}
					continue
				}
				if direct[name] == nil {
					direct[name] = map[string]bool{}
				}
				for _, b := range below {
					if b != "NONE" {
						direct[name][b] = true
					}
				}
			}
			below = names
		}
	}

	// Close it: who may import a may import what a may import.
	closed := policy{}
	var visit func(name string, path []string) error
	visit = func(name string, path []string) error {
		if i := slices.Index(path, name); i >= 0 {
			return fmt.Errorf("a circle: %s", strings.Join(append(path[i:], name), " > "))
		}
		if closed[name] != nil {
			return nil
		}
		all := map[string]bool{}
		for b := range direct[name] {
			if err := visit(b, append(path, name)); err != nil {
				return err
			}
			all[b] = true
			for c := range closed[b] {
				all[c] = true
			}
		}
		closed[name] = all
		return nil
	}
	for name := range direct {
		if err := visit(name, nil); err != nil {
			return nil, err
		}
	}
	return closed, nil
}

// rules returns the lines of layers in which a package stands above another.
func rules(name string) string {
	var found []string
	for line := range strings.Lines(layers) {
		_, above, _ := strings.Cut(line, "<")
		for _, side := range strings.Split(above, "<") {
			for _, n := range strings.Split(side, ",") {
				if strings.TrimSpace(n) == name && !strings.HasPrefix(line, "#") {
					found = append(found, strings.TrimSpace(line))
				}
			}
		}
	}
	return strings.Join(slices.Compact(found), "\n\t")
}

func TestLayers(t *testing.T) {
	may, err := parsePolicy(layers)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		if len(p.product()) == 0 {
			continue
		}
		allowed, listed := may[p.dir]
		if !listed {
			t.Errorf("package %s/%s is in no layer: say in scripts/archtest/layers_test.go where it belongs", module, p.dir)
			continue
		}
		for _, f := range p.product() {
			for _, i := range p.imports(f) {
				if dir, ok := local(i.path); (ok && !allowed[dir]) || i.path == module {
					t.Errorf("%s:%d: %s may not import %s; the rules for it are\n\t%s", i.pos.Filename, i.pos.Line, p.dir, i.path, rules(p.dir))
				}
			}
		}
	}
}

// The two machines know each other through frames alone, in their tests too:
// a test that needs both is a test of package emu.
func TestNodeAndSwitchMeetOnTheWireOnly(t *testing.T) {
	may, err := parsePolicy(layers)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{"node", "switchd"}, {"switchd", "node"}} {
		from, to := pair[0], pair[1]
		for name, allowed := range may {
			for a := range allowed {
				if within(name, from) && within(a, to) {
					t.Errorf("the layers let %s import %s", name, a)
				}
			}
		}
		for _, p := range packages(t) {
			if !p.under(from) {
				continue
			}
			for _, f := range p.files {
				for _, i := range p.imports(f) {
					if dir, ok := local(i.path); ok && within(dir, to) {
						t.Errorf("%s:%d: %s imports %s: they meet on the wire only", i.pos.Filename, i.pos.Line, p.dir, i.path)
					}
				}
			}
		}
	}
}

func TestParsePolicy(t *testing.T) {
	may, err := parsePolicy(`
# a comment
NONE < a < b < c
x, b < d, e
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		from, to string
		want     bool
	}{
		{"b", "a", true}, {"c", "a", true}, {"d", "a", true}, {"d", "x", true}, {"e", "b", true},
		{"a", "b", false}, {"d", "c", false}, {"d", "e", false}, {"a", "NONE", false}, {"b", "x", false},
	} {
		if got := may[tc.from][tc.to]; got != tc.want {
			t.Errorf("%s may import %s: got %v, want %v", tc.from, tc.to, got, tc.want)
		}
	}
	if _, ok := may["NONE"]; ok {
		t.Error("NONE is taken for a package")
	}
	for _, bad := range []string{"a", "a < b < a", "a b < c", "a < NONE", "a, < b", "< a"} {
		if _, err := parsePolicy(bad); err == nil {
			t.Errorf("%q is taken for a policy", bad)
		}
	}
}
