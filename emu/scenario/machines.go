package scenario

// machine is what is known about a name.
type machine struct {
	isSwitch bool
	at       place
	path     string
	links    []int   // endpoints and switches: links that end here
	view     view    // switch: its fields
	linkAt   []place // where each of the links is given
}

// declare enters the name of a machine.
func (r *resolver) declare(name string, m *machine) bool {
	if first := r.machines[name]; first != nil {
		r.add(m.at, m.path, "the name %q is used twice: %s has it already%s", name, first.kind(), first.where())
		return false
	}
	r.machines[name] = m
	return true
}

func (m *machine) kind() string {
	if m.isSwitch {
		return "a switch"
	}
	return "an endpoint"
}

// where tells the line of a machine, for messages.
func (m *machine) where() string { return inLine(m.at) }

func (r *resolver) resolveSwitches(sh *shape, defaults *node) {
	n := r.root.get("switches")
	if n == nil {
		return
	}
	item := sh.field("switches").shape.item
	r.partial = r.partial || n.bad
	for _, e := range n.entries {
		if checkName(e.key.text) != nil {
			r.partial = true
			continue
		}
		v := view{shape: item, chain: []*node{e.value, defaults}}
		if !r.declare(e.key.text, &machine{isSwitch: true, at: e.key.at, path: e.value.path, view: v}) {
			continue
		}
		r.s.Switches = append(r.s.Switches, newSwitch(e.key.text, v))
	}
}

func (r *resolver) resolveEndpoints() {
	if n := r.root.get("endpoints"); n == nil || n.bad {
		r.partial = true
	}
	for _, n := range r.items("endpoints") {
		p, ok := n.value.(pattern)
		if !ok {
			r.partial = true
			continue
		}
		for _, name := range p.names() {
			if !r.declare(name, &machine{at: n.at, path: n.path}) {
				r.partial = r.partial || p.ranged
				break // the rest of a range is likely to be there too
			}
			r.s.Endpoints = append(r.s.Endpoints, name)
		}
	}
}

// known reports the first name of a pattern that is not one of a kind of
// machines.
func (r *resolver) known(n *node, at place, p pattern, all func() []string, what string) bool {
	missing, first := 0, ""
	for _, name := range p.names() {
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
	case r.partial: // what is missing may be what was refused
	case missing == 1 && !p.ranged:
		r.add(at, n.path, "there is no %s named %q%s", what, first, didYouMean(nearest(first, all())))
	case missing == p.size():
		r.add(at, n.path, "there is no %s named %q, nor any other of %s%s", what, first, p.text, didYouMean(nearest(first, all())))
	case missing == 1:
		r.add(at, n.path, "there is no %s named %q, one of %s", what, first, p.text)
	default:
		r.add(at, n.path, "there is no %s named %q, nor %d more of %s", what, first, missing-1, p.text)
	}
	return false
}

func (r *resolver) allMachines() []string {
	var names []string
	for _, s := range r.s.Switches {
		names = append(names, s.Name)
	}
	return append(names, r.s.Endpoints...)
}

func (r *resolver) allEndpoints() []string { return r.s.Endpoints }
