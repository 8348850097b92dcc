package models_test

import (
	"os"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// TestModelPrioritiesAreStrict: as the guide says, a frame of a higher priority leaves before those
// of lower ones, always, unless ets lists both: then they share an output by weight.
func TestModelPrioritiesAreStrict(t *testing.T) {
	guide, err := os.ReadFile("../../../../docs/guide/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	const said = "always: priorities are strict, and a low one may get nothing. With `ets: [{priority: 3, weight: 3}, {priority: 0, weight: 1}]`"
	if !strings.Contains(string(guide), said) {
		t.Errorf("docs/guide/scenarios.md does not say %q", said)
	}
	for ets, want := range map[string][2]float64{
		"": {1, 0}, ", ets: [{priority: 3, weight: 3}, {priority: 0, weight: 1}]": {0.75, 0.25}, ", ets: [{priority: 0, weight: 1}]": {1, 0},
	} {
		s := runtest.Load(t, `
name: strict
model: {duration: 4ms}
defaults:
  link: {rate: 10Gb/s, flow-control: pfc}
  switch: {kind: output-queued`+ets+`}
switches: {S: {}}
endpoints: [a, b, c]
links: [a - S, b - S, c - S]
flows: [{name: high, from: a, to: c, priority: 3}, {name: low, from: b, to: c, priority: 0}]
expect:
  - {id: high, claim: x, metric: high.utilisation, during: [2ms, 4ms], low: 0, high: 2, why: y}
  - {id: low, claim: x, metric: low.utilisation, during: [2ms, 4ms], low: 0, high: 2, why: y}
`)
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range want {
			if got := float64(r.Checks[i].Value); got < x-0.02 || got > x+0.02 {
				t.Errorf("%q: %s has %.3f of its link, want %.2f", ets, r.Checks[i].ID, got, x)
			}
		}
	}
}
