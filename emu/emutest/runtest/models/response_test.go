package models_test

import (
	"fmt"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/mode"
)

// responding is a fabric in which a sender at full rate is stopped by a switch whose output is
// slow, while frames go back to it all the time.
const responding = `
name: responding
model: {duration: 400us, framing: wire}
defaults:
  link: {rate: 100Gb/s, propagation: 300ns, flow-control: pfc, response: 394 quanta}
  switch: {kind: output-queued, memory: 120KB per port%s}
  flow: {packet: 4000B, priority: 3}
switches: {S: {}}
endpoints: [A, B]
links:
  - A - S
  - {name: b, between: B - S, rate: 25Gb/s}
flows:
  - {name: there, from: A, to: B}
  - {name: back, from: B, to: A}
`

// The headroom counts the response: with the computed watermark nothing is lost, on both clocks,
// though the headroom is used. With the watermark for ports that obey at once, frames are lost.
func TestResponseIsInTheHeadroom(t *testing.T) {
	high := func(sets ...string) int64 {
		s := runtest.Load(t, fmt.Sprintf(responding, ""), runtest.Sets(t, sets...)...)
		return int64(s.Switches[0].High)
	}
	slow, atOnce := high(), high("defaults.link.response=0s")
	if got, want := atOnce-slow, int64(394*64); got != want {
		t.Errorf("the headroom is %d bytes more with a response of 394 quanta, want %d", got, want)
	}
	for _, c := range []struct {
		more  string
		clock mode.Clock
		loses bool
	}{
		{"", emu.VirtualClock, false},
		{"", emu.WallClock, false},
		{fmt.Sprintf(", high: %dB, headroom: 0", atOnce), emu.VirtualClock, true},
	} {
		s := runtest.Load(t, fmt.Sprintf(responding, c.more))
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: c.clock}, Verify: emu.VerifyOn})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Verdict.Violations > 0; got != c.loses {
			t.Errorf("%q, %v: %d violations", c.more, c.clock, r.Verdict.Violations)
		}
		if c.clock == emu.WallClock && r.Verdict.Verify != "equal" {
			t.Errorf("the log, compared with the virtual clock's: %q", r.Verdict.Verify)
		}
	}
}
