package compare

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/result/report"

	"github.com/google/go-cmp/cmp"
)

func TestDiffering(t *testing.T) {
	var all []resolved
	for _, text := range []string{
		"model: {duration: 1ms, seed: 1}\nendpoints: [e1, e2]\nlinks: [{between: a - S, rate: 1}, {between: b - S, rate: 1}, {name: c, between: c - S, rate: 1}]\nflows: [{name: f, rate: 1, algorithm: a}, {name: g, rate: 1, algorithm: a}, {name: h, algorithm: x}]\n",
		"model: {duration: 1ms, seed: 2}\nendpoints: [e3, e1, e2, e4]\nlinks: [{between: a - S, rate: 2}, {between: b - S, rate: 2}, {name: c, between: c - S, rate: 1}]\nflows: [{name: f, rate: 3, algorithm: b}, {name: g, rate: 2, algorithm: b}, {name: h, algorithm: x}]\n",
		"model: {duration: 1ms, seed: 3}\nendpoints: [e3, e1, e2, e4]\nlinks: [{between: a - S, rate: 2}, {between: b - S, rate: 2}, {name: c, between: c - S, rate: 1}]\nflows: [{name: f, rate: 1, algorithm: b}, {name: g, rate: 1, algorithm: b}]\n",
	} {
		r, err := readResolved([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	want := []Input{
		{"model.seed", []string{"1", "2", "3"}},
		{"links.a - S and 1 more.rate", []string{"1", "2", "2"}},
		{"flows.f.rate", []string{"1", "3", "1"}},
		{"flows.f and 1 more.algorithm", []string{"a", "b", "b"}},
		{"flows.g.rate", []string{"1", "2", "1"}},
		{"flows.h", []string{there, there, "-"}},
		{"endpoints.e3 and 1 more", []string{"-", there, there}},
	}
	if diff := cmp.Diff(want, differing(all...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "[]", "a: [", "words"} {
		if _, err := readResolved([]byte(bad)); err == nil {
			t.Errorf("%q is not a scenario", bad)
		}
	}
}

// A page has what differs, one for all members that are alike; the whole has each.
func TestBrief(t *testing.T) {
	c := &Comparison{groups: make(map[string]string)}
	add := func(kind, name string, share float64) {
		c.Series = append(c.Series, Series{Kind: kind, Name: name, RMS: report.Number(share), Share: report.Number(share)})
	}
	add("link.queue", "leaf1-h1", 0.1)
	for i := range 32 {
		name := fmt.Sprint("there.h", i)
		c.groups[name], c.groups["odd"+name] = "there", "odd"
		add("flow.rate", name, 0.5)
		add("flow.rate", "odd"+name, float64(i)/100) // the rates of a group that does not differ
		add("link.queue", fmt.Sprintf("h%d-leaf%d", i, i/4), float64(i)/50)
		c.Alone = append(c.Alone, fmt.Sprintf("link.queue of leaf%d-h%d, of the first", i/4, i))
		c.Inputs = append(c.Inputs, Input{fmt.Sprintf("flows.h%d.to", i), []string{fmt.Sprint("h", i), fmt.Sprint("h", i+1)}})
	}
	add("group.rate", "there", 0.2)
	add("group.rate", "odd", 0)
	all := []*Comparison{c}
	lines, more, equal := seriesLines(all, false)
	var labels []string
	for i := range lines {
		labels = append(labels, lines[i].kind+" "+lines[i].label())
	}
	want := []string{"group.rate there", "link.queue h31-leaf7, the largest of 31", "flow.rate oddthere.h31, the largest of 31", "link.queue leaf1-h1"}
	if diff := cmp.Diff(want, labels); diff != "" || more != 92 || equal != 3 {
		t.Errorf("%d more, %d equal (-want +got):\n%s", more, equal, diff)
	}
	if lines, more, equal := seriesLines(all, true); len(lines) != 96 || more != 0 || equal != 3 {
		t.Errorf("the whole: %d series, %d more, %d equal", len(lines), more, equal)
	}
	page := func(whole bool) string {
		var b strings.Builder
		if err := WriteText(&b, []*Comparison{c}, whole); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	brief := page(false)
	for _, want := range []string{"flows.h0.to, and 31 like it", "only one has link.queue of leaf0-h0, of the first, and 31 like it", "and 92 more that differ: --all"} {
		if !strings.Contains(brief, want) {
			t.Errorf("%q is missing in\n%s", want, brief)
		}
	}
	if n := strings.Count(brief, "\n"); n > 30 {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(page(true), "\n"); n < 32+32+96 {
		t.Errorf("the whole has %d lines", n)
	}
}

// Of many checks those whose outcomes differ are all shown, and come first.
func TestBriefChecks(t *testing.T) {
	c := &Comparison{}
	for i := range 40 {
		x := Check{ID: fmt.Sprint("c", i), OutcomeA: report.Pass, OutcomeB: report.Pass}
		switch {
		case i >= 20 && i < 35:
			x.OutcomeB = report.Fail
		case i >= 35:
			x.B, x.Difference = 1, 1
		}
		c.Checks = append(c.Checks, x)
	}
	ids, more, equal := checkLines([]*Comparison{c}, false)
	if len(ids) != 15 || ids[0] != "c20" || more != 5 || equal != 20 {
		t.Errorf("%v, %d more, %d equal", ids, more, equal)
	}
	if ids, _, _ := checkLines([]*Comparison{c}, true); len(ids) != 40 || ids[15] != "c35" {
		t.Errorf("the whole: %v", ids)
	}
}
