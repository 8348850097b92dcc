//go:build timing

package node_test

import (
	"testing"

	"fabemu/node"
	"fabemu/node/spray"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// "Zero allocations per frame in the steady state": two endpoints on one link, a
// greedy flow between them, its ACKs and its credit.
func TestAllocsOfAFrame(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Reaction = algorithm(t, "lipd", gigabyte)
	a, errA := node.New(node.Config{LID: here, Port: paperPort(), Flows: []node.Flow{f}}, nil)
	b, errB := node.New(node.Config{LID: there, Port: paperPort(), Sinks: []node.Sink{{QP: 7, Transport: acked(1)}}}, nil)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	var flying []port.Transmission // at most a handful
	arrival := new(port.Arrival)
	delivered := 0
	now := unit.Time(0)
	carry := func(from, to *node.Endpoint) {
		flying = flying[:0]
		for tr, ok := from.Poll(); ok; tr, ok = from.Poll() {
			flying = append(flying, *tr)
		}
		for _, tr := range flying {
			now = max(now, tr.Due)
			if tr.Frame.Kind == wire.Data {
				delivered++
			}
			*arrival = port.Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
			to.Receive(now, 0, arrival)
		}
		to.Advance(now)
	}
	round := func() {
		a.Advance(now)
		carry(a, b)
		carry(b, a)
		now = max(now, min(a.Deadline(), b.Deadline()))
	}
	for range 20 {
		round()
	}
	delivered = 0
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
	if delivered < 400 {
		t.Errorf("%d packets in a thousand rounds: the test does not test", delivered)
	}
}

// Nor does traffic allocate, nor a token bucket.
func TestAllocsOfTraffic(t *testing.T) {
	flow := func(qp uint32) node.Flow {
		f := greedy(t, qp, gigabyte)
		f.Family, f.Transport, f.Payload, f.Limiter = wire.Ethernet, node.Datagrams{}, 1000, node.NewTokenBucket(gigabyte, 5000)
		return f
	}
	finite := flow(9)
	finite.Traffic = generated(t, traffic.Config{Kind: traffic.Transfers, Rate: gigabyte / 10, Sizes: sizes(t, "100B:50 5000B:100"), Seed: 1})
	share := traffic.Config{Kind: traffic.Bursts, Rate: gigabyte / 5, Peak: gigabyte, Length: 1000, Burst: 5000, Shape: 1.5, Destinations: 2, Seed: 2}
	e, err := node.New(node.Config{
		LID: here, Port: paperPort(), Flows: []node.Flow{flow(7), flow(8), finite},
		Spreads: []node.Spread{{Traffic: generated(t, share), Flows: []int{0, 1}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	peer := port.NewCredit(2048, 1)
	now, sent := unit.Time(0), 0
	arrival := new(port.Arrival)
	round := func() {
		e.Advance(now)
		for tr, ok := e.Poll(); ok; tr, ok = e.Poll() {
			if tr.Frame.Kind == wire.Data {
				peer.Received(tr.Frame.Blocks())
				sent++
			}
		}
		if now == 0 || peer.Used() > 1000 {
			peer.Freed(peer.Used())
			*arrival = port.Arrival{Frame: peer.Packet(port.DataLane), Head: now, Tail: now}
			e.Receive(now, 0, arrival)
			e.Advance(now)
		}
		now = max(now, e.Deadline())
	}
	for range 20_000 { // the longest burst so far has made the queues long enough
		round()
	}
	sent = 0
	if n := testing.AllocsPerRun(1000, round); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
	if sent < 200 {
		t.Errorf("%d packets in a thousand rounds: the test does not test", sent)
	}
}

// Nor does a packet of RoCEv2 that comes early, or is lost, whatever the order and the paths.
func TestAllocsOfDisorder(t *testing.T) {
	for _, o := range []node.Order{node.GoBackN, node.SelectiveRepeat, node.Direct} {
		p := selectively(o, 4)
		p.RetryCount, p.Spray, p.Entropies, p.Seed, p.Echo = node.Unlimited, spray.Mixed, 16, 1, true
		flow := roceFlow(p)
		a, errA := node.New(node.Config{LID: 1, Port: ethernetPort(), Flows: []node.Flow{flow}}, nil)
		b, errB := node.New(node.Config{LID: 2, Port: ethernetPort(), Sinks: []node.Sink{{QP: 7, Source: 1, Lane: flow.Lane, Transport: flow.Transport}}}, nil)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		now, sent := unit.Time(0), 0
		flying := make([]port.Transmission, 0, 64)
		arrival := new(port.Arrival)
		carry := func(from, to *node.Endpoint) {
			flying = flying[:0]
			for tr, ok := from.Poll(); ok; tr, ok = from.Poll() {
				flying = append(flying, *tr)
			}
			for i := range flying { // the last one first
				tr := &flying[len(flying)-1-i]
				now = max(now, tr.Due)
				if sent++; sent%20 != 7 {
					*arrival = port.Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
					to.Receive(now, 0, arrival)
				}
			}
			to.Advance(now)
		}
		round := func() {
			for range 4 {
				a.Advance(now)
				now = now.Add(2 * unit.Microsecond)
			}
			carry(a, b)
			carry(b, a)
			now = max(now, min(a.Deadline(), b.Deadline()))
		}
		for range 200 {
			round()
		}
		sent = 0
		if n := testing.AllocsPerRun(1000, round); n != 0 {
			t.Errorf("%v: a round allocates %v times", o, n)
		}
		if sent < 2000 {
			t.Errorf("%v: %d frames in a thousand rounds: the test does not test", o, sent)
		}
	}
}
