package metrics

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// about compares rates that an iteration has found.
func about(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-6*want[i]) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// R. Jain's slides on BCN, "Simulations for Fairness": "Max-min fairness: Ra1 = ... = Ra4 =
// Rb = Rc = C/5; proportional fairness: Ra1 = ... = Ra4 = C/6; Rb = Rc = C/3".
func TestSharesOfTheParkingLot(t *testing.T) {
	paths := [][]int{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0}, {1}}
	room := []float64{30, 30}
	about(t, "max-min", maxMinRates(paths, room), []float64{6, 6, 6, 6, 6, 6})
	about(t, "proportional", proportionalRates(paths, room), []float64{5, 5, 5, 5, 10, 10})
}

// F. Kelly: a flow over n links of capacity C, and one over each: the long one has C/(n+1)
// under proportional fairness and C/2 under max-min fairness.
func TestSharesOfALongWay(t *testing.T) {
	for _, n := range []int{1, 2, 5, 20} {
		paths, room := [][]int{{}}, []float64{}
		var proportional, fair []float64
		proportional, fair = append(proportional, 1/float64(n+1)), append(fair, 0.5)
		for k := range n {
			paths[0], room = append(paths[0], k), append(room, 1)
			paths = append(paths, []int{k})
			proportional, fair = append(proportional, float64(n)/float64(n+1)), append(fair, 0.5)
		}
		about(t, fmt.Sprint("max-min over ", n), maxMinRates(paths, room), fair)
		about(t, fmt.Sprint("proportional over ", n), proportionalRates(paths, room), proportional)
	}
}

// The others share what a flow does not want, but no more than their links have room for.
func TestSharesOfFlowsThatWantLittle(t *testing.T) {
	paths := [][]int{{0, 2}, {0}, {0, 1}} // room 2 is all that the first wants, room 1 is a narrow link
	room := []float64{12, 3, 1}
	for name, rates := range map[string]func([][]int, []float64) []float64{"max-min": maxMinRates, "proportional": proportionalRates} {
		about(t, name, rates(paths, room), []float64{1, 8, 3})
	}
	// Three flows fill room 1: the first leaves two thirds of room 0 to the fourth, and room 3 has
	// one flow.
	about(t, "three full rooms", maxMinRates([][]int{{0, 1}, {1}, {1}, {0, 2}, {3}}, []float64{1, 1, 1, 1}), []float64{1. / 3, 1. / 3, 1. / 3, 2. / 3, 1})
}

// In the fabric of the paper two local and two remote flows share the root link, and the
// victim has what the remote ones leave of the trunk, as long as it is active.
func TestFairRates(t *testing.T) {
	f, s := paperFabric(2) // links of 1 GB/s
	p := newPlay(t, f, s)
	for i := range f.Flows {
		p.flowEvent(f.Flows[i].Start, trace.FlowStart, i)
	}
	p.flowEvent(60*ms, trace.FlowStop, 4)
	p.c.Close(100 * ms)
	for _, c := range []struct {
		metric   string
		from, to unit.Time
		want     float64
	}{
		{"local.max-min", 10 * ms, 30 * ms, 5e8},
		{"remote.A1.max-min", 10 * ms, 30 * ms, 2.5e8},
		{"victim.max-min", 10 * ms, 30 * ms, 0},
		{"victim.max-min", 42 * ms, 60 * ms, 5e8},
		{"victim.max-min", 70 * ms, 90 * ms, 0},
		// The remote ones cross two full links: with prices x of the trunk and y of the root
		// 2/(x+y) + 1/x = 1 and 2/(x+y) + 2/y = 1, so y = 2x, x = 5/3.
		{"victim.proportional", 42 * ms, 60 * ms, 6e8},
		{"remote.proportional", 42 * ms, 60 * ms, 4e8},
		{"local.B1.proportional", 42 * ms, 60 * ms, 3e8},
	} {
		if got := over(t, p.c, c.metric, c.from, c.to); !(math.Abs(got-c.want) <= 1e-6*c.want) {
			t.Errorf("%s from %v is %v, want %v", c.metric, c.from, got, c.want)
		}
	}
}

// A destination takes in what it says, on average of an interval.
func TestServiceOf(t *testing.T) {
	s := &scenario.Scenario{
		Endpoints: []scenario.Endpoint{{Name: "x", Service: scenario.Unlimited}, {Name: "y", Service: 8e9}},
		Events: []scenario.Event{
			{At: 30 * unit.Millisecond, Endpoint: "x", Act: scenario.ServiceChange{Service: scenario.Unlimited}},
			{At: 10 * unit.Millisecond, Endpoint: "x", Act: scenario.ServiceChange{Service: 80e9}},
			{At: 20 * unit.Millisecond, Endpoint: "x", Act: scenario.ServiceChange{Service: 16e9}},
		},
	}
	for _, c := range []struct {
		name     string
		from, to unit.Time
		rate     float64
		limited  bool
	}{
		{"x", 0, 5 * ms, 0, false}, {"x", 5 * ms, 15 * ms, 0, false}, {"x", 10 * ms, 20 * ms, 10e9, true},
		{"x", 15 * ms, 25 * ms, 6e9, true}, {"x", 25 * ms, 35 * ms, 0, false}, {"y", 0, 99 * ms, 1e9, true}, {"z", 0, ms, 0, false},
	} {
		if rate, limited := serviceOf(s, c.name, c.from, c.to); rate != c.rate || limited != c.limited {
			t.Errorf("%s from %v to %v: %v, %v", c.name, c.from, c.to, rate, limited)
		}
	}
}

