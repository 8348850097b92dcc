package switchd

import (
	"math"
	"testing"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// group is a group of equal outputs, the state of their links, and their queues.
type group struct {
	equal  []port.ID
	ports  []port.Port
	queues []unit.Size
	sent   []unit.Size
}

type silent struct{}

func (silent) Record(*trace.Event) {}

func newGroup(n int) *group {
	g := &group{ports: make([]port.Port, n), queues: make([]unit.Size, n), sent: make([]unit.Size, n)}
	rec := trace.NewRecorder(0, silent{})
	for i := range g.ports {
		c := port.Config{Rate: 10_000_000_000, Propagation: unit.Microsecond, FlowControl: port.NoFlowControl}
		g.ports[i].Init(port.ID(i), &c, new(port.Outbox), &rec)
		g.equal = append(g.equal, port.ID(i))
	}
	return g
}

func (g *group) balancer(c Balancing) *balancer {
	return newBalancer(c, 7, len(g.equal), func(_ unit.Time, p int) unit.Size { return g.queues[p] }, func(_ unit.Time, p int) unit.Size { return g.sent[p] })
}

// counts returns how often each output is chosen for so many frames of a flow, at intervals.
func (g *group) counts(b *balancer, frames int, every unit.Duration) []int {
	all := make([]int, len(g.equal))
	f := wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, QP: 3}
	for i := range frames {
		all[b.choose(unit.Time(every)*unit.Time(i), &f, 0, g.equal, g.ports)]++
	}
	return all
}

// "Any one for each frame": each of n outputs has a binomial part; "one after the other": the same.
func TestFramesOfAFlowTakeAllOutputs(t *testing.T) {
	g := newGroup(4)
	for p, n := range g.counts(g.balancer(Balancing{Balance: RandomPackets}), 40_000, 1) {
		if d := math.Abs(float64(n)-10_000) / math.Sqrt(40_000*0.25*0.75); d > 4 {
			t.Errorf("random: output %d has %d of 40000 frames: %.1f standard deviations from a quarter", p, n, d)
		}
	}
	for p, n := range g.counts(g.balancer(Balancing{Balance: RoundRobin}), 40_000, 1) {
		if n != 10_000 {
			t.Errorf("round-robin: output %d has %d of 40000 frames, want a quarter", p, n)
		}
	}
	if b := g.balancer(Balancing{}); b != nil {
		t.Error("the hash needs no balancer")
	}
}

// "After a pause of this length the next frame of a flow begins a flowlet": at the idle time the
// flow keeps its output, and beyond it takes any one.
func TestFlowletsKeepTheirOutput(t *testing.T) {
	g := newGroup(4)
	c := Balancing{Balance: RandomFlowlets, Idle: 256 * unit.Microsecond, Flows: 512}
	used := func(every unit.Duration) (n int) {
		for _, frames := range g.counts(g.balancer(c), 1000, every) {
			if frames > 0 {
				n++
			}
		}
		return n
	}
	if n := used(c.Idle); n != 1 {
		t.Errorf("at the idle time: %d outputs, want 1", n)
	}
	if n := used(c.Idle + 1); n != 4 {
		t.Errorf("beyond the idle time: %d outputs, want all 4", n)
	}
}

// "Outputs in one band are equally good", and one in a lower band is better.
func TestBestOutputs(t *testing.T) {
	c := Balancing{Balance: BestForPackets, Bands: 8, Low: 8000, High: 16000}
	for _, x := range []struct {
		what   string
		queues []unit.Size
		best   []bool
	}{
		{"all are empty", []unit.Size{0, 0, 0}, []bool{true, true, true}},
		{"below the first threshold", []unit.Size{8000, 0, 4000}, []bool{true, true, true}},
		{"the edge of the first band", []unit.Size{8999, 9000, 9000}, []bool{true, false, false}},
		{"one band", []unit.Size{9001, 9999, 10_000}, []bool{true, true, false}},
		{"all are in the last band", []unit.Size{15_000, 16_000, 1 << 40}, []bool{true, true, true}},
	} {
		g := newGroup(3)
		copy(g.queues, x.queues)
		for p, n := range g.counts(g.balancer(c), 300, 1) {
			if n > 0 != x.best[p] {
				t.Errorf("%s: output %d has %d of 300 frames", x.what, p, n)
			}
		}
	}
}

