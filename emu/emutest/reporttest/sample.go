package reporttest

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/pace"
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

// Fabric is the fabric of HPL-2002-224 with one local, one remote and one
// victim source, laid out by hand.
func Fabric() (*fabric.Fabric, *scenario.Scenario) {
	link := func(name, a, b string) *scenario.Link {
		return &scenario.Link{Name: name, A: a, B: b, Rate: 8e9}
	}
	f := &fabric.Fabric{
		Nodes: []fabric.Node{
			{Name: "A", LID: 1, Switch: &scenario.Switch{Name: "A"}, Ports: []fabric.Port{{Wire: 0, End: 1}, {Wire: 1, End: 1}, {Wire: 3, End: 0}}},
			{Name: "B", LID: 2, Switch: &scenario.Switch{Name: "B"}, Ports: []fabric.Port{{Wire: 2, End: 1}, {Wire: 3, End: 1}, {Wire: 4, End: 0}, {Wire: 5, End: 0}}},
			{Name: "A1", LID: 3, Ports: []fabric.Port{{Wire: 0, End: 0}}},
			{Name: "AV", LID: 4, Ports: []fabric.Port{{Wire: 1, End: 0}}},
			{Name: "B1", LID: 5, Ports: []fabric.Port{{Wire: 2, End: 0}}},
			{Name: "BC", LID: 6, Ports: []fabric.Port{{Wire: 4, End: 1}}},
			{Name: "BV", LID: 7, Ports: []fabric.Port{{Wire: 5, End: 1}}},
		},
		Wires: []fabric.Wire{
			{Link: link("A1 - A", "A1", "A"), Name: "A1 - A", Ends: [2]fabric.End{{Node: 2}, {Node: 0, Port: 0}}},
			{Link: link("AV - A", "AV", "A"), Name: "AV - A", Ends: [2]fabric.End{{Node: 3}, {Node: 0, Port: 1}}},
			{Link: link("B1 - B", "B1", "B"), Name: "B1 - B", Ends: [2]fabric.End{{Node: 4}, {Node: 1, Port: 0}}},
			{Link: link("trunk", "A", "B"), Name: "trunk", Ends: [2]fabric.End{{Node: 0, Port: 2}, {Node: 1, Port: 1}}},
			{Link: link("root", "B", "BC"), Name: "root", Ends: [2]fabric.End{{Node: 1, Port: 2}, {Node: 5}}},
			{Link: link("B - BV", "B", "BV"), Name: "B - BV", Ends: [2]fabric.End{{Node: 1, Port: 3}, {Node: 6}}},
		},
		Flows: []fabric.Flow{
			{Flow: &scenario.Flow{Name: "local", Group: "local"}, QP: 2, Src: 4, Dst: 5, Stop: unit.Never, Path: fabric.PathOf([]fabric.Hop{{Wire: 2}, {Wire: 4}}, nil)},
			{Flow: &scenario.Flow{Name: "remote", Group: "remote"}, QP: 3, Src: 2, Dst: 5, Start: ms, Stop: unit.Never, Path: fabric.PathOf([]fabric.Hop{{Wire: 0}, {Wire: 3}, {Wire: 4}}, nil)},
			{Flow: &scenario.Flow{Name: "victim", Group: "victim"}, QP: 4, Src: 3, Dst: 6, Start: 40 * ms, Stop: 60 * ms, Path: fabric.PathOf([]fabric.Hop{{Wire: 1}, {Wire: 3}, {Wire: 5}}, nil)},
		},
	}
	during := [2]unit.Duration{42 * unit.Millisecond, 60 * unit.Millisecond}
	s := &scenario.Scenario{
		Name:    "sample/fig3b",
		Source:  "HPL-2002-224, Fig. 3(b)",
		Model:   scenario.Model{Duration: 100 * unit.Millisecond, Seed: 7},
		Measure: scenario.Measure{Window: 2 * unit.Millisecond},
		Expect: []scenario.Check{
			{ID: "IB-5a", Source: "section 4", Claim: "the inter-switch link stays highly utilised", Basis: scenario.Quoted, Metric: "trunk.A-B.utilisation", During: during, Low: 0.9, High: 1},
			{ID: "IB-5b", Basis: scenario.Ours, Claim: "the victim flow gets a high throughput, since nothing on its own path is congested and the switch does not mark what is about to leave", Metric: "victim.utilisation", During: during, Low: 0.8, High: 1},
			{ID: "IB-6", Claim: "remote flows get their share", Basis: scenario.Derived, Source: "section 4", From: "equal shares of the trunk", Metric: "remote.rate / local.rate", During: during, Low: 0.28, High: 0.45},
			{ID: "IB-7", Basis: scenario.Ours, Claim: "equal rates", Metric: "remote.rate / local.rate", During: during, Low: 0.9, High: 1.1, Expected: "differs", Reason: "with a buffer of four packets a threshold of eight is hardly ever reached, so that mostly the input trigger acts"},
			{ID: "IB-8", Basis: scenario.Ours, Claim: "an end that was not foreseen", Metric: "local.rate", During: during, Low: 7e8, High: 7.5e8, Expected: "differs", Reason: "measured otherwise by others"},
			{ID: "IB-9", Basis: scenario.Ours, Claim: "nothing to divide by", Metric: "local.rate / victim.rate", During: [2]unit.Duration{0, unit.Millisecond}, Low: 0, High: 1},
		},
	}
	return f, s
}

