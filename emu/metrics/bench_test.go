package metrics

import (
	"testing"

	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// frames returns the events of a frame of each flow on its path, in the mix in
// which a run has them.
func frames(f *fabric.Fabric) []trace.Event {
	var events []trace.Event
	for i := range f.Flows {
		x := &f.Flows[i]
		for _, h := range x.Path.All() {
			out, in := f.Wires[h.Wire].Ends[h.From], f.Wires[h.Wire].Ends[1-h.From]
			events = append(events,
				trace.Event{Node: int32(out.Node), Port: uint16(out.Port), Kind: trace.Start, Flow: x.QP, Bytes: 2068, A: int64(wire.Data), B: 99},
				trace.Event{Node: int32(in.Node), Port: uint16(in.Port), Kind: trace.Arrive, Flow: x.QP, Bytes: 2068, A: int64(wire.Data), B: 33},
				trace.Event{Node: int32(in.Node), Port: uint16(in.Port), Kind: trace.Release},
				trace.Event{Node: int32(in.Node), Port: uint16(in.Port), Kind: trace.Start, A: int64(wire.FlowControl)},
				trace.Event{Node: int32(out.Node), Port: uint16(out.Port), Kind: trace.Arrive, A: int64(wire.FlowControl)},
				trace.Event{Node: int32(out.Node), Port: uint16(out.Port), Kind: trace.Stall, A: int64(port.LinkBusy)},
			)
		}
		events = append(events,
			trace.Event{Node: int32(x.Dst), Kind: trace.Deliver, Flow: x.QP, Bytes: 2068, A: int64(wire.Data)},
			trace.Event{Node: int32(x.Src), Kind: trace.Feedback, Flow: x.QP, A: int64(wire.Ack), B: 8e9},
			trace.Event{Node: int32(x.Src), Kind: trace.Stall, Flow: x.QP, A: int64(port.RateLimited)},
		)
	}
	return events
}

// BenchmarkRecord is the cost of an event, the closing of bins included (about
// one for each thousand events, as in the scenarios of the paper).
func BenchmarkRecord(b *testing.B) {
	f, s := paperFabric(10)
	c, err := New(f, s)
	if err != nil {
		b.Fatal(err)
	}
	events := frames(f)
	at := unit.Time(0)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		e := &events[i]
		if i++; i == len(events) {
			i = 0
		}
		if at += 100 * unit.Time(unit.Nanosecond); at >= 100*unit.Time(unit.Millisecond) {
			b.StopTimer()
			at = 0
			c, _ = New(f, s)
			b.StartTimer()
		}
		e.At = at
		c.Record(e)
	}
}
