package live

import (
	"slices"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// "Its packets take several paths at a time", over all lines that they may cross, and the page
// knows the equal outputs of each switch.
func TestScenesHaveAllPaths(t *testing.T) {
	c := sceneOf(t, "ethernet/spraying")
	f := &c.Flows[0]
	if !f.Several || len(f.Path) != 10 { // four spines
		t.Errorf("%+v", f)
	}
	names := func(lines []int) (all []string) {
		for _, k := range lines {
			all = append(all, c.Lines[k].Name)
		}
		return all
	}
	if len(c.Equal) != 1 || c.Equal[0].Node != "left" || !slices.Equal(names(c.Equal[0].Lines), []string{"left-spine1", "left-spine2", "left-spine3", "left-spine4"}) {
		t.Errorf("%+v", c.Equal)
	}
	c = sceneOf(t, "hpl2002/fig2")
	if c.Flows[0].Several || len(c.Equal) > 0 {
		t.Errorf("with one path: %+v, %+v", c.Flows[0], c.Equal)
	}
}

// The moments of a run have the packets that came out of order since the one before, and the
// farthest.
func TestMomentsHaveDisorder(t *testing.T) {
	s := runtest.Load(t, runtest.Text(t, "ethernet/orders"), runtest.Sets(t, "model.duration=4ms")...)
	c, moments := shown(t, s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	of := func(name string) int { return slices.IndexFunc(c.Flows, func(f Flow) bool { return f.Name == name }) }
	last := moments[len(moments)-1]
	sum := 0.0
	for _, m := range moments {
		if early := m.Figures["early"]; early != nil && early[of("direct.L13")].known() {
			sum += float64(early[of("direct.L13")])
		}
	}
	if far := last.Figures["ahead"]; sum < 20 || sum > 200 || far == nil || far[of("direct.L13")] < 1 || far[of("direct.L13")] > 10 || far[of("back.L1")].known() {
		t.Errorf("%v packets out of order in %d moments, the farthest %v ahead", sum, len(moments), far)
	}
}
