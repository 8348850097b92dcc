package scenario

func (r *resolver) resolveRoutes() {
	seen := map[[2]string]place{}
	wrong := false
	for _, n := range r.items("routes") {
		v := r.itemView("routes", n)
		at, to, over := n.get("at"), n.get("to"), n.get("over")
		if n.bad || at == nil || to == nil || over == nil || at.bad || to.bad || over.bad {
			wrong = true
			continue
		}
		route := build[Route](v)
		ok := r.knownLink(over, route.Over)
		p := to.value.(pattern)
		ok = r.known(to, to.at, p, r.allEndpoints, "endpoint") && ok
		m := r.machines[route.At]
		if m == nil || !m.isSwitch {
			if !r.partial {
				var names []string
				for _, s := range r.s.Switches {
					names = append(names, s.Name)
				}
				r.add(at.at, at.path, "there is no switch named %q%s", route.At, listNames(route.At, names))
			}
			ok = false
		}
		if ok && !r.broken && !r.ends(m, route.Over) {
			r.add(over.at, over.path, "link %s does not end at %s", route.Over, route.At)
			ok = false
		}
		if !ok {
			wrong = true
			continue
		}
		for _, name := range p.names() {
			key := [2]string{route.At, name}
			if first, twice := seen[key]; twice {
				r.add(to.at, to.path, "%s has a route to %s already%s", route.At, name, inLine(first))
				break
			}
			seen[key] = to.at
			route.To = name
			r.s.Routes = append(r.s.Routes, route)
		}
	}
	r.broken = r.broken || wrong
}

// ends says whether a link ends at a machine.
func (r *resolver) ends(m *machine, link string) bool {
	for _, i := range m.links {
		if r.s.Links[i].Name == link {
			return true
		}
	}
	return false
}
