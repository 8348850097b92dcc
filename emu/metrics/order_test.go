package metrics

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// "What happens after such an event is counted at once": the states of a flow have each event that
// changes one as soon as it is reported, and what its ends count themselves comes in turn.
func TestFlowsCountInTurn(t *testing.T) {
	f, s := everything(port.PauseFrames) // the flow has TCP
	c, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	batch := trace.NewBatch(trace.MaxBatch, c)
	batch.Count(c, c.Flows())
	flow := &f.Flows[0]
	source, switches, sink := trace.NewRecorder(flow.Src, batch), trace.NewRecorder(0, batch), trace.NewRecorder(flow.Dst, batch)
	frame := &wire.Frame{Kind: wire.Data, QP: flow.QP, Lane: flow.Priority}
	now := unit.Time(0)
	do := func(what func(rec *trace.Recorder)) {
		now += us
		what(&source)
	}
	send := func(rec *trace.Recorder) { rec.Start(now, 0, frame, 1000, -1) }
	turn := func(to, from port.Block) func(*trace.Recorder) {
		return func(rec *trace.Recorder) { rec.Turn(now, flow.QP, uint8(to), uint8(from)) }
	}
	event := func(e trace.Event) func(*trace.Recorder) {
		return func(rec *trace.Recorder) {
			e.At, e.Flow, e.Lane = now, flow.QP, flow.Priority
			rec.Emit(e)
		}
	}
	arrive := func(*trace.Recorder) { sink.Deliver(now, frame, 1000, 0) }
	x := &c.flows[0]
	for _, step := range []struct {
		what       string
		do         func(*trace.Recorder)
		waits      bool
		delivered  unit.Time
		sent, gone uint32
		size       uint32
		limit      int64
	}{
		{what: "it starts", do: event(trace.Event{Kind: trace.FlowStart}), delivered: 1 * us},
		{what: "it may send", do: turn(port.Open, port.Idle), waits: true, delivered: 2 * us},
		{what: "a packet leaves", do: send, waits: true, delivered: 2 * us, sent: 1},
		{what: "it has no other", do: turn(port.Idle, port.Open), waits: true, delivered: 2 * us, sent: 1},
		{what: "the packet is lost", do: func(*trace.Recorder) { event(trace.Event{Kind: trace.Drop, A: int64(trace.BufferFull)})(&switches) }, delivered: 2 * us, sent: 1, gone: 1},
		{what: "there is a packet again", do: turn(port.LinkBusy, port.Idle), waits: true, delivered: 6 * us, sent: 1, gone: 1},
		{what: "it leaves", do: send, waits: true, delivered: 6 * us, sent: 2, gone: 1},
		{what: "it comes", do: arrive, waits: true, delivered: 8 * us, sent: 2, gone: 2, size: 1000},
		{what: "one leaves again", do: send, waits: true, delivered: 8 * us, sent: 3, gone: 2, size: 1000},
		{what: "it is refused", do: func(*trace.Recorder) { event(trace.Event{Kind: trace.Refuse, Bytes: 1000})(&sink) }, waits: true, delivered: 8 * us, sent: 3, gone: 3, size: 1000},
		{what: "there is none", do: turn(port.Idle, port.LinkBusy), delivered: 8 * us, sent: 3, gone: 3, size: 1000},
		{what: "its limit changes", do: event(trace.Event{Kind: trace.Limit, A: 5e9}), delivered: 8 * us, sent: 3, gone: 3, size: 1000, limit: 5e9},
		{what: "feedback repeats it", do: func(rec *trace.Recorder) { rec.Feedback(now, flow.QP, &wire.Frame{Kind: wire.Ack}, 5e9) }, delivered: 8 * us, sent: 3, gone: 3, size: 1000, limit: 5e9},
		{what: "feedback changes it", do: func(rec *trace.Recorder) { rec.Feedback(now, flow.QP, &wire.Frame{Kind: wire.Ack}, 4e9) }, delivered: 8 * us, sent: 3, gone: 3, size: 1000, limit: 4e9},
		{what: "a link has another rate", do: event(trace.Event{Kind: trace.Control, A: int64(port.RateChange{}.Kind()), B: 1e9}), delivered: 8 * us, sent: 3, gone: 3, limit: 4e9},
	} {
		do(step.do)
		if x.Waits() != step.waits || x.Delivered != step.delivered || x.Sent != step.sent || x.Gone != step.gone || x.Size != step.size || x.Limit != step.limit {
			t.Errorf("%s: waits %v, since %v, %d sent, %d gone, of %d bytes, limit %d; want %+v", step.what, x.Waits(), x.Delivered, x.Sent, x.Gone, x.Size, x.Limit, step)
		}
	}
	c.Close(1 * ms)
	for cause, want := range map[port.Block]unit.Time{port.Open: 2 * us, port.LinkBusy: 5 * us, port.Idle: 1*ms - 7*us} {
		if got := c.last(c.ofFlows + flowStall + int(cause)); got != int64(want) {
			t.Errorf("%v kept it for %v, want %v", cause, unit.Time(got), want)
		}
	}
}

