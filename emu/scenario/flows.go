package scenario

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// CNPPriority returns the priority of the CNPs that answer a flow; ok is false if none do.
func (r *Site) CNPPriority(f *Flow) (priority uint8, ok bool) {
	_, answer := r.algorithmFrames(f, &wire.Frame{Kind: wire.Data, Lane: f.Priority})
	return answer.Lane, answer.Kind == wire.CNP
}

// LineRate returns the rate of the link of a flow's sender.
func (r *Site) LineRate(f *Flow) unit.Rate {
	return r.Links[r.Nodes[f.From].Links[0]].Rate
}

// Length returns the length of a flow's packet on the link.
func (r *Site) Length(f *Flow) unit.Size {
	frame := wire.Frame{Kind: wire.Data, Family: r.FamilyOf(f.From), Payload: uint32(f.Packet)}
	f.Transport.frame(&frame)
	return r.Model.Framing.Length(&frame)
}

// SharesWith reports whether two flows can share one traffic.
func (f *Flow) SharesWith(g *Flow) bool {
	a, b := *f, *g
	a.Name, b.Name, a.To, b.To = "", "", "", ""
	return a == b
}
