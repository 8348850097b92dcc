package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
)

// buildNodes builds the switches and the endpoints.
func (r *resolver) buildNodes() {
	for _, m := range r.switchNodes {
		r.s.Switches = append(r.s.Switches, switchOf(m.Name, m.View, r.Tables))
	}
	for n, v := range r.all("endpoints") {
		e := yaml.Build[scenario.Endpoint](v)
		e.Guest = guestOf(v)
		names, ok := namesIn(n.Get("name"))
		if !ok {
			continue
		}
		for name := range names.All() {
			if r.nodes[name].View.Chain[0] == n { // else another has the name
				e.Name = name
				r.s.Endpoints = append(r.s.Endpoints, e)
			}
			e.Guest.Address, e.Guest.IPv6 = e.Guest.Address.Next(), e.Guest.IPv6.Next()
		}
	}
}

// checkEnds reports endpoints that have not exactly one link, and switches that have none.
func (r *resolver) checkEnds() {
	if r.fabricLost {
		return
	}
	for e, m := range each(r.s.Endpoints, r.endpointNodes) {
		switch {
		case len(m.Links) == 0:
			r.Add(m.Spot, "endpoint %s has no link: it needs one", e.Name)
		case len(m.Links) > 1:
			r.Add(m.LinkAt[1].Of(r.linkOrigins[m.Links[1]].Path),
				"endpoint %s has a second link; its first is given%s, and an endpoint has one", e.Name, place.InLine(m.LinkAt[0]))
		}
	}
	for s, m := range each(r.s.Switches, r.switchNodes) {
		if len(m.Links) == 0 {
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
