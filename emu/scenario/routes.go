package scenario

import (
	"fabemu/emu/topo/paths"
)

func (r *resolver) resolveRoutes(sh *shape) {
	item := sh.field("routes").shape.item
	seen := map[[2]string]place{}
	wrong := false
	for _, n := range r.items("routes") {
		v := view{shape: item, chain: []*node{n}}
		at, to, over := n.get("at"), n.get("to"), n.get("over")
		if n.bad || at == nil || to == nil || over == nil || at.bad || to.bad || over.bad {
			wrong = true
			continue
		}
		route := Route{At: get[string](v, "at"), Over: get[string](v, "over")}
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
				r.add(at.at, at.path, "there is no switch named %q%s", route.At, thereAre(route.At, names))
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

// Graph returns the fabric of a scenario as a graph, with the machines in their
// order (switches, then endpoints), the links in theirs, and the routes of the
// scenario; and the index of each machine.
func Graph(s *Scenario) (*paths.Graph, map[string]int) {
	names := make([]string, 0, len(s.Switches)+len(s.Endpoints))
	for i := range s.Switches {
		names = append(names, s.Switches[i].Name)
	}
	for i := range s.Endpoints {
		names = append(names, s.Endpoints[i].Name)
	}
	index := make(map[string]int, len(names))
	for i, name := range names {
		index[name] = i
	}
	links := make([][2]int, len(s.Links))
	for i, l := range s.Links {
		links[i] = [2]int{index[l.A], index[l.B]}
	}
	g := paths.New(names, len(s.Switches), links)
	if len(s.Routes) == 0 {
		return g, index
	}
	byName := make(map[string]int, len(s.Links))
	for i := range s.Links {
		byName[s.Links[i].Name] = i
	}
	for _, route := range s.Routes {
		link, known := byName[route.Over]
		at, dst := index[route.At], index[route.To]
		if !known || links[link][0] != at && links[link][1] != at {
			continue // of a scenario that is built in Go and not right: Resolved refuses it
		}
		g.Fix(at, dst, paths.Step{Link: link, To: links[link][0] + links[link][1] - at})
	}
	return g, index
}
