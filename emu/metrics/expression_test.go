package metrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

func TestCompile(t *testing.T) {
	f, _ := paperFabric(2)
	for _, good := range []string{
		"trunk.A-B.utilisation", "trunk.B-A.rate", "root.B-BC.marked", "A1-A.rate", "A-A1.rate", "B-BV.occupancy",
		"local.rate", "local.B1.rate", "victim.utilisation", "remote.rate / local.rate",
		"local.fairness", "trunk.A-B.stalled.no-credit", "local.B2.stalled.rate-limited", " victim.rate ",
		"local.transfers", "local.B1.completion.mean", "victim.completion.max",
	} {
		if m, err := Compile(good, f); err != nil {
			t.Errorf("%q: %v", good, err)
		} else if m.String() != strings.TrimSpace(good) {
			t.Errorf("%q prints as %q", good, m)
		}
	}
	for _, bad := range []struct{ expression, want string }{
		{"", `nothing in this fabric is called ""`},
		{"trunk.rate", `nothing in this fabric is called "trunk" (did you mean "trunk.A-B.rate"?); there are trunk.A-B, trunk.B-A`},
		{"trunk.A-C.rate", `called "trunk.A-C" (did you mean "trunk.A-B.rate"?); there are trunk.A-B`},
		{"locl.rate", `called "locl" (did you mean "local.rate"?); there are local,`},
		{"trnk.A-B.utilisaton", `called "trnk.A-B.utilisaton" (did you mean "trunk.A-B.utilisation"?); there are`},
		{"trnk.rate", `called "trnk" (did you mean "trunk.A-B.rate"?)`},
		{"trunk.utilisaton", `called "trunk.utilisaton" (did you mean "trunk.A-B.utilisation"?)`},
		{"locl", `called "locl" (did you mean "local"?)`}, {"nowhere.near", `called "nowhere.near"; there are`},
		{"local", `has no quantity: local has rate, utilisation, marked, fairness, drops, stalled.`},
		{"local.B7.rate", `local has no "B7.rate" (did you mean "local.B1.rate"?); it has rate`},
		{"trunk.A-B.fairness", `trunk.A-B has no "fairness"; it has rate, utilisation, marked, occupancy`},
		{"local.occupancy", `local has no "occupancy"`},
		{"local.rats", `local has no "rats" (did you mean "local.rate"?)`},
		{"local.rate / ", `nothing in this fabric is called ""`},
		{"local.rate / remote.rate / victim.rate", `at most one " / "`},
		{"local.stalled.lunch", `local has no "stalled.lunch"`},
	} {
		if _, err := Compile(bad.expression, f); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q: %v\nwant %s", bad.expression, err, bad.want)
		}
	}
}

// A mistake in a metric has its place in the line.
func TestPlacesOfMistakes(t *testing.T) {
	const text = `
name: m
model: {duration: 2ms}
measure: {window: 1ms}
defaults: {link: {rate: 1GB/s, buffer: 4 packets}}
switches: {S: {}}
endpoints: [a, r]
links: [a - S, S - r]
flows: [{name: bystander, from: a, to: r}]
expect: [{id: A, low: 0, high: 1, during: [0ms, 1ms], metric: %s}]
`
	for metric, part := range map[string]string{
		"bystandr.utilisation": "bystandr", "bystander.utilisaton": "utilisaton",
		"bystander.rate / bystandr.rate": "bystandr.rate", "bystander.rate / bystander.rats": "rats", "'bystandr.rate'": "bystandr",
	} {
		src := fmt.Sprintf(text, metric)
		_, err := resolve.Load("m.yaml", []byte(src), nil, resolve.CheckMetrics(Checker()))
		all, ok := errors.AsType[*scenario.Errors](err)
		if !ok || len(all.List) != 1 {
			t.Errorf("%s: %v", metric, err)
			continue
		}
		lines := strings.Split(src, "\n")
		if e := all.List[0]; e.Line != 10 || e.Column != strings.LastIndex(lines[9], part)+1 || !strings.Contains(e.Message, "did you mean \"bystander.") {
			t.Errorf("%s: %d:%d: %s", metric, e.Line, e.Column, e.Message)
		}
	}
}

// A group and a flow may have names so that one begins with the other.
func TestTheLongestNameCounts(t *testing.T) {
	f, _ := paperFabric(2)
	f.Flows[2].Group, f.Flows[2].Name = "local.B1", "local.B1.x" // groups local and local.B1, flow local.B1
	f.Flows[0].Name = "local.B0"
	m, err := Compile("local.B1.rate", f)
	if err != nil || m.figure.object.name != "local.B1" {
		t.Errorf("%v, %v", m.figure.object, err)
	}
	f.Flows[0].Name = "local.B1" // now a flow and a group
	if _, err := Compile("local.B1.rate", f); err == nil || !strings.Contains(err.Error(), "two things") {
		t.Errorf("an ambiguous name: %v", err)
	}
}

// The edge of an instant is the first at or after it, where checks add edges to the regular ones
// too.
func TestEdge(t *testing.T) {
	f, s := paperFabric(2)
	s.Measure.Window = 2*unit.Millisecond + 7
	for i := range unit.Duration(5) {
		s.Expect = append(s.Expect, scenario.Check{Metric: "local.rate", During: [2]unit.Duration{i*7*unit.Millisecond + 3, 90*unit.Millisecond + i}})
	}
	p := newPlay(t, f, s)
	p.c.Close(70*ms + 11)
	for k, at := range p.c.edges {
		for _, x := range []struct {
			at   unit.Time
			want int
		}{{at, k}, {at + 1, min(k+1, len(p.c.edges)-1)}, {at - 1, k}} {
			if x.want > 0 && p.c.edges[x.want-1] >= x.at {
				x.want-- // two edges side by side
			}
			if got := p.c.edge(x.at); got != x.want {
				t.Fatalf("%v: edge %d at %v, want %d at %v", x.at, got, p.c.edges[got], x.want, p.c.edges[x.want])
			}
		}
	}
}
