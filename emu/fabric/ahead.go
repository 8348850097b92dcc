package fabric

import (
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Least returns the least time from when a frame begins to leave an end of wire k until the
// machine at the other end may act on it: what promises about a link rest on. It is at least
// the propagation, which is positive: no latency in a model is zero. It holds at all rates
// that the scenario's events set, for all frames that the line can carry; where events may
// come while the run goes on, which may set any rate, it is the propagation alone.
func (f *Fabric) Least(k, end int) unit.Duration {
	w := &f.Wires[k]
	least := w.Link.Propagation
	if f.Scenario.Open {
		return least
	}
	return least + f.fastest(k).Serialise(f.shortest(w, end))
}

// Passing returns the least time from when a machine is handed a frame by one port until it
// begins to send one by another because of that; unit.Never for an endpoint, which has one
// port. By the port itself it may answer at once, as a sender does that waited for credit.
//
// A switch forwards a frame after its delay, less what of the frame had to be in before it
// was handed over; and a frame that credit, or the end of a PAUSE, lets go frees the buffer
// of another port when it has left.
func (f *Fabric) Passing(machine int) unit.Duration {
	m := &f.Machines[machine]
	if m.Switch == nil {
		return unit.Duration(unit.Never)
	}
	if f.Scenario.Open {
		return 0
	}
	least := m.Switch.ForwardingDelay
	for _, p := range m.Ports {
		w := &f.Wires[p.Wire]
		if m.Switch.Forwarding != scenario.StoreAndForward {
			least = min(least, max(0, m.Switch.ForwardingDelay-f.Slowest(p.Wire).Serialise(wire.HeaderSize)))
		}
		if w.Link.FlowControl != port.NoFlowControl {
			least = min(least, f.fastest(p.Wire).Serialise(f.shortestData(w)))
		}
	}
	return least
}

// shortest returns the length of what a machine waits for of the shortest frame that an end
// of a wire can send.
func (f *Fabric) shortest(w *Wire, end int) unit.Size {
	n := f.shortestData(w)
	if s := f.Machines[w.Ends[1-end].Machine].Switch; s != nil && s.Forwarding != scenario.StoreAndForward {
		n = min(n, wire.HeaderSize)
	}
	if w.Link.FlowControl == port.Credits {
		n = min(n, f.Framing().Length(&wire.Frame{Kind: wire.FlowControl}))
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

// fastest returns the highest rate that a wire has in the run.
func (f *Fabric) fastest(k int) unit.Rate {
	l := f.Wires[k].Link
	rate := l.Rate
	for i := range f.Scenario.Events {
		if e := &f.Scenario.Events[i]; e.Link == l.Name {
			rate = max(rate, e.Rate)
		}
	}
	return rate
}
