package scenario

import "fabemu/wire"

// machine is a switch or an endpoint of the file.
type machine struct {
	spot
	isSwitch bool
	index    int     // in s.Switches or s.Endpoints
	links    []int   // links that end here
	linkAt   []place // of each of them
	view     view    // its fields
}

// declare enters the name of a machine.
func (r *resolver) declare(name string, m *machine) bool {
	first := r.machines[name]
	if first == nil {
		r.machines[name] = m
		return true
	}
	kind := "an endpoint"
	if first.isSwitch {
		kind = "a switch"
	}
	r.add(m.spot, "the name %q is used twice: %s has it already%s", name, kind, inLine(first.at))
	return false
}

func (r *resolver) resolveSwitches() {
	n := r.root.get("switches")
	if n == nil {
		return
	}
	r.partial = r.partial || n.bad
	for _, e := range n.entries {
		p, err := parsePattern(e.key)
		if err != nil {
			r.partial = true
			continue
		}
		v := r.itemView("switches", e.value)
		for name := range p.all() {
			m := &machine{spot: spot{e.at, e.value.path}, isSwitch: true, index: len(r.s.Switches), view: v}
			if !r.declare(name, m) {
				r.partial = r.partial || p.ranged
				break // the other names of a range are likely to exist too
			}
			r.switches = append(r.switches, m)
			r.s.Switches = append(r.s.Switches, newSwitch(name, v, r.tables))
		}
	}
}

func (r *resolver) resolveEndpoints() {
	if n := r.root.get("endpoints"); n == nil || n.bad {
		r.partial = true
	}
	for n, v := range r.items("endpoints") {
		name := n.sound("name")
		if n.bad || name == nil {
			r.partial = true
			continue
		}
		p, e := name.value.(pattern), build[Endpoint](v)
		e.Guest = guestOf(v)
		for each := range p.all() {
			m := &machine{spot: spot{name.at, n.path}, index: len(r.s.Endpoints), view: v}
			if !r.declare(each, m) {
				r.partial = r.partial || p.ranged
				break // the other names of a range are likely to exist too
			}
			r.endpoints = append(r.endpoints, m)
			e.Name = each
			r.s.Endpoints = append(r.s.Endpoints, e)
			e.Guest.Address, e.Guest.IPv6 = e.Guest.Address.next(), e.Guest.IPv6.next()
		}
	}
}

// known refuses a pattern with names that are not machines, and reports whether all names are. The pattern
// stands at an offset of the text of n, or is the whole text.
func (r *resolver) known(n *node, offset int, p pattern, all func(*resolver) []string, kind string) bool {
	missing, first := 0, ""
	for name := range p.all() {
		if r.machines[name] == nil {
			if missing == 0 {
				first = name
			}
			missing++
		}
	}
	switch {
	case missing == 0:
		return true
	case r.partial || !r.firstMissing(first): // a missing machine may be a refused one
		return false
	}
	at := n.spot
	if offset != whole {
		at = r.inside(n, offset)
	}
	switch {
	case missing == 1 && !p.ranged:
		r.add(at, "there is no %s named %q%s", kind, first, listNames(first, all(r)))
	case missing == p.size():
		r.add(at, "there is no %s named %q, nor any other of %s%s",
			kind, first, p.text, listNames(first, all(r)))
	case missing == 1:
		r.add(at, "there is no %s named %q, one of %s", kind, first, p.text)
	default:
		r.add(at, "there is no %s named %q, nor %d more of %s", kind, first, missing-1, p.text)
	}
	return false
}

// firstMissing reports whether a name is missing for the first time.
func (r *resolver) firstMissing(name string) bool { return r.first(r.root, "name "+name) }

// whole is the offset of a pattern that is the whole text of a node.
const whole = -1

func (r *resolver) allMachines() []string { return append(r.s.switchNames(), r.s.endpointNames()...) }

func (r *resolver) allEndpoints() []string { return r.s.endpointNames() }

func (s *Scenario) endpointNames() []string {
	return namesOf(s.Endpoints, func(e *Endpoint) string { return e.Name })
}

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

// endpoint returns the endpoint of a name, or nil.
func (r *resolver) endpoint(name string) *Endpoint {
	if m := r.machines[name]; m != nil && !m.isSwitch {
		return &r.s.Endpoints[m.index]
	}
	return nil
}

// knownSwitch refuses a switch that does not exist, unless it may have been refused before.
func (r *resolver) knownSwitch(n *node, name string) bool {
	if m := r.machines[name]; m != nil && m.isSwitch {
		return true
	}
	if !r.partial && r.firstMissing(name) {
		r.add(n.spot, "there is no switch named %q%s", name, listNames(name, r.s.switchNames()))
	}
	return false
}

// family returns the family of the links of a machine.
func (r *resolver) family(name string) wire.Family {
	for _, i := range r.machines[name].links {
		return r.s.Links[i].Family()
	}
	return wire.InfiniBand
}
