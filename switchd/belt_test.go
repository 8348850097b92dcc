package switchd_test

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// ledger counts for the ports of a switch, in a single bin.
type ledger struct {
	counts []trace.Counts
	marks  []*trace.Reasons
	behind []func(unit.Time)
}

func newLedger(ports int, control port.FlowControl) *ledger {
	l := &ledger{counts: make([]trace.Counts, ports), marks: make([]*trace.Reasons, ports)}
	for i := range l.counts {
		l.counts[i].Kept = new(trace.Held)
		l.counts[i].Blocks, l.counts[i].Lanes = trace.Empty, 255
		if control.ByPriority() {
			lanes := make([]int64, port.Priorities)
			l.counts[i].Lanes, l.counts[i].ByLane = 0, &lanes
		}
	}
	return l
}

func (l *ledger) Record(*trace.Event) {}
func (l *ledger) Own(int32) *trace.Own {
	return &trace.Own{Ports: l.counts, Reasons: l.marks, Latest: new(trace.Latest)}
}
func (l *ledger) Bin() (from, to unit.Time)   { return 0, unit.Never }
func (l *ledger) Advance(unit.Time)           {}
func (l *ledger) Settle(node func(unit.Time)) { l.behind = append(l.behind, node) }

// links are the links of a switch: what leaves by each.
type links [][]leaving

type leaving struct {
	Frame           wire.Frame
	Head, Tail, Due unit.Time
}

func (l links) Takes(p port.ID) (int32, bool) { return int32(p), true }

func (l links) TakeBack(p port.ID, n int, to port.Planner) {
	kept := len(l[p]) - n
	for _, x := range l[p][kept:] {
		to.Back(p, &x.Frame)
	}
	l[p] = l[p][:kept]
}

// step is what happens to a switch from outside: a frame that comes, or a change.
type step struct {
	at     unit.Time
	port   port.ID
	frame  wire.Frame
	head   unit.Time
	tail   unit.Time
	change port.Change
}

// play lets the steps happen to a switch, one that plans or one that does not, until an instant. It
// returns what has left, what was counted, and how many frames were planned.
func play(t *testing.T, c switchd.OutputQueuedConfig, plan bool, steps []step, end unit.Time) (left links, counter *ledger, planned int) {
	t.Helper()
	left, counter = make(links, len(c.Ports)), newLedger(len(c.Ports), c.Ports[0].FlowControl)
	events := trace.NewBatch(trace.MaxBatch, counter)
	events.Count(counter, trace.Flows{})
	sw, err := switchd.NewOutputQueued(c, events)
	if err != nil {
		t.Fatal(err)
	}
	if plan && !sw.Plan(left) {
		t.Fatal("it does not plan")
	}
	until := func(end unit.Time) {
		for sw.Deadline() < end {
			sw.Advance(sw.Deadline())
			for x, ok := sw.Poll(); ok; x, ok = sw.Poll() {
				left[x.Port] = append(left[x.Port], leaving{x.Frame, x.Start, x.Start.Add(x.Duration), x.Due})
			}
		}
	}
	for _, x := range steps {
		until(x.at)
		a := port.Arrival{Frame: x.frame, Head: x.head, Tail: x.tail, Length: wire.PaperFraming.Length(&x.frame)}
		switch {
		case x.change != nil:
			sw.Apply(x.at, x.port, x.change)
		case plan:
			if out, due, ok := sw.Pass(x.at, x.port, &a); ok {
				planned++
				left[out] = append(left[out], leaving{a.Frame, a.Head, a.Tail, due})
			}
		default:
			sw.Receive(x.at, x.port, &a)
		}
	}
	until(end)
	for _, settle := range counter.behind {
		settle(end)
	}
	for p := range left { // without what has only been planned
		left[p] = slices.DeleteFunc(left[p], func(x leaving) bool { return x.Head >= end })
	}
	return left, counter, planned
}

