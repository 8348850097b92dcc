package metrics

import (
	"math"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// onEthernet is the fabric of paperFabric with links of another flow control.
func onEthernet(flowControl port.FlowControl) (*fabric.Fabric, *scenario.Scenario) {
	f, s := paperFabric(2)
	for i := range f.Wires {
		f.Wires[i].Link.FlowControl = flowControl
	}
	for i := range f.Nodes {
		if sw := f.Nodes[i].Switch; sw != nil {
			sw.Kind, sw.Headroom = scenario.OutputQueued, 1
		}
	}
	return f, s
}

// control hands a PAUSE or PFC frame to the port that sends from end from of a wire.
func (p *play) control(at unit.Time, wireName string, from int, f wire.Frame) {
	node, end := p.end(wireName, from)
	p.record(trace.Event{At: at, Node: node, Port: end, Kind: trace.Arrive, PSN: trace.ClassesWord(&f), A: trace.FrameWord(&f), B: int64(f.Pause().Quanta)})
}

// figure takes a metric of what was played.
func (p *play) figure(t *testing.T, expression string, from, to unit.Duration) float64 {
	t.Helper()
	m, err := Compile(expression, p.f)
	if err != nil {
		t.Fatal(err)
	}
	return m.Over(p.c, unit.Time(from), unit.Time(to))
}

// A line of 8 Gb/s has quanta of 64 ns. It counts as stopped from the frame that says so until its
// quanta are over, or until another frame says otherwise; with PFC while any priority is.
func TestPaused(t *testing.T) {
	const ms = unit.Millisecond
	for _, c := range []struct {
		flowControl port.FlowControl
		frames      map[unit.Duration]wire.Frame
		want        float64 // of the first 20 ms
	}{
		{port.PauseFrames, map[unit.Duration]wire.Frame{2 * ms: {Kind: wire.Pause, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 62500})}}, 4. / 20},
		{port.PauseFrames, map[unit.Duration]wire.Frame{2 * ms: {Kind: wire.Pause, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 62500})}, 5 * ms: {Kind: wire.Pause, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 62500})}}, 7. / 20},
		{port.PauseFrames, map[unit.Duration]wire.Frame{2 * ms: {Kind: wire.Pause, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 62500})}, 3 * ms: {Kind: wire.Pause}}, 1. / 20},
		{port.PauseFrames, map[unit.Duration]wire.Frame{18 * ms: {Kind: wire.Pause, Extension: wire.ExtensionOf(wire.PauseExtension{Quanta: 62500})}}, 2. / 20},
		{port.PriorityPauseFrames, map[unit.Duration]wire.Frame{
			2 * ms: {Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x81, Stopped: 0x81, Quanta: 62500})},
			3 * ms: {Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x01})},
		}, 4. / 20},
		{port.PriorityPauseFrames, map[unit.Duration]wire.Frame{
			2 * ms: {Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x81, Stopped: 0x81, Quanta: 62500})},
			3 * ms: {Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x81})},
		}, 1. / 20},
		{port.NoFlowControl, map[unit.Duration]wire.Frame{}, 0},
	} {
		f, s := onEthernet(c.flowControl)
		p := newPlay(t, f, s)
		for at := range 100 {
			if frame, ok := c.frames[unit.Duration(at)*ms]; ok {
				p.control(unit.Time(at)*unit.Time(ms), "trunk", 0, frame)
			}
		}
		p.c.Close(unit.Time(100 * ms))
		if got := p.figure(t, "trunk.A-B.paused", 0, 20*ms); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s, %v: %v, want %v", c.flowControl, c.frames, got, c.want)
		}
		if got := p.figure(t, "trunk.B-A.paused", 0, 20*ms); got != 0 {
			t.Errorf("%s: the other direction %v", c.flowControl, got)
		}
	}
}

