package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind is what a node of a file is.
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

// node is a part of a file, or of a --set, with its place. The resolver asks it
// for values after the reader has checked it.
type node struct {
	kind kind
	spot
	text    string  // scalar: its text without quotes
	verbose bool    // scalar: the text stands in the file character by character from inner on
	inner   int     // scalar: column of the first character of the text
	entries []entry // mapping, in the order of the file
	items   []*node // list

	value any  // scalar: what the reader made of the text
	bad   bool // the reader has refused it: nothing more is said about it
}

// entry is a key of a mapping and its value.
type entry struct {
	key   *node
	value *node
}

// clone returns a copy that shares nothing with n.
func (n *node) clone() *node {
	c := *n
	c.entries, c.items = slices.Clone(n.entries), slices.Clone(n.items)
	for i, e := range c.entries {
		c.entries[i] = entry{e.key.clone(), e.value.clone()}
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
		if e.key.text == key {
			return e.value
		}
	}
	return nil
}

// sound returns the value of a key that was not refused, or nil.
func (n *node) sound(key string) *node {
	if v := n.get(key); v != nil && !v.bad {
		return v
	}
	return nil
}

// put sets the value of a key. In place of a value that is not a mapping, n
// becomes one.
func (n *node) put(key string, v *node) {
	if n.kind != mapping {
		n.kind, n.text, n.items, n.entries = mapping, "", nil, nil
	}
	for i, e := range n.entries {
		if e.key.text == key {
			n.entries[i].value = v
			return
		}
	}
	n.entries = append(n.entries, entry{key: &node{kind: scalar, spot: spot{at: v.at}, text: key}, value: v})
}

// remove takes a key out.
func (n *node) remove(key string) {
	n.entries = slices.DeleteFunc(n.entries, func(e entry) bool { return e.key.text == key })
}

// inside returns the spot of the character at an offset (in bytes) of the text.
func (n *node) inside(offset int) spot {
	s := n.spot
	if n.verbose && n.at.set == nil && offset <= len(n.text) {
		s.at.column = n.inner + utf8.RuneCountInString(n.text[:offset])
	}
	return s
}

// The limits of a file. They only keep a hostile file from exhausting the
// memory or the stack of the parser; what people write is far below.
const (
	maxSource = 16 << 20 // bytes
	maxDepth  = 100      // nested lists and mappings
)

// parse reads the file into nodes. It returns nil when the file has no usable
// content; then it has reported why.
func (r *reports) parse(src string) *node {
	if len(src) > maxSource {
		r.add(spot{}, "the file has %d bytes; at most %d are read", len(src), maxSource)
		return nil
	}
	if !utf8.ValidString(src) {
		r.add(spotAt(badUTF8(src)), "the file is not UTF-8 text")
		return nil
	}
	control := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
	for i, line := range r.lines {
		line = strings.TrimSuffix(line, "\r")
		if at := strings.IndexFunc(line, control); at >= 0 {
			r.add(spotAt(i+1, utf8.RuneCountInString(line[:at])+1), "the file holds the control character U+%04X", line[at])
			return nil
		}
	}
	docs, err := parseYAML(src)
	if err != nil {
		r.syntax(err)
		return nil
	}
	var root ast.Node
	for _, doc := range docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType || doc.Body.Type() == ast.CommentType {
			continue
		}
		if root != nil {
			r.add(spotOf(doc.Body), "a second document begins here: a file holds one scenario")
			return nil
		}
		root = doc.Body
	}
	if root == nil || root.Type() == ast.NullType {
		r.add(spotAt(1, 1), "the file is empty: a scenario has at least a name, model.duration, endpoints, links and flows")
		return nil
	}
	return r.node(root, "", 0)
}

// spotAt is a place of the file where no field stands.
func spotAt(line, column int) spot { return spot{at: place{line: line, column: column}} }

// badUTF8 returns where a text begins to be something else than UTF-8.
func badUTF8(src string) (line, column int) {
	good := src[:strings.IndexRune(src, utf8.RuneError)]
	last := good[strings.LastIndexByte(good, '\n')+1:]
	return strings.Count(good, "\n") + 1, utf8.RuneCountInString(last) + 1
}

// errDeep says that a file nests too deeply for the parser, at a token.
type errDeep struct{ at spot }

func (errDeep) Error() string { return fmt.Sprintf("nested more than %d deep", maxDepth) }

// parseYAML runs the YAML parser. The parser calls itself for each level, so
// that the levels are counted before it runs; should it panic, the file is to
// blame.
func parseYAML(src string) (docs []*ast.DocumentNode, err error) {
	defer func() {
		if p := recover(); p != nil {
			docs, err = nil, fmt.Errorf("the YAML parser gives up: %v", p)
		}
	}()
	tokens := lexer.Tokenize(src)
	flow, run, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			if t.Position.Line != line {
				run = 0
			}
			run++
		}
		line = t.Position.Line
		// A block level costs at least one column.
		if flow > maxDepth || run > maxDepth || t.Position.IndentNum > 4*maxDepth {
			return nil, errDeep{spotAt(t.Position.Line, t.Position.Column)}
		}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	return file.Docs, nil
}