// The load is "an average of what the output sends": after n samples of a constant load it is
// 1 - (1 - 1/Average)^n of it, whether each was taken in time or one stands for all.
func TestLoadIsAnAverage(t *testing.T) {
	c := Balancing{Balance: BestForPackets, Bands: 8, High: 8000, LoadWeight: 50, Sample: 16 * unit.Microsecond, Average: 16}
	const load = 0.6 // of 10 Gb/s
	for _, samples := range []int{1, 5, 50} {
		want := load * (1 - math.Pow(1-1.0/16, float64(samples)))
		g := newGroup(2)
		b := g.balancer(c)
		for i := range samples {
			g.sent[1] += unit.Size(load * 16e-6 * 10e9 / 8)
			b.measure(unit.Time(i+1)*unit.Time(c.Sample), g.ports)
			b.measure(unit.Time(i+1)*unit.Time(c.Sample)+1, g.ports) // too early for another
		}
		if got := b.loads[1].average; math.Abs(got-want) > 1e-9 || b.loads[0].average != 0 {
			t.Errorf("%d samples: loads %v, want 0 and %v", samples, b.loads, want)
		}
		g = newGroup(2)
		b = g.balancer(c)
		g.sent[1] = unit.Size(float64(samples) * load * 16e-6 * 10e9 / 8)
		b.measure(unit.Time(samples)*unit.Time(c.Sample), g.ports)
		if got := b.loads[1].average; math.Abs(got-want) > 1e-9 {
			t.Errorf("one sample for %d: load %v, want %v", samples, got, want)
		}
	}
}

// The load has its weight in the quality beside the queue, and none at all by default.
func TestLoadedOutputs(t *testing.T) {
	for _, x := range []struct {
		what   string
		weight int
		best   []bool
	}{
		{"only queues count", 0, []bool{true, false, false}},
		{"a queue in the second band is worth a load in the second", 50, []bool{false, true, true}},
		{"only loads count", 100, []bool{false, false, true}},
	} {
		g := newGroup(3)
		b := g.balancer(Balancing{Balance: BestForPackets, Bands: 8, High: 8000, LoadWeight: x.weight, Sample: unit.Second, Average: 1})
		g.queues = []unit.Size{500, 1500, 2500}            // bands 0, 1, 2
		for p, average := range []float64{0.9, 0.2, 0.1} { // bands 7, 1, 0
			if len(b.loads) > 0 {
				b.loads[p].average = average
			}
		}
		for p, n := range g.counts(b, 300, 1) {
			if n > 0 != x.best[p] {
				t.Errorf("%s: output %d has %d of 300 frames", x.what, p, n)
			}
		}
	}
}

// "One whose link is down is taken only if that of all is", in all modes.
func TestDownLinksArePassedOver(t *testing.T) {
	for mode := RandomPackets; mode <= BestForFlowlets; mode++ {
		g := newGroup(3)
		c := Balancing{Balance: mode, Idle: unit.Second, Flows: 512, Bands: 8, High: 1000}
		b := g.balancer(c)
		g.counts(b, 10, 1) // a flowlet has an output
		for _, down := range []int{0, 1} {
			g.ports[down].Apply(0, port.LinkDown{})
		}
		g.queues[2] = 1 << 30
		if n := g.counts(b, 100, 1); n[2] != 100 {
			t.Errorf("%v: %v of 100 frames, want all at the output that is up", mode, n)
		}
		g.ports[2].Apply(0, port.LinkDown{})
		if n := g.counts(b, 100, 1); n[0]+n[1]+n[2] != 100 {
			t.Errorf("%v: %v of 100 frames where all links are down", mode, n)
		}
	}
}

// Two generators with one seed choose alike, and nothing is allocated.
func TestChoicesRepeat(t *testing.T) {
	for mode := RandomPackets; mode <= BestForFlowlets; mode++ {
		g := newGroup(5)
		c := Balancing{Balance: mode, Idle: 10, Flows: 16, Bands: 4, High: 1000}
		a, b := g.balancer(c), g.balancer(c)
		f := wire.Frame{Kind: wire.Data, Src: 1, Dst: 2}
		for i := range 1000 {
			f.QP = uint32(i % 40)
			now := unit.Time(3 * i)
			if x, y := a.choose(now, &f, 1, g.equal, g.ports), b.choose(now, &f, 1, g.equal, g.ports); x != y {
				t.Fatalf("%v: frame %d takes %d and %d", mode, i, x, y)
			}
		}
		now := unit.Time(0)
		if n := testing.AllocsPerRun(100, func() { now += 11; a.choose(now, &f, 1, g.equal, g.ports) }); n != 0 {
			t.Errorf("%v: a frame allocates %v times", mode, n)
		}
	}
}
