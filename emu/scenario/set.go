package scenario

import (
	"fmt"
	"strings"

	"fabemu/emu/spelling"
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
func (r *reports) apply(root *node, sh *shape, s Set) {
	at := place{set: &s}
	n, rest, done := root, s.Path, ""
	for {
		switch sh.form {
		case FormObject:
			r.unfold(n, sh)
			name, more, _ := strings.Cut(rest, ".")
			f := sh.field(name)
			if f != nil && more != "" && f.shape.part(more) != "" {
				name, more = f.shape.part(more), ""
				f = sh.field(name)
			}
			if f == nil {
				r.add(at, s.Path, "%s has no field %q%s: it has %s", wholePath(done), name, sh.suggest(name), sh.names(name))
				return
			}
			done, rest = join(done, name), more
			if rest == "" && f.shape.form == FormObject {
				rest = f.shape.short // routing is routing.paths
			}
			if f.shape.isScalar() {
				if rest != "" {
					r.add(at, s.Path, "%s is a single value and has no field %q", done, rest)
					return
				}
				if strings.Contains(s.Value, ",") && f.shape.form != FormText {
					r.add(at, s.Path, "a comma: --set takes one value here, not a list")
					return
				}
				v := &node{kind: scalar, at: at, path: s.Path, text: s.Value}
				n.put(name, v)
				return
			}
			if rest == "" {
				r.refuseWhole(at, n.get(name), f.shape, done)
				return
			}
			next := n.get(name)
			if next != nil && next.kind == scalar && f.shape.form == FormObject && f.shape.short != "" {
				next.expand(f.shape.short)
			}
			if next == nil || (next.kind != mapping && f.shape.form != FormList) {
				if f.shape.form == FormList {
					next = &node{kind: list, at: at, path: done}
				} else {
					next = &node{kind: mapping, at: at, path: done}
				}
				n.put(name, next)
			}
			n, sh = next, f.shape
		case FormMap, FormList:
			if sh.form == FormList && sh.key == "" {
				r.add(at, s.Path, "the items of %s have no names, so that --set cannot tell them apart", done)
				return
			}
			item, name, more := sh.find(n, rest)
			if item == nil {
				first, _, _ := strings.Cut(rest, ".")
				known := sh.known(n)
				if len(known) == 0 {
					r.add(at, s.Path, "%s has no item %q: it is empty", done, first)
				} else {
					r.add(at, s.Path, "%s has no item %q%s: it has %s", done, first, spelling.DidYouMean(spelling.Nearest(first, known)), someOf(spelling.ByNearness(first, known)))
				}
				return
			}
			done, rest = join(done, name), more
			if rest == "" {
				r.refuseWhole(at, item, sh.item, done)
				return
			}
			if sh.item.isScalar() {
				r.add(at, s.Path, "%s is a single value and has no field %q", done, rest)
				return
			}
			n, sh = item, sh.item
		}
	}
}

// refuseWhole says that a --set names more than one field.
func (r *reports) refuseWhole(at place, n *node, sh *shape, path string) {
	switch sh.form {
	case FormObject:
		r.add(at, path, "%s is not a single value: set one of its fields %s", path, sh.names(""))
	case FormMap, FormList:
		if known := sh.known(n); sh.key != "" && len(known) > 0 {
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
func (sh *shape) find(n *node, path string) (item *node, name, rest string) {
	try := func(candidate string, v *node) {
		if len(candidate) > len(name) && (path == candidate || strings.HasPrefix(path, candidate+".")) {
			item, name = v, candidate
			rest = strings.TrimPrefix(path[len(candidate):], ".")
		}
	}
	if sh.form == FormMap {
		for _, e := range n.entries {
			try(e.key.text, e.value)
		}
		return item, name, rest
	}
	for _, v := range n.items {
		for _, c := range sh.itemNames(v) {
			try(c, v)
		}
	}
	if item != nil && item.kind == scalar && sh.short != "" {
		// A short form is written out, so that it can hold more fields.
		item.expand(sh.short)
	}
	return item, name, rest
}

// itemNames returns the names by which an item of a list is addressed.
func (sh *shape) itemNames(v *node) []string {
	if v.kind == scalar && sh.short != "" {
		return []string{v.text}
	}
	var names []string
	for _, key := range []string{sh.key, sh.short} {
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
func (sh *shape) known(n *node) []string {
	var names []string
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		names = append(names, e.key.text)
	}
	for _, v := range n.items {
		if all := sh.itemNames(v); len(all) > 0 {
			names = append(names, all[0])
		}
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func wholePath(path string) string {
	if path == "" {
		return "a scenario"
	}
	return path
}
