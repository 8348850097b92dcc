package archtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// house is the order of the packages, from the ground up: a package may import those on
// the lines above its own, and none of its own line or below. What only thinks (pure)
// imports nothing else of the tree but what only thinks.
//
// Do not change this text to make a build pass. A new package comes with a place here,
// as high as it can be.
const house = `
wire/unit
wire/agenda, wire/param, wire/link
wire
wire/retry, wire/fault
wire/trace
wire/port
node/rp, node/tcp, node/traffic, node/schedule, switchd/cp
node, switchd

emu/base/errs, emu/run/barrier, emu/base/errs, emu/emutest/golden, emu/base/spelling, emu/base/terminal, emu/base/files, emu/result/plot, emu/watch/capture/pcapng
emu/base/document, emu/watch/capture/dissector, emu/watch/capture/dump, emu/scenario/paths, emu/run/pace
emu/scenario/builtin, emu/scenario
emu/watch/feedback, emu/run/measured, emu/run/guest/netstack, emu/run/guest/offload, emu/scenario/generate
emu/scenario/schema, emu/fabric, emu/run/deadlock, emu/run/lookahead
emu/run/drive, emu/fabric/draw
emu/run/assemble
emu/host, emu/host/netns
emu/host/doctor, emu/study/limiters/bench
emu/run/carrier, emu/run/guest, emu/host/fleet, emu/limitertest
emu/run/process
emu/study/limiters/program
emu/metrics
emu/result/report, emu/watch/capture, emu/watch/perfetto, emu/study/scale
emu/result/summary, emu/emutest/reporttest, emu/result/compare, emu/emutest/runtest, emu/watch/observe
emu/record, emu/watch/live, emu/watch/openmetrics
emu, emu/study
emu/study/campaign, emu/study/papers/fluid
emu/study/limiters
emu/study/propose, emu/study/sweep, emu/study/papers
cmd/fabemu
scripts/archtest, scripts/measure, scripts/measure/bare, scripts/measure/rates
`

// apart are packages that do not import one another, nor what is in their folders: a
// driver sees machines through the contract in wire/port alone, and what reads captures
// or draws a scenario needs no machines.
var apart = [][2]string{
	{"node", "switchd"},
	{"emu/run/drive", "node"}, {"emu/run/drive", "switchd"}, {"emu/run/drive", "emu/scenario"}, {"emu/run/drive", "emu/fabric"},
	{"emu/scenario", "wire/link"}, {"emu/fabric", "wire/link"},
	{"emu/metrics", "emu/run/drive"}, {"emu/metrics", "node"}, {"emu/metrics", "switchd"},
	{"emu/watch/capture/dump", "node"}, {"emu/watch/capture/dump", "switchd"},
}

// order returns the line on which each package of a house stands, from the ground up.
func order(house string) (map[string]int, error) {
	at := map[string]int{}
	line := 0
	for text := range strings.Lines(house) {
		line++
		if strings.TrimSpace(text) == "" {
			continue
		}
		for name := range strings.SplitSeq(text, ",") {
			name = strings.TrimSpace(name)
			switch _, twice := at[name]; {
			case name == "" || strings.ContainsAny(name, " \t<"):
				return nil, fmt.Errorf("line %d: %q is not a list of packages with commas", line, strings.TrimSpace(text))
			case twice:
				return nil, fmt.Errorf("line %d: %s stands there twice", line, name)
			}
			at[name] = line
		}
	}
	return at, nil
}

// refusal says why one package of the house may not import another, or nothing.
func refusal(at map[string]int, from, to string) string {
	switch {
	case at[to] == 0:
		return "it has no place in the house"
	case at[to] >= at[from]:
		return "it does not stand below it"
	case slices.Contains(pure, from) && !slices.Contains(pure, to):
		return "the packages that only think import nothing else"
	}
	for _, p := range apart {
		if within(from, p[0]) && within(to, p[1]) || within(from, p[1]) && within(to, p[0]) {
			return p[0] + " and " + p[1] + " stand apart"
		}
	}
	return ""
}

func TestHouseHasOneDirection(t *testing.T) {
	at, err := order(house)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, p := range packages(t) {
		if len(p.product()) == 0 {
			continue
		}
		there[p.dir] = true
		if at[p.dir] == 0 {
			t.Errorf("package %s/%s has no place in the house: give it one in scripts/archtest/layers_test.go", module, p.dir)
			continue
		}
		for _, f := range p.product() {
			for _, i := range p.imports(f) {
				if dir, ok := local(i.path); ok || i.path == module {
					if why := refusal(at, p.dir, dir); why != "" {
						t.Errorf("%s:%d: %s may not import %s: %s", i.pos.Filename, i.pos.Line, p.dir, i.path, why)
					}
				}
			}
		}
	}
	for name := range at {
		if !there[name] {
			t.Errorf("the house has %s, which there is not", name)
		}
	}
}

// The two machines know each other through frames alone, in their tests too:
// a test that needs both is a test of package emu.
func TestNodeAndSwitchMeetOnTheWireOnly(t *testing.T) {
	for _, pair := range [][2]string{{"node", "switchd"}, {"switchd", "node"}} {
		from, to := pair[0], pair[1]
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

func TestRefusal(t *testing.T) {
	at, err := order("wire/unit\nwire\n\nnode, switchd/cp\nwire/link\nswitchd, emu/run/drive\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		from, to string
		allowed  bool
	}{
		{"wire", "wire/unit", true}, {"node", "wire", true}, {"switchd", "switchd/cp", true}, {"emu/run/drive", "wire/link", true},
		{"wire/unit", "wire", false}, {"node", "switchd/cp", false}, {"switchd", "emu/run/drive", false}, // up, and beside
		{"switchd", "node", false}, {"emu/run/drive", "switchd/cp", false}, // apart
		{"switchd", "wire/link", false}, // thinks only
		{"node", "nowhere", false},
	} {
		if why := refusal(at, tc.from, tc.to); (why == "") != tc.allowed {
			t.Errorf("%s imports %s: %q", tc.from, tc.to, why)
		}
	}
	for _, bad := range []string{"a b", "a,, b", "a\nb, a", "a < b"} {
		if _, err := order(bad); err == nil {
			t.Errorf("%q is taken for a house", bad)
		}
	}
}

// Package emu is what a program imports: the rooms below it do the work.
func TestFrontOfTheHouseIsSmall(t *testing.T) {
	const most = 620 // a panic and measured time end where the run does
	for _, p := range packages(t) {
		lines := 0
		for _, f := range p.product() {
			lines += bytes.Count(f.src, []byte("\n"))
		}
		if p.dir == "emu" && (lines == 0 || lines > most) {
			t.Errorf("package emu has %d lines, of %d at most: what is a room of its own belongs below it", lines, most)
		}
	}
}
