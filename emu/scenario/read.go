package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/spelling"
	"fabemu/wire/unit"
)

// read checks a tree against a shape: keys, kinds and values. It leaves the
// values in the nodes and marks as bad what it has refused.
func (r *reports) read(n *node, sh *shape) {
	if n.bad {
		return
	}
	switch sh.form {
	case FormObject:
		r.readObject(n, sh)
	case FormMap:
		if n.kind == null || n.want(r, mapping, sh) {
			for _, e := range n.entries {
				if err := checkName(e.key.text); err != nil {
					r.add(e.key.at, n.path, "%v%s", err, rangeHint(e.key.text))
					e.value.bad = true
					continue
				}
				r.read(e.value, sh.item)
			}
		}
	case FormList:
		r.readList(n, sh)
	default:
		r.readValue(n, sh)
	}
}

func rangeHint(name string) string {
	if strings.ContainsAny(name, "[]") {
		return "; switches are named one by one, without ranges"
	}
	return ""
}

// want reports a node that is not of a kind.
func (n *node) want(r *reports, k kind, sh *shape) bool {
	if n.kind == k {
		return true
	}
	n.bad = true
	r.add(n.at, n.path, "%s stands here, where %s is wanted", n.kind, sh.what)
	return false
}

func (r *reports) readObject(n *node, sh *shape) {
	if n.kind == null {
		n.kind = mapping
	}
	if n.kind == scalar && sh.short != "" {
		n.expand(sh.short)
	}
	if !n.want(r, mapping, sh) {
		return
	}
	r.unfold(n, sh)
	for _, e := range n.entries {
		f := sh.field(e.key.text)
		if f == nil && e.value.kind == null && e.key.text != "" && strings.Trim(e.key.text, "0123456789") == "" {
			r.addUnknown(e.key.at, n.path, "%q is no key: a comma begins the next one, and a fraction has a point, such as 0.%s", e.key.text, e.key.text)
			continue
		}
		if f == nil {
			r.addUnknown(e.key.at, n.path, "unknown key %q%s: allowed here are %s", e.key.text, sh.suggest(e.key.text), sh.names(e.key.text))
			continue
		}
		r.read(e.value, f.shape)
	}
	r.missing(n, sh)
}

// unfold puts the fields that a mapping stands for in its place, where a mapping may
// stand for several.
func (r *reports) unfold(n *node, sh *shape) {
	for _, f := range sh.fields {
		whole := n.get(f.name)
		if f.shape.parts == nil || whole == nil || whole.kind != mapping {
			continue
		}
		n.remove(f.name)
		for _, e := range whole.entries {
			field := f.shape.part(e.key.text)
			switch {
			case field == "":
				r.addUnknown(e.key.at, whole.path, "unknown key %q%s: allowed here are %s", e.key.text, spelling.DidYouMean(spelling.Nearest(e.key.text, f.shape.keys())), someOf(f.shape.keys()))
			case n.get(field) != nil:
				r.add(e.key.at, e.value.path, "%s and %s.%s say the same: one of them is enough", field, f.name, e.key.text)
			default:
				n.put(field, e.value)
			}
		}
	}
}

// part returns the field that a key of a mapping in place of a value is, or nothing.
func (sh *shape) part(key string) string {
	for _, p := range sh.parts {
		if p.key == key {
			return p.field
		}
	}
	return ""
}

// keys returns the keys of a mapping in place of a value.
func (sh *shape) keys() (keys []string) {
	for _, p := range sh.parts {
		keys = append(keys, p.key)
	}
	return keys
}

// missing reports the required fields that an object does not have.
func (r *reports) missing(n *node, sh *shape) {
	var missing []string
	for _, f := range sh.fields {
		if f.required && !f.inherit && n.get(f.name) == nil {
			missing = append(missing, fmt.Sprintf("%s (%s)", f.name, f.shape.what))
		}
	}
	switch len(missing) {
	case 0:
		return
	case 1:
		r.add(n.at, n.path, "this is missing: %s", missing[0])
	default:
		r.add(n.at, n.path, "these are missing: %s", strings.Join(missing, "; "))
	}
	n.bad = true
}

func (r *reports) readList(n *node, sh *shape) {
	if n.kind == null && sh.length == 0 {
		n.kind = list
	}
	if !n.want(r, list, sh) {
		return
	}
	if sh.length > 0 && len(n.items) != sh.length {
		n.bad = true
		r.add(n.at, n.path, "a list of %d stands here, where %s is wanted", len(n.items), sh.what)
		return
	}
	for _, v := range n.items {
		if v.kind == scalar && sh.short != "" {
			v.expand(sh.short)
		}
		r.read(v, sh.item)
		n.bad = n.bad || v.bad && sh.length > 0
	}
}

// expand writes a short form out: a single value, which is one field of what it stands for.
func (n *node) expand(field string) {
	text := *n
	*n = node{kind: mapping, at: text.at, path: text.path, bad: text.bad}
	n.put(field, &text)
}

func (r *reports) readValue(n *node, sh *shape) {
	if n.kind == null {
		n.bad = true
		r.add(n.at, n.path, "a value is missing: %s is wanted", sh.what)
		return
	}
	if !n.want(r, scalar, sh) {
		return
	}
	v, err := sh.read(n.text)
	if err != nil {
		n.bad = true
		at := n.at
		var off offsetError
		if errors.As(err, &off) {
			at = n.inside(off.offset)
		}
		r.add(at, n.path, "%v%s", err, sh.suggestUnit(n.text))
		return
	}
	n.value = v
}

// suggestUnit says which unit is meant by a misspelt one, or nothing.
func (sh *shape) suggestUnit(text string) string {
	number, word := unit.Split(text)
	if number == "" || word == "" || slices.Contains(sh.units, word) {
		return ""
	}
	return spelling.DidYouMean(spelling.Nearest(word, sh.units))
}
