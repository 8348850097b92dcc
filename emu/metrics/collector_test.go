package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const (
	us = unit.Time(unit.Microsecond)
	ms = unit.Time(unit.Millisecond)
)

// near compares what went through floats.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func over(t *testing.T, c *Collector, expression string, from, to unit.Time) float64 {
	t.Helper()
	m, err := Compile(expression, c.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	return m.Over(c, from, to)
}

func TestACheckIsCountedExactlyOverItsInterval(t *testing.T) {
	f, s := paperFabric(2)
	// Ends that no regular edge (every 100 µs) hits.
	from, to := 42*ms+33*us+1, 59*ms+7
	s.Expect = []scenario.Check{{ID: "x", Metric: "trunk.A-B.rate", During: [2]unit.Duration{unit.Duration(from), unit.Duration(to)}}}
	p := newPlay(t, f, s)
	for _, at := range []unit.Time{0, from - 1, from, 50 * ms, to - 1, to, 99 * ms} {
		p.start(at, "trunk", 0, wire.Data, 1000)
	}
	p.c.Close(100 * ms)
	near(t, "rate", checked(p.c), 3000/to.Sub(from).Seconds())
}

func TestOnlyDataCountsAsRate(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	p.start(1*us, "trunk", 0, wire.Data, 2068)
	p.start(2*us, "trunk", 0, wire.Ack, 20)
	p.start(3*us, "trunk", 0, wire.FlowControl, 0)
	p.start(4*us, "trunk", 1, wire.Ack, 20)
	p.c.Close(100 * ms)
	for name, want := range map[string][2]float64{"bytes": {2068, 0}, "frames": {1, 0}, "acks": {1, 1}, "flow-control": {1, 0}} {
		for i, link := range []string{"trunk.A-B", "trunk.B-A"} {
			if got := total(t, p.c, link, name); got != want[i] {
				t.Errorf("%s.%s is %v, want %v", link, name, got, want[i])
			}
		}
	}
	if n := p.c.View().FrameHops(); n != 3 {
		t.Errorf("%d frame-hops, want 3: a data frame and two ACKs", n)
	}
	near(t, "utilisation", over(t, p.c, "trunk.A-B.utilisation", 0, 100*us), 2068.0/100e3)
}

