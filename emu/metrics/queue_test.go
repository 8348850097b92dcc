package metrics

import (
	"math"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// queued reports that this many bytes wait for the link from end from of a wire.
func (p *play) queued(at unit.Time, wireName string, from int, bytes int64) {
	m, port := p.end(wireName, from)
	p.record(trace.Event{At: at, Node: m, Port: port, Kind: trace.Queue, A: bytes, B: bytes})
}

func TestQueueIsAMeanOverTimeAndTheMostOfAnInterval(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	p.queued(10*us, "trunk", 0, 40960)
	p.queued(20*us, "trunk", 0, 1024)
	p.queued(30*us, "trunk", 0, 2048)
	p.queued(150*us, "trunk", 0, 0)
	p.c.Close(100 * ms)
	// 10 µs of 40960, 10 of 1024, then 2048 up to the edge at 100 µs, and 50 µs beyond.
	near(t, "mean", over(t, p.c, "trunk.A-B.queue", 0, 100*us), (10*40960+10*1024+70*2048)/100.0)
	near(t, "mean of the second", over(t, p.c, "trunk.A-B.queue", 100*us, 200*us), 50*2048/100.0)
	near(t, "most", over(t, p.c, "trunk.A-B.queue.max", 0, 100*us), 40960)
	near(t, "most of the second: what was there at its beginning", over(t, p.c, "trunk.A-B.queue.max", 100*us, 200*us), 2048)
	near(t, "most of the third", over(t, p.c, "trunk.A-B.queue.max", 200*us, 300*us), 0)
	// Bins of 100 µs: one with the mean of above, one with half of 2048, and eight without.
	first, second := (10*40960+10*1024+70*2048)/100.0, 50*2048/100.0
	mean := (first + second) / 10
	near(t, "deviation", over(t, p.c, "trunk.A-B.queue.deviation", 0, ms), math.Sqrt((first*first+second*second)/10-mean*mean))
	half := first / 2 // between edges it is as in the bin
	near(t, "deviation within bins", over(t, p.c, "trunk.A-B.queue.deviation", 50*us, 150*us), math.Sqrt((first*first+second*second)/2-math.Pow(half+second/2, 2)))
	near(t, "deviation in a bin", over(t, p.c, "trunk.A-B.queue.deviation", 10*us, 90*us), 0)
	near(t, "the other direction", over(t, p.c, "trunk.B-A.queue.max", 0, 100*ms), 0)
}

func TestAQueueThatIsToldLateIsCountedWhereItBelongs(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	p.queued(10*us, "trunk", 0, 1024)
	p.queued(350*us, "trunk", 0, 0)
	p.queued(150*us, "trunk", 0, 0) // it was short before, and 350 µs says the same
	p.c.Close(100 * ms)
	near(t, "first", over(t, p.c, "trunk.A-B.queue", 0, 100*us), 90*1024/100.0)
	if got := over(t, p.c, "trunk.A-B.queue.max", 400*us, 500*us); got != 0 {
		t.Errorf("most is %v long after", got)
	}
}

// Recovery ends with the first window, of 2 ms, over which the utilisation is reached.
func TestRecovery(t *testing.T) {
	f, s := paperFabric(2) // links of 1 GB/s
	p := newPlay(t, f, s)
	at := 10 * ms
	for ; at < 20*ms; at += 2 * us {
		p.start(at, "trunk", 0, wire.Data, 1000) // half of the link
	}
	for ; at < 30*ms; at += us {
		p.start(at, "trunk", 0, wire.Data, 1000)
	}
	p.c.Close(100 * ms)
	// At 21.8 ms the window has 0.2 ms of the half rate: 95 %.
	near(t, "to 95 %", over(t, p.c, "trunk.A-B.recovery.95", 10*ms, 30*ms), 0.0118)
	near(t, "to 90 %", over(t, p.c, "trunk.A-B.recovery.90", 10*ms, 30*ms), 0.0116)
	near(t, "from where it is there", over(t, p.c, "trunk.A-B.recovery.99", 22*ms, 30*ms), 0.002)
	if got := over(t, p.c, "trunk.A-B.recovery.90", 10*ms, 20*ms); !math.IsNaN(got) {
		t.Errorf("it recovers after %v s, and never does in this interval", got)
	}
}

func TestSharedIsWhenFlowsHaveBecomeFair(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	for at := unit.Time(0); at < 20*ms; at += 10 * us {
		p.deliver(at, 0, 1000, false)
		if at >= 10*ms {
			p.deliver(at, 1, 1000, false)
		}
	}
	p.c.Close(100 * ms)
	if got := over(t, p.c, "local.shared.99", 0, 20*ms); got < 0.0115 || got > 0.012 {
		t.Errorf("the flows share after %v s, want when most of a window of 2 ms is beyond 10 ms", got)
	}
}

// allowed compares rates over time, which are counted in small parts of a bit.
func allowed(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) < 1e-9*want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A limit and a target are states: their figures are means over time, whenever they change.
func TestLimitIsWeightedByTime(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	tell := func(at unit.Time, flow int, limit, target int64) {
		x := &f.Flows[flow]
		p.record(trace.Event{At: at, Node: int32(x.Src), Kind: trace.Limit, Flow: x.QP, A: limit, B: target})
	}
	tell(10*us, 0, 8e9, 8e9)
	tell(50*us, 1, 1e9, 2e9)
	tell(130*us, 0, 4e9, 8e9) // no edge hits it
	tell(131*us, 0, 2e9, 8e9)
	tell(170*us, 0, 4e9, 8e9)
	p.c.Close(100 * ms)
	allowed(t, "one flow", over(t, p.c, "local.B1.limit", 100*us, 200*us), (30*8e9+1*4e9+39*2e9+30*4e9)/100/8)
	allowed(t, "its target", over(t, p.c, "local.B1.target", 100*us, 200*us), 1e9)
	allowed(t, "its first bin", over(t, p.c, "local.B1.limit", 0, 100*us), 1e9)
	allowed(t, "the group in the first bin: 90 us of the one, 50 of the other", over(t, p.c, "local.limit", 0, 100*us), (90*8e9+50*1e9)/140/8)
	allowed(t, "the group's target", over(t, p.c, "local.target", 0, 100*us), (90*8e9+50*2e9)/140/8)
}

func TestALimitThatIsToldLateIsCountedWhereItBelongs(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	x := &f.Flows[0]
	tell := func(at unit.Time, limit int64) {
		p.record(trace.Event{At: at, Node: int32(x.Src), Kind: trace.Limit, Flow: x.QP, A: limit, B: limit})
	}
	tell(10*us, 8e9)
	p.start(450*us, "trunk", 0, wire.Data, 1000) // another node is ahead
	tell(150*us, 2e9)
	tell(350*us, 4e9)
	p.c.Close(100 * ms)
	allowed(t, "first", over(t, p.c, "local.B1.limit", 0, 100*us), 1e9)
	allowed(t, "second", over(t, p.c, "local.B1.limit", 100*us, 200*us), (50*8e9+50*2e9)/100/8)
	allowed(t, "third", over(t, p.c, "local.B1.target", 200*us, 300*us), 2e9/8)
	allowed(t, "later", over(t, p.c, "local.B1.limit", 300*us, 600*us), (50*2e9+250*4e9)/300/8)
}

func TestNotificationsAndWhatAReactionPointSays(t *testing.T) {
	f, s := paperFabric(2)
	p := newPlay(t, f, s)
	x := &f.Flows[0]
	for i, fb := range []uint8{10, 20} {
		cnm := wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: fb})}
		p.record(trace.Event{At: unit.Time(i+1) * 100 * us, Node: int32(x.Src), Kind: trace.Feedback, Flow: x.QP, A: trace.FrameWord(&cnm), B: 4e9})
	}
	p.record(trace.Event{At: 300 * us, Node: int32(x.Src), Kind: trace.Limit, Flow: x.QP, A: 5e9, B: 6e9})
	p.c.Close(100 * ms)
	near(t, "notifications", over(t, p.c, "local.notifications", 0, 100*ms), 2)
	near(t, "Fb", over(t, p.c, "local.B1.fb", 0, 100*ms), 15)
	if acks, limit := total(t, p.c, "local.B1", "acks"), total(t, p.c, "local.B1", "limit.now"); acks != 0 || limit != 5e9/8 {
		t.Errorf("%v ACKs, limit %v; want none and 5Gb/s", acks, limit)
	}
	// 4 Gb/s from 100 µs on, 5 Gb/s from 300 µs on.
	allowed(t, "limit", over(t, p.c, "local.B1.limit", ms, 2*ms), 5e9/8)
	allowed(t, "limit while it changes", over(t, p.c, "local.B1.limit", 200*us, 500*us), (1*4e9+2*5e9)/3/8)
	allowed(t, "limit from where it is known", over(t, p.c, "local.B1.limit", 0, 400*us), (2*4e9+1*5e9)/3/8)
	allowed(t, "target of the group, of which one flow has one", over(t, p.c, "local.target", ms, 2*ms), 6e9/8)
	if got := over(t, p.c, "local.B1.target", 0, 100*us); !math.IsNaN(got) {
		t.Errorf("there is a target of %v before any was told", got)
	}
	found := 0
	for _, series := range p.c.Series() {
		switch {
		case series.Kind == FlowTarget && series.Name == "local.B1":
			found++
			near(t, "target at the end", series.Values[len(series.Values)-1], 6e9/8)
		case series.Kind == FlowTarget, series.Kind == LinkQueue:
			t.Errorf("there is a series %s of %s", series.Kind, series.Name)
		}
	}
	if found != 1 {
		t.Error("no series of the target")
	}
}
