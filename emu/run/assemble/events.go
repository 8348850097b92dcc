package assemble

import (
	"cmp"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/switchd"
	"fabemu/wire/fault"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// changes returns the changes of ports by event i of the scenario: at both ends of a
// link, or at an endpoint.
func (b *builder) changes(i int, e *scenario.Event) (all []drive.Change) {
	var change port.Change = port.LinkUp{}
	switch {
	case e.Switch != "":
		return b.switchChanges(i, e)
	case e.Endpoint != "":
		return b.endpointChanges(e)
	case e.Loss+e.Corruption > 0 || e.Delay > 0:
		return b.faults(i, e)
	case e.Buffer > 0:
		return b.buffers(e)
	case e.Stuck > 0:
		change = port.Stuck{Last: e.Stuck}
	case e.Rate > 0:
		change = port.RateChange{Rate: e.Rate}
	case e.State == scenario.Down:
		change = port.LinkDown{}
	}
	for _, end := range b.ends(e.Link) {
		if e.Stuck == 0 || b.sends(end, e.From) {
			all = append(all, drive.Change{At: unit.Time(e.At), Node: end.Node, Port: end.Port, Makes: change})
		}
	}
	return all
}

// ends returns the two ends of a link; none of a link that does not exist.
func (b *builder) ends(link string) []fabric.End {
	i := slices.IndexFunc(b.fabric.Wires, func(w fabric.Wire) bool { return w.Name == link })
	if i < 0 {
		return nil
	}
	return b.fabric.Wires[i].Ends[:]
}

// sends reports whether an end of a link belongs to a node; empty is any.
func (b *builder) sends(end fabric.End, from string) bool {
	return from == "" || b.fabric.Nodes[end.Node].Name == from
}

// faultStreams is where the streams of random numbers of faults begin: one for each event and
// direction.
const faultStreams = 3 << 40

// markingStreams is where the streams of random numbers of changes of markings begin: one for each
// event.
const markingStreams = 4 << 40

// faults returns the changes by a fault of a link, at both ends of each direction that has it.
func (b *builder) faults(i int, e *scenario.Event) (all []drive.Change) {
	ends := b.ends(e.Link)
	for k := range ends {
		if !b.sends(ends[k], e.From) {
			continue
		}
		c := &fault.Config{
			Frames: e.Frames, Share: cmp.Or(e.Loss+e.Corruption, 1), Delay: e.Delay, Jitter: e.Jitter, Nth: e.Nth,
			Every: e.Every, Burst: e.Burst, Within: cmp.Or(e.Within, 1), Rise: e.Rise,
			Seed: b.scenario.Model.Seed, Stream: faultStreams + uint64(2*i+k),
		}
		switch {
		case e.Loss > 0:
			c.Fate = fault.Lost
		case e.Corruption > 0:
			c.Fate = fault.Corrupted
		}
		last := cmp.Or(e.For, unit.Duration(unit.Never))
		for j, end := range ends {
			all = append(all, drive.Change{At: unit.Time(e.At), Node: end.Node, Port: end.Port,
				Makes: port.FaultStart{Last: last, Fault: c, Out: j == k}})
		}
	}
	return all
}

// buffers returns the changes by a part of a buffer that is missing, and by its end.
func (b *builder) buffers(e *scenario.Event) (all []drive.Change) {
	for k, end := range b.ends(e.Link) {
		if e.Left[k] == (port.BufferConfig{}) {
			continue
		}
		var cut port.BufferChange
		if e.Buffer < 1 {
			cut.Left = e.Left[k]
		}
		all = append(all, drive.Change{At: unit.Time(e.At), Node: end.Node, Port: end.Port, Makes: cut})
		if e.For > 0 && e.At+e.For < b.scenario.Model.Duration {
			all = append(all, drive.Change{At: unit.Time(e.At + e.For), Node: end.Node, Port: end.Port, Makes: port.BufferChange{}})
		}
	}
	return all
}

// endpointChanges returns the changes by an event of an endpoint, and by its end.
func (b *builder) endpointChanges(e *scenario.Event) (all []drive.Change) {
	m := b.fabric.Paths.Index[e.Endpoint]
	end := e.At + e.For
	if e.For == 0 {
		end = b.scenario.Model.Duration
	}
	at := func(at unit.Duration, end port.End, change port.Change) {
		if at < b.scenario.Model.Duration {
			all = append(all, drive.Change{At: unit.Time(at), Node: end.Node, Port: end.Port, Makes: change})
		}
	}
	add := func(when unit.Duration, change port.Change) { at(when, port.End{Node: m}, change) }
	start := port.StormStart{Classes: uint8(e.Classes), Invalid: e.Invalid.Kind()}
	stop := port.StormStop(start)
	switch {
	case e.Control != scenario.CCAControl{}:
		add(e.At, port.ControlChange{Reactions: b.reactions(m, e)})
	case e.PauseStorm == scenario.StormOff:
		add(e.At, stop)
	case e.PauseStorm == scenario.StormOn:
		add(e.At, start)
		for next := e.At + e.Period; e.Gap > 0 && next-e.Gap < end; next += e.Period {
			if add(next-e.Gap, stop); next < end {
				add(next, start)
			}
		}
		add(end, stop)
	case e.Pauses != "":
		peer := b.fabric.Peer(b.fabric.Nodes[m].Ports[0])
		if e.Pauses == scenario.Ignored {
			add(e.At, port.PauseIgnored{})
			at(e.At, peer, port.PauseIgnored{Peer: true})
		} else {
			end = e.At
		}
		add(end, port.PauseObeyed{})
		at(end, peer, port.PauseObeyed{Peer: true})
	case e.Sink == scenario.SinkRunning:
		add(e.At, port.SinkStarted{})
	case e.Sink == scenario.SinkStopped:
		add(e.At, port.SinkStopped{})
		add(end, port.SinkStarted{})
	default:
		add(e.At, port.ServiceRate{Rate: service(e.Service)})
	}
	return all
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

// switchChanges returns the changes by an event of a switch.
func (b *builder) switchChanges(i int, e *scenario.Event) []drive.Change {
	change := drive.Change{At: unit.Time(e.At), Node: b.fabric.Paths.Index[e.Switch]}
	switch {
	case e.Restart > 0:
		return b.restart(e)
	case e.Marking != scenario.CCAMarking{}:
		m := &b.fabric.Nodes[change.Node]
		change.Makes = port.MarkingChange{Maker: b.points("cca", e.Marking.CCAParams, m, markingStreams+uint64(i))}
		return []drive.Change{change}
	case e.High > 0:
		change.Makes = port.WatermarksChange{High: e.High, Low: e.Low}
		return []drive.Change{change}
	}
	change.Makes = port.WatchdogChange{Watchdog: e.Watchdog}
	all := []drive.Change{change}
	if e.Watchdog.Action == switchd.StormForward { // the peers do not rely on their PFC frames any more
		for _, at := range b.fabric.Nodes[change.Node].Ports {
			peer := b.fabric.Peer(at)
			all = append(all, drive.Change{At: change.At, Node: peer.Node, Port: peer.Port, Makes: port.PauseIgnored{Peer: true}})
		}
	}
	return all
}

// restart returns the changes by the restart of a switch: it loses its frames, and its
// links go down at both ends and later come up.
func (b *builder) restart(e *scenario.Event) []drive.Change {
	down, up, i := unit.Time(e.At), unit.Time(e.At+e.Restart), b.fabric.Paths.Index[e.Switch]
	all := []drive.Change{{At: down, Node: i, Makes: port.Restart{}}}
	for p, at := range b.fabric.Nodes[i].Ports {
		peer := b.fabric.Peer(at)
		all = append(all,
			drive.Change{At: down, Node: peer.Node, Port: peer.Port, Makes: port.LinkDown{}},
			drive.Change{At: up, Node: i, Port: port.ID(p), Makes: port.LinkUp{}},
			drive.Change{At: up, Node: peer.Node, Port: peer.Port, Makes: port.LinkUp{}})
	}
	return all
}

// service returns a rate of service for an endpoint; 0 takes frames at once.
func service(r unit.Rate) unit.Rate {
	if r == scenario.Unlimited {
		return 0
	}
	return r
}
