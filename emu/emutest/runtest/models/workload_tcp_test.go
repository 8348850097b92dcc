package models_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu"
	"fabemu/emu/emutest/runtest"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// slow is a link on which a round trip is longer than sixty segments take, and whose connections
// have a first window of ten segments that are acknowledged one by one.
const slow = `name: slow
model: {duration: 10ms}
defaults:
  link: {rate: 100Gb/s, propagation: 10us, flow-control: pfc}
  flow: {packet: 4096B, transport: {kind: tcp, initial-window: 10, delayed-ack: none, min-rto: 1ms}}
endpoints: ["h[1-2]"]
links: [h1 - h2]
workload: [{name: x, over: "h[1-2]", transfers: %s}]
`

// slowly runs transfers of so many segments from h1 to h2 that arrive so many microseconds after
// the start, one after the other. It returns how long each takes, the time of a segment on the
// link, its way and a round trip.
func slowly(t *testing.T, at []int, segments []int) (took []unit.Duration, segment, way, trip unit.Duration) {
	var table strings.Builder
	table.WriteString("at,from,to,bytes\n")
	for i := range at {
		fmt.Fprintf(&table, "%dus,h1,h2,%d\n", at[i], segments[i]*(4096-wire.TCPOverhead))
	}
	name := filepath.Join(t.TempDir(), "transfers.csv")
	if err := os.WriteFile(name, []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runWorkload(t, fmt.Sprintf(slow, name), true)
	ended, open := r.Metrics.Work(0)
	if len(ended) != len(at) || len(open) > 0 {
		t.Fatalf("%d of %d transfers ended", len(ended), len(at))
	}
	for i := range ended {
		took = append(took, ended[i].Ended.Sub(ended[i].Arrived))
	}
	f := r.Metrics.Fabric()
	line := func(n uint32) unit.Duration {
		frame := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: wire.Ethernet.Fit(n)}
		return f.Wires[0].Link.Rate.Serialise(f.Framing().Length(&frame))
	}
	way = f.Wires[0].Link.Propagation
	return took, line(4096), way, line(4096) + line(wire.TCPOverhead) + 2*way
}

// "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK received that
// cumulatively acknowledges new data" (RFC 5681, section 3.1): with an ACK for each segment the
// windows are 10, 20 and 40 segments, and each leaves back to back, a round trip after the one
// before. Alone in the fabric a transfer takes exactly that long: there is no handshake.
func TestModelSlowStartOfTransfer(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, test := range []struct{ segments, trips, last int }{{1, 0, 1}, {10, 0, 10}, {11, 1, 1}, {30, 1, 20}, {31, 2, 1}, {70, 2, 40}} {
		took, segment, way, trip := slowly(t, []int{100}, []int{test.segments})
		if want := unit.Duration(test.trips)*trip + unit.Duration(test.last)*segment + way; took[0] != want {
			t.Errorf("%d segments take %v, want %v", test.segments, took[0], want)
		}
	}
}

// Each transfer has its own connection: it begins with the initial window, however soon it follows
// another one to the same destination.
func TestModelTransferBeginsWithInitialWindow(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	took, segment, way, trip := slowly(t, []int{100, 600, 3000}, []int{70, 54, 54})
	for i, want := range []unit.Duration{2*trip + 40*segment + way, 2*trip + 24*segment + way, 2*trip + 24*segment + way} {
		if took[i] != want {
			t.Errorf("transfer %d takes %v, want %v", i+1, took[i], want)
		}
	}
}

// No transfer waits for another one to the same destination: one of a segment, which arrives while
// the first window of a large one leaves, waits for the link alone, for at most a segment.
func TestModelTransferOverTCPWaitsForNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	took, segment, way, _ := slowly(t, []int{100, 101}, []int{700, 1})
	if small := took[0]; small < segment+way || small > 2*segment+way { // it ends first
		t.Errorf("a transfer of a segment of %v takes %v, over a link of %v", segment, small, way)
	}
}

// lossy makes the transfers of rough connections of TCP with short timeouts.
var lossy = []string{
	"defaults.flow.transport.kind=tcp", "defaults.flow.transport.recovery=sack", "defaults.flow.transport.initial-rto=200us",
	"defaults.flow.transport.min-rto=200us", "defaults.flow.transport.delayed-ack=20us",
}

// Where switches drop, each transfer over TCP ends once, with each of its bytes. Segments that come
// again are counted at the transfer whose bytes they have. In all they are between half and twice
// the lost frames: lost ACKs do not come again, and a timeout repeats segments that had come. A
// connection whose first segment was lost waits for the first timeout.
func TestModelTransfersOverTCPThatLoseSegments(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	r := runWorkload(t, rough, true, append(lossy, "model.duration=20ms", "defaults.flow.transport.initial-window=20", "workload.in.load=0.3")...)
	lost, again := lostAndAgain(t, r, func(bytes int64) int64 { return bytes/900 + 1 })
	if lost < 20 || again < lost/2 || again > 2*lost {
		t.Errorf("%d frames lost, %d segments sent again", lost, again)
	}
}

// The same transfers take place in the same order on the wall clock.
func TestModelTransfersOverTCPOnTheWallClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s := runtest.Load(t, rough, runtest.Sets(t, append(lossy, "model.duration=300us", "wall.dilation=300", "workload.web.stop=end",
		"workload.in.stop=end")...)...)
	r, err := emu.Run(context.Background(), s, emu.Options{Verify: emu.VerifyOn})
	if err != nil {
		t.Fatal(err)
	}
	ended, _ := r.Metrics.Work(0)
	if r.Verdict.Verify != "equal" || len(ended) < 5 {
		t.Errorf("the log, compared with the virtual clock's: %q; %d transfers", r.Verdict.Verify, len(ended))
	}
}

// Collective operations, and messages without tags, go over the streams of TCP too.
func TestModelCollectivesOverTCP(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, c := range []string{"all-reduce", "all-to-all", "broadcast", "barrier"} {
		r := runWorkload(t, fmt.Sprintf(ranks, 6), true, "defaults.flow.transport.kind=tcp", "workload.sum.collective="+c, "workload.sum.size=100KB")
		if rounds := r.Metrics.Rounds(0); len(rounds) != 3 || len(r.RankWaits) > 0 {
			t.Errorf("%s: %d rounds, waits %+v", c, len(rounds), r.RankWaits)
		}
	}
}
