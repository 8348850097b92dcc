package models_test

import (
	"context"
	"fmt"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// reporting is a flow at a tenth of the rate of its links: nothing ever waits. Its switch reports
// congestion from 2 to 3 ms.
const reporting = `
name: reporting
model: {duration: 5ms}
wall: {dilation: 20}
defaults:
  link: {rate: 10Gb/s%s}
  switch: {kind: %s, marking: {scheme: %s}}
  flow: {packet: 1000B, traffic: paced, rate: 1Gb/s%s}
switches: {S: {}}
endpoints: [A, B]
links: ["A - S", "S - B"]
flows: [{name: one, from: A, to: B}]
events: [{at: 2ms, switch: S, congestion: reported, for: 1ms}]
`

// reports counts events of a kind, and those of them outside the time of the fault.
type reports struct {
	kind        trace.Kind
	in, outside int
}

// Record takes in an event.
func (r *reports) Record(e *trace.Event) {
	const ms = unit.Time(unit.Millisecond)
	switch {
	case e.Kind != r.kind:
	case e.At >= 2*ms && e.At < 3*ms:
		r.in++
	default:
		r.outside++
	}
}

// A switch that reports congestion which is not there marks each packet that leaves, or notifies
// and drops as its scheme does where a queue is long; before and after it does nothing, because no
// packet waits. In 1 ms 125,000 bytes pass: 122 packets of 1020 bytes on InfiniBand, 113 to 119 of
// RoCEv2 with 50 to 100 bytes of headers. QCN samples once in 150 KB without congestion, and ten
// times as often in it; RED goes by a mean, which follows a queue slowly.
func TestModelReportedCongestion(t *testing.T) {
	for _, x := range []struct {
		scheme, kind, link, flow string
		event                    trace.Kind
		low, high                int
	}{
		{"naive", "input-buffered", "", "", trace.Mark, 121, 124},
		{"input-output", "input-buffered", "", "", trace.Mark, 121, 124},
		{"cca", "input-buffered", "", "", trace.Mark, 121, 124},
		{"ecn", "output-queued", ", flow-control: pfc", ", transport: rocev2", trace.Mark, 112, 120},
		{"qcn", "output-queued", ", flow-control: pause", "", trace.Notify, 1, 12},
		{"red", "output-queued", ", flow-control: none", "", trace.Drop, 1, 121},
	} {
		t.Run(x.scheme, func(t *testing.T) {
			s := runtest.Load(t, fmt.Sprintf(reporting, x.link, x.kind, x.scheme, x.flow))
			digest := ""
			for _, clock := range []emu.Clock{emu.VirtualClock, emu.WallClock} {
				got := reports{kind: x.event}
				r, err := emu.Run(context.Background(), s, emu.Options{Settings: emu.Settings{Clock: clock, Link: emu.Pipe}, Digest: true, Sink: &got, Verify: emu.VerifyOff})
				if err != nil {
					t.Fatal(err)
				}
				if got.in < x.low || got.in > x.high || got.outside != 0 {
					t.Errorf("%s clock: %d events %v, want %d to %d; %d at other times", clock, got.in, x.event, x.low, x.high, got.outside)
				}
				if digest != "" && r.Digest != digest {
					t.Errorf("the clocks have different events")
				}
				digest = r.Digest
			}
		})
	}
}