// Events are the reports of its nodes: frames at rates that wobble.
var Events = sync.OnceValue(func() []trace.Event {
	const packet = 2068
	f, _ := Fabric()
	var events []trace.Event
	emit := func(e trace.Event) { events = append(events, e) }
	for i := range f.Flows {
		x := &f.Flows[i]
		stop := min(x.Stop, 100*ms)
		emit(trace.Event{At: x.Start, Node: int32(x.Src), Kind: trace.FlowStart, Flow: x.QP})
		at := x.Start
		for psn := uint32(0); at < stop; psn++ {
			// Bytes per microsecond, up and down by 4 % in whole numbers: the same on every node.
			slope := (int64(at/us) + int64(i)*1000) % 7000
			rate := []int64{720, 270, 680}[i] * (1000 + (max(slope, 7000-slope)-5250)*40/1750) / 1000
			t := at
			frame := wire.Frame{Kind: wire.Data, FECN: psn%9 == 0}
			for k, h := range x.Path.All() {
				out, in := f.Wires[h.Wire].Ends[h.From], f.Wires[h.Wire].Ends[1-h.From]
				if k > 0 && frame.FECN {
					emit(trace.Event{At: t, Node: int32(out.Node), Port: uint16(out.Port), Kind: trace.Mark, Flow: x.QP, PSN: psn, A: int64(trace.FullBuffer), B: 3})
				}
				emit(trace.Event{At: t, Node: int32(out.Node), Port: uint16(out.Port), Kind: trace.Start, Flow: x.QP, PSN: psn, Bytes: packet, A: trace.FrameWord(&frame), B: 99})
				t += 40 * unit.Time(unit.Nanosecond)
				emit(trace.Event{At: t, Node: int32(in.Node), Port: uint16(in.Port), Kind: trace.Arrive, Flow: x.QP, PSN: psn, Bytes: packet, A: trace.FrameWord(&frame), B: 33})
				emit(trace.Event{At: t + 2*us, Node: int32(in.Node), Port: uint16(in.Port), Kind: trace.Release})
			}
			emit(trace.Event{At: t + 2068*unit.Time(unit.Nanosecond), Node: int32(x.Dst), Kind: trace.Deliver, Flow: x.QP, PSN: psn, Bytes: packet, A: trace.FrameWord(&frame)})
			emit(trace.Event{At: t + 3*us, Node: int32(x.Src), Kind: trace.Feedback, Flow: x.QP, PSN: psn, A: int64(wire.Ack), B: rate * 8e6})
			emit(trace.Event{At: t + 3*us, Node: int32(x.Src), Kind: trace.Stall, Flow: x.QP, A: int64(port.RateLimited), B: int64(port.Window)})
			at += packet * us / unit.Time(rate)
			emit(trace.Event{At: at, Node: int32(x.Src), Kind: trace.Stall, Flow: x.QP, A: int64(port.Window), B: int64(port.RateLimited)})
		}
		if x.Stop != unit.Never {
			emit(trace.Event{At: x.Stop, Node: int32(x.Src), Kind: trace.FlowStop, Flow: x.QP})
			emit(trace.Event{At: max(x.Stop, at) + 10*us, Node: int32(x.Src), Kind: trace.Stall, Flow: x.QP, A: int64(port.Idle), B: int64(port.Window)})
		}
	}
	slices.SortStableFunc(events, func(a, b trace.Event) int { return int(a.At - b.At) })
	seqs := make([]uint32, len(f.Nodes))
	for i := range events {
		events[i].Seq = seqs[events[i].Node]
		seqs[events[i].Node]++
	}
	return events
})

