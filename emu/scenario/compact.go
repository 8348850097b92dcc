package scenario

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Compact returns a scenario, which can be loaded, in the form that LoadCompact reads. To read YAML
// takes many times as long, and as much memory, which counts where hundreds of processes do.
//
// The form is a tree: of each value its kind in a byte; of a single value the length of its text, and
// that; of a list how many values it has, and these; of a mapping how many, each behind the text of its
// key. Numbers are those of encoding/binary's AppendUvarint.
func Compact(src []byte) ([]byte, error) {
	r := newReports("", string(src))
	root := r.parse(string(src))
	if root == nil {
		return nil, r.err()
	}
	return root.appendCompact(nil), r.err()
}

// appendCompact appends n in the compact form.
func (n *node) appendCompact(b []byte) []byte {
	text := func(b []byte, s string) []byte {
		return append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = append(b, byte(n.kind))
	switch n.kind {
	case scalar:
		b = text(b, n.text)
	case mapping:
		b = binary.AppendUvarint(b, uint64(len(n.entries)))
		for _, e := range n.entries {
			b = e.value.appendCompact(text(b, e.key))
		}
	case list:
		b = binary.AppendUvarint(b, uint64(len(n.items)))
		for _, item := range n.items {
			b = item.appendCompact(b)
		}
	}
	return b
}

// LoadCompact is Load for what Compact has returned. A mistake in it has no place, and nothing in it
// is warned of.
func LoadCompact(name string, src []byte) (*Scenario, error) {
	c := compact{rest: string(src)}
	root := c.node(0)
	if c.err == nil && c.rest != "" {
		c.err = errors.New("something stands behind its end")
	}
	if c.err != nil {
		return nil, fmt.Errorf("%s: no scenario in its compact form: %w", name, c.err)
	}
	res, err := newReports(name, "").load(root, nil, options{quiet: true})
	if err != nil {
		return nil, err
	}
	return res.scenario(), nil
}

// compact is what is left to read of a scenario in its compact form, until there is a mistake.
type compact struct {
	rest string
	err  error
}

// count reads a number of things that take a byte each at the least.
func (c *compact) count() int {
	v, n := binary.Uvarint([]byte(c.rest[:min(len(c.rest), binary.MaxVarintLen64)]))
	if n <= 0 || v > uint64(len(c.rest)-n) {
		c.refuse("it is cut off")
		return 0
	}
	c.rest = c.rest[n:]
	return int(v)
}

func (c *compact) text() (s string) {
	n := c.count()
	s, c.rest = c.rest[:n], c.rest[n:]
	return s
}

func (c *compact) refuse(why string) {
	if c.err == nil {
		c.err = errors.New(why)
	}
	c.rest = ""
}

// node reads a value.
func (c *compact) node(depth int) *node {
	n := &node{}
	switch {
	case c.rest == "":
		c.refuse("it is cut off")
		return n
	case depth > maxDepth:
		c.refuse("it is nested too deep")
		return n
	}
	n.kind, c.rest = kind(c.rest[0]), c.rest[1:]
	switch n.kind {
	case null:
	case scalar:
		n.text = c.text()
	case mapping:
		for range c.count() {
			key := c.text()
			n.entries = append(n.entries, entry{key: key, value: c.node(depth + 1)})
		}
	case list:
		for range c.count() {
			n.items = append(n.items, c.node(depth+1))
		}
	default:
		c.refuse("it has a value of no kind")
	}
	return n
}
