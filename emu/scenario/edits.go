package scenario

import (
	"cmp"
	"slices"
	"strings"
)

// edit replaces so many bytes from an offset on by a text.
type edit struct {
	at, length int
	text       string
}

// addition is a list of keys for a mapping.
type addition struct {
	to   *node    // nil: there is no mapping of the path yet
	path string   // "measure", "defaults.link"
	keys []string // with their values
}

// mapping returns the mapping of a path from the root; nil if there is none.
func (x *scaler) mapping(path string) *node {
	n := x.root
	for part := range strings.SplitSeq(path, ".") {
		n = n.get(part)
	}
	if n != nil && n.kind != mapping {
		return nil
	}
	return n
}

// add adds a key to a mapping, once.
func (x *scaler) add(n *node, path, key, value string) {
	at := slices.IndexFunc(x.added, func(a addition) bool { return a.to == n && (n != nil || a.path == path) })
	if at < 0 {
		at = len(x.added)
		x.added = append(x.added, addition{to: n, path: path})
	}
	a := &x.added[at]
	if !slices.ContainsFunc(a.keys, func(have string) bool { return strings.HasPrefix(have, key+": ") }) {
		a.keys = append(a.keys, key+": "+value)
	}
}

// replace replaces the text of a scalar.
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
	line := []rune(x.lines[p.line-1])
	return at + len(string(line[:min(p.column-1, len(line))]))
}

// edited returns the text with all changes and additions.
func (x *scaler) edited() string {
	all := slices.Clone(x.edits)
	var whole, defaults []string
	for _, a := range x.added {
		value := ": {" + strings.Join(a.keys, ", ") + "}"
		if kind, ok := strings.CutPrefix(a.path, "defaults."); a.to != nil {
			all = append(all, x.insertion(a.to, a.to.at, a.keys))
		} else if ok {
			defaults = append(defaults, kind+value)
		} else {
			whole = append(whole, a.path+value)
		}
	}
	if d := x.root.get("defaults"); d != nil && len(defaults) > 0 {
		all = append(all, x.insertion(d, d.at, defaults))
	} else if len(defaults) > 0 {
		whole = append(whole, "defaults: {"+strings.Join(defaults, ", ")+"}")
	}
	if len(whole) > 0 {
		at := x.root.at
		for _, e := range x.root.entries {
			if e.key == "endpoints" && x.text[x.offset(at)] != '{' { // every scenario has them
				at = e.at
				break
			}
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

// insertion inserts keys into a mapping before a place in it.
func (x *scaler) insertion(n *node, before place, keys []string) edit {
	at := x.offset(before)
	flow := strings.Join(keys, ", ")
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
	return edit{at, 0, strings.Join(keys, between) + between}
}
