package emu

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/watch/capture/dump"
	"fabemu/wire/trace"
)

// besideUltra are two guests that share a link, and its queue, with sources of Ultra Ethernet whose
// packets the switch trims; one of these sends to a guest, too.
const besideUltra = `name: beside
model: {duration: %s, seed: 1}
wall: {dilation: 1}
defaults:
  link: {rate: %s, propagation: 10us, flow-control: none}
  switch: {kind: output-queued, memory: 22KB per port, lossless: [], trim: 64B}
  flow: {packet: 1500B, traffic: greedy}
switches: {A: {}, B: {}}
endpoints: [{name: "h[1-2]", guest: %s}, "S[1-3]", R]
links: ["h1 - A", "S[1-3] - A", {name: trunk, between: A - B}, "h2 - B", "B - R"]
flows:
  - {name: there, from: h1, to: h2, packet: 1600B}
  - {name: back, from: h2, to: h1, packet: 1600B}
  - {name: plain, from: "S[1-2]", to: R, transport: {kind: uet, window: 24, rto: 200ms}}
  - {name: credit, from: S3, to: R, transport: {kind: uet, window: 24, rto: 200ms}, control: {algorithm: rccc, base-rtt: 4ms}}
  - {name: guest, from: S3, to: h2, transport: {kind: uet, window: 24, rto: 200ms}}
`

// trims counts the packets that were trimmed, by flow.
type trims map[uint32]int

func (x trims) Record(e *trace.Event) {
	if e.Kind == trace.Trim {
		x[e.Flow]++
	}
}

// A guest's TCP and Ultra Ethernet share a queue. The switch trims packets of the latter and drops
// those of guests; both deliver, and the checks of the capture find nothing wrong.
func TestGuestsBesideUltraEthernet(t *testing.T) {
	s := runtest.Load(t, fmt.Sprintf(besideUltra, "1s", "20Mb/s", "netstack")+"programs: [{name: client, at: 10ms, on: h1, run: send h2 300KB}]\n")
	var file bytes.Buffer
	cut := trims{}
	r, err := Run(context.Background(), s, Options{Settings: Settings{Clock: VirtualClock}, Sink: cut, Capture: &Capture{To: &file, Both: true}, NewStack: netstack.New})
	if err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for _, f := range r.Flows {
		switch guests := f.Name == "there" || f.Name == "back"; {
		case guests && cut[f.QP] > 0:
			t.Errorf("%d packets of %s are trimmed", cut[f.QP], f.Name)
		case !guests && f.Name != "credit" && cut[f.QP] < 10, f.Frames < 20:
			t.Errorf("%s: %d packets are trimmed, and %d delivered", f.Name, cut[f.QP], f.Frames)
		}
	}
	for _, d := range r.Drops {
		if d.Reason == trace.BufferFull.String() {
			dropped += int(d.Count)
		}
	}
	if p := r.Programs[0]; p.Status != 0 || dropped == 0 {
		t.Errorf("the client: %+v; %d packets of guests are dropped", p, dropped)
	}
	var said strings.Builder
	sum, err := dump.Dump(&said, dump.Options{Check: true, Quiet: true}, &file)
	if err != nil || sum.Problems() > 0 || sum.Checked[dump.Deliveries] < 1000 || sum.Checked[dump.Credit] < 20 {
		t.Errorf("%v, %v of %v\n%.2000s", err, sum.Found, sum.Checked, said.String())
	}
}
