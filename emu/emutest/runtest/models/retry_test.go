package models

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
)

// retried is a switch between senders and a receiver; its links lose frames and send them again.
const retried = `
name: retried
model: {duration: 400us, framing: wire}
defaults: {link: {rate: 100Gb/s, propagation: 25ns, flow-control: %s, retry: {init: block, count: 8}}}
switches: {S: {%s}}
endpoints: ["A[1-3]", B]
links: ["A[1-3] - S", {name: out, between: S - B}]
flows: [{name: f, from: "A[1-3]", to: B, packet: 1000B%s}]
faults:
  - {name: loss, link: "*", loss: 0.01}
  - {name: noise, link: "*", corruption: 0.005, burst: 4}
`

// Retry is below any flow control, which sees a link that loses nothing: no frame of a flow, and
// none of flow control, is reported as lost; all come once and in order, and no promise is broken.
func TestRetryBelowFlowControl(t *testing.T) {
	for _, c := range []struct{ control, kind, more string }{
		{"pfc", "kind: output-queued, memory: 1MB", ""},
		{"pause", "kind: output-queued, memory: 1MB", ""},
		{"none", "kind: output-queued, memory: 1MB", ", traffic: paced, load: 0.3"},
		{"credit", "", ", window: 16"},
	} {
		t.Run(c.control, func(t *testing.T) {
			s := runtest.Load(t, fmt.Sprintf(retried, c.control, c.kind, c.more))
			var log strings.Builder
			r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}, Events: &log})
			if err != nil {
				t.Fatal(err)
			}
			replays := int64(0)
			for _, x := range r.Retries {
				if x.Counter == "TX_REPLAY" {
					replays += x.Count
				}
				if x.Counter == "flush" {
					t.Errorf("%+v", x)
				}
			}
			if r.Verdict.Violations != 0 || replays == 0 {
				t.Errorf("%d promises are broken, %d replays", r.Verdict.Violations, replays)
			}
			for line := range strings.Lines(log.String()) { // all that is lost are ordered sets, whose figure is their kind
				if strings.Contains(line, `"event":"drop"`) && !strings.Contains(line, `"figure":1`) {
					t.Error(line)
				}
			}
		})
	}
}

// On InfiniBand both a flow control packet and an ACK can be due while the link is busy: a node
// that looked at the past one again and again never ended.
func TestRetryGoesOnWithCredits(t *testing.T) {
	s := runtest.Load(t, `
name: both-ways
model: {duration: 600us, framing: wire}
defaults: {link: {rate: 10Gb/s, propagation: 20ns, retry: {spacing: 400B}}, flow: {packet: 2048B}}
switches: {S: {}}
endpoints: ["a[1-2]", "b[1-2]"]
links: ["a[1-2] - S", "b[1-2] - S"]
flows: [{name: f, from: "a[1-2]", to: "b[1-2]"}, {name: g, from: "b[1-2]", to: "a[1-2]"}]
`)
	if _, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock}}); err != nil {
		t.Fatal(err)
	}
}
