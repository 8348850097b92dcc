package scenario

import (
	"cmp"
	"fmt"
	"strings"

	"fabemu/emu/spelling"
	"fabemu/wire/param"
)

// Set is a change of one field of a scenario: --set PATH=VALUE.
type Set struct {
	Path  string // as in the file: "defaults.link.buffer"; in lists by name: "links.trunk.rate"
	Value string // as in the file: "8 packets"
	As    string // as the user has written it, for messages: "--dilation 50"; empty: as --set
}

// String prints s as ParseSet reads it.
func (s Set) String() string { return s.Path + "=" + s.Value }

// said returns s as the user has written it.
func (s Set) said() string {
	if s.As != "" {
		return s.As
	}
	return "--set " + s.String()
}

// ParseSet reads PATH=VALUE. Whether the path exists and the value is right is
// for Load to say, which knows the file.
func ParseSet(text string) (Set, error) {
	path, value, found := strings.Cut(text, "=")
	s := Set{Path: strings.TrimSpace(path), Value: strings.TrimSpace(value)}
	switch {
	case !found:
		return Set{}, fmt.Errorf("--set %s: write PATH=VALUE, such as defaults.link.buffer=8packets", text)
	case s.Path == "":
		return Set{}, fmt.Errorf("--set %s: a path is missing before \"=\", such as defaults.link.buffer=8packets", text)
	case s.Value == "":
		return Set{}, fmt.Errorf("--set %s: a value is missing after \"=\", such as defaults.link.buffer=8packets", text)
	}
	for part := range strings.SplitSeq(s.Path, ".") {
		if strings.TrimSpace(part) == "" {
			return Set{}, fmt.Errorf("--set %s: the path has an empty part", text)
		}
	}
	return s, nil
}

// apply changes the tree of a file as a --set says. Whether the value is right
// is found when the tree is read.
func (r *reports) apply(root *node, top *param.Param, s Set) {
	at := spot{place{set: &s}, s.Path}
	n, p, rest, done := root, top, s.Path, ""
	for {
		name, next, inObject := "", (*node)(nil), p.Kind == param.Object
		if inObject {
			var f *param.Param
			if f, name, rest = r.fieldOf(n, p, rest); f == nil {
				r.add(at, "%s has no field %q%s: it has %s",
					cmp.Or(done, "a scenario"), name, spelling.DidYouMean(suggest(p.Object, name)), keys(p.Object, name))
				return
			}
			done = param.Path(done, name)
			if f.Kind.Single() && rest == "" {
				if strings.Contains(s.Value, ",") && f.Kind != param.Text && !f.Listed() {
					r.add(at, "a comma: --set takes one value here, not a list")
					return
				}
				n.put(name, &node{kind: scalar, spot: at, text: s.Value})
				return
			}
			next, p = n.get(name), f
		} else {
			if p.Named == "" && p.Kind == param.List {
				r.add(at, "the items of %s have no names, so that --set cannot tell them apart", done)
				return
			}
			all, path := known(p, n), rest
			if next, name, rest = find(p, n, path); next == nil {
				first, _, _ := strings.Cut(path, ".")
				if len(all) == 0 {
					r.add(at, "%s has no item %q: it is empty", done, first)
				} else {
					r.add(at, "%s has no item %q%s: it has %s", done, first,
						spelling.DidYouMean(spelling.Nearest(first, all)), someOf(spelling.ByNearness(first, all)))
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

// fieldOf returns the field of an object that a path begins with, nil if it has none, its key, and the
// rest of the path. A path that ends at an object which one value may stand for leads to that value.
func (r *reports) fieldOf(n *node, p *param.Param, path string) (f *param.Param, key, rest string) {
	r.unfold(n, p.Object)
	key, rest, _ = strings.Cut(path, ".")
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

// refuseWhole says that a --set names more than one field.
func (r *reports) refuseWhole(at spot, n *node, p *param.Param) {
	known := known(p, n)
	switch {
	case p.Kind == param.Object:
		r.add(at, "%s is not a single value: set one of its fields %s", at.path, keys(p.Object, ""))
	case p.Named != "" && len(known) > 0:
		r.add(at, "%s is a list: set a field of one of its items %s", at.path, someOf(known))
	default:
		r.add(at, "%s is a list, and --set takes single values", at.path)
	}
}

// find returns the item of a list or map that a path begins with, its name, and
// the rest of the path. Names may hold dots (the flows of a resolved scenario
// do); the longest that fits is meant.
func find(p *param.Param, n *node, path string) (item *node, name, rest string) {
	try := func(candidate string, v *node) {
		if len(candidate) > len(name) && (path == candidate || strings.HasPrefix(path, candidate+".")) {
			item, name = v, candidate
			rest = strings.TrimPrefix(path[len(candidate):], ".")
		}
	}
	if p.Kind == param.Map {
		for _, e := range n.entries {
			try(e.key, e.value)
		}
		return item, name, rest
	}
	for _, v := range n.items {
		for _, c := range itemNames(p, v) {
			try(c, v)
		}
	}
	if item != nil {
		item.expand(p.Short) // so that it can hold more fields
	}
	return item, name, rest
}

// itemNames returns the names by which an item of a list is addressed.
func itemNames(p *param.Param, v *node) []string {
	if v.kind == scalar && p.Short != "" {
		return []string{v.text}
	}
	var names []string
	for _, key := range []string{p.Named, p.Short} {
		if key == "" {
			continue
		}
		if k := v.get(key); k != nil && k.kind == scalar && k.text != "" {
			names = append(names, k.text)
		}
	}
	return names
}

// known returns the names of the items of a list or map.
func known(p *param.Param, n *node) (names []string) {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		names = append(names, e.key)
	}
	for _, v := range n.items {
		if all := itemNames(p, v); len(all) > 0 {
			names = append(names, all[0])
		}
	}
	return names
}
