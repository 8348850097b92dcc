package scenario_test

import (
	"testing"

	"fabemu/emu/scenario"
)

// A name of curves stands for objects by ranges and *, and without names each object is chosen.
func TestCurvesChoose(t *testing.T) {
	for _, c := range []struct {
		text, yes, no string
	}{
		{"web", "web", "web2"},
		{"trunk.A-B", "trunk.A-B", "trunkxA-B"},
		{"h[2-10]-leaf1", "h10-leaf1", "h11-leaf1"},
		{"leaf[1-2]-spine[3-4]", "leaf2-spine3", "leaf2-spine2"},
		{"a, h*-leaf[1-1]", "h12-leaf1", "h12-leaf2"},
		{"", "anything", ""},
	} {
		choose := scenario.Curves{Text: c.text}.Choose()
		if !choose(c.yes) || c.no != "" && choose(c.no) {
			t.Errorf("%q: %s %v, %s %v", c.text, c.yes, choose(c.yes), c.no, choose(c.no))
		}
	}
	for _, wrong := range []string{"h[3-1]", "h[1-", "h]1", " , "} {
		if _, err := (scenario.Curves{}).Form().Read(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
