package metrics

import (
	"fmt"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// paperFabric is Fig. 1 of HPL-2002-224 with n local and n remote flows, laid
// out by hand: switches A and B first, then A1.., AV, B1.., BC, BV.
func paperFabric(n int, events ...scenario.Event) (*fabric.Fabric, *scenario.Scenario) {
	const ms = unit.Millisecond
	s := &scenario.Scenario{
		Name:    "test/paper",
		Source:  "HPL-2002-224, Fig. 1",
		Model:   scenario.Model{Duration: 100 * ms, Seed: 1},
		Measure: scenario.Measure{Window: 2 * ms},
		Events:  events,
	}
	f := &fabric.Fabric{}
	node := func(name string) int {
		f.Nodes = append(f.Nodes, fabric.Node{Name: name, LID: wire.LID(len(f.Nodes) + 1)})
		return len(f.Nodes) - 1
	}
	join := func(name string, a, b int) int {
		l := &scenario.Link{Name: name, A: f.Nodes[a].Name, B: f.Nodes[b].Name, Rate: 8e9}
		if name == "" {
			l.Name = l.A + " - " + l.B
		}
		w := fabric.Wire{Link: l, Name: l.Name}
		for end, m := range [2]int{a, b} {
			w.Ends[end] = fabric.End{Node: m, Port: port.ID(len(f.Nodes[m].Ports))}
			f.Nodes[m].Ports = append(f.Nodes[m].Ports, fabric.Port{Wire: len(f.Wires), End: end})
		}
		f.Wires = append(f.Wires, w)
		return len(f.Wires) - 1
	}
	flow := func(group, name string, start, stop unit.Time, src, dst int, wires ...int) {
		if stop == 0 {
			stop = unit.Never
		}
		x := fabric.Flow{Flow: &scenario.Flow{Name: name, Group: group}, QP: uint32(len(f.Flows) + 2), Src: src, Dst: dst, Start: start, Stop: stop}
		var hops []fabric.Hop
		for _, w := range wires {
			hops = append(hops, fabric.Hop{Wire: w})
		}
		x.Path = fabric.PathOf(hops, nil)
		f.Flows = append(f.Flows, x)
	}
	a, b := node("A"), node("B")
	f.Nodes[a].Switch, f.Nodes[b].Switch = &scenario.Switch{Name: "A"}, &scenario.Switch{Name: "B"}
	var as, bs []int
	for i := range n {
		as = append(as, node(fmt.Sprintf("A%d", i+1)))
	}
	av := node("AV")
	for i := range n {
		bs = append(bs, node(fmt.Sprintf("B%d", i+1)))
	}
	bc, bv := node("BC"), node("BV")
	var aw, bw []int
	for _, m := range as {
		aw = append(aw, join("", m, a))
	}
	avw := join("", av, a)
	for _, m := range bs {
		bw = append(bw, join("", m, b))
	}
	trunk, root := join("trunk", a, b), join("root", b, bc)
	bvw := join("", b, bv)
	for i := range n {
		flow("local", fmt.Sprintf("local.B%d", i+1), unit.Time(i)*unit.Time(ms)/10, 0, bs[i], bc, bw[i], root)
	}
	for i := range n {
		flow("remote", fmt.Sprintf("remote.A%d", i+1), unit.Time(ms)+unit.Time(i)*unit.Time(ms)/10, 0, as[i], bc, aw[i], trunk, root)
	}
	flow("victim", "victim", 40*unit.Time(ms), 60*unit.Time(ms), av, bv, avw, trunk, bvw)
	return f, s
}

// play feeds a collector with what the fabric would report.
type play struct {
	c    *Collector
	f    *fabric.Fabric
	seqs map[int32]uint32
}

func newPlay(t *testing.T, f *fabric.Fabric, s *scenario.Scenario) *play {
	t.Helper()
	c, err := New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	return &play{c, f, make(map[int32]uint32)}
}

func (p *play) record(e trace.Event) {
	e.Seq = p.seqs[e.Node]
	p.seqs[e.Node]++
	p.c.Record(&e)
}

// end returns the machine and port that send into a direction of a wire.
func (p *play) end(wireName string, from int) (int32, uint16) {
	for i := range p.f.Wires {
		if p.f.Wires[i].Name == wireName {
			e := p.f.Wires[i].Ends[from]
			return int32(e.Node), uint16(e.Port)
		}
	}
	panic("no wire " + wireName)
}

// start puts a frame on the link from end from of a wire.
func (p *play) start(at unit.Time, wireName string, from int, kind wire.Kind, bytes uint32) {
	m, port := p.end(wireName, from)
	p.record(trace.Event{At: at, Node: m, Port: port, Kind: trace.Start, Bytes: bytes, A: int64(kind), B: -1})
}

// deliver hands a data frame of a flow to its destination.
func (p *play) deliver(at unit.Time, flow int, bytes uint32, marked bool) {
	f := wire.Frame{Kind: wire.Data, FECN: marked}
	x := &p.f.Flows[flow]
	p.record(trace.Event{At: at, Node: int32(x.Dst), Kind: trace.Deliver, Flow: x.QP, Bytes: bytes, A: trace.FrameWord(&f)})
}

func (p *play) flowEvent(at unit.Time, kind trace.Kind, flow int) {
	x := &p.f.Flows[flow]
	p.record(trace.Event{At: at, Node: int32(x.Src), Kind: kind, Flow: x.QP})
}
