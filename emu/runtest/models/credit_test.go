package models_test

import (
	"context"
	"fabemu/emu"
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu/scenario"
)

// TestModelCreditRoundTrip: what Load warns of comes true. On a link whose buffer does
// not cover the round trip of a credit, one flow with window enough reaches the
// share of the rate that the warning names, and nothing is lost.
func TestModelCreditRoundTrip(t *testing.T) {
	const far = `name: far
model: {duration: 4ms}
defaults: {link: {rate: 1GB/s, buffer: 8 packets}, flow: {window: 64}}
switches: {S: {}, T: {}}
endpoints: [a, b]
links: [a - S, {name: sea, between: S - T, propagation: 10us, buffer: %s}, T - b]
flows: [{name: f, from: a, to: b}]
expect: [{id: x, metric: sea.S-T.utilisation, during: [2ms, 4ms], low: 0, high: 1}]
`
	for _, buffer := range []string{"1 packet", "4 packets", "7 packets", "11 packets"} {
		s, err := scenario.Load("far.yaml", fmt.Appendf(nil, far, buffer), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := 100.0
		for _, w := range s.Warnings {
			_, after, _ := strings.Cut(w.Message, "full rate, ")
			if _, err := fmt.Sscanf(after, "%f", &want); err != nil {
				t.Fatalf("%v: %v", w, err)
			}
		}
		result, err := emu.Run(context.Background(), s, emu.Options{Clock: emu.VirtualClock})
		if err != nil {
			t.Fatal(err)
		}
		if got := 100 * float64(result.Checks[0].Value); math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %.2f %%, where %v says %.2f %%", buffer, got, s.Warnings, want)
		}
		if len(result.Violations) > 0 || len(result.Warnings) != len(s.Warnings) {
			t.Errorf("%s: violations %v, warnings %q", buffer, result.Violations, result.Warnings)
		}
	}
}
