package switchd_test

import (
	"testing"

	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// An etherPump drives an output-queued switch in the steady state: inputs that each
// send their next frame to one output when the one before has left.
type etherPump struct {
	sw     *switchd.OutputQueued
	now    unit.Time
	output int
	frames int // that have left
	data   ring
}

func newEtherPump(tb testing.TB, inputs int, change func(*switchd.OutputQueuedConfig)) *etherPump {
	tb.Helper()
	c := outputQueued(inputs + 1)
	change(&c)
	sw, err := switchd.NewOutputQueued(c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	p := &etherPump{sw: sw, output: inputs}
	for i := range inputs {
		p.offer(unit.Time(i)*ns, i)
	}
	return p
}

// offer sends a frame by an input; it is handed over when it is whole.
func (p *etherPump) offer(head unit.Time, input int) {
	f := ether(uint32(input), p.output, 0)
	f.Src = wire.LID(input + 1)
	p.data.push(arrival{(head + t1500).Add(flight), port.ID(input), port.Arrival{Frame: f, Head: head, Tail: head + t1500, Length: mtu}})
}

// step does what is next.
func (p *etherPump) step() {
	if data, deadline := p.data.due(), p.sw.Deadline(); data <= deadline {
		p.now = data
		a := &p.data.items[p.data.head%64]
		p.data.head++
		p.sw.Receive(p.now, a.port, &a.arrival)
	} else {
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
		p.offer(tr.Start.Add(tr.Duration)+60*ns, int(tr.Frame.QP))
	}
}

// etherPumped are the ways of a frame through an output-queued switch that cost
// something.
var etherPumped = []struct {
	name   string
	inputs int
	change func(*switchd.OutputQueuedConfig)
}{
	{"alone", 1, func(*switchd.OutputQueuedConfig) {}},
	{"contended", 10, func(*switchd.OutputQueuedConfig) {}},
	{"pause", 10, func(c *switchd.OutputQueuedConfig) { c.High, c.Low = 1000, 500 }}, // each frame stops its sender
	{"pfc", 10, func(c *switchd.OutputQueuedConfig) {
		for i := range c.Ports {
			c.Ports[i].FlowControl = port.PriorityPauseFrames
		}
		c.Pooled, c.Lossless, c.High, c.Low = true, 1, 1000, 500
	}},
	{"qcn", 10, func(c *switchd.OutputQueuedConfig) {
		c.Points = points(cp.QCNParams{Qeq: 3000, Weight: 1, SampleBase: 10000, Jitter: 15, Priority: 6})
	}},
	{"bcn", 10, func(c *switchd.OutputQueuedConfig) {
		p := param.Defaults(cp.BCNParams{})
		p.Qeq, p.Pm, p.Rate = 3000, 0.1, true
		c.Points = points(p)
	}},
	{"red", 10, func(c *switchd.OutputQueuedConfig) {
		p := param.Defaults(cp.REDParams{})
		p.Min, p.Max, p.Weight, p.ECN = unit.Room{Packets: 1}, unit.Room{Packets: 20}, 0.1, true
		c.Points = points(p)
	}},
}

// BenchmarkOutputQueued is what a data frame of 1500 bytes costs in a switch: its
// arrival, its start and its end, and what PAUSE frames and notifications follow.
func BenchmarkOutputQueued(b *testing.B) {
	for _, c := range etherPumped {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			p := newEtherPump(b, c.inputs, c.change)
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
