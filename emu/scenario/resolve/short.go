package resolve

import (
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
)

// Short has Load return the short run of a scenario: the values under short replace
// values in the rest of the file. Its name is the name of the scenario with
// "-short" behind. A scenario without such a section is then a mistake.
func Short() Option {
	return func(o *options) { o.short = true }
}

// shorten changes the tree of a scenario to its short run.
func shorten(r *yaml.File, root *yaml.Node, language *param.Struct) {
	short := root.Get("short")
	if short == nil {
		r.Add(root.Field("short"), "this scenario has no short run: it has no section short with a duration")
		return
	}
	if name := root.Get("name"); name != nil && name.Kind == yaml.Scalar {
		name.Text += "-short"
	}
	for _, to := range [][2]string{{"model", "duration"}, {"wall", "dilation"}, {"measure", "window"}} {
		v, section := short.Get(to[1]), root.Get(to[0])
		if v == nil && section != nil && to[1] != "duration" && r.Lacks(short.Path, to[1]) {
			section.Remove(to[1]) // it may be wrong for the short run
		}
		if v == nil {
			continue
		}
		if section == nil {
			section = &yaml.Node{Kind: yaml.Mapping, Spot: v.At.Of(to[0])}
			root.Put(to[0], section)
		}
		section.Put(to[1], v)
	}
	if events := short.Get("events"); events != nil {
		root.Put("events", events)
	} else if r.Lacks(short.Path, "events") {
		root.Remove("events")
	}
	if expect := short.Get("expect"); expect == nil && r.Lacks(short.Path, "expect") {
		root.Remove("expect")
	} else if expect != nil && (root.Get("expect") != nil || !unknown(root, language)) {
		shortenChecks(r, root.Get("expect"), expect, language.Find("expect").Item.Object.Find("id"))
	}
}

// unknown reports whether an object has a key that it cannot have.
func unknown(n *yaml.Node, of *param.Struct) bool {
	return slices.ContainsFunc(n.Entries, func(e yaml.Entry) bool { return of.Find(e.Key) == nil })
}

// shortenChecks gives checks the values of the short run. If it is open which check is meant, those
// that it does not change are left out: their spans may be wrong for it.
func shortenChecks(r *yaml.File, checks, short *yaml.Node, id *param.Param) {
	byID, ids, open := map[string]*yaml.Node{}, []string{}, false
	if checks != nil {
		for _, c := range checks.Items {
			n := c.Get("id")
			if n == nil {
				open = true
				continue
			}
			if _, err := id.Read(n.Text); err != nil {
				open = true
			}
			byID[n.Text] = c
			ids = append(ids, n.Text)
		}
	}
	known := !open
	changed := map[*yaml.Node]bool{}
	for _, s := range short.Items {
		id := s.Get("id")
		if id == nil || r.WrongIn(s.Path) { // the reader has reported it
			open = true
			continue
		}
		c := byID[id.Text]
		if c == nil {
			if open = true; known {
				r.Add(id.Spot, "there is no check with the id %q%s", id.Text, pattern.Nearest(id.Text, ids))
			}
			continue
		}
		changed[c] = true
		for _, e := range s.Entries {
			c.Put(e.Key, e.Value)
		}
		if expected := s.Get("expected"); expected != nil && expected.Text == string(scenario.Holds) {
			c.Remove("reason")
		}
	}
	if open && checks != nil {
		checks.Items = slices.DeleteFunc(checks.Items, func(n *yaml.Node) bool { return !changed[n] })
	}
}
