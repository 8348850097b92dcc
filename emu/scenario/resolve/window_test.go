package resolve_test

import (
	"fmt"
	"testing"

	"fabemu/wire/unit"
)

// TestUsualWindow: a run that says nothing of its measuring window has a hundredth of its duration,
// as a round number; no more than 2 ms, no less than four packets, and in a large fabric as many as
// there is memory for.
func TestUsualWindow(t *testing.T) {
	const fabric = `name: x
model: {duration: %s}
defaults: {link: {rate: %s}, flow: {packet: %s}, switch: {forwarding-delay: 1ms}}
switches: {S: {}}
endpoints: ["a[1-%d]", b]
links: ["a[1-%[4]d] - S", S - b]
flows: [{name: x, from: "a[1-%[4]d]", to: b}]
`
	for _, c := range []struct {
		duration, rate, packet string
		senders                int
		want                   unit.Duration
	}{
		{"5ms", "10Gb/s", "1024B", 2, 50 * unit.Microsecond},
		{"100ms", "1GB/s", "2048B", 20, unit.Millisecond},
		{"781us", "40Gb/s", "1024B", 2, 10 * unit.Microsecond},
		{"200ms", "1GB/s", "2048B", 20, 2 * unit.Millisecond},
		{"10s", "1GB/s", "2048B", 2, 2 * unit.Millisecond},
		{"1ms", "100Mb/s", "1024B", 2, 500 * unit.Microsecond}, // four packets take 90 µs each
		{"50us", "1GB/s", "2048B", 2, 10 * unit.Microsecond},
		{"3us", "1GB/s", "2048B", 2, 3 * unit.Microsecond},
		{"320ms", "1GB/s", "2048B", 5000, 100 * unit.Millisecond},
	} {
		s := load(t, fmt.Sprintf(fabric, c.duration, c.rate, c.packet, c.senders))
		if got := s.Measure.Window; got != c.want {
			t.Errorf("%v, %s, %s, %d senders: %v, want %v", c.duration, c.rate, c.packet, c.senders, got, c.want)
		}
	}
}
