package scenario_test

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/scenario"
)

// diamond has two equal paths between A and B, over X and over Y, and a slow endpoint q at X. Of
// the endpoints w the first is at A and the others at B.
const diamond = `name: diamond
model: {duration: 1ms, seed: %d}
defaults:
  link: {rate: 10Gb/s, propagation: 100ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 200KB per port}
  flow: {packet: 256B}
switches: {A: {%s}, X: {}, Y: {}, B: {}}
endpoints: ["w[1-%d]", p, q]
links: [A - X, A - Y, X - B, Y - B, w1 - A, "w[2-%[3]d] - B", p - A, {name: slow, between: X - q, rate: 1Gb/s}]
flows:
  - {name: other, from: p, to: q, priority: 1}
`

// A watermark leaves room for each priority that may arrive at an input, by whichever path, and so
// it depends on no seed.
func TestWatermarksCountEveryPath(t *testing.T) {
	const (
		flow = "  - {name: f, from: w1, to: w2}\n"
		back = "  - {name: f, from: w2, to: w1, priority: 1}\n"
		roce = "  - {name: f, from: w2, to: w1, priority: 1, transport: {kind: rocev2, ack-dscp: 0}}\n"
		pair = "workload:\n  - {name: w, over: \"w[1-2]\", size: 20KB, load: 0.6}\n"
		ecmp = "routing: ecmp\n"
	)
	for name, c := range map[string]struct {
		members int
		marking string // of A
		rest    string
		want    int // priorities at the input of X from A
	}{
		"one priority":                         {2, "", "", 1},
		"equal paths":                          {2, "", flow + ecmp, 2},
		"a workload on equal paths":            {2, "", pair + ecmp, 2},
		"a rank on equal paths":                {2, "", "workload:\n  - {name: w, over: \"w[1-2]\", size: 20KB, collective: all-reduce}\n" + ecmp, 2},
		"a path elsewhere":                     {2, "", flow + "routes:\n  - {at: A, to: w2, over: A - Y}\n", 1},
		"a route that changes":                 {2, "", flow + "routes:\n  - {at: A, to: w2, over: A - Y}\n  - {at: A, to: w2, over: A - X, since: 500us}\n", 2},
		"a path around a link that is down":    {2, "", flow + "routes:\n  - {at: A, to: w2, over: A - Y}\nrouting: {recompute: 10us}\nevents:\n  - {at: 300us, link: A - Y, state: down}\n", 2},
		"one of many members, on a path apart": {130, "", "workload:\n  - {name: w, over: \"w[1-130]\", size: 20KB, load: 0.6}\nroutes:\n  - {at: A, to: \"w[2-130]\", over: A - Y}\n  - {at: A, to: w70, over: A - X, since: 1us}\n", 2},
		"feedback on equal paths":              {2, "", roce + ecmp, 2},
		"data the other way":                   {2, "", back + ecmp, 1},
		"notifications of a switch":            {2, "marking: {scheme: qcn, priority: 6}", back + ecmp, 2},
	} {
		for seed := range 4 {
			s := load(t, fmt.Sprintf(diamond, seed+1, c.marking, c.members)+c.rest)
			x := s.Switches[slices.IndexFunc(s.Switches, func(s scenario.Switch) bool { return s.Name == "X" })]
			if got := int(x.Memory.Bytes / x.High); got != c.want { // the headroom is small
				t.Errorf("%s, seed %d: the high watermark of X is %v, for %d priorities, want %d", name, seed+1, x.High, got, c.want)
			}
		}
	}
}
