//go:build !race

package node_test

import (
	"testing"

	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// "Zero allocations per frame in the steady state": two endpoints on one link, a
// greedy flow between them, its ACKs and its credit.
func TestAllocsOfAFrame(t *testing.T) {
	f := greedy(t, 7, gigabyte)
	f.Controller = law(t, "lipd", gigabyte)
	a, errA := node.New(node.Config{LID: here, Port: paperPort(), Flows: []node.Flow{f}}, nil)
	b, errB := node.New(node.Config{LID: there, Port: paperPort(), Sinks: []uint32{7}}, nil)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	var flying []port.Transmission // at most a handful
	delivered := 0
	now := unit.Time(0)
	carry := func(from, to *node.Endpoint) {
		flying = flying[:0]
		for tr, ok := from.Poll(); ok; tr, ok = from.Poll() {
			flying = append(flying, tr)
		}
		for _, tr := range flying {
			now = max(now, tr.Due)
			if tr.Frame.Kind == wire.Data {
				delivered++
			}
			to.Receive(now, 0, port.Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length})
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
