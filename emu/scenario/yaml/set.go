package yaml

import (
	"cmp"
	"iter"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario/place"
	"fabemu/wire/param"
)

// Apply puts the value of a --set into the tree of a file. The value is checked when the tree is
// read.
func (r *File) Apply(s place.Set) {
	if s.Value == "" {
		r.Root.clear(s.Path)
		return
	}
	at := (place.Place{Set: &s}).Of(s.Path)
	n, p, rest, done := r.Root, r.grammar.Language(), s.Path, ""
	for {
		name, next, inObject := "", (*Node)(nil), p.Kind == param.Object
		if inObject {
			var f *param.Param
			if f, name, rest = r.fieldOf(n, p, rest); f == nil {
				near, list := r.unknown(n, p.Object, name)
				r.Add(at, "%s has no field %q%s: it has %s", cmp.Or(done, "a scenario"), name, spelling.DidYouMean(near), list)
				r.lack(n.Path, near)
				return
			}
			done = param.Path(done, name)
			if f.Kind.Single() && rest == "" {
				if strings.Contains(s.Value, ",") && f.Kind != param.Text && !f.Listed() {
					r.Add(at, "--set takes one value here, not a list with commas")
					return
				}
				n.Put(name, &Node{Kind: Scalar, Spot: at, Text: s.Value})
				return
			}
			next, p = n.Get(name), f
		} else {
			if p.Named == "" && p.Kind == param.List {
				r.Add(at, "the items of %s have no names, so that --set cannot address them", done)
				return
			}
			path := rest
			if next, name, rest = find(p, n, path); next == nil {
				first, _, _ := strings.Cut(path, ".")
				if all := known(p, n); len(all) == 0 {
					r.Add(at, "%s has no item %q: it is empty", done, first)
				} else {
					r.Add(at, "%s has no item %q%s: it has %s", done, first,
						spelling.DidYouMean(spelling.Nearest(first, all)), spelling.Several(spelling.ByNearness(first, all)))
				}
				return
			}
			done, p = param.Path(done, name), p.Item
		}
		switch {
		case rest == "":
			r.refuseWhole(at.At.Of(done), next, p)
			return
		case p.Kind.Single():
			r.Add(at, "%s is a single value and has no field %q", done, rest)
			return
		case next != nil:
			next.expand(p.Short)
		}
		if inObject && (next == nil || next.Kind != Mapping && p.Kind != param.List) {
			kind := Mapping
			if p.Kind == param.List {
				kind = List
			}
			next = &Node{Kind: kind, Spot: at.At.Of(done)}
			n.Put(name, next)
		}
		n = next
	}
}

// fieldOf returns the field of an object that a path begins with, nil if it has none, its key, and
// the rest of the path. A path that ends at an object which one value may stand for leads to that
// value.
func (r *File) fieldOf(n *Node, p *param.Param, path string) (f *param.Param, key, rest string) {
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
func (r *File) refuseWhole(at place.Spot, n *Node, p *param.Param) {
	known := known(p, n)
	switch {
	case p.Kind == param.Object:
		r.Add(at, "%s is not a single value: set one of its fields %s", at.Path, keys(p.Object, ""))
	case p.Named != "" && len(known) > 0:
		r.Add(at, "%s is a list: set a field of one of its items %s", at.Path, spelling.Several(known))
	default:
		r.Add(at, "%s is a list, and --set takes single values", at.Path)
	}
}

// find returns the item of a list or map that a path begins with, its name, and
// the rest of the path. Names may have dots (the flows of a resolved scenario
// do); find takes the longest that fits.
func find(p *param.Param, n *Node, path string) (item *Node, name, rest string) {
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
func namedItems(p *param.Param, n *Node) iter.Seq2[*Node, []string] {
	return func(yield func(*Node, []string) bool) {
		for _, e := range n.Entries {
			if !yield(e.Value, []string{e.Key}) {
				return
			}
		}
		for _, v := range n.Items {
			var names []string
			for _, key := range []string{p.Named, p.Short} {
				if k := v.Get(key); key != "" && k != nil && k.Kind == Scalar && k.Text != "" {
					names = append(names, k.Text)
				}
			}
			if v.Kind == Scalar && p.Short != "" {
				names = []string{v.Text}
			}
			if !yield(v, names) {
				return
			}
		}
	}
}

// known returns the first name of each item of a list or map.
func known(p *param.Param, n *Node) (all []string) {
	if n == nil {
		return nil
	}
	for _, names := range namedItems(p, n) {
		all = append(all, names[:min(1, len(names))]...)
	}
	return all
}
