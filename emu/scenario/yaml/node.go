package yaml

import (
	"slices"
	"strings"
	"unicode/utf8"

	"fabemu/emu/scenario/place"
)

// Kind is the kind of a node of a file.
type Kind uint8

const (
	Null Kind = iota
	Scalar
	Mapping
	List
)

func (k Kind) String() string {
	return [...]string{"nothing", "a single value", "a mapping (key: value)", "a list"}[k]
}

// Node is a part of a file, or of a --set, with its place. Views take values from it
// after Read has checked it.
type Node struct {
	Kind  Kind
	block bool // scalar: its text is on the lines below its place
	// refused: it has a feature of YAML that the language does not have, and no content.
	refused bool
	place.Spot
	Text    string  // scalar: its text without quotes
	Entries []Entry // mapping, in the order of the file
	Items   []*Node // list
	Value   any     // scalar: as the reader has read the text; nil: it was wrong
}

// Entry is a key of a mapping and its value.
type Entry struct {
	Key   string
	At    place.Place // of the key
	Value *Node
}

// Clone returns a copy that shares nothing with n.
func (n *Node) Clone() *Node {
	c := *n
	c.Entries, c.Items = slices.Clone(n.Entries), slices.Clone(n.Items)
	for i, e := range c.Entries {
		c.Entries[i].Value = e.Value.Clone()
	}
	for i, item := range c.Items {
		c.Items[i] = item.Clone()
	}
	return &c
}

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// All returns the items of a list, or the values of a mapping.
func (n *Node) All() []*Node {
	all := n.Items
	for _, e := range n.Entries {
		all = append(all, e.Value)
	}
	return all
}

// Put sets the value of a key. Instead of a value that is not a mapping, n
// becomes one.
func (n *Node) Put(key string, v *Node) {
	if n.Kind != Mapping {
		n.Kind, n.Text, n.Items, n.Entries = Mapping, "", nil, nil
	}
	for i, e := range n.Entries {
		if e.Key == key {
			n.Entries[i].Value = v
			return
		}
	}
	n.Entries = append(n.Entries, Entry{key, v.At, v})
}

// Remove takes a key out.
func (n *Node) Remove(key string) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// clear takes the section of a path out, as far as it is there.
func (n *Node) clear(path string) {
	key, rest, deeper := strings.Cut(path, ".")
	if next := n.Get(key); deeper && next != nil {
		next.clear(rest)
	} else if !deeper {
		n.Remove(key)
	}
}

// Inside returns the spot of the character at an offset (in bytes) of the text of a scalar.
func (r *File) Inside(n *Node, offset int) place.Spot {
	s := n.Spot
	if column, ok := n.spelled(r.lines); ok && offset <= len(n.Text) {
		s.At.Column = column + utf8.RuneCountInString(n.Text[:offset])
	}
	return s
}

// spelled returns the column at which the text of a scalar begins in its line, if the file has it
// character by character.
func (n *Node) spelled(lines []string) (column int, ok bool) {
	if n.At.Set != nil || n.block || n.At.Line < 1 || n.At.Line > len(lines) {
		return 0, false
	}
	line := []rune(lines[n.At.Line-1])
	rest := string(line[min(n.At.Column-1, len(line)):])
	switch {
	case strings.HasPrefix(rest, n.Text):
		return n.At.Column, true
	case rest != "" && strings.HasPrefix(rest[1:], n.Text): // behind a quote, which is one byte
		return n.At.Column + 1, true
	}
	return 0, false
}

// Locate fills in the places of paths.
func (n *Node) Locate(spots map[string]place.Spot) {
	for _, e := range n.Entries {
		e.Value.Locate(spots)
	}
	for _, item := range n.Items {
		item.Locate(spots)
	}
	if _, asked := spots[n.Path]; asked { // after what is in it: its short form has the same path
		spots[n.Path] = n.Spot
	}
}
