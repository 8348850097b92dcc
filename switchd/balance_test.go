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
}

type silent struct{}

func (silent) Record(*trace.Event) {}

func newGroup(n int) *group {
	g := &group{ports: make([]port.Port, n), queues: make([]unit.Size, n)}
	rec := trace.NewRecorder(0, silent{})
	for i := range g.ports {
		c := port.Config{Rate: 10_000_000_000, Propagation: unit.Microsecond, FlowControl: port.NoFlowControl}
		g.ports[i].Init(port.ID(i), &c, new(port.Outbox), &rec)
		g.equal = append(g.equal, port.ID(i))
	}
	return g
}

func (g *group) balancer(c Balancing) *balancer {
	return newBalancer(c, 7, func(p int) unit.Size { return g.queues[p] })
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