// Sample runs the events of the sample through a collector.
func Sample(t *testing.T) (*report.Result, *metrics.Collector) {
	t.Helper()
	f, s := Fabric()
	c, err := metrics.New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	d := report.NewDigest(len(f.Nodes))
	sink := trace.NewBatch(1, c, nil, d)
	events := Events()
	for i := range events {
		sink.Record(&events[i])
	}
	c.Close(100 * ms)
	r := report.New(c.View())
	r.Fabemu, r.Clock, r.Timing, r.Placement, r.Link, r.Dilation = "0.1.0", "wall", "ideal", "goroutine", "udp", 200
	r.WallSeconds, r.Digest = 20.004, d.Sum()
	v := &r.Verdict
	v.Order.Frames = r.FrameHops
	p := &v.Pace
	p.Requested, p.Achieved, p.Peak = 200, 200.04, 201
	p.Holds, p.HeldUs, p.LongestUs, p.LongestT = 2, 840, 610, 1.47
	p.LongestHolds = []report.Hold{{AtPs: int64(41 * ms), Us: 610}}
	p.Gaps, p.OffShare, p.HeldShare = 812, 0.0125, 0.002
	p.GapErrorT = report.Percentiles{P50: 0.0006, P95: 0.0021, P98: 0.0071, P99: 0.062, P99_9: 0.2, Max: 0.81}
	p.LateShare, p.FloorShare = 0.0113, 0.0041
	v.Pace.LatenessUs = report.Percentiles{P50: 0.21, P95: 0.72, P98: 2.4, P99: 22, P99_9: 71, Max: 312}
	v.Pace.LatenessPacketTimes = report.Percentiles{P50: 0.0005, P95: 0.0017, P98: 0.0058, P99: 0.053, P99_9: 0.17, Max: 0.75}
	v.WorstLink, v.ForeignCPUs = "root.B-BC", 0.12
	v.Level, v.Reason = report.Judge(v.Figures)
	r.Machine = host.Computer{System: "Linux 6.1", Arch: "amd64", CPUs: 2}
	return r, c
}

// Render returns the text of a writer.
func Render(t *testing.T, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Eventful is the sample with events, ended before its time or not.
func Eventful(t *testing.T, end unit.Time) (*report.Result, *metrics.Collector) {
	t.Helper()
	f, s := Fabric()
	s.Events = []scenario.Event{
		{At: 20 * unit.Millisecond, Link: "trunk", Act: scenario.StateChange{State: "down"}}, {At: 30 * unit.Millisecond, Link: "trunk", Act: scenario.StateChange{State: "up"}},
		{At: 70 * unit.Millisecond, Switch: "B", Act: scenario.Restart{Restart: 10 * unit.Millisecond}}, {At: 95 * unit.Millisecond, Link: "root", Act: scenario.RateChange{Rate: 4e9}},
	}
	c, err := metrics.New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	events := Events()
	for i := range events {
		if events[i].At < end {
			c.Record(&events[i])
		}
	}
	c.Close(end)
	r := report.New(c.View())
	r.Clock, r.Verdict.Level = "virtual", report.Virtual
	return r, c
}

// Written writes the sample's results into a directory.
func Written(t *testing.T, draw report.Draw) (dir string, r *report.Result) {
	t.Helper()
	r, c := Sample(t)
	r.Pace = report.PaceOf(&pace.Record{Moments: []pace.Moment{{From: 0, Data: 8, Late: 1, Worst: 5000}, {From: 50 * ms, Data: 4, Late: 1, Worst: 7500, Held: 100_000}}})
	dir = t.TempDir()
	if err := report.WriteDir(dir, r, c, []byte("name: <sample>\n"), draw); err != nil {
		t.Fatal(err)
	}
	return dir, r
}
