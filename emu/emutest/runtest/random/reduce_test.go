package random_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
)

var (
	named   = regexp.MustCompile(`\b[A-Za-z]+[0-9]+\b`)                      // a node, a link or a flow
	defined = regexp.MustCompile(`^  (?:- \{name: )?([A-Za-z]+[0-9]+)[:,}]`) // where it has its line
)

// reduce returns a scenario that is as faulty and has no line too many: it leaves out lines,
// many at a time and then fewer, and things with all that names them.
func reduce(text string, faulty func(text string) bool) string {
	lines := strings.SplitAfter(text, "\n")
	try := func(leave func(i int) bool) bool {
		var less []string
		for i, l := range lines {
			if !leave(i) {
				less = append(less, l)
			}
		}
		if len(less) == len(lines) || !faulty(strings.Join(less, "")) {
			return false
		}
		lines = less
		return true
	}
	for smaller := true; smaller; {
		smaller = false
		for n := len(lines) / 2; n > 0; n /= 2 {
			for at := 0; at < len(lines); {
				if try(func(i int) bool { return i >= at && i < at+n }) {
					smaller = true
				} else {
					at += n
				}
			}
		}
		things := named.FindAllString(strings.Join(lines, ""), -1)
		slices.Sort(things)
		things = slices.Compact(things)
		for k := 0; k < len(things)*len(things) && !smaller; k++ { // one, or two together
			without := naming(lines, things[k%len(things)], things[k/len(things)])
			smaller = try(func(i int) bool { return without[i] })
		}
	}
	return strings.Join(lines, "")
}

// naming returns the lines that name things, or what is defined in such lines, and so on.
func naming(lines []string, things ...string) map[int]bool {
	all := map[int]bool{}
	for left := things; len(left) > 0; left = left[1:] {
		for i, l := range lines {
			for _, name := range named.FindAllString(l, -1) {
				if name != left[0] || all[i] {
					continue
				}
				all[i] = true
				if d := defined.FindStringSubmatch(l); d != nil && d[1] != left[0] {
					left = append(left, d[1])
				}
			}
		}
	}
	return all
}

// What is left of a fabric is what the fault needs: here two flows of which one ends at
// the third endpoint, and a link that goes down.
func TestModelReduce(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	faulty := func(text string) bool {
		s, err := resolve.Load("reduced.yaml", []byte(text), nil)
		if err != nil {
			return false
		}
		ends, down := false, false
		for i := range s.Flows {
			ends = ends || s.Flows[i].To == "E2"
		}
		for i := range s.Events {
			down = down || s.Events[i].Act == (scenario.StateChange{State: scenario.Down})
		}
		return ends && down && len(s.Flows) > 1
	}
	tried := 0
	for seed := uint64(0); tried < 3; seed++ {
		text := randomFabric(seed)
		if !faulty(text) {
			continue
		}
		tried++
		small := reduce(text, faulty)
		s, err := resolve.Load("reduced.yaml", []byte(small), nil)
		if err != nil || !faulty(small) {
			t.Fatalf("seed %d: %v\n%s", seed, err, small)
		}
		if len(s.Flows) != 2 || len(s.Events) != 1 {
			t.Errorf("seed %d: %d flows, %d events are left:\n%s", seed, len(s.Flows), len(s.Events), small)
		}
		lines := strings.SplitAfter(small, "\n")
		for i := range len(lines) - 1 {
			if faulty(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")) {
				t.Errorf("seed %d: line %d is one too many:\n%s", seed, i+1, small)
			}
		}
	}
}
