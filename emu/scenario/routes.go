package scenario

import "slices"

func (r *resolver) resolveRoutes() {
	seen, wrong := map[[2]*machine]place{}, false
	if routes := r.root.get("routes"); routes != nil {
		seen = make(map[[2]*machine]place, len(routes.items))
		r.s.Routes = slices.Grow(r.s.Routes, len(routes.items))
	}
	for n, v := range r.items("routes") {
		at, to, over := n.sound("at"), n.sound("to"), n.sound("over")
		if n.bad || at == nil || to == nil || over == nil {
			wrong = true
			continue
		}
		route := build[Route](v)
		ok := r.knownLink(over, route.Over)
		p := to.value.(pattern)
		ok = r.known(to, whole, p, (*resolver).allEndpoints, "endpoint") && ok
		ok = r.knownSwitch(at, route.At) && ok
		if ok && !r.broken && !r.ends(r.machines[route.At], route.Over) {
			r.add(over.spot, "link %s does not end at %s", route.Over, route.At)
			ok = false
		}
		if !ok {
			wrong = true
			continue
		}
		for name := range p.all() {
			key := [2]*machine{r.machines[route.At], r.machines[name]}
			if first, twice := seen[key]; twice {
				r.add(to.spot, "%s has a route to %s already%s", route.At, name, inLine(first))
				break
			}
			seen[key] = to.at
			route.To = name
			r.s.Routes = append(r.s.Routes, route)
		}
	}
	r.misled = wrong
}

// ends says whether a link ends at a machine.
func (r *resolver) ends(m *machine, link string) bool {
	return slices.ContainsFunc(m.links, func(i int) bool { return r.s.Links[i].Name == link })
}
