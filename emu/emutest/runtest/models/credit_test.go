package models_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/scenario/resolve"
)

// TestModelCreditRoundTrip: what Load warns of comes true. On a link whose buffer does
// not cover the round trip of a credit, one flow with window enough reaches the
// share of the rate that the warning names, and nothing is lost.
func TestModelCreditRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
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
		s, err := resolve.Load("far.yaml", fmt.Appendf(nil, far, buffer), nil, resolve.Lint(lint.Check))
		if err != nil {
			t.Fatal(err)
		}
		want := 100.0
		for _, w := range s.Warnings {
			_, after, _ := strings.Cut(w.Message, "full rate, only at ")
			if _, err := fmt.Sscanf(after, "%f", &want); err != nil {
				t.Fatalf("%v: %v", w, err)
			}
		}
		result, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
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

// The counters of credits, by SAI's names. In cbfc/rate both channels starve: they use all of their
// credits, 120 and 300 of 256 bytes, and never more. An update that was sent has come, or is in
// flight: for 50 µs, 0.64 µs apart.
func TestCountersOfCredits(t *testing.T) {
	s, err := emu.Open("cbfc/rate")
	if err != nil {
		t.Fatal(err)
	}
	r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, x := range r.Credits {
		got[x.Node+" "+x.Link+" "+x.Counter] = x.Count
	}
	for name, want := range map[string]int64{
		"a a-S SENDER_CREDITS_USED_WATERMARK": 120, "S long.S-b SENDER_CREDITS_USED_WATERMARK": 300,
	} {
		if got[name] != want {
			t.Errorf("%s is %d, want %d", name, got[name], want)
		}
	}
	for _, c := range []struct {
		sent, came string
		most       int64
	}{
		{"b long.b-S NUM_CF_UPDATE_MESSAGES_TX", "S long.S-b NUM_CF_UPDATE_MESSAGES_RX", 79},
		{"S long.S-b NUM_CC_UPDATE_MESSAGES_TX", "b long.b-S NUM_CC_UPDATE_MESSAGES_RX", 1},
		{"S S-a NUM_CF_UPDATE_MESSAGES_TX", "a a-S NUM_CF_UPDATE_MESSAGES_RX", 1},
	} {
		if way := got[c.sent] - got[c.came]; got[c.came] == 0 || way < 0 || way > c.most {
			t.Errorf("%s is %d, %s is %d", c.sent, got[c.sent], c.came, got[c.came])
		}
	}
}