// syntax reports that the YAML parser has refused the file.
func (r *reports) syntax(err error) {
	at, message := spotAt(1, 1), err.Error()
	var deep errDeep
	var yamlErr yaml.Error
	switch {
	case errors.As(err, &deep):
		at = deep.at
	case errors.As(err, &yamlErr):
		message = yamlErr.GetMessage()
		if t := yamlErr.GetToken(); t != nil && t.Position != nil {
			at = spotAt(t.Position.Line, t.Position.Column)
		}
	}
	switch {
	case strings.Contains(message, "\t") || strings.Contains(message, "tab character"):
		message = "a tab stands where YAML wants spaces"
	case strings.Contains(message, "mapping value is not allowed"):
		message += `; a text that holds ": " stands in quotes`
	}
	r.add(at, "this is not YAML: %s", message)
}

func spotOf(n ast.Node) spot {
	switch m := n.(type) {
	case *ast.MappingNode: // its own token is its first colon
		if len(m.Values) > 0 && !m.IsFlowStyle {
			n = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return spotAt(1, 1)
	}
	return spotAt(t.Position.Line, t.Position.Column)
}

// node turns a node of the YAML tree into one of ours.
func (r *reports) node(n ast.Node, path string, depth int) *node {
	out := &node{spot: spot{spotOf(n).at, path}}
	if depth > maxDepth {
		r.add(out.spot, "nested more than %d deep", maxDepth)
		out.bad = true
		return out
	}
	refuse := func(what string) *node {
		r.add(out.spot,
			"%s are not part of the scenario language: write the value out, or put what several items share under defaults", what)
		out.kind, out.bad = scalar, true
		return out
	}
	switch n := n.(type) {
	case *ast.NullNode:
		out.kind = null
	case *ast.MappingNode:
		out.kind = mapping
		r.entries(out, n.Values, depth)
	case *ast.MappingValueNode:
		out.kind = mapping
		r.entries(out, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.kind = list
		for i, v := range n.Values {
			out.items = append(out.items, r.node(v, itemPath(path, i, v), depth+1))
		}
	case *ast.AnchorNode:
		return refuse("anchors (&)")
	case *ast.AliasNode:
		return refuse("aliases (*)")
	case *ast.TagNode:
		return refuse("tags (!)")
	case *ast.LiteralNode:
		out.kind, out.text = scalar, n.Value.Value
	case ast.ScalarNode:
		out.kind, out.text = scalar, n.GetToken().Value
		if s, ok := n.(*ast.StringNode); ok {
			out.text = s.Value
		}
		r.spell(out)
	default:
		return refuse(fmt.Sprintf("YAML nodes of type %s", n.Type().YAMLName()))
	}
	return out
}

// itemPath names an item of a list: by its name or id when it has one.
func itemPath(path string, i int, v ast.Node) string {
	if m, ok := v.(*ast.MappingNode); ok {
		for _, e := range m.Values {
			if k := keyText(e.Key); k == "name" || k == "id" {
				if s, ok := e.Value.(*ast.StringNode); ok && s.Value != "" && len(s.Value) < 100 {
					return path + "." + s.Value
				}
			}
		}
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func keyText(k ast.MapKeyNode) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	if t := k.GetToken(); t != nil {
		return t.Value
	}
	return ""
}

// entries adds the entries of a mapping and refuses those that come twice.
func (r *reports) entries(out *node, values []*ast.MappingValueNode, depth int) {
	for _, v := range values {
		key := &node{kind: scalar, spot: spot{spotOf(v.Key).at, out.path}, text: keyText(v.Key)}
		_, plain := v.Key.(ast.ScalarNode)
		switch v.Key.(type) {
		case *ast.MergeKeyNode:
			r.add(key.spot,
				"merge keys (<<) are not part of the scenario language: put what several items share under defaults")
			out.bad = true
			continue
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			plain = false
		}
		if !plain {
			r.add(key.spot, "a key is a plain word")
			continue
		}
		if first := out.key(key.text); first != nil {
			r.add(key.spot, "%q stands here a second time; the first is in line %d", key.text, first.at.line)
			continue
		}
		r.spell(key)
		value := &node{spot: key.field(key.text)}
		if v.Value != nil {
			value = r.node(v.Value, value.path, depth+1)
			if value.kind == null {
				value.at = key.at // what is missing has no place of its own
			}
		}
		out.entries = append(out.entries, entry{key: key, value: value})
	}
}

// key returns the node of a key, or nil.
func (n *node) key(text string) *node {
	for _, e := range n.entries {
		if e.key.text == text {
			return e.key
		}
	}
	return nil
}

// spell finds out whether a scalar's text stands in the file as it is, so that
// a caret can point into it.
func (r *reports) spell(n *node) {
	if n.at.line < 1 || n.at.line > len(r.lines) {
		return
	}
	rest := r.lines[n.at.line-1]
	for range n.at.column - 1 {
		if rest == "" {
			return
		}
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	switch {
	case strings.HasPrefix(rest, n.text):
		n.verbose, n.inner = true, n.at.column
	case rest != "" && strings.HasPrefix(rest[1:], n.text): // behind a quote, which is one byte
		n.verbose, n.inner = true, n.at.column+1
	}
}
