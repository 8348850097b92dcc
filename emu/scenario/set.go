package scenario

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/wire/param"
)

// Set is a change of one field of a scenario: --set PATH=VALUE.
type Set struct {
	Path  string // as in the file: "defaults.link.buffer"; in lists by name: "links.trunk.rate"
	Value string // as in the file: "8 packets"; empty: the section is taken out, as if the file did not have it
	As    string // as the user has written it, for messages: "--dilation 50"; empty: as --set
}

// String prints s as ParseSet reads it.
func (s Set) String() string { return s.Path + "=" + s.Value }

// source returns s as the user has written it.
func (s Set) source() string {
	if s.As != "" {
		return s.As
	}
	return "--set " + s.String()
}

// ParseSet reads PATH=VALUE. Load checks whether the path exists and the value is right.
func ParseSet(text string) (Set, error) {
	path, value, found := strings.Cut(text, "=")
	s := Set{Path: strings.TrimSpace(path), Value: strings.TrimSpace(value)}
	empty := func(part string) bool { return strings.TrimSpace(part) == "" }
	wrong := ""
	switch {
	case !found:
		wrong = "write PATH=VALUE, such as defaults.link.buffer=8packets"
	case s.Path == "":
		wrong = "a path is missing before \"=\", such as defaults.link.buffer=8packets"
	case s.Value == "":
		wrong = "a value is missing after \"=\", such as defaults.link.buffer=8packets"
	case slices.ContainsFunc(strings.Split(s.Path, "."), empty):
		wrong = "the path has an empty part"
	default:
		return s, nil
	}
	return Set{}, fmt.Errorf("--set %s: %s", text, wrong)
}

// apply puts the value of a --set into the tree of a file. The value is checked when the tree is
// read.
func (r *reports) apply(s Set) {
	if s.Value == "" {
		r.root.clear(s.Path)
		return
	}
	at := spot{place{set: &s}, s.Path}
	n, p, rest, done := r.root, r.grammar.whole(), s.Path, ""
	for {
		name, next, inObject := "", (*node)(nil), p.Kind == param.Object
		if inObject {
			var f *param.Param
			if f, name, rest = r.fieldOf(n, p, rest); f == nil {
				near, list := r.unknown(n, p.Object, name)
				r.add(at, "%s has no field %q%s: it has %s", cmp.Or(done, "a scenario"), name, spelling.DidYouMean(near), list)
				return
			}
			done = param.Path(done, name)
			if f.Kind.Single() && rest == "" {
				if strings.Contains(s.Value, ",") && f.Kind != param.Text && !f.Listed() {
					r.add(at, "--set takes one value here, not a list with commas")
					return
				}
				n.put(name, &node{kind: scalar, spot: at, text: s.Value})
				return
			}
			next, p = n.get(name), f
		} else {
			if p.Named == "" && p.Kind == param.List {
				r.add(at, "the items of %s have no names, so that --set cannot address them", done)
				return
			}
			path := rest
			if next, name, rest = find(p, n, path); next == nil {
				first, _, _ := strings.Cut(path, ".")
				if all := known(p, n); len(all) == 0 {
					r.add(at, "%s has no item %q: it is empty", done, first)
				} else {
					r.add(at, "%s has no item %q%s: it has %s", done, first,
						spelling.DidYouMean(spelling.Nearest(first, all)), spelling.Several(spelling.ByNearness(first, all)))
				}
				return
			}
			done, p = param.Path(done, name), p.Item
		}
		switch {
		case rest == "":
			r.refuseWhole(spot{at.at, done}, next, p)
			return
		case p.Kind.Single():
			r.add(at, "%s is a single value and has no field %q", done, rest)
			return
		case next != nil:
			next.expand(p.Short)
		}
		if inObject && (next == nil || next.kind != mapping && p.Kind != param.List) {
			kind := mapping
			if p.Kind == param.List {
				kind = list
			}
			next = &node{kind: kind, spot: spot{at.at, done}}
			n.put(name, next)
		}
		n = next
	}
}

// fieldOf returns the field of an object that a path begins with, nil if it has none, its key, and
// the rest of the path. A path that ends at an object which one value may stand for leads to that
// value.
func (r *reports) fieldOf(n *node, p *param.Param, path string) (f *param.Param, key, rest string) {
	r.unfold(n, p.Object)
	key, rest, _ = strings.Cut(path, ".")
	key = p.Object.Current(key)
	f = p.Object.Find(key)
	if f != nil && rest != "" {
		if field, _ := part(f, rest); field != "" {
			return p.Object.Find(field), field, ""
		}
	}
	if f != nil && rest == "" && f.Kind == param.Object {
		rest = f.Short // routing is routing.paths
	}
	return f, key, rest
}

// refuseWhole refuses a --set that names more than one field.
func (r *reports) refuseWhole(at spot, n *node, p *param.Param) {
	known := known(p, n)
	switch {
	case p.Kind == param.Object:
		r.add(at, "%s is not a single value: set one of its fields %s", at.path, keys(p.Object, ""))
	case p.Named != "" && len(known) > 0:
		r.add(at, "%s is a list: set a field of one of its items %s", at.path, spelling.Several(known))
	default:
		r.add(at, "%s is a list, and --set takes single values", at.path)
	}
}

// find returns the item of a list or map that a path begins with, its name, and
// the rest of the path. Names may have dots (the flows of a resolved scenario
// do); find takes the longest that fits.
func find(p *param.Param, n *node, path string) (item *node, name, rest string) {
	for v, names := range namedItems(p, n) {
		for _, c := range names {
			if len(c) > len(name) && strings.HasPrefix(path+".", c+".") {
				item, name, rest = v, c, strings.TrimPrefix(path[len(c):], ".")
			}
		}
	}
	if item != nil && p.Kind == param.List {
		item.expand(p.Short) // so that it can hold more fields
	}
	return item, name, rest
}

// namedItems returns the items of a list or map, each with the names by which it is addressed.
func namedItems(p *param.Param, n *node) iter.Seq2[*node, []string] {
	return func(yield func(*node, []string) bool) {
		for _, e := range n.entries {
			if !yield(e.value, []string{e.key}) {
				return
			}
		}
		for _, v := range n.items {
			var names []string
			for _, key := range []string{p.Named, p.Short} {
				if k := v.get(key); key != "" && k != nil && k.kind == scalar && k.text != "" {
					names = append(names, k.text)
				}
			}
			if v.kind == scalar && p.Short != "" {
				names = []string{v.text}
			}
			if !yield(v, names) {
				return
			}
		}
	}
}

// known returns the first name of each item of a list or map.
func known(p *param.Param, n *node) (all []string) {
	if n == nil {
		return nil
	}
	for _, names := range namedItems(p, n) {
		all = append(all, names[:min(1, len(names))]...)
	}
	return all
}
