package node_test

import (
	"slices"
	"testing"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Transfers over TCP that have one queue pair, one after the other, each end once and whole,
// although frames of each are lost, come twice, or come when later ones have begun. The segments of
// one connection are never those of the next.
func TestConnectionsOfOneQueuePair(t *testing.T) {
	for seed := range uint64(12) {
		random := unit.NewRandom(seed, 1)
		f := greedy(t, 0, gigabyte)
		f.Family, f.Payload, f.Marks = wire.Ethernet, 1500, false
		f.Transport = node.TCP{Params: tcp.Params{Recovery: tcp.Recovery(seed % 3), InitialWindow: 4, ReceiveWindow: 1 << 16,
			DelayedACK: 5 * us, InitialRTO: 30 * us, MinRTO: 30 * us, MaxRTO: unit.Millisecond}}
		var arrivals []traffic.Arrival
		var want []int64
		for range 200 {
			n := 1 + int64(random.Below(20_000))
			arrivals, want = append(arrivals, traffic.Arrival{To: 1, Size: unit.Size(n)}), append(want, n)
		}
		members := []wire.LID{here, there}
		events, ends := [2]bench{}, [2]*node.Endpoint{}
		for self := range ends {
			w := node.Workload{Flow: f, Members: members, Self: self, Range: node.QPRange{First: 9, Each: 1}, Open: 1,
				Pacing: func(uint32) (node.RateLimiter, rp.Reaction) {
					return node.NewInterPacketDelay(gigabyte), fixed(t, gigabyte)
				}}
			if self == 0 {
				w.Traffic = traffic.NewList(arrivals)
			}
			e, err := node.New(node.Config{LID: members[self], Workloads: []node.Workload{w},
				Port: port.Config{Rate: gigabyte, Propagation: 1 * us, FlowControl: port.NoFlowControl}}, &events[self])
			if err != nil {
				t.Fatal(err)
			}
			ends[self] = e
		}
		type flight struct {
			to int
			tr port.Transmission
		}
		var flying []flight
		throw := func(to int, tr port.Transmission) {
			for range 1 + random.Below(10)/9 {
				if random.Below(10) > 0 {
					flying = append(flying, flight{to, tr})
				}
				if tr.Due = tr.Due.Add(random.Span(200 * us)); random.Below(2) > 0 {
					tr.Due = tr.Due.Add(unit.Millisecond)
				}
			}
			slices.SortStableFunc(flying, func(a, b flight) int { return int(a.tr.Due - b.tr.Due) })
		}
		for now := unit.Time(0); now < at(2*unit.Second); {
			for len(flying) > 0 && flying[0].tr.Due <= now {
				x := flying[0]
				flying = flying[1:]
				ends[x.to].Receive(now, 0, &port.Arrival{Frame: x.tr.Frame, Head: now, Tail: now, Length: x.tr.Length})
			}
			for i, e := range ends {
				e.Advance(now)
				for tr, ok := e.Poll(); ok; tr, ok = e.Poll() {
					throw(1-i, *tr)
				}
			}
			if now = min(ends[0].Deadline(), ends[1].Deadline()); len(flying) > 0 {
				now = min(now, flying[0].tr.Due)
			}
		}
		// The segment of a small transfer that comes again after all others is a transfer once
		// more, as with TCP Fast Open.
		ended := map[uint32]int64{}
		for _, e := range events[1].reported(trace.TransferEnd) {
			ended[e.PSN] = e.B
		}
		begun := events[0].reported(trace.TransferStart)
		if len(begun) != len(want) || len(ended) != len(want) {
			t.Errorf("seed %d: %d of %d transfers began, %d ended", seed, len(begun), len(want), len(ended))
		}
		for i, e := range begun {
			if got := ended[e.PSN]; got != want[i] {
				t.Errorf("seed %d: %d bytes of transfer %d came, of %d", seed, got, i, want[i])
				break
			}
		}
		if len(events[0].reported(trace.Retransmit)) < 50 {
			t.Error("hardly anything was sent again: the test does not test")
		}
	}
}
