package scenario

import (
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire"
)

// buildNodes builds the switches and the endpoints.
func (r *resolver) buildNodes() {
	for _, m := range r.switches {
		r.s.Switches = append(r.s.Switches, newSwitch(m.name, m.view, r.tables))
	}
	for n, v := range r.items("endpoints") {
		e := yaml.Build[Endpoint](v)
		e.Guest = guestOf(v)
		for name := range n.Get("name").Value.(pattern.Names).All() {
			e.Name = name
			r.s.Endpoints = append(r.s.Endpoints, e)
			e.Guest.Address, e.Guest.IPv6 = e.Guest.Address.next(), e.Guest.IPv6.next()
		}
	}
}

// checkEnds reports endpoints that have not exactly one link, and switches that have none.
func (r *resolver) checkEnds() {
	for e, m := range each(r.s.Endpoints, r.endpoints) {
		switch {
		case len(m.links) == 0:
			r.Add(m.Spot, "endpoint %s has no link: it needs one", e.Name)
		case len(m.links) > 1:
			r.Add(m.linkAt[1].Of(r.links[m.links[1]].Path),
				"endpoint %s has a second link; its first is given%s, and an endpoint has one", e.Name, yaml.InLine(m.linkAt[0]))
		}
	}
	for s, m := range each(r.s.Switches, r.switches) {
		if len(m.links) == 0 {
			r.Add(m.Spot, "switch %s has no link", s.Name)
		}
	}
}

// checkNodes reports nodes that do not fit their links, and gives guests their addresses.
func (r *resolver) checkNodes() {
	r.checkFamilies()
	r.adaptEndpoints()
	r.addressGuests()
}

// checkForwarding reports a switch that would forward before it has read a header.
func (r *resolver) checkForwarding() {
	for s, m := range each(r.s.Switches, r.switches) {
		if s.Forwarding == StoreAndForward {
			continue
		}
		for _, i := range m.links {
			l := r.s.Links[i]
			if header := l.Rate.Serialise(wire.HeaderSize); s.ForwardingDelay < header {
				r.Add(m.view.Spot("forwarding-delay", m.Spot),
					"switch %s would forward after %v, but the %d bytes of a header take %v on link %s (%v)",
					s.Name, s.ForwardingDelay, wire.HeaderSize, header, l.Name, l.Rate)
				break
			}
		}
	}
}
