package resolve

import (
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
)

// events are the events of a scenario, with what completes them.
type events struct {
	scenario.Entering
	left []string // those after the end of the run
}

// enterEvents enters the events and the faults of a fabric.
func enterEvents(of *fabric, run span) *events {
	all, known := &events{Entering: scenario.NewEntering(of.Site)}, of.linked() && run.timed()
	var found scenario.Problems
	for section := range strings.FieldsSeq(eventSections) {
		for n, v := range of.items(section, new(bool)) {
			v.Of = of.language.Section("events") // an item of faults also has a name
			e := yaml.Build[scenario.Event](v)
			late := run.leaves(&all.left, n, e.At, e.Link+e.Endpoint+e.Switch, "the event is at %v, but %s")
			if act := actOf(of.source, n, v); act != nil && !late && known {
				e.Act = act
				all.Enter(scenario.NewItem(v.Of, n.Path, given(n), nil), e, &found)
			}
		}
	}
	report(of.source, of.names, found.List)
	return all
}

// actOf returns what an event does; nil if that is wrong.
func actOf(r *source, n *yaml.Node, v yaml.View) scenario.Act {
	row, ok := checkChange(r, n)
	if !ok {
		return nil
	}
	of := r.language.ParamsOfAct(row.Key)
	before := len(r.Mistakes)
	if checkValues(r.File, v, of); len(r.Mistakes) > before {
		return nil
	}
	return params(v, of, nil).(scenario.Act)
}

// checkChange returns the row of what an event does, and whether that is one change of one object,
// with the further keys of that change.
func checkChange(r *source, n *yaml.Node) (of scenario.Row, ok bool) {
	var all []string
	var act scenario.Act
	for _, a := range r.language.Acts() {
		if row := a.Row(); n.Get(row.Key) != nil {
			all, of, act = append(all, row.Key), row, a
		}
	}
	others := slices.ContainsFunc(r.language.Targets(), func(on scenario.Target) bool { return on != of.On && n.Get(string(on)) != nil })
	before := len(r.Mistakes)
	switch {
	case len(all) == 0:
		r.Add(n.Spot,
			"this event changes nothing: give one of %s", r.language.Possible())
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
			if having := r.language.ActsWith(e.Key); having != nil && !slices.Contains(having, of.Key) {
				r.Add(e.Value.Spot, "%s is a detail of %s, not of %s%s", e.Key, spelling.Several(having), of.Key, scenario.Instead(act, e.Key, e.Value.Text))
			}
		}
	}
	return of, len(r.Mistakes) == before
}
