package dump_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu/watch/capture/dump"
)

// "The links that each packet has crossed", and how many packets have taken each path.
func TestPathsOfPackets(t *testing.T) {
	b, _ := disorderOf(t, disordered, false)
	paths := func(b []byte, flows ...string) (string, error) {
		var out bytes.Buffer
		_, err := dump.Dump(&out, dump.Options{Path: flows}, bytes.NewReader(b))
		return out.String(), err
	}
	out, err := paths(b, "direct")
	if err != nil {
		t.Fatal(err)
	}
	each := regexp.MustCompile(`(?m)^ *\d+ +\d\.\d{9}  flow direct psn=\d+ sport=(\d+)  L3-left left-spine([123]) spine([123])-right right-R3$`).FindAllStringSubmatch(out, -1)
	by := map[string]int{}
	for _, x := range each {
		if x[2] != x[3] || x[1] != each[0][1] {
			t.Errorf("%q: one source port, and one spine", x[0])
		}
		by[x[2]]++
	}
	sum := 0
	for _, x := range regexp.MustCompile(`(?m)^flow direct: (\d+) of (\d+) packets \(.* %\), 1 source port  L3-left left-spine(\d) `).FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(x[1])
		all, _ := strconv.Atoi(x[2])
		if sum += n; n != by[x[3]] || all != len(each) {
			t.Errorf("%q: %d packets took spine %s", x[0], by[x[3]], x[3])
		}
	}
	if len(by) != 3 || sum != len(each) || sum < 200 || strings.Contains(out, "flow irn") {
		t.Errorf("%d packets, %d in the sum, by %v", len(each), sum, by)
	}
	if out, err := paths(b, "2", "plain"); err != nil || !strings.Contains(out, "flow back psn=0 ") || !strings.Contains(out, "flow plain psn=0  L4-left") {
		t.Errorf("%v\n%.500s", err, out)
	}
	if _, err := paths(b, "dirct"); err == nil || !strings.Contains(err.Error(), `named dirct (did you mean "direct"?)`) {
		t.Error(err)
	}
	sprayed, _ := disorderOf(t, strings.NewReplacer(", balance: random", "", "order: direct,", "order: direct, spray: oblivious, entropies: 16,").Replace(disordered), false)
	if out, err := paths(sprayed, "direct"); err != nil || len(regexp.MustCompile(`source ports  L3-left left-spine`).FindAllString(out, -1)) < 2 || strings.Contains(out, ", 1 source port ") {
		t.Errorf("%v\n%.500s", err, out[max(0, len(out)-500):])
	}
}