func TestFlows(t *testing.T) {
	f, s := paperFabric(2) // flows: local.B1, local.B2, remote.A1, remote.A2, victim
	p := newPlay(t, f, s)
	p.flowEvent(0, trace.FlowStart, 0)
	p.deliver(10*us, 0, 3000, true)
	p.deliver(20*us, 0, 1000, false)
	p.deliver(20*us, 1, 2000, false)
	p.deliver(30*us, 2, 1000, false)
	p.record(trace.Event{At: 40 * us, Node: int32(f.Flows[0].Src), Kind: trace.Feedback, Flow: 2, A: int64(wire.Ack) | 1<<9, B: 4e9})
	p.flowEvent(50*ms, trace.FlowStop, 0)
	p.c.Close(100 * ms)
	near(t, "local.rate", over(t, p.c, "local.rate", 0, ms), 6000/1e-3)
	near(t, "local.B1.rate", over(t, p.c, "local.B1.rate", 0, ms), 4000/1e-3)
	near(t, "local.B1.marked", over(t, p.c, "local.B1.marked", 0, ms), 0.5)
	near(t, "local.marked", over(t, p.c, "local.marked", 0, ms), 1.0/3)
	near(t, "local.utilisation", over(t, p.c, "local.utilisation", 0, ms), 6000/1e6)
	near(t, "remote / local", over(t, p.c, "remote.rate / local.rate", 0, ms), 1.0/6)
	near(t, "local.fairness", over(t, p.c, "local.fairness", 0, ms), 36.0/(2*(16+4)))
	near(t, "undefined", over(t, p.c, "local.rate / victim.rate", 0, ms), math.NaN())
	near(t, "beyond the end", over(t, p.c, "local.rate", 99*ms, 101*ms), math.NaN())
	near(t, "nothing long", over(t, p.c, "local.rate", ms, ms), math.NaN())
	for expression, want := range map[string]string{
		"local.rate / victim.rate": "victim.rate is 0", "victim.marked": "no data frame came",
		"local.completion.p99.large": "no flow, of that size, finished in that time", "local.rate": "", "victim.marked / local.marked": "victim.marked: no data frame came",
	} {
		if m, err := Compile(expression, p.c.Fabric()); err != nil || m.Why(p.c, 0, ms) != want {
			t.Errorf("%s is undefined, because %q, want %q; %v", expression, m.Why(p.c, 0, ms), want, err)
		}
	}
	if m, _ := Compile("local.rate", p.c.Fabric()); m.Why(p.c, 99*ms, 101*ms) != "the run ended at 100ms" {
		t.Errorf("beyond the end: %s", m.Why(p.c, 99*ms, 101*ms))
	}
	for name, want := range map[string]float64{"bytes": 4000, "frames": 2, "marked.frames": 1, "acks": 1, "marked.acks": 1, "limit.now": 4e9 / 8} {
		if got := total(t, p.c, "local.B1", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got, want := p.c.lives[0].active, []Interval{{0, 50 * ms}}; !slices.Equal(got, want) {
		t.Errorf("active %v, want %v", got, want)
	}
}

func TestOccupancyIsWeightedByTime(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	m, in := p.end("trunk", 1) // B's end: the buffer that A fills
	set := func(at unit.Time, kind trace.Kind, blocks int64) {
		p.record(trace.Event{At: at, Node: m, Port: in, Kind: kind, A: int64(wire.Data), B: blocks})
	}
	set(1*ms, trace.Arrive, 33)
	set(2*ms, trace.Arrive, 66)
	p.record(trace.Event{At: 2 * ms, Node: m, Port: in, Kind: trace.Arrive, A: int64(wire.FlowControl)})
	p.record(trace.Event{At: 2 * ms, Node: m, Port: in, Kind: trace.Arrive, A: int64(wire.Ack), Lane: 1, B: 1})
	set(3*ms, trace.Release, 33)
	set(10*ms, trace.Release, 0)
	p.c.Close(100 * ms)
	near(t, "occupancy", over(t, p.c, "trunk.A-B.occupancy", 0, 10*ms), (33+66+33*7)/10.0)
	near(t, "occupancy of a part", over(t, p.c, "trunk.A-B.occupancy", 2*ms, 4*ms), (66+33)/2.0)
	for x := range p.c.View().Objects(Buffer) {
		if x.String() == "trunk.A-B" {
			near(t, "mean", Find(Buffer, "mean.blocks").Read(x), (33+66+33*7)/100.0)
			near(t, "max", Find(Buffer, "max.blocks").Read(x), 66)
			return
		}
	}
	t.Error("there is no buffer behind trunk.A-B")
}

func TestStallsAreClosedAtTheEnd(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	m, out := p.end("trunk", 0)
	line := func(at unit.Time, b, before port.Block) {
		p.record(trace.Event{At: at, Node: m, Port: out, Kind: trace.Stall, A: int64(b), B: int64(before)})
	}
	source := func(at unit.Time, b, before port.Block) {
		p.record(trace.Event{At: at, Node: int32(f.Flows[0].Src), Kind: trace.Stall, Flow: 2, A: int64(b), B: int64(before)})
	}
	line(1*ms, port.LinkBusy, port.Idle)
	line(2*ms, port.NoCredit, port.LinkBusy)
	source(50*ms, port.Window, port.Open)
	source(60*ms, port.RateLimited, port.Window)
	p.record(trace.Event{At: 61 * ms, Node: m, Port: out, Lane: 1, Kind: trace.Stall, A: int64(port.Idle)})
	p.c.Close(100 * ms)
	if got, want := parts(t, p.c, "trunk.A-B", "stalled.time"), "line-busy 1e+09 no-credit 9.8e+10 "; got != want {
		t.Errorf("trunk stalled %v, want %v", got, want)
	}
	if got, want := parts(t, p.c, "local.B1", "stalled.time"), "rate-limited 4e+10 window 1e+10 "; got != want {
		t.Errorf("flow stalled %v, want %v", got, want)
	}
	near(t, "share", over(t, p.c, "trunk.A-B.stalled.no-credit", 0, 4*ms), 0.5)
	near(t, "share of a group", over(t, p.c, "local.stalled.window", 50*ms, 60*ms), 0.5) // one of two flows
}

func TestCountsByReason(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	m, out := p.end("root", 0)
	for i := range 3 {
		p.start(unit.Time(i), "root", 0, wire.Data, 100)
	}
	p.record(trace.Event{At: 3, Node: m, Port: out, Kind: trace.Trigger, A: int64(trace.FullBuffer), B: 4})
	p.record(trace.Event{At: 4, Node: m, Port: out, Kind: trace.Mark, A: int64(trace.FullBuffer), B: 4})
	p.record(trace.Event{At: 4, Node: m, Port: out, Kind: trace.Mark, A: int64(trace.OverThreshold), B: 4})
	p.record(trace.Event{At: 5, Node: m, Kind: trace.Drop, A: int64(trace.NoRoute)})
	for i := range 250 {
		p.record(trace.Event{At: unit.Time(6 + i), Node: m, Kind: trace.Violation, A: int64(trace.Overrun), B: int64(i)})
	}
	p.record(trace.Event{At: 100 * ms, Node: m, Kind: trace.Violation, A: int64(trace.Overrun)})
	p.c.Close(100 * ms)
	marked, marks, triggers := total(t, p.c, "root.B-BC", "marked.frames"), parts(t, p.c, "root.B-BC", "marks"), parts(t, p.c, "root.B-BC", "triggers")
	full, threshold := trace.FullBuffer.String(), trace.OverThreshold.String()
	if marked != 2 || marks != full+" 1 "+threshold+" 1 " || triggers != full+" 1 " {
		t.Errorf("%v marked, %s; triggers %s", marked, marks, triggers)
	}
	near(t, "marked", over(t, p.c, "root.B-BC.marked", 0, ms), 2.0/3)
	if got := p.c.View().Drops(); !slices.Equal(got, []ReasonCount{{trace.NoRoute, 1}}) {
		t.Errorf("drops %v", got)
	}
	if first, all := p.c.View().Violations(); len(first) != maxViolations || all != 251 {
		t.Errorf("%d violations kept of %d", len(first), all)
	}
}

// An event that comes after others of a later bin counts where it belongs. The
// events of each node stay in their order.
func TestLateEventsCountWhereTheyBelong(t *testing.T) {
	f, s := paperFabric(2)
	rng := rand.New(rand.NewPCG(1, 2))
	var events []trace.Event
	p := newPlay(t, f, s)
	switchA, toB := p.end("trunk", 0)
	switchB, fromA := p.end("trunk", 1)
	occupied, remote := int64(0), f.Flows[2].QP // over the trunk
	for i := range 300 {
		at := unit.Time(i) * 300 * us
		blocks := []port.Block{port.Idle, port.LinkBusy, port.NoCredit}
		events = append(events,
			trace.Event{At: at, Node: switchA, Port: fromA, Flow: remote, Kind: trace.Arrive, Bytes: 1024 * uint32(rng.IntN(3)), A: int64(wire.Data)},
			trace.Event{At: at, Node: switchA, Port: toB, Kind: trace.Start, Bytes: 1024 * uint32(1+i%3), A: int64(wire.Data)}, // a queue is counted in units of 1024
			trace.Event{At: at, Node: switchA, Port: toB, Kind: trace.Stall, A: int64(blocks[rng.IntN(3)])},
			trace.Event{At: at, Node: switchB, Port: fromA, Kind: trace.Arrive, A: int64(wire.Data), B: occupied},
			trace.Event{At: at, Node: int32(f.Flows[0].Dst), Kind: trace.Deliver, Flow: 2, Bytes: 77, A: int64(wire.Data)},
			trace.Event{At: at, Node: int32(f.Flows[0].Src), Kind: trace.Feedback, Flow: 2, A: int64(wire.Ack), B: int64(i) << rateShift},
			trace.Event{At: at, Node: int32(f.Flows[0].Src), Kind: trace.Stall, Flow: 2, A: int64(blocks[rng.IntN(3)])},
		)
		occupied = int64(rng.IntN(132))
	}
	inOrder, _ := New(f, s)
	for i := range events {
		inOrder.Record(&events[i])
	}
	inOrder.Close(100 * ms)

	// Nodes run ahead of each other by up to 15 bins, each in its own order.
	mixed, _ := New(f, s)
	queues := map[int32][]trace.Event{}
	for _, e := range events {
		queues[e.Node] = append(queues[e.Node], e)
	}
	nodes := make([]int32, 0, len(queues))
	for m := range queues {
		nodes = append(nodes, m)
	}
	slices.Sort(nodes)
	for len(nodes) > 0 {
		k := rng.IntN(len(nodes))
		m := nodes[k]
		n := min(1+rng.IntN(20), len(queues[m]))
		for i := range queues[m][:n] {
			mixed.Record(&queues[m][i])
		}
		if queues[m] = queues[m][n:]; len(queues[m]) == 0 {
			nodes = slices.Delete(nodes, k, k+1)
		}
	}
	mixed.Close(100 * ms)
	for k := range inOrder.edges {
		for i := range inOrder.now {
			if a, b := inOrder.rows.at(k, i), mixed.rows.at(k, i); a != b {
				t.Fatalf("edge %d at %v, counter %d: %d in order, %d mixed", k, inOrder.edges[k], i, a, b)
			}
		}
	}
}

func TestARunThatEndsEarly(t *testing.T) {
	f, s := paperFabric(2)
	s.Expect = []scenario.Check{{ID: "x", Metric: "root.B-BC.rate", During: [2]unit.Duration{unit.Duration(42 * ms), unit.Duration(60 * ms)}}}
	p := newPlay(t, f, s)
	p.flowEvent(0, trace.FlowStart, 0)
	for i := range 50 {
		p.start(unit.Time(i)*ms, "root", 0, wire.Data, 1000)
	}
	p.c.Close(49*ms + 50*us)
	if p.c.End() != 49*ms+50*us {
		t.Errorf("ends at %v", p.c.End())
	}
	near(t, "a check that was not reached", checked(p.c), math.NaN())
	near(t, "up to the end", over(t, p.c, "root.B-BC.rate", 40*ms, p.c.End()), 10000/9.05e-3)
	if got := p.c.lives[0].active; !slices.Equal(got, []Interval{{0, p.c.End()}}) {
		t.Errorf("active %v", got)
	}
	if got := total(t, p.c, "root.B-BC", "frames"); got != 50 {
		t.Errorf("%v frames, want 50", got)
	}
}

func TestBetweenEdgesCountersAreInterpolated(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	p.start(50*us, "root", 0, wire.Data, 1000)
	p.c.Close(100 * ms)
	near(t, "a quarter of a bin", over(t, p.c, "root.B-BC.rate", 25*us, 50*us), 250/25e-6)
}

func TestACapacityThatChanges(t *testing.T) {
	f, s := paperFabric(2, scenario.Event{At: unit.Duration(50 * ms), Link: "root", Act: scenario.RateChange{Rate: 4e9}})
	p := newPlay(t, f, s)
	for _, at := range []unit.Time{45 * ms, 55 * ms} {
		p.start(at, "root", 0, wire.Data, 1e6)
		p.deliver(at, 0, 1e6, false)
	}
	p.c.Close(100 * ms)
	near(t, "before", over(t, p.c, "root.B-BC.utilisation", 40*ms, 50*ms), 0.1)
	near(t, "after", over(t, p.c, "root.B-BC.utilisation", 50*ms, 60*ms), 0.2)
	near(t, "across", over(t, p.c, "root.B-BC.utilisation", 40*ms, 60*ms), 2e6/(0.75e9*20e-3))
	near(t, "group", over(t, p.c, "local.utilisation", 50*ms, 60*ms), 0.2)
}

func TestNewRefuses(t *testing.T) {
	f, s := paperFabric(2)
	s.Expect = []scenario.Check{{ID: "IB-1", Metric: "trnk.A-B.rate"}, {ID: "IB-2", Metric: "local.speed"}}
	_, err := New(f, s)
	for _, want := range []string{"check IB-1", `"trnk.A-B"`, "there are trunk.A-B", "check IB-2", `no "speed"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %s", err, want)
		}
	}
	s.Expect = nil
	s.Measure.Window = 0
	if _, err := New(f, s); err == nil || !strings.Contains(err.Error(), "measure.window") {
		t.Errorf("no window: %v", err)
	}
	s.Measure.Window = unit.Microsecond
	s.Model.Duration = 1000 * unit.Second
	if _, err := New(f, s); err == nil || !strings.Contains(err.Error(), "widen the window") {
		t.Errorf("a run too long: %v", err)
	}
	s.Model.Duration = 0
	if _, err := New(f, s); err == nil || !strings.Contains(err.Error(), "lasts 0s") {
		t.Errorf("no run: %v", err)
	}
}

// A run that is long for its window is counted in wider bins.
func TestLongRunsHaveWiderBins(t *testing.T) {
	f, s := paperFabric(10)
	s.Model.Duration = 10 * unit.Second
	_, n, err := edgesOf(s, 900, 900)
	if err != nil || n >= 20 {
		t.Errorf("%d bins to a window, %v", n, err)
	}
	s.Model.Duration = 100 * unit.Millisecond
	edges, n, err := edgesOf(s, 900, 900)
	if err != nil || n != 20 || len(edges) != 1001 {
		t.Errorf("%d edges, %d bins to a window, %v", len(edges), n, err)
	}
	_ = f
}

// rowOf returns the row of a figure of a link, or of a flow, and the object at the end of a run.
func rowOf(t *testing.T, c *Collector, object, name string) (*Figure, At) {
	t.Helper()
	v := c.View()
	for _, of := range Objects() {
		for x := range v.Objects(of) {
			if f := Find(of, name); f != nil && x.String() == object {
				return f, x
			}
		}
	}
	t.Fatalf("%s has no %s", object, name)
	return nil, At{}
}

// total returns a figure at the end of a run.
func total(t *testing.T, c *Collector, object, name string) float64 {
	f, x := rowOf(t, c, object, name)
	return f.Read(x)
}

// parts returns the parts of a figure at the end of a run, as text.
func parts(t *testing.T, c *Collector, object, name string) (text string) {
	f, x := rowOf(t, c, object, name)
	f.Each(x, func(part string, v float64) { text += fmt.Sprint(part, " ", v, " ") })
	return text
}

// checked returns the value of the first check.
func checked(c *Collector) float64 {
	value, _ := c.View().Check(0)
	return value
}
