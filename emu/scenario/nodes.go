package scenario

import (
	"fabemu/wire"
)

func (s *Scenario) switchNames() []string {
	return namesOf(s.Switches, func(w *Switch) string { return w.Name })
}

// EndpointOf returns the endpoint of a name, or nil.
func (r *Site) EndpointOf(name string) *Endpoint {
	if m := r.Nodes[name]; m != nil && !m.IsSwitch {
		return &r.Endpoints[m.Index]
	}
	return nil
}

// FamilyOf returns the family of the links of a node.
func (r *Site) FamilyOf(name string) wire.Family {
	return r.Links[r.Nodes[name].Links[0]].Family()
}

// IsSwitch reports whether s has a switch of that name.
func (s *Scenario) IsSwitch(name string) bool {
	_, ok := rowOf(s.Switches, func(w *Switch) bool { return w.Name == name })
	return ok
}
