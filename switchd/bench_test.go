package switchd_test

import (
	"testing"

	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// A pump drives a switch in the steady state, with as little of its own as can be:
// inputs that each send their next frame to one output when the one before has
// left, and a peer at the output that gives credit back at once.
type pump struct {
	sw     *switchd.Switch
	now    unit.Time
	output port.ID
	frames int // that have left

	// Frames in flight, and flow control packets from the output's peer: what is sent
	// later is due later.
	data, credit ring
	fctbs, fccl  uint16
}

// ring is a queue of arrivals.
type ring struct {
	items      [64]arrival
	head, tail uint
}

type arrival struct {
	due     unit.Time
	port    port.ID
	arrival port.Arrival
}

func (r *ring) push(a arrival) { r.items[r.tail%64] = a; r.tail++ }

// due returns when the first arrival is due.
func (r *ring) due() unit.Time {
	if r.head == r.tail {
		return unit.Never
	}
	return r.items[r.head%64].due
}

// newPump returns a pump of so many inputs.
func newPump(tb testing.TB, inputs int, change func(*switchd.Config)) *pump {
	tb.Helper()
	c := config(inputs + 1)
	change(&c)
	sw, err := switchd.New(c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	p := &pump{sw: sw, output: port.ID(inputs), fccl: roomy}
	p.grant(0)
	for i := range inputs {
		p.offer(unit.Time(i)*ns, port.ID(i))
	}
	return p
}

// offer sends a frame of 2048 bytes by an input.
func (p *pump) offer(head unit.Time, input port.ID) {
	p.data.push(arrival{head + 21*ns, input, port.Arrival{Frame: data(uint32(input), int(p.output)), Head: head, Tail: head + t1, Length: 2068}})
}

func (p *pump) grant(t unit.Time) {
	p.credit.push(arrival{t, p.output, port.Arrival{Frame: wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCTBS: p.fctbs, FCCL: p.fccl % 4096})}, Head: t, Tail: t}})
}

// step does what is next.
func (p *pump) step() {
	data, credit, deadline := p.data.due(), p.credit.due(), p.sw.Deadline()
	switch {
	case credit <= min(data, deadline):
		p.now = credit
		a := &p.credit.items[p.credit.head%64]
		p.credit.head++
		p.sw.Receive(p.now, a.port, &a.arrival)
	case data <= deadline:
		p.now = data
		a := &p.data.items[p.data.head%64]
		p.data.head++
		p.sw.Receive(p.now, a.port, &a.arrival)
	default:
		p.now = deadline
		p.sw.Advance(p.now)
	}
	for {
		tr, ok := p.sw.Poll()
		if !ok {
			return
		}
		if tr.Frame.Kind != wire.Data {
			continue
		}
		p.frames++
		p.fccl += packet
		tail := tr.Start.Add(tr.Duration)
		p.grant(tail + 2*ns)
		p.offer(tail+60*ns, port.ID(tr.Frame.QP))
	}
}

// pumped are the ways of a frame through a switch that cost something.
var pumped = []struct {
	name   string
	inputs int
	change func(*switchd.Config)
}{
	{"cut-through", 1, func(*switchd.Config) {}},
	{"contended", 10, func(*switchd.Config) {}},
	{"contended-single-output", 10, func(c *switchd.Config) { c.Single = true }},
	{"lanes", 10, func(c *switchd.Config) {
		for p := range c.Ports {
			c.Ports[p].Lanes, c.Ports[p].Arbitration = 4, port.UsualArbitration(4)
		}
	}},
	{"marking", 10, func(c *switchd.Config) {
		c.Points = points(cp.InputOutputParams{Threshold: 4})
	}},
	{"marking-full", 10, func(c *switchd.Config) {
		c.Points, c.FullAt = points(cp.InputParams{}), 1
	}},
}

// BenchmarkSwitch is what a data frame of 2048 bytes costs in a switch: its
// arrival, its start and its end, and the flow control packets of both links.
func BenchmarkSwitch(b *testing.B) {
	for _, c := range pumped {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			p := newPump(b, c.inputs, c.change)
			for p.frames < 1000 {
				p.step()
			}
			begin := p.frames
			for b.Loop() {
				for n := p.frames; p.frames == n; {
					p.step()
				}
			}
			b.ReportMetric(float64(p.frames-begin)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}
