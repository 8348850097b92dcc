package scenario_test

import (
	"strings"
	"testing"

	"fabemu/wire/unit"
)

// TestFlapsAreNoSingleEvent: a running fabric refuses flaps at any time, and near the end of the run too, where
// the link would go down once and no more.
func TestFlapsAreNoSingleEvent(t *testing.T) {
	s := load(t, `name: x
model: {duration: 10ms}
defaults: {link: {rate: 1GB/s}}
switches: {S: {}}
endpoints: [a, b]
links: [a - S, {name: trunk, between: S - b}]
flows: [{name: x, from: a, to: b}]
`)
	for _, at := range []unit.Duration{0, 5 * unit.Millisecond, 9500 * unit.Microsecond} {
		_, _, err := s.Happen("link: trunk, flap: 1ms, period: 2ms", at)
		if err == nil || !strings.Contains(err.Error(), "several events") {
			t.Errorf("at %v: got %v, want a mistake with several events", at, err)
		}
		if _, e, err := s.Happen("link: trunk, state: down", at); err != nil || e.At != at {
			t.Errorf("down at %v: %v, %v", at, e, err)
		}
	}
}
