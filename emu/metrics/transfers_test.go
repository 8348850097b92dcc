package metrics

import (
	"math"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

func TestTransfers(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	const us = unit.Time(unit.Microsecond)
	begin := func(at, arrived unit.Time, flow int, psn uint32) {
		x := &f.Flows[flow]
		p.record(trace.Event{At: at, Node: int32(x.Src), Kind: trace.TransferStart, Flow: x.QP, PSN: psn, A: int64(arrived), B: 5000})
	}
	end := func(at unit.Time, flow int, psn uint32, missing int64) {
		x := &f.Flows[flow]
		p.record(trace.Event{At: at, Node: int32(x.Dst), Kind: trace.TransferEnd, Flow: x.QP, PSN: psn, A: missing, B: 5000})
	}
	begin(1*us, 1*us, 0, 2)
	begin(2*us, 1*us, 0, 5) // told late
	begin(2*us, 2*us, 1, 7)
	end(4*us, 0, 2, 0)
	end(9*us, 0, 5, 0)
	begin(10*us, 10*us, 0, 8) // loses its last packet
	begin(10*us, 10*us, 0, 9)
	begin(10*us, 10*us, 0, 12)
	begin(10*us, 10*us, 0, 14)
	for _, psn := range []uint32{8, 10, 11} {
		p.record(trace.Event{At: 12 * us, Node: int32(f.Flows[0].Dst), Kind: trace.Drop, Flow: f.Flows[0].QP, PSN: psn, A: int64(trace.BufferFull)})
	}
	end(14*us, 1, 7, 0)
	end(20*us, 0, 9, 1)  // what is missing is of the one before: it is whole
	end(21*us, 0, 77, 0) // never began
	end(21*us, 0, 12, 2) // is not whole
	end(22*us, 0, 14, 0)
	p.record(trace.Event{At: unit.Time(s.Model.Duration), Kind: trace.FlowStop})

	want := []Transfer{{2, 1 * us, 4 * us, 5000, 0}, {5, 1 * us, 9 * us, 5000, 0}, {9, 10 * us, 20 * us, 5000, 0}, {12, 10 * us, 21 * us, 5000, 2}, {14, 10 * us, 22 * us, 5000, 0}}
	got := p.c.Transfers(0)
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("transfer %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	group, one, other := f.Flows[0].Group, f.Flows[0].Name, f.Flows[1].Name
	for _, c := range []struct {
		expression string
		from, to   unit.Time
		want       float64
	}{
		{one + ".transfers", 0, 30 * us, 4},
		{one + ".transfers", 4 * us, 9 * us, 1},
		{one + ".completion.mean", 0, 10 * us, 5.5e-6},
		{one + ".completion.max", 0, 30 * us, 12e-6},
		{one + ".completion.mean", 10 * us, 12 * us, math.NaN()},
		{one + ".completion.max", 10 * us, 12 * us, math.NaN()},
		{other + ".completion.mean", 0, 30 * us, 12e-6},
		{group + ".transfers", 0, 30 * us, 5},
		{group + ".completion.mean", 0, 30 * us, (3 + 8 + 10 + 12 + 12) * 1e-6 / 5},
	} {
		near(t, c.expression, over(t, p.c, c.expression, c.from, c.to), c.want)
	}
}

// The drops and retransmissions of a workload are those of its queue pairs, over intervals, whether
// or not a transfer is open: packets that a NAK or a timeout names, segments one by one.
func TestDropsOfWorkloads(t *testing.T) {
	s, err := resolve.Load("work.yaml", []byte(`
name: work
model: {duration: 1ms}
defaults:
  link: {rate: 10Gb/s, flow-control: none}
  switch: {kind: output-queued}
switches: {S: {}}
endpoints: ["h[1-3]"]
links: ["h[1-3] - S"]
workload:
  - {name: rdma, over: "h[1-3]", size: 10KB, load: 0.1, transport: rocev2}
  - {name: streams, over: "h[1-3]", size: 10KB, load: 0.1, transport: tcp}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(t, f, s)
	const us = unit.Time(unit.Microsecond)
	works := f.Workloads()
	for i, e := range []trace.Event{
		{Kind: trace.Drop, A: int64(trace.BufferFull)},
		{Kind: trace.Drop, A: int64(trace.BufferFull), B: int64(wire.Notification)}, // none of its frames
		{Kind: trace.Retransmit, A: int64(trace.SequenceError), B: 7},
		{Kind: trace.Timeout, A: 3},
	} {
		e.At, e.Flow = unit.Time(i+1)*10*us, works[0].Range.First
		p.record(e)
	}
	for i, e := range []trace.Event{
		{Kind: trace.Drop, A: int64(trace.BufferFull)},
		{Kind: trace.Timeout, A: 1000},
		{Kind: trace.Retransmit, Bytes: 1460, A: int64(trace.TimerExpired)},
		{Kind: trace.Retransmit, Bytes: 1, A: int64(trace.WindowProbe)},
	} {
		e.At, e.Flow = unit.Time(i+1)*10*us, works[1].Range.First
		p.record(e)
	}
	p.record(trace.Event{At: unit.Time(s.Model.Duration), Kind: trace.FlowStop})
	for _, c := range []struct {
		expression string
		from, to   unit.Time
		want       float64
	}{
		{"rdma.drops", 0, 100 * us, 1}, {"rdma.retransmissions", 0, 100 * us, 10}, {"rdma.retransmissions", 35 * us, 100 * us, 3},
		{"streams.drops", 0, 100 * us, 1}, {"streams.drops", 50 * us, 100 * us, 0}, {"streams.retransmissions", 0, 100 * us, 1},
	} {
		near(t, c.expression, over(t, p.c, c.expression, c.from, c.to), c.want)
	}
}
