package lint

import (
	"fmt"
	"reflect"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/param"
)

// ignored warns of values that no switch and no flow uses.
func ignored(s *scenario.Site, p *scenario.Problems) {
	u := uses{site: s, with: map[string]string{}, used: map[string]bool{}, met: map[selection]bool{}}
	for i := range s.Switches {
		w, item := &s.Switches[i], s.Switch(i)
		u.lookParams(item.In("marking"), w.Marking.Scheme)
		if w.Kind != scenario.OutputQueued || w.Stops(s.FlowControlOf(w)) {
			u.lookAll(item, w)
			continue
		}
		stopping := []string{"high", "low", "headroom"}
		u.lookAll(item, w, stopping...)
		for _, name := range stopping {
			u.look(item, name, "lossless", false, "lossless other than []")
		}
	}
	for i := range s.Endpoints {
		ethernet := s.FamilyOf(s.Endpoints[i].Name) == wire.Ethernet
		for _, name := range scenario.AdapterKeys() {
			u.look(s.Endpoint(i), name, "ingress", ethernet, "a link of Ethernet")
		}
	}
	for i := range s.Links {
		u.lookAll(s.Link(i), &s.Links[i])
	}
	for i := range s.Flows {
		f, item := &s.Flows[i], s.Flow(i)
		u.lookParams(item.In("control"), f.Control.Algorithm)
		u.lookParams(item.In("transport"), f.Transport.Kind)
		if i < s.Own {
			u.lookAll(item, f)
		}
		u.look(item, "rate-limit", "rate-limit", f.RateLimit < s.LineRate(f), "a rate below the rate of the sender's link")
		u.look(item, "priority", "priority", s.FamilyOf(f.From) == wire.Ethernet, "a link of Ethernet")
	}
	for i := range s.Workloads {
		u.lookAll(s.Workload(i), &s.Workloads[i])
	}
	for _, path := range u.order {
		if !u.used[path] {
			p.Add(path, "%s", u.with[path])
		}
	}
}

// uses collects the values of a file that may have no effect, by their paths.
type uses struct {
	site  *scenario.Site
	order []string          // as they were entered
	with  map[string]string // the warning
	used  map[string]bool
	met   map[selection]bool
}

// selection is an object with the scheme that it chooses. Many flows share one, and it is looked at
// once.
type selection struct {
	scenario.Item
	chosen string
}

// look enters a value that has an effect only with some values of another field,
// and whether it has. Defaults do not count, unless they come from a --set: files
// with every default filled in are full of them. A value does not count either if
// a --set of the other field takes its effect away: the user asked for that.
func (u *uses) look(of scenario.Item, name, other string, effect bool, with string) {
	from := of.Mention(name)
	if !from.Given() || !from.BySet && (from.Usual || of.Mention(other).BySet) {
		return
	}
	if _, met := u.with[from.Path]; !met {
		u.order = append(u.order, from.Path)
		u.with[from.Path] = fmt.Sprintf("%s has no effect: it is used only with %s", name, with)
	}
	u.used[from.Path] = u.used[from.Path] || effect
}

// lookAll enters the values of an object that count only with others of it, without some keys. The
// pointer points to the struct that was made of the object.
func (u *uses) lookAll(of scenario.Item, pointer any, but ...string) {
	var made any
	fields := of.Fields()
	for i := range fields.Params {
		p := &fields.Params[i]
		with := p.Counts
		if with.Key == "" {
			with = p.With
		}
		if with.Key != "" && !slices.Contains(but, p.Key) && of.Mention(p.Key).Given() {
			if made == nil {
				made = reflect.ValueOf(pointer).Elem().Interface()
			}
			u.look(of, p.Key, with.Key, fields.Holds(with, made), with.String())
		}
	}
}

// lookParams enters the parameters of all choices. Parameters of other choices have no effect.
func (u *uses) lookParams(of scenario.Item, chosen string) {
	once := selection{of, chosen}
	if u.met[once] {
		return
	}
	u.met[once] = true
	by, keys, having := u.site.Choices(of)
	for _, key := range keys {
		if of.Mention(key).Given() {
			with := param.Condition{Key: by, Values: having[key]}
			u.look(of, key, by, slices.Contains(with.Values, chosen), with.String())
		}
	}
}
