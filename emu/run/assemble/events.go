package assemble

import (
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// changes returns the changes of nodes by event i of the scenario.
func (b *builder) changes(i int, e *scenario.Event) []drive.Change {
	m := making{builder: b, event: i}
	e.Begin(&scenario.Making{Nodes: &m, Seed: b.scenario.Model.Seed, End: b.scenario.Model.Duration})
	return m.all
}

// making collects the changes of an event (scenario.Nodes).
type making struct {
	*builder
	event int
	all   []drive.Change
}

// faultStreams is where the streams of random numbers of faults begin: one for each event and
// direction.
const faultStreams = 3 << 40

// markingStreams is where the streams of random numbers of changes of markings begin: one for each
// event.
const markingStreams = 4 << 40

func (m *making) Ends(link string) []port.End {
	i := slices.IndexFunc(m.fabric.Wires, func(w fabric.Wire) bool { return w.Name == link })
	if i < 0 {
		return nil
	}
	return m.fabric.Wires[i].Ends[:]
}

func (m *making) Node(name string) int { return m.fabric.Paths.Index[name] }

func (m *making) PortsOf(node int) int { return len(m.fabric.Nodes[node].Ports) }

func (m *making) Peer(of port.End) port.End {
	return m.fabric.Peer(m.fabric.Nodes[of.Node].Ports[of.Port])
}

func (m *making) Points(params cp.CCAParams, node int) any {
	return m.points("cca", params, &m.fabric.Nodes[node], markingStreams+uint64(m.event))
}

func (m *making) Reactions(params rp.CCAParams, node int) any { return m.reactions(node, params) }

func (m *making) Stream(side int) uint64 { return faultStreams + uint64(2*m.event+side) }

func (m *making) Change(at unit.Duration, where port.End, c port.Change) {
	m.all = append(m.all, drive.Change{At: unit.Time(at), Node: where.Node, Port: where.Port, Makes: c})
}

// Happen returns the changes by an event that is added to f during a run, and the watch for
// deadlock from then on. The scenario of f has the event.
func Happen(f *fabric.Fabric, e *scenario.Event) ([]drive.Change, *deadlock.Watch) {
	b := newBuilder(f, Schemes{}, nil)
	return b.changes(len(f.Scenario.Events)-1, e), b.watch()
}

// Reroute returns the changes by routes and lanes that are added to f during a run, from an instant
// on. The scenario of f has them.
func Reroute(f *fabric.Fabric, since unit.Duration) []drive.Change {
	b := newBuilder(f, Schemes{}, nil)
	var lanes []drive.Change
	for i := range f.Nodes {
		_, later := b.lanes(i)
		if lanes = append(lanes, later...); f.Nodes[i].Switch == nil {
			continue
		}
		before := len(b.reroutes)
		tables := b.routes(i)
		for k := before; k < len(b.reroutes); k++ {
			c := b.reroutes[k].Makes.(port.RoutesChange)
			c.Routes = tables[c.Table]
			b.reroutes[k].Makes = c
		}
	}
	return slices.DeleteFunc(append(b.reroutes, lanes...), func(c drive.Change) bool { return c.At != unit.Time(since) })
}
