package scenario

import (
	"fmt"
	"strings"

	"fabemu/emu/spelling"
	"fabemu/wire/param"
)

// Set is a change of one field of a scenario: --set PATH=VALUE.
type Set struct {
	Path  string // as in the file: "defaults.link.buffer"; in lists by name: "links.trunk.rate"
	Value string // as in the file: "8 packets"
	As    string // how the user has said it, for messages: "--dilation 50"; empty: as --set
}

// String prints s as ParseSet reads it.
func (s Set) String() string { return s.Path + "=" + s.Value }

// said is s as the user has said it.
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
func (r *reports) apply(root *node, p *param.Param, s Set) {
	at := place{set: &s}
	n, rest, done := root, s.Path, ""
	for {
		switch p.Kind {
		case param.Object:
			r.unfold(n, p.Object)
			name, more, _ := strings.Cut(rest, ".")
			f := p.Object.Find(name)
			if f != nil && more != "" {
				if field, _ := part(f, more); field != "" {
					name, more = field, ""
					f = p.Object.Find(name)
				}
			}
			if f == nil {
				r.add(at, s.Path, "%s has no field %q%s: it has %s",
					wholePath(done), name, suggest(p.Object, name), keys(p.Object, name))
				return
			}
			done, rest = param.Path(done, name), more
			if rest == "" && f.Kind == param.Object {
				rest = f.Short // routing is routing.paths
			}
			if f.Kind.Single() {
				if rest != "" {
					r.add(at, s.Path, "%s is a single value and has no field %q", done, rest)
					return
				}
				if strings.Contains(s.Value, ",") && f.Kind != param.Text && !f.Listed() {
					r.add(at, s.Path, "a comma: --set takes one value here, not a list")
					return
				}
				v := &node{kind: scalar, at: at, path: s.Path, text: s.Value}
				n.put(name, v)
				return
			}
			if rest == "" {
				r.refuseWhole(at, n.get(name), f, done)
				return
			}
			next := n.get(name)
			if next != nil && next.kind == scalar && f.Kind == param.Object && f.Short != "" {
				next.expand(f.Short)
			}
			if next == nil || (next.kind != mapping && f.Kind != param.List) {
				if f.Kind == param.List {
					next = &node{kind: list, at: at, path: done}
				} else {
					next = &node{kind: mapping, at: at, path: done}
				}
				n.put(name, next)
			}
			n, p = next, f
		case param.Map, param.List:
			if p.Kind == param.List && p.Named == "" {
				r.add(at, s.Path, "the items of %s have no names, so that --set cannot tell them apart", done)
				return
			}
			item, name, more := find(p, n, rest)
			if item == nil {
				first, _, _ := strings.Cut(rest, ".")
				known := known(p, n)
				if len(known) == 0 {
					r.add(at, s.Path, "%s has no item %q: it is empty", done, first)
				} else {
					r.add(at, s.Path, "%s has no item %q%s: it has %s",
						done, first, spelling.DidYouMean(spelling.Nearest(first, known)),
						someOf(spelling.ByNearness(first, known)))
				}
				return
			}
			done, rest = param.Path(done, name), more
			if rest == "" {
				r.refuseWhole(at, item, p.Item, done)
				return
			}
			if p.Item.Kind.Single() {
				r.add(at, s.Path, "%s is a single value and has no field %q", done, rest)
				return
			}
			n, p = item, p.Item
		}
	}
}

// refuseWhole says that a --set names more than one field.
func (r *reports) refuseWhole(at place, n *node, p *param.Param, path string) {
	switch p.Kind {
	case param.Object:
		r.add(at, path, "%s is not a single value: set one of its fields %s", path, keys(p.Object, ""))
	case param.Map, param.List:
		if known := known(p, n); p.Named != "" && len(known) > 0 {
			r.add(at, path, "%s is a list: set a field of one of its items %s", path, someOf(known))
			return
		}
		fallthrough
	default:
		r.add(at, path, "%s is a list, and --set takes single values", path)
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
			try(e.key.text, e.value)
		}
		return item, name, rest
	}
	for _, v := range n.items {
		for _, c := range itemNames(p, v) {
			try(c, v)
		}
	}
	if item != nil && item.kind == scalar && p.Short != "" {
		// A short form is written out, so that it can hold more fields.
		item.expand(p.Short)
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
func known(p *param.Param, n *node) []string {
	var names []string
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		names = append(names, e.key.text)
	}
	for _, v := range n.items {
		if all := itemNames(p, v); len(all) > 0 {
			names = append(names, all[0])
		}
	}
	return names
}

func wholePath(path string) string {
	if path == "" {
		return "a scenario"
	}
	return path
}
