package scenario

import (
	"cmp"
	"slices"
	"strings"
)

// edit puts a text in the place of so many bytes, from an offset on.
type edit struct {
	at, length int
	text       string
}

// addition is what a mapping is to have.
type addition struct {
	to   *node    // nil: the mapping of a path from the root, which there is not
	path string   // "measure", "defaults.link"
	keys []string // with their values
}

// add adds a key to the mapping of a path from the root.
func (x *scaler) add(path, key, value string) {
	n := x.root
	for part := range strings.SplitSeq(path, ".") {
		n = n.get(part)
	}
	if n != nil && n.kind != mapping {
		n = nil
	}
	x.addTo(n, path, key, value)
}

// addTo adds a key to a mapping, once.
func (x *scaler) addTo(n *node, path, key, value string) {
	at := slices.IndexFunc(x.added, func(a addition) bool { return a.to == n && (n != nil || a.path == path) })
	if at < 0 {
		at = len(x.added)
		x.added = append(x.added, addition{to: n, path: path})
	}
	a := &x.added[at]
	if !slices.ContainsFunc(a.keys, func(said string) bool { return strings.HasPrefix(said, key+": ") }) {
		a.keys = append(a.keys, key+": "+value)
	}
}

// replace has another text in place of a scalar.
func (x *scaler) replace(n *node, text string) {
	if text == n.text {
		return
	}
	column, ok := n.spelled(x.lines)
	if !ok {
		x.refuse(n, "it cannot be replaced in this form: write it plainly")
		return
	}
	x.edits = append(x.edits, edit{x.offset(place{line: n.at.line, column: column}), len(n.text), text})
}

// offset returns the offset of a place of the file, in bytes.
func (x *scaler) offset(p place) (at int) {
	for _, l := range x.lines[:p.line-1] {
		at += len(l) + 1
	}
	for i := range x.lines[p.line-1] {
		if p.column--; p.column == 0 {
			return at + i
		}
	}
	return at + len(x.lines[p.line-1])
}

// edited returns the text with all changes and additions.
func (x *scaler) edited() string {
	all := slices.Clone(x.edits)
	var whole, defaults []string
	for _, a := range x.added {
		said := "{" + strings.Join(a.keys, ", ") + "}"
		if kind, ok := strings.CutPrefix(a.path, "defaults."); a.to != nil {
			all = append(all, x.insertion(a.to, a.to.at, a.keys))
		} else if ok {
			defaults = append(defaults, kind+": "+said)
		} else {
			whole = append(whole, a.path+": "+said)
		}
	}
	if d := x.root.get("defaults"); d != nil && len(defaults) > 0 {
		all = append(all, x.insertion(d, d.at, defaults))
	} else if len(defaults) > 0 {
		whole = append(whole, "defaults: {"+strings.Join(defaults, ", ")+"}")
	}
	if len(whole) > 0 {
		at, _ := x.root.key("endpoints") // every scenario has it
		if x.text[x.offset(x.root.at)] == '{' {
			at = x.root.at
		}
		all = append(all, x.insertion(x.root, at, whole))
	}
	slices.SortStableFunc(all, func(a, b edit) int { return cmp.Compare(b.at, a.at) })
	text := x.text
	for _, e := range all {
		text = text[:e.at] + e.text + text[e.at+e.length:]
	}
	return text
}

// insertion puts further keys into a mapping, before those that it has, or before the one at
// a place.
func (x *scaler) insertion(n *node, before place, said []string) edit {
	at := x.offset(before)
	flow := strings.Join(said, ", ")
	switch {
	case len(n.entries) == 1 && n.entries[0].value.at == n.at: // a short form
		short := n.entries[0]
		return edit{at, len(short.value.text), "{" + short.key + ": " + short.value.text + ", " + flow + "}"}
	case x.text[at] == '{' && len(n.entries) == 0:
		return edit{at + 1, 0, flow}
	case x.text[at] == '{':
		return edit{at + 1, 0, flow + ", "}
	case len(n.entries) == 0: // nothing stands behind the key
		return edit{at + strings.IndexByte(x.text[at:], ':') + 1, 0, " {" + flow + "}"}
	}
	between := "\n" + strings.Repeat(" ", before.column-1)
	return edit{at, 0, strings.Join(said, between) + between}
}
