package lint

import (
	"fmt"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/sets"
)

// madeFor warns of parameters of algorithms and markings whose set was made for another link rate
// or round trip.
func madeFor(s *scenario.Site, p *scenario.Problems) {
	var place *sets.Place
	seen := map[any]bool{}
	check := func(object, name, scheme string, params any, of scenario.Item, by string) {
		id := sets.Key(object, scheme, params)
		if params == nil || seen[id] {
			return
		}
		if seen[id] = true; !sets.In(params) {
			return
		}
		if place == nil {
			there, _ := sets.Of(s.Scenario)
			place = &there
		}
		var values []string
		var first sets.Row
		for _, r := range sets.Doubts(place.Of(object, scheme, params)) {
			if of.Mention(r.Key).Given() {
				continue
			}
			if values == nil {
				first = r
			}
			values = append(values, fmt.Sprintf("%s %s, %s", r.Key, r.Value, r.Doubt))
		}
		if values != nil {
			p.Add(of.Where("preset", by), "%s %s: the set %s of %s may not suit links of %v: %s; %s",
				object, name, first.Set, scheme, place, strings.Join(values, "; "), place.Remedy(params))
		}
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		check("flow", f.Name, f.Control.Algorithm, f.Control.Params, s.Flow(i).In("control"), "algorithm")
	}
	for i := range s.Switches {
		w := &s.Switches[i]
		check("switch", w.Name, w.Marking.Scheme, w.Marking.Params, s.Switch(i).In("marking"), "scheme")
	}
}