// A frame is protected if the handshake of its link was over when it started, though the handshake
// is an event and the frame is none.
func TestFramesCountBehindTheHandshake(t *testing.T) {
	f, s := onEthernet(port.PauseFrames)
	f.Wires[0].Link.Retry.Count, f.Wires[0].Link.Retry.Eligible = 1, 0xFF
	c, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	batch := trace.NewBatch(trace.MaxBatch, c)
	batch.Count(c, c.Flows())
	end := f.Wires[0].Ends[0]
	rec, now := trace.NewRecorder(end.Node, batch), unit.Time(0)
	for _, counter := range []retry.Counter{retry.Ready, retry.Flushed, retry.Ready} {
		now += us
		rec.Start(now, uint16(end.Port), &wire.Frame{Kind: wire.Data, QP: f.Flows[0].QP}, 1000, -1)
		rec.Emit(trace.Event{At: now, Kind: trace.Retry, Port: uint16(end.Port), A: int64(counter)})
	}
	rec.Start(now+us, uint16(end.Port), &wire.Frame{Kind: wire.Data, QP: f.Flows[0].QP}, 1000, -1)
	if got := c.retries[c.first[end.Node]+uint32(end.Port)].counts[retry.TxOK]; got != 2 {
		t.Errorf("%d frames were protected, want 2: those behind the first and the last handshake", got)
	}
}

// A duplicate that the destination of retransmitted packets refuses is no packet that comes next:
// when the ACK is back, nothing waits.
func TestRefusedDuplicates(t *testing.T) {
	f, s := everything(port.PauseFrames)
	c, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	x, flow := &c.flows[0], &f.Flows[0]
	x.Again, x.Any = true, true
	batch := trace.NewBatch(trace.MaxBatch, c)
	batch.Count(c, c.Flows())
	source, sink := trace.NewRecorder(flow.Src, batch), trace.NewRecorder(flow.Dst, batch)
	frame := func(psn uint32) *wire.Frame {
		return &wire.Frame{Kind: wire.Data, QP: flow.QP, Lane: flow.Priority, PSN: psn}
	}
	for psn := range uint32(2) {
		source.Start(1*us, 0, frame(psn), 1000, -1)
		sink.Deliver(2*us, frame(psn), 1000, 0)
	}
	source.Start(3*us, 0, frame(0), 1000, -1)
	sink.Emit(trace.Event{At: 4 * us, Kind: trace.Refuse, Flow: flow.QP, Bytes: 1000})
	ack := wire.Frame{Kind: wire.Ack, PSN: 1}
	source.Feedback(5*us, flow.QP, &ack, 0)
	batch.Flush()
	x.Block = uint8(port.Idle)
	if x.Gone != 2 || x.Waits() {
		t.Errorf("%d packets are gone, and it waits: %t; want 2, false", x.Gone, x.Waits())
	}
}