// Drops count where the frame came in and for its flow, deadlocks for the link that
// waits; what a memory holds is the sum over priorities.
func TestDropsDeadlocksAndMemory(t *testing.T) {
	const ms = unit.Millisecond
	f, s := onEthernet(port.PriorityPauseFrames)
	p := newPlay(t, f, s)
	in, inPort := p.end("trunk", 1) // B, the end of A-B
	p.record(trace.Event{At: unit.Time(ms), Node: in, Port: inPort, Kind: trace.Arrive, Lane: 0, A: int64(wire.Data), B: 3000})
	p.record(trace.Event{At: unit.Time(2 * ms), Node: in, Port: inPort, Kind: trace.Arrive, Lane: 3, A: int64(wire.Data), B: 1000})
	p.record(trace.Event{At: unit.Time(3 * ms), Node: in, Port: inPort, Kind: trace.Drop, Lane: 3, Flow: f.Flows[2].QP, A: int64(trace.BufferFull)})
	// Two probes of a flow, of which one is answered, and a message of a switch.
	src := int32(f.Flows[2].Src)
	p.record(trace.Event{At: unit.Time(2 * ms), Node: src, Kind: trace.Message, Flow: f.Flows[2].QP})
	p.record(trace.Event{At: unit.Time(2 * ms), Node: src, Kind: trace.Message, Flow: f.Flows[2].QP, PSN: 1})
	p.record(trace.Event{At: unit.Time(2 * ms), Node: in, Kind: trace.Message, Flow: f.Flows[2].QP})
	p.record(trace.Event{At: unit.Time(3 * ms), Node: src, Kind: trace.Feedback, Flow: f.Flows[2].QP, A: int64(wire.Probe)})
	p.record(trace.Event{At: unit.Time(3 * ms), Node: src, Kind: trace.Feedback, Flow: f.Flows[2].QP, A: int64(wire.BCN)})
	// A message about a flow that is lost is none of its frames.
	p.record(trace.Event{At: unit.Time(3 * ms), Node: in, Port: inPort, Kind: trace.Drop, Lane: 3, Flow: f.Flows[2].QP, A: int64(trace.BufferFull), B: int64(wire.Message)})
	p.record(trace.Event{At: unit.Time(4 * ms), Node: in, Port: inPort, Kind: trace.Release, Lane: 0, B: 0})
	out, outPort := p.end("trunk", 0)
	p.record(trace.Event{At: unit.Time(5 * ms), Node: out, Port: outPort, Kind: trace.Deadlock, Lane: 3})
	p.record(trace.Event{At: unit.Time(5 * ms), Node: out, Port: outPort, Kind: trace.Watchdog, Lane: 3, A: 1})
	p.record(trace.Event{At: unit.Time(6 * ms), Node: out, Port: outPort, Kind: trace.Watchdog, Lane: 3})
	// B sends A two PFC frames: about priorities 3 and 4, and about 3 alone, which it releases it.
	p.control(unit.Time(7*ms), "trunk", 0, wire.Frame{Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 0x18, Stopped: 0x18, Quanta: 9})})
	p.control(unit.Time(8*ms), "trunk", 0, wire.Frame{Kind: wire.PriorityPause, Extension: wire.ExtensionOf(wire.PauseExtension{Classes: 8})})
	p.c.Close(unit.Time(100 * ms))
	for expression, want := range map[string]float64{
		"trunk.A-B.drops": 2, "trunk.B-A.drops": 0, "remote.drops": 1, "local.drops": 0, "remote.probes": 2, "remote.answers": 1, "remote.notifications": 2, "trunk.A-B.deadlocks": 1, "trunk.B-A.deadlocks": 0,
		"trunk.A-B.storms": 1, "trunk.B-A.storms": 0, "trunk.A-B.pauses": 0,
		"trunk.B-A.pauses": 2, "trunk.B-A.pauses.3": 2, "trunk.B-A.pauses.4": 1, "trunk.B-A.pauses.0": 0,
		"trunk.A-B.occupancy": (3000 + 4000*2 + 1000*6) / 10.,
	} {
		if got := p.figure(t, expression, 0, 10*ms); got != want {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
}

// Of a hundred transfers that take 1 to 100 ms, 99 take no longer than 99.
func TestCompletionPercentile(t *testing.T) {
	const ms = unit.Millisecond
	f, s := onEthernet(port.PauseFrames)
	s.Model.Duration = 200 * ms
	p := newPlay(t, f, s)
	x := &f.Flows[0]
	for i := range 100 {
		p.record(trace.Event{At: 0, Node: int32(x.Src), Kind: trace.TransferStart, Flow: x.QP, PSN: uint32(i), B: 1000})
	}
	for i := range 100 {
		p.record(trace.Event{At: unit.Time(i+1) * unit.Time(ms), Node: int32(x.Dst), Kind: trace.TransferEnd, Flow: x.QP, PSN: uint32(i), B: 1000})
	}
	p.c.Close(unit.Time(200 * ms))
	if got := p.figure(t, "local.B1.completion.p99", 0, 200*ms); math.Abs(got-0.099) > 1e-12 {
		t.Errorf("%v s, want 0.099", got)
	}
	if got := p.figure(t, "victim.completion.p99", 0, 200*ms); !math.IsNaN(got) {
		t.Errorf("of none: %v", got)
	}
	// A percentile needs so many values that one may be above it; then there is a reason for its
	// absence. The number of values is known for each figure of transfers.
	for _, c := range []struct {
		expression string
		until      unit.Duration
		values     int
		want       float64
		why        string
	}{
		{"local.B1.completion.p99", 100 * ms, 99, math.NaN(), "local.B1.completion.p99 is of 99 values, and needs 100"},
		{"local.B1.completion.p95", 21 * ms, 20, 0.019, ""},
		{"local.B1.completion.p95", 20 * ms, 19, math.NaN(), "local.B1.completion.p95 is of 19 values, and needs 20"},
		{"local.B1.completion.p999", 200 * ms, 100, math.NaN(), "local.B1.completion.p999 is of 100 values, and needs 1000"},
		{"local.B1.completion.p50", 2 * ms, 1, 0.001, ""},
		{"local.B1.completion.max", 2 * ms, 1, 0.001, ""},
		{"victim.completion.p99", 200 * ms, 0, math.NaN(), "no flow, of that size, finished in that time"},
		{"local.B1.completion.p50 / local.B1.completion.p99", 100 * ms, 99, math.NaN(), "local.B1.completion.p99 is of 99 values, and needs 100"},
		{"trunk.A-B.rate", 200 * ms, 0, 0, ""},
	} {
		m, err := Compile(c.expression, f)
		if err != nil {
			t.Fatal(err)
		}
		to := unit.Time(c.until)
		if got := m.Over(p.c, 0, to); math.Abs(got-c.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s until %v: %v, want %v", c.expression, to, got, c.want)
		}
		if why, n := m.Why(p.c, 0, to), m.Values(p.c, 0, to); why != c.why || n != c.values {
			t.Errorf("%s until %v: %q, %d values, want %q, %d", c.expression, to, why, n, c.why, c.values)
		}
	}
}