// script draws what happens to a switch: frames of few sizes at instants that often fall together,
// in some of them PAUSE, and changes.
func script(r *unit.Random, c *switchd.OutputQueuedConfig, lanes []uint8) (steps []step) {
	below := func(n int) int { return int(r.Below(uint64(n))) }
	const over = 60 * 1000 * ns
	for p := range c.Ports {
		pc := &c.Ports[p]
		free, load, to := unit.Time(0), 1+below(4), below(len(c.Ports))
		for n := uint32(1); ; n++ {
			if below(4) > 0 {
				to = below(len(c.Ports))
			}
			f := ether(uint32(p+1), to, lanes[below(len(lanes))])
			f.PSN, f.Payload = n, []uint32{1500, 1500, 64}[below(3)]
			switch kind := below(20); {
			case kind == 0 && pc.FlowControl == port.PauseFrames:
				f = wire.Frame{Kind: wire.Pause}
				f.Pause().Quanta = []uint16{0, 40, 300}[below(3)]
			case kind == 0 && pc.FlowControl == port.PriorityPauseFrames:
				f = wire.Frame{Kind: wire.PriorityPause}
				*f.Pause() = wire.PauseExtension{Classes: 0xFF, Stopped: uint8(below(256)), Quanta: []uint16{0, 40, 300}[below(3)]}
			case kind == 1:
				f.Kind, f.Payload = wire.Ack, 0
				f.Family = wire.RoCEv2
			}
			head := free.Add(unit.Duration(below(load)*400) * unit.Nanosecond)
			tail := head.Add(pc.Rate.Serialise(wire.PaperFraming.Length(&f)))
			acts := tail
			if c.CutThrough && !f.Kind.Control() {
				acts = min(tail, head.Add(pc.Rate.Serialise(wire.HeaderSize)))
			}
			if free = tail; free >= over {
				break
			}
			steps = append(steps, step{at: acts.Add(pc.Propagation), port: port.ID(p), frame: f, head: head, tail: tail})
		}
	}
	for range below(2) * below(6) {
		at, p := unit.Time(below(60_000))*ns, port.ID(below(len(c.Ports)))
		change := []port.Change{port.RateChange{Rate: tenGig / 4}, port.RateChange{Rate: tenGig}, port.LinkDown{}, port.Deadlock{},
			port.WatermarksChange{High: 9000, Low: 3000}, port.CongestionReported{}, port.CongestionMeasured{}, port.BufferChange{Left: port.BufferConfig{Room: 8000, High: 5000, Low: 3000}}, port.Restart{}}[below(9)]
		steps = append(steps, step{at: at, port: p, change: change})
		switch change.(type) {
		case port.LinkDown:
			steps = append(steps, step{at: at + 9000*ns, port: p, change: port.LinkUp{}})
		case port.Restart:
			for p := range c.Ports {
				steps = append(steps, step{at: at + 3000*ns, port: port.ID(p), change: port.LinkUp{}})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		order := func(s step) int64 { // arrivals by port, then changes
			if s.change != nil {
				return 1000
			}
			return int64(s.port)
		}
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return int(order(a) - order(b))
	})
	return steps
}

// A switch that plans sends each frame at the instants at which one does that acts at each of them,
// and counts the same.
func TestPlanningChangesNothing(t *testing.T) {
	all, planned, marked := 0, 0, 0
	for seed := range uint64(400) {
		r := unit.NewRandom(seed, 1)
		below := func(n int) int { return int(r.Below(uint64(n))) }
		c := outputQueued(3 + below(3))
		control := []port.FlowControl{port.NoFlowControl, port.PauseFrames, port.PriorityPauseFrames}[below(3)]
		c.Pooled, c.CutThrough = below(2) == 0, below(3) == 0
		if c.Delay = []unit.Duration{200 * unit.Nanosecond, 40 * unit.Nanosecond, 1200 * unit.Nanosecond}[below(3)]; control == port.NoFlowControl {
			c.High, c.Low = 0, 0
		} else if c.Lossless = 0xFF; below(2) == 0 {
			c.High, c.Low = 6000, 3000
		}
		if control == port.NoFlowControl {
			c.OutputLimit = []unit.Size{0, 5000, 20000}[below(3)]
			if below(3) == 0 {
				c.Trim = switchd.Trimming{Size: 64, Priority: []uint8{0, 6}[below(2)], DSCP: 11, LastHopDSCP: 21, Limit: []unit.Size{200, 5000}[below(2)]}
				c.LastHop = make([]bool, len(c.Ports))
			}
		}
		if below(3) == 0 { // some frames may leave by any port
			c.Routes[0].To[1], c.Routes[0].Equal = port.ID(len(c.Ports)), [][]port.ID{{0, 1, 2}}
			c.Balance = switchd.Balancing{Balance: []switchd.Balance{switchd.BestForPackets, switchd.BestForFlowlets, switchd.RandomPackets}[below(3)], Bands: 5, High: 10000,
				LoadWeight: 50 * below(2), Sample: 2 * unit.Microsecond, Average: 2, Flows: 4, Idle: unit.Microsecond}
		}
		for p := range c.Ports {
			c.Ports[p].FlowControl, c.Ports[p].CutThrough = control, c.CutThrough
			c.Ports[p].Rate = []unit.Rate{tenGig, tenGig, tenGig, tenGig / 4, 2 * tenGig}[below(5)]
		}
		steps := script(r, &c, [][]uint8{{0}, {0}, {3}, {0, 3}, {1, 5, 7}}[below(5)])
		marking := func() cp.Maker { return nil }
		if below(3) == 0 {
			e := cp.ECNParams{Min: []unit.Size{0, 4000, 4000, 9000, 9000}[below(5)], MaxP: 0.3, At: []string{cp.AtEnqueue, cp.AtDequeue}[below(2)], Cell: []unit.Size{0, 2000}[below(2)]}
			e.Max = e.Min * unit.Size(1+below(2))
			if below(4) == 0 {
				e.Per = tenGig / 2
			}
			marking = func() cp.Maker { return ecn(e) } // one draws as the other
		}
		const end = 150 * 1000 * ns
		c.Points = marking()
		want, counts, _ := play(t, c, false, steps, end)
		c.Points = marking()
		got, same, n := play(t, c, true, steps, end)
		for p := range want {
			all += len(want[p])
			for i := range want[p] {
				if want[p][i].Frame.FECN {
					marked++
				}
			}
		}
		planned += n
		what := fmt.Sprintf("seed %d, %v, cut-through %v, pooled %v, output limit %v, trim %v, balance %v", seed, control, c.CutThrough, c.Pooled, c.OutputLimit, c.Trim.Size, c.Balance.Balance)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: other frames leave: (-acting +planning)\n%s", what, d)
		} else if d := cmp.Diff(counts.counts, same.counts, cmp.AllowUnexported(trace.Counts{})) + cmp.Diff(counts.marks, same.marks); d != "" {
			t.Errorf("%s: other counts: (-acting +planning)\n%s", what, d)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d frames left, %d of them marked, %d were planned", all, marked, planned)
	if 3*planned < all || planned == all || 50*marked < all {
		t.Error("that shows little")
	}
}

// An output that has marked plans again once its queue is empty: of each burst as many frames.
func TestPlansAgainAfterMarks(t *testing.T) {
	c := outputQueued(3)
	c.Points = ecn(cp.ECNParams{Min: 4000, Max: 4000, MaxP: 1, At: cp.AtDequeue})
	const each = 12 // of two inputs
	bursts := func(n int) (planned, marked int) {
		var steps []step
		for i := range n {
			head := unit.Time(i) * 3 * each * t1500
			for range each {
				for in := range port.ID(2) {
					f := ether(uint32(in), 2, 0)
					tail := head.Add(tenGig.Serialise(wire.PaperFraming.Length(&f)))
					steps = append(steps, step{at: tail.Add(c.Ports[in].Propagation), port: in, frame: f, head: head, tail: tail})
					if in == 1 {
						head = tail
					}
				}
			}
		}
		left, _, planned := play(t, c, true, steps, unit.Time(n+1)*3*each*t1500)
		for _, x := range left[2] {
			if x.Frame.FECN {
				marked++
			}
		}
		if got, want := len(left[2]), 2*each*n; got != want {
			t.Fatalf("%d frames left, want %d", got, want)
		}
		return planned, marked
	}
	planned, marked := bursts(1)
	if planned == 0 || marked == 0 {
		t.Errorf("of a burst, %d were planned and %d marked", planned, marked)
	}
	if p, m := bursts(10); p != 10*planned || m != 10*marked {
		t.Errorf("of ten bursts, %d were planned and %d marked; of one, %d and %d", p, m, planned, marked)
	}
}

// At one instant the memory of frames is freed in the order of outputs, of planned frames and
// others. The most that is held shows it where an ACK that has come since counts.
func TestMemoryIsFreedByOutputs(t *testing.T) {
	for what, telemetry := range map[string]wire.Telemetry{"both planned": wire.NoTelemetry, "the first acts": wire.Rounded} {
		c := outputQueued(3)
		data, ack := ether(1, 2, 0), wire.Frame{Kind: wire.Ack, Family: wire.RoCEv2, Dst: 2, QP: 2}
		ack.SetRoCE(wire.RoCE{Telemetry: telemetry})
		long, short := tenGig.Serialise(wire.PaperFraming.Length(&data)), tenGig.Serialise(wire.PaperFraming.Length(&ack))
		ends := unit.Time(0).Add(2 * long) // without delay and flight, of the frame and of the first ACK
		var steps []step
		for i, f := range []wire.Frame{data, ack, ack} {
			tail := []unit.Time{unit.Time(long), ends.Add(-short), ends}[i]
			steps = append(steps, step{at: tail.Add(c.Ports[0].Propagation), frame: f, head: tail.Add(-tenGig.Serialise(wire.PaperFraming.Length(&f))), tail: tail})
		}
		want, counts, _ := play(t, c, false, steps, 100*t1500)
		got, same, planned := play(t, c, true, steps, 100*t1500)
		if len(want[1]) != 2 || len(want[2]) != 1 || want[1][0].Tail != want[2][0].Tail || planned == 0 {
			t.Fatalf("%s: %d planned; %v leave", what, planned, want)
		}
		if d := cmp.Diff(want, got) + cmp.Diff(counts.counts, same.counts, cmp.AllowUnexported(trace.Counts{})); d != "" || counts.counts[0].Most == int64(wire.PaperFraming.Length(&data)) {
			t.Errorf("%s: at most %d held\n%s", what, counts.counts[0].Most, d)
		}
	}
}

// Departures are planned where they can be known.
func TestWhichSwitchesPlan(t *testing.T) {
	ecn, red := ecn(cp.ECNParams{Min: 1000, Max: 1000, MaxP: 1, At: cp.AtDequeue}), param.Defaults(cp.REDParams{})
	red.Min, red.Max, red.ECN = unit.Room{Packets: 1}, unit.Room{Packets: 20}, true
	for _, c := range []struct {
		what string
		set  func(*switchd.OutputQueuedConfig)
		want bool
	}{
		{"PAUSE", func(*switchd.OutputQueuedConfig) {}, true},
		{"a pool", func(c *switchd.OutputQueuedConfig) { c.Pooled = true }, true},
		{"cut-through", func(c *switchd.OutputQueuedConfig) { c.CutThrough = true }, true},
		{"frames at random", func(c *switchd.OutputQueuedConfig) { c.Balance.Balance = switchd.RandomPackets }, true},
		{"no flow control", func(c *switchd.OutputQueuedConfig) { c.High, c.Low = 0, 0; ports(c, port.NoFlowControl) }, true},
		{"PFC", func(c *switchd.OutputQueuedConfig) { c.Lossless = 8; ports(c, port.PriorityPauseFrames) }, true},
		{"marks in long queues", func(c *switchd.OutputQueuedConfig) { c.Points = ecn }, true},
		{"marks by an average", func(c *switchd.OutputQueuedConfig) { c.Points = points(red) }, false},
		{"notifications", func(c *switchd.OutputQueuedConfig) {
			c.Points = points(cp.QCNParams{Qeq: 3000, Weight: 1, SampleBase: 10000, Jitter: 15, Priority: 6})
		}, false},
		{"weights", func(c *switchd.OutputQueuedConfig) { c.ETS = switchd.Weights{1, 3} }, false},
		{"a limit of outputs", func(c *switchd.OutputQueuedConfig) {
			c.High, c.Low, c.OutputLimit = 0, 0, 5000
			ports(c, port.NoFlowControl)
		}, true},
		{"frames by queues", func(c *switchd.OutputQueuedConfig) { c.Balance.Balance = switchd.BestForPackets }, true},
		{"watermarks that follow the free memory", func(c *switchd.OutputQueuedConfig) {
			c.Pooled, c.High, c.Low, c.Dynamic = true, 0, 0, switchd.Dynamic{Alpha: 1, Shared: c.Memory / 2}
		}, false},
		{"credits", func(c *switchd.OutputQueuedConfig) { ports(c, port.ChannelCredits) }, false},
	} {
		x := outputQueued(2)
		c.set(&x)
		counter := newLedger(2, x.Ports[0].FlowControl)
		events := trace.NewBatch(trace.MaxBatch, counter)
		wanted, err := switchd.NewOutputQueued(x, events)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if wanted.Plan(links{nil, nil}) {
			t.Errorf("%s: it plans, and its events are wanted", c.what)
		}
		events.Count(counter, trace.Flows{})
		counts, err := switchd.NewOutputQueued(x, events)
		if err != nil {
			t.Fatal(err)
		}
		if got := counts.Plan(links{nil, nil}); got != c.want {
			t.Errorf("%s: it plans: %v, want %v", c.what, got, c.want)
		}
	}
}

// ports gives all ports of a switch a kind of flow control.
func ports(c *switchd.OutputQueuedConfig, control port.FlowControl) {
	for i := range c.Ports {
		c.Ports[i].FlowControl = control
	}
}