// Marks that came back and notifications are what the sources heard, to what came.
func TestFeedbackPerMegabyte(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	hear := func(at unit.Time, frame wire.Frame) {
		x := &f.Flows[0]
		p.record(trace.Event{At: at, Node: int32(x.Src), Kind: trace.Feedback, Flow: x.QP, A: trace.FrameWord(&frame), B: 8e9})
	}
	for i := range unit.Time(10) {
		p.deliver(ms+i*10*us, 0, 50_000, true) // half a megabyte
	}
	hear(ms, wire.Frame{Kind: wire.Ack, BECN: true})
	hear(ms, wire.Frame{Kind: wire.Ack})
	hear(ms+10*us, wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: 7})})
	hear(ms+10*us, wire.Frame{Kind: wire.Ack, BECN: true})
	p.c.Close(100 * ms)
	near(t, "one flow", over(t, p.c, "local.B1.feedback", 0, 4*ms), 6)
	near(t, "of nothing", over(t, p.c, "remote.feedback", 0, 4*ms), math.NaN())
	if marked, acks := total(t, p.c, "local.B1", "marked.acks"), total(t, p.c, "local.B1", "acks"); marked != 2 || acks != 3 {
		t.Errorf("%v of %v ACKs marked", marked, acks)
	}
}

// The most of 99 % of the time is that of the hundredth bin when one of a hundred is long.
func TestLateQueue(t *testing.T) {
	f, s := paperFabric(2) // bins of 100 µs
	p := newPlay(t, f, s)
	for i := range 100 {
		p.queued(unit.Time(i)*100*us, "trunk", 0, int64(i+1)*1024)
	}
	p.c.Close(100 * ms)
	near(t, "of a hundred", over(t, p.c, "trunk.A-B.queue.p99", 0, 10*ms), 99*1024)
	near(t, "of fifty", over(t, p.c, "trunk.A-B.queue.p99", 0, 5*ms), 50*1024)
}

// What waits for an output of a switch with input buffers is what has come for it and has
// not begun to leave.
func TestQueueOfInputBuffers(t *testing.T) {
	play := func(events ...scenario.Event) *play {
		f, s := paperFabric(2, events...)
		p := newPlay(t, f, s)
		arrive := func(at unit.Time, from string, flow int) {
			m, port := p.end(from, 1)
			p.record(trace.Event{At: at, Node: m, Port: port, Kind: trace.Arrive, Flow: f.Flows[flow].QP, Bytes: 1024, A: int64(wire.Data), B: 17})
		}
		arrive(10*us, "A1 - A", 2)
		arrive(20*us, "A2 - A", 3)
		p.start(30*us, "trunk", 0, wire.Data, 1024)
		p.start(50*us, "trunk", 0, wire.Data, 1024)
		arrive(50*us, "trunk", 2) // at B for the root
		p.c.Close(100 * ms)
		return p
	}
	p := play()
	near(t, "trunk", over(t, p.c, "trunk.A-B.queue", 0, 100*us), (10*1024+10*2048+20*1024)/100.)
	near(t, "most", over(t, p.c, "trunk.A-B.queue.max", 0, 100*us), 2048)
	near(t, "root", over(t, p.c, "root.B-BC.queue", 0, 100*us), 512)
	near(t, "of no flow", over(t, p.c, "B-BV.queue", 0, 100*us), 0)
	lost := play(scenario.Event{At: 99 * unit.Millisecond, Switch: "A", Act: scenario.Restart{Restart: unit.Microsecond}})
	near(t, "with a switch that is restarted", over(t, lost.c, "trunk.A-B.queue", 0, 100*us), math.NaN())
	if slices.ContainsFunc(p.c.Series(), func(s Series) bool { return s.Kind == LinkQueue }) {
		t.Error("there is a series of the queues of input buffers, which no file has had")
	}
}

// What keeps a line back for lack of room at its far end has one name in both families.
func TestStalledByFlowControl(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	m, number := p.end("trunk", 0)
	stall := func(at unit.Time, why int64) {
		p.record(trace.Event{At: at, Node: m, Port: number, Kind: trace.Stall, A: why})
	}
	for i, b := range causesOf(flowControl) {
		stall(unit.Time(2*i)*us, int64(b))
		stall(unit.Time(2*i+1)*us, 0)
	}
	p.c.Close(100 * ms)
	near(t, "stalled", over(t, p.c, "trunk.A-B.stalled.flow-control", 0, 100*us), 0.02)
}

// The frames of any priority that wait stop a link, and its time counts once.
func TestStalledByAnyPriority(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	m, number := p.end("trunk", 0)
	stall := func(at unit.Time, lane uint8, b port.Block) {
		p.record(trace.Event{At: at, Node: m, Port: number, Lane: lane, Kind: trace.Stall, A: int64(b)})
	}
	stall(1*ms, 3, port.Paused)
	stall(3*ms, 0, port.Paused)
	stall(4*ms, 7, port.LinkBusy)
	stall(5*ms, 3, port.LinkBusy)
	stall(7*ms, 0, port.Open)
	stall(8*ms, 7, port.Open)
	stall(9*ms, 3, port.Open)
	p.c.Close(100 * ms)
	if got, want := parts(t, p.c, "trunk.A-B", "stalled.time"), "line-busy 5e+09 paused 6e+09 "; got != want {
		t.Errorf("trunk stalled %v, want %v", got, want)
	}
	near(t, "paused in part", over(t, p.c, "trunk.A-B.stalled.paused", 6*ms, 8*ms), 0.5)
}
