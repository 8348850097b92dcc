package scenario

import (
	"fabemu/wire"
)

func (s *Scenario) switchNames() []string {
	return namesOf(s.Switches, func(w *Switch) string { return w.Name })
}

func namesOf[T any](all []T, name func(*T) string) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = name(&all[i])
	}
	return names
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
