package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/scenario/resolve"
)

// spines is a flow over four spines, of which one link fails.
const spines = `
name: spines
model: {duration: 1ms}
routing: ROUTING
defaults: {link: {rate: 10Gb/s}, flow: {window: 4}}
switches: {left: {}, right: {}, "spine[1-4]": {}}
endpoints: [A, B]
links: [A - left, B - right, "left - spine[1-4]", "spine[1-4] - right"]
flows: [FLOW]
events:
  - EVENT
`

func onSpines(routing, flow, event string) string {
	return strings.NewReplacer("ROUTING", routing, "FLOW", flow, "EVENT", event).Replace(spines)
}

// A flow whose packets take all paths may lose some on any of them; one that has a path by the hash
// only there.
func TestLossesOnEqualPaths(t *testing.T) {
	for routing, want := range map[string]int{"{paths: ecmp}": 1, "{paths: ecmp, balance: random}": 4, "{paths: ecmp, balance: flowlet}": 4, "{}": 1} {
		warned := 0
		for i := range 4 {
			event := fmt.Sprintf("{at: 1us, link: left - spine%d, state: down}", i+1)
			for _, w := range runtest.Load(t, onSpines(routing, "{name: f, from: A, to: B}", event)).Warnings {
				if strings.Contains(w.Message, "may lose packets") {
					warned++
				}
			}
		}
		if warned != want {
			t.Errorf("routing: %s: the flow may lose packets at %d of four links, want %d", routing, warned, want)
		}
	}
}

// A fault that repeats packets of transfers is refused where any of them may come.
func TestLapsesOnEqualPaths(t *testing.T) {
	for routing, want := range map[string]int{"{paths: ecmp}": 1, "{paths: ecmp, balance: random}": 4} {
		refused := 0
		for i := range 4 {
			event := fmt.Sprintf("{at: 1us, link: left - spine%d, from: left, repeat: 0.1, for: 10us}", i+1)
			if _, err := resolve.Load("spines", []byte(onSpines(routing, "{name: f, from: A, to: B, traffic: transfers, size: 30KB}", event)), nil); err != nil && strings.Contains(err.Error(), "nothing recognises that") {
				refused++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if refused != want {
			t.Errorf("routing: %s: %d of four links are refused, want %d", routing, refused, want)
		}
	}
}
