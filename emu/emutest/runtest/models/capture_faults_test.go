package models_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/watch/capture/pcapng"
)

// TestModelFaultsInCaptures: each fault that lasts has its start and its end in the comments of a
// capture, at the ports that have it, also one that ends after the last frame; so has a storm that
// a watchdog finds.
func TestModelFaultsInCaptures(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, o := range map[string]emu.Options{
		"virtual": {Settings: emu.Settings{Clock: emu.VirtualClock}}, "wall": {Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe}, Verify: emu.VerifyOff},
	} {
		var file bytes.Buffer
		o.Capture = &emu.Capture{To: &file, Snap: 64}
		_, err := emu.Run(t.Context(), runtest.Load(t, `
name: comments
model: {duration: 3ms}
wall: {dilation: 20}
defaults:
  link: {rate: 1Gb/s, propagation: 1us, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port, watchdog: {detection: 100us, restoration: 100us, poll: 50us}}
switches: {S: {}}
endpoints: [A, B]
links: [{name: a, between: A - S}, {name: b, between: S - B}]
flows: [{name: one, from: A, to: B, packet: 1000B, stop: 2ms}]
events:
  - {at: 100us, link: a, loss: 0.5, from: A, for: 100us}
  - {at: 300us, link: a, corruption: 0.5, for: 100us}
  - {at: 500us, link: a, delay: 3us, for: 100us}
  - {at: 700us, link: b, from: S, stuck: 100us}
  - {at: 900us, link: a, buffer: 0.5, from: A, for: 100us}
  - {at: 1100us, link: b, flap: 50us, period: 100us, for: 100us}
  - {at: 1300us, endpoint: B, pauses: ignored, for: 100us}
  - {at: 1500us, endpoint: B, sink: stopped, for: 50us}
  - {at: 1600us, switch: S, restart: 50us}
  - {at: 2ms, endpoint: B, pause-storm: on, priorities: [0], for: 200us}
  - {at: 2600us, link: a, loss: 1, for: 200us}
`), o)
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, "testdata/faults.comments.golden", strings.Join(commentsOf(t, file.Bytes()), "\n")+"\n")
	}
}

// commentsOf returns the comments of the records of a capture that are no frames and no drops, each
// with its time and its port.
func commentsOf(t *testing.T, capture []byte) (all []string) {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Data) == 0 && !bytes.HasPrefix(p.Comments[0], []byte("dropped")) {
			all = append(all, fmt.Sprintf("%d %s %s", p.Time, r.Interfaces[p.Interface].Name, p.Comments[0]))
		}
	}
}
