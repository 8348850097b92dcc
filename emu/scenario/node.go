package scenario

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a node of a file.
type kind uint8

const (
	null kind = iota
	scalar
	mapping
	list
)

func (k kind) String() string {
	return [...]string{"nothing", "a single value", "a mapping (key: value)", "a list"}[k]
}

// node is a part of a file, or of a --set, with its place. The resolver takes values
// from it after the reader has checked it.
type node struct {
	kind  kind
	block bool // scalar: its text is on the lines below its place
	spot
	text    string  // scalar: its text without quotes
	entries []entry // mapping, in the order of the file
	items   []*node // list
	value   any     // scalar: as the reader has read the text; nil: it was wrong
}

// entry is a key of a mapping and its value.
type entry struct {
	key   string
	at    place // of the key
	value *node
}

// clone returns a copy that shares nothing with n.
func (n *node) clone() *node {
	c := *n
	c.entries, c.items = slices.Clone(n.entries), slices.Clone(n.items)
	for i, e := range c.entries {
		c.entries[i].value = e.value.clone()
	}
	for i, item := range c.items {
		c.items[i] = item.clone()
	}
	return &c
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// all returns the items of a list, or the values of a mapping.
func (n *node) all() []*node {
	all := n.items
	for _, e := range n.entries {
		all = append(all, e.value)
	}
	return all
}

// put sets the value of a key. Instead of a value that is not a mapping, n
// becomes one.
func (n *node) put(key string, v *node) {
	if n.kind != mapping {
		n.kind, n.text, n.items, n.entries = mapping, "", nil, nil
	}
	for i, e := range n.entries {
		if e.key == key {
			n.entries[i].value = v
			return
		}
	}
	n.entries = append(n.entries, entry{key, v.at, v})
}

// remove takes a key out.
func (n *node) remove(key string) {
	n.entries = slices.DeleteFunc(n.entries, func(e entry) bool { return e.key == key })
}

// clear takes the section of a path out, as far as it is there.
func (n *node) clear(path string) {
	key, rest, deeper := strings.Cut(path, ".")
	if next := n.get(key); deeper && next != nil {
		next.clear(rest)
	} else if !deeper {
		n.remove(key)
	}
}

// inside returns the spot of the character at an offset (in bytes) of the text of a scalar.
func (r *reports) inside(n *node, offset int) spot {
	s := n.spot
	if column, ok := n.spelled(r.lines); ok && offset <= len(n.text) {
		s.at.column = column + utf8.RuneCountInString(n.text[:offset])
	}
	return s
}

// spelled returns the column at which the text of a scalar begins in its line, if the file has it
// character by character.
func (n *node) spelled(lines []string) (column int, ok bool) {
	if n.at.set != nil || n.block || n.at.line < 1 || n.at.line > len(lines) {
		return 0, false
	}
	line := []rune(lines[n.at.line-1])
	rest := string(line[min(n.at.column-1, len(line)):])
	switch {
	case strings.HasPrefix(rest, n.text):
		return n.at.column, true
	case rest != "" && strings.HasPrefix(rest[1:], n.text): // behind a quote, which is one byte
		return n.at.column + 1, true
	}
	return 0, false
}

// locate fills in the places of paths.
func (n *node) locate(spots map[string]spot) {
	for _, e := range n.entries {
		e.value.locate(spots)
	}
	for _, item := range n.items {
		item.locate(spots)
	}
	if _, asked := spots[n.path]; asked { // after what is in it: its short form has the same path
		spots[n.path] = n.spot
	}
}
