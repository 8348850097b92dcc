package observe

import (
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/wire/port"
)

// A flow whose packets take several paths waits for whatever stops one of them, in its priority.
func TestStallsOfSeveralPaths(t *testing.T) {
	f, err := fabric.Build(runtest.Load(t, `name: several
model: {duration: 1ms}
routing: {paths: ecmp, balance: random}
defaults: {link: {rate: 10Gb/s, flow-control: pfc}, switch: {kind: output-queued, memory: 100KB per port}, flow: {priority: 3}}
switches: {a: {}, b: {}, "spine[1-2]": {}}
endpoints: [A, B]
links: [A - a, B - b, "a - spine[1-2]", "spine[1-2] - b"]
flows: [{name: over, from: A, to: B}]
`))
	if err != nil {
		t.Fatal(err)
	}
	flows := []metrics.FlowState{{Active: true}}
	for _, stopped := range []string{"A-a", "a-spine1", "a-spine2", "spine1-b", "spine2-b", "b-B"} {
		var open, stops metrics.PortState
		stops.Blocks[3] = port.Paused
		w := waiting{f, map[Output]*Stall{}, map[Output]map[Output]int{}}
		w.follow(func(h fabric.Hop) *metrics.PortState {
			if f.LinkName(h) == stopped {
				return &stops
			}
			return &open
		}, flows)
		var stalls []Stall
		for _, s := range w.stalls {
			stalls = append(stalls, *s)
		}
		if len(stalls) != 1 || f.LinkName(stalls[0].Hop) != stopped || stalls[0].Class != 3 {
			t.Errorf("%s: %+v", stopped, stalls)
			continue
		}
		stalls[0].For = []Cause{{Node: f.Wires[stalls[0].Hop.Wire].Ends[1-stalls[0].Hop.From].Node, Ends: true}}
		if trees := Trees(f, stalls, flows); len(trees) != 1 || len(trees[0].Flows) != 1 {
			t.Errorf("%s: %+v", stopped, trees)
		}
	}
}
