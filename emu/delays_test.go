package emu_test

import (
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/node/rp"
)

const delays = `
name: delays
model: {duration: 3ms}
wall: {dilation: 50}
defaults:
  link: {rate: 1Gb/s, flow-control: pfc}
  switch: {kind: output-queued, memory: 300KB, forwarding-delay: 1us}
  endpoint: {service: 200MB/s}
  flow: {packet: 1024B, transport: {kind: rocev2, ack-every: 2}, control: {algorithm: timely}}
switches: {s: {}}
endpoints: [a, b, c]
links: ["a - s", "b - s", {name: root, between: s - c}]
flows:
  - {name: x, from: a, to: c}
  - {name: y, from: b, to: c, start: 500us, limiter: {kind: segments, depth: 4KB}}
`

// TestAlgorithmsOfDelaysOnUDP: the stamps cross real sockets, and the log of each algorithm that
// goes by them is that of the virtual clock, whose frames are encoded too.
func TestAlgorithmsOfDelaysOnUDP(t *testing.T) {
	for _, l := range rp.Algorithms() {
		if l.Feedback != rp.Delays {
			continue
		}
		sets := []scenario.Set{{Path: "defaults.flow.control.algorithm", Value: l.Name}}
		if l.Name == "hpcc" { // whose telemetry has no code for 1 Gb/s
			sets = append(sets, scenario.Set{Path: "defaults.flow.control.exact", Value: "true"})
		}
		if l.Ultra {
			sets = append(sets, scenario.Set{Path: "defaults.flow.transport", Value: "uet"})
		}
		s, err := resolve.Load("delays.yaml", []byte(delays), sets)
		if err != nil {
			t.Fatal(err)
		}
		r, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Codec: true}, Digest: true})
		if err != nil {
			t.Fatal(err)
		}
		wall, err := emu.Run(t.Context(), s, emu.Options{Settings: emu.Settings{Clock: emu.WallClock, Link: emu.UDP}, Verify: emu.VerifyOn})
		if err != nil {
			t.Fatal(err)
		}
		if wall.Digest != r.Digest || wall.Verdict.Verify == "differs" || r.Flows[0].Frames < 50 {
			t.Errorf("%s: on the wall clock the digest is %s, on the virtual clock %s, of %d frames", l.Name, wall.Digest, r.Digest, r.Flows[0].Frames)
		}
	}
}
