package models_test

import (
	"math"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// Between estimates the frame-hops of a run from the load that flows offer, and from the answers of
// their transports.
func TestModelHopsBetweenDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for name, x := range map[string]struct {
		control string // flow control
		sets    []string
	}{
		"datagrams":       {"none", []string{"defaults.flow.load=0.5"}},
		"a tenth of them": {"none", []string{"defaults.flow.load=0.1"}},
		"RoCEv2":          {"pfc", []string{"defaults.flow.load=0.5", "defaults.flow.transport=rocev2"}},
		"TCP":             {"pfc", []string{"defaults.flow.load=0.5", "defaults.flow.transport=tcp"}},
		"InfiniBand":      {"credit", []string{"defaults.flow.load=0.5", "defaults.flow.window=64"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := generate.Write("fat-tree", generate.Options{Endpoints: 54, FlowControl: x.control})
			if err != nil {
				t.Fatal(err)
			}
			sets := append([]string{"defaults.flow.traffic=constant", "model.duration=200us", "defaults.link.rate=100Gb/s", "defaults.link.propagation=500ns"}, x.sets...)
			s, err := resolve.Load("tree.yaml", text, runtest.Sets(t, sets...))
			if err != nil {
				t.Fatal(err)
			}
			f, err := fabric.Build(s)
			if err != nil {
				t.Fatal(err)
			}
			of, window := f.Partition(4), unit.Duration(math.MaxInt64)
			for w := range f.Wires {
				if ends := &f.Wires[w].Ends; of[ends[0].Node] != of[ends[1].Node] {
					window = min(window, f.Least(w, 0), f.Least(w, 1))
				}
			}
			windows := float64(s.Model.Duration) / float64(window)
			got, want := f.Between(of), float64(onVirtualClock(t, s).Verdict.Order.Frames)/windows
			if got < 0.8*want || got > 1.25*want {
				t.Errorf("%.0f frame-hops between two exchanges are estimated, and %.0f happen", got, want)
			}
		})
	}
}
