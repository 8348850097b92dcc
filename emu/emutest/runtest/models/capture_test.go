package models_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/watch/capture/dump"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// twoKinds is a fabric in which two hosts with bodies share a switch with two plain flows, one of
// which begins in the middle.
const twoKinds = `name: two-kinds
model: {duration: 40ms, seed: %d}
wall: {dilation: 1}
defaults: {link: {rate: 100Mb/s, propagation: 50us, %s}, flow: {%s}}
switches: {S: {%s}}
endpoints: [{name: "h[1-2]", guest: netstack}, "n[1-2]", sink]
links: ["h[1-2] - S", "n[1-2] - S", sink - S]
flows:
  - {name: there, from: h1, to: h2, packet: 1600B}
  - {name: back, from: h2, to: h1, packet: 1600B}
  - {name: short, from: n1, to: sink, packet: %dB, start: %dus}
  - {name: long, from: n2, to: sink, packet: %dB, start: %dus}
programs: [{name: client, at: 1ms, on: h1, run: send h2 %dKB}]
`

// TestModelBodiesStayWithTheirFrames: in a capture of whole frames each frame of a host has its
// body, and a frame that has none is padded with zeros, whatever the place in the queue held
// before.
func TestModelBodiesStayWithTheirFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	random := unit.NewRandom(36, 1)
	between := func(low, high int) int { return low + int(random.Below(uint64(high-low))) }
	for i, kind := range slices.Repeat([]struct{ name, link, flow, swtch string }{
		{"ethernet", "flow-control: pfc", "", "kind: output-queued"},
		{"ethernet with tags", "flow-control: pfc", "priority: 3, control: {algorithm: qcn}", "kind: output-queued, marking: {scheme: qcn, octets: 14}"},
		{"infiniband", "buffer: 8KB", "", "forwarding-delay: 2us"},
	}, 4) {
		yaml := fmt.Sprintf(twoKinds, i+1, kind.link, kind.flow, kind.swtch, 4*between(16, 100), between(1, 20000),
			4*between(200, 500), between(1, 20000), between(20, 200))
		for clock, o := range map[string]emu.Options{
			"virtual": {Settings: emu.Settings{Clock: emu.VirtualClock, Codec: i%2 == 0}},
			"wall":    {Settings: emu.Settings{Clock: emu.WallClock, Link: emu.Pipe}, Verify: emu.VerifyOff},
		} {
			t.Run(fmt.Sprintf("%s, %d, %s", kind.name, i+1, clock), func(t *testing.T) {
				s := runtest.Load(t, yaml)
				var file bytes.Buffer
				o.Capture, o.NewStack = &emu.Capture{To: &file, Both: i%4 < 2}, netstack.New
				if _, err := emu.Run(t.Context(), s, o); err != nil {
					t.Fatal(err)
				}
				bodies, padding := framesOf(t, file.Bytes())
				if bodies < 20 || padding < 20 {
					t.Errorf("%d frames with bodies and %d with padding: want both", bodies, padding)
				}
				var said bytes.Buffer
				sum, err := dump.Dump(&said, dump.Options{Check: true, Quiet: true}, &file)
				if err != nil || sum.Problems() > 0 {
					t.Errorf("%v, %d wrong\n%.2000s", err, sum.Problems(), said.String())
				}
			})
		}
	}
}

// framesOf counts the data frames of a capture, and wants a body in those of the flows between
// hosts alone.
func framesOf(t *testing.T, capture []byte) (bodies, padding int) {
	t.Helper()
	r, err := pcapng.NewReader(bytes.NewReader(capture))
	if err != nil {
		t.Fatal(err)
	}
	var d dump.Decoder
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return bodies, padding
		}
		if err != nil {
			t.Fatal(err)
		}
		x := d.Decode(r, p)
		if x.Frame.Kind != wire.Data {
			continue
		}
		host := x.Frame.QP <= 3 // there and back
		if x.Cut || x.BadSum != "" || host != (x.Body != "") {
			t.Fatalf("packet %d: %+v", x.Number, x)
		}
		if host {
			bodies++
		} else {
			padding++
		}
	}
}
