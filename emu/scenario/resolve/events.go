package resolve

import (
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
)

// resolveEvents enters the events.
func (r *resolver) resolveEvents() {
	known := r.linked() && r.timed()
	var found scenario.Problems
	for _, section := range strings.Fields(eventSections) {
		for n, v := range r.items(section) {
			r.enter(n, v, known, &found)
		}
	}
	r.report(found.List)
}

// enter checks an event and enters it. Known is true if there is no mistake in the fabric and in
// the duration of the run: without it only what the event itself has is checked.
func (r *resolver) enter(n *yaml.Node, v yaml.View, known bool, found *scenario.Problems) {
	v.Of = r.Tables.Section("events") // an item of faults also has a name
	e := yaml.Build[scenario.Event](v)
	late := r.leaves(n, e.At, e.Link+e.Endpoint+e.Switch, "the event is at %v, but %s")
	row, ok := r.checkChange(n)
	if !ok || late {
		return
	}
	of := r.Tables.ParamsOfAct(row.Key)
	before := len(r.Mistakes)
	if r.checkValues(v, of); len(r.Mistakes) > before || !known {
		return
	}
	e.Act = params(v, of, nil).(scenario.Act)
	r.events.Enter(scenario.NewItem(v.Of, n.Path, given(n), nil), e, found)
}

// checkChange returns the row of what an event does, and whether that is one change of one object,
// with the further keys of that change.
func (r *resolver) checkChange(n *yaml.Node) (of scenario.Row, ok bool) {
	var all []string
	var act scenario.Act
	for _, a := range r.Tables.Acts() {
		if row := a.Row(); n.Get(row.Key) != nil {
			all, of, act = append(all, row.Key), row, a
		}
	}
	others := slices.ContainsFunc(r.Tables.Targets(), func(on scenario.Target) bool { return on != of.On && n.Get(string(on)) != nil })
	before := len(r.Mistakes)
	switch {
	case len(all) == 0:
		r.Add(n.Spot,
			"this event changes nothing: give one of %s", r.Tables.Possible())
	case len(all) > 1:
		r.Add(n.Spot, "%s are given: an event changes one thing; for two changes give two events at the same time",
			strings.Join(all, " and "))
	case n.Get(string(of.On)) == nil || others:
		article := "a"
		if of.On == scenario.OnEndpoint {
			article = "an"
		}
		r.Add(n.Spot, "%s changes %s %s: name that, and nothing else", of.Key, article, of.On)
	default:
		for _, e := range n.Entries {
			if having := r.Tables.ActsWith(e.Key); having != nil && !slices.Contains(having, of.Key) {
				r.Add(e.Value.Spot, "%s is a detail of %s, not of %s%s", e.Key, spelling.Several(having), of.Key, scenario.Instead(act, e.Key, e.Value.Text))
			}
		}
	}
	return of, len(r.Mistakes) == before
}
