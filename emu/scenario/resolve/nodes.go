package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
)

// buildNodes builds the switches and the endpoints.
func (r *fabric) buildNodes() {
	for _, m := range r.switches {
		r.Switches = append(r.Switches, switchOf(m.Name, m.View, r.language))
		r.SwitchNodes = append(r.SwitchNodes, r.enter(m))
	}
	for _, m := range r.endpoints {
		r.EndpointNodes = append(r.EndpointNodes, r.enter(m))
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
				r.Endpoints = append(r.Endpoints, e)
			}
			e.Guest.Address, e.Guest.IPv6 = e.Guest.Address.Next(), e.Guest.IPv6.Next()
		}
	}
}

// enter enters a node into the scenario.
func (r *fabric) enter(m *node) *scenario.NodeRef {
	ref := &scenario.NodeRef{Item: m.item, Name: m.Name, IsSwitch: m.IsSwitch, Index: m.Index}
	r.Nodes[m.Name] = ref
	return ref
}

// checkEnds reports endpoints that have not exactly one link, and switches that have none.
func (r *fabric) checkEnds() {
	for e, m := range each(r.Endpoints, r.EndpointNodes) {
		switch {
		case len(m.Links) == 0:
			r.Add(r.nodes[e.Name].Spot, "endpoint %s has no link: it needs one", e.Name)
		case len(m.Links) > 1:
			r.Add(r.joined(m.Links[1]).Of(r.origins[m.Links[1]].Path),
				"endpoint %s has a second link; its first is given%s, and an endpoint has one", e.Name, place.InLine(r.joined(m.Links[0])))
		}
	}
	for s, m := range each(r.Switches, r.SwitchNodes) {
		if len(m.Links) == 0 {
			r.Add(r.nodes[s.Name].Spot, "switch %s has no link", s.Name)
		}
	}
}
