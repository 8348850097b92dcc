package metrics

import (
	"strings"
	"testing"

	"fabemu/emu/scenario"
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
		{"trunk.rate", `nothing in this fabric is called "trunk"; there are trunk.A-B, trunk.B-A`},
		{"trunk.A-C.rate", `called "trunk.A-C"; there are trunk.A-B`},
		{"locl.rate", `called "locl"; there are local,`},
		{"local", `has no quantity: local has utilisation, rate, marked, fairness, drops, stalled.`},
		{"local.B7.rate", `local has no "B7.rate"; it has utilisation`},
		{"trunk.A-B.fairness", `trunk.A-B has no "fairness"; it has utilisation, rate, marked, occupancy`},
		{"local.occupancy", `local has no "occupancy"`},
		{"local.rate / ", `nothing in this fabric is called ""`},
		{"local.rate / remote.rate / victim.rate", `at most one " / "`},
		{"local.stalled.lunch", `local has no "stalled.lunch"`},
	} {
		if _, err := Compile(bad.expression, f); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q: %v\nwant %s", bad.expression, err, bad.want)
		}
	}
}

// A group and a flow may have names such that one begins with the other.
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

// The edge of an instant is the first at or after it, where checks add edges to the regular ones too.
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
