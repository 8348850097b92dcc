package fabric

import (
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Least returns the least time from when a frame begins to leave an end of wire k until the
// node at the other end may act on it. Promises about a link depend on it. It is at least
// the propagation, which is positive: no latency in a model is zero. It holds at all rates
// of the scenario's events, for all frames that the line can carry. If events may come
// during the run, which may set any rate, it is only the propagation.
func (f *Fabric) Least(k, end int) unit.Duration {
	w := &f.Wires[k]
	least := w.Link.Propagation
	if f.Scenario.Open {
		return least
	}
	_, fastest := f.Scenario.Rates(w.Link)
	return least + fastest.Serialise(f.shortest(w, end))
}

// Passing returns the least time from when a node receives a frame at one port until it
// sends a frame at another because of it; unit.Never for an endpoint, which has one
// port. At the same port it may answer at once, as a sender does that waits for credit.
//
// A switch forwards a frame after its delay, less the time of the part that was in when the
// switch received it. A frame that leaves after credit, or after the end of a PAUSE, frees the
// buffer of another port.
func (f *Fabric) Passing(node int) unit.Duration {
	m := &f.Nodes[node]
	if m.Switch == nil {
		return unit.Duration(unit.Never)
	}
	if f.Scenario.Open {
		return 0
	}
	least := m.Switch.ForwardingDelay
	for _, p := range m.Ports {
		w := &f.Wires[p.Wire]
		slowest, fastest := f.Scenario.Rates(w.Link)
		if m.Switch.Forwarding != scenario.StoreAndForward {
			least = min(least, max(0, m.Switch.ForwardingDelay-slowest.Serialise(wire.HeaderSize)))
		}
		if w.Link.FlowControl != port.NoFlowControl {
			least = min(least, fastest.Serialise(f.shortestData(w)))
		}
	}
	return least
}

// shortest returns the shortest length that a node waits for of a frame from an end of a
// wire.
func (f *Fabric) shortest(w *Wire, end int) unit.Size {
	n := f.shortestData(w)
	if s := f.Nodes[w.Ends[1-end].Node].Switch; s != nil && s.Forwarding != scenario.StoreAndForward {
		n = min(n, wire.HeaderSize)
	}
	switch w.Link.FlowControl {
	case port.Credits:
		n = min(n, f.Framing().Length(&wire.Frame{Kind: wire.FlowControl}))
	case port.ChannelCredits:
		n = min(n, wire.OrderedSetSize)
	}
	if w.Link.Retry.On() {
		n = min(n, wire.OrderedSetSize)
	}
	return n // a PAUSE is no shorter than the shortest frame of Ethernet
}

// shortestData returns the length of the shortest frame that is not flow control.
func (f *Fabric) shortestData(w *Wire) unit.Size {
	if w.Link.FlowControl == port.Credits {
		return f.Framing().Length(&wire.Frame{Kind: wire.Ack})
	}
	return f.Framing().Length(&wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: wire.MinMSDU})
}
