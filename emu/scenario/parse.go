package scenario

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"fabemu/wire/param"

	"go.yaml.in/yaml/v4"
)

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
	docs, err := documents(src)
	if err != nil {
		r.syntax(err)
		return nil
	}
	var root *yaml.Node
	for _, doc := range docs {
		if isNull(doc) && doc.Value == "" {
			continue // nothing, or comments
		}
		if root != nil {
			r.add(spotOf(doc), "a second document begins here: a file holds one scenario")
			return nil
		}
		root = doc
	}
	if root == nil || isNull(root) {
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

func spotOf(n *yaml.Node) spot { return spotAt(n.Line, n.Column) }

// documents runs the YAML parser. Should it panic, the file is to blame.
func documents(src string) (docs []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			docs, err = nil, fmt.Errorf("the YAML parser gives up: %v", p)
		}
	}()
	loader, err := yaml.NewLoader(strings.NewReader(src), yaml.WithPlugin(rules{}))
	for err == nil {
		var doc yaml.Node
		if err = loader.Load(&doc); err == nil {
			docs = append(docs, doc.Content...)
		}
	}
	if err != io.EOF {
		return nil, err
	}
	return docs, nil
}

// rules tell the YAML parser how deep a file may nest, and what aliases stand for: anything, since
// they are refused later, with their places.
type rules struct{}

// CheckDepth refuses what nests too deeply.
func (rules) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > maxDepth {
		return errDeep{}
	}
	return nil
}

// CheckAlias lets any number of aliases pass.
func (rules) CheckAlias(int, int) error { return nil }

// NewAliasDataContext returns what aliases stand for.
func (rules) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return rules{}, nil
}

// DefineAnchor takes any anchor.
func (rules) DefineAnchor(string, *yaml.Node) error { return nil }

// ResolveAlias has something for any alias.
func (rules) ResolveAlias(string) (*yaml.Node, bool, error) {
	return &yaml.Node{Kind: yaml.ScalarNode}, true, nil
}

// BeginDocument does nothing.
func (rules) BeginDocument() error { return nil }

// EndDocument does nothing.
func (rules) EndDocument() error { return nil }

// node turns a node of the YAML tree into one of ours.
func (r *reports) node(n *yaml.Node, path string, depth int) *node {
	out := r.newNode()
	out.spot = spot{spotOf(n).at, path}
	if depth > maxDepth {
		r.add(out.spot, "nested more than %d deep", maxDepth)
		out.bad = true
		return out
	}
	if what := unwanted(n); what != "" {
		r.add(out.spot,
			"%s are not part of the scenario language: write the value out, or put what several items share under defaults",
			what)
		out.kind, out.bad = scalar, true
		return out
	}
	switch {
	case n.Kind == yaml.MappingNode:
		out.kind = mapping
		r.entries(out, n.Content, depth)
	case n.Kind == yaml.SequenceNode:
		out.kind, out.items = list, make([]*node, 0, len(n.Content))
		for i, v := range n.Content {
			out.items = append(out.items, r.node(v, itemPath(path, i, v), depth+1))
		}
	case isNull(n):
		out.kind = null
	default:
		out.kind, out.text = scalar, n.Value
		out.block = n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	}
	return out
}

// newNode returns an empty node. They are made many at a time.
func (r *reports) newNode() *node {
	if len(r.nodes) == 0 {
		r.nodes = make([]node, 64)
	}
	n := &r.nodes[0]
	r.nodes = r.nodes[1:]
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// unwanted names what a node is or has that the language is without, or nothing.
func unwanted(n *yaml.Node) string {
	switch {
	case n.Anchor != "":
		return "anchors (&)"
	case n.Kind == yaml.AliasNode:
		return "aliases (*)"
	case n.Style&yaml.TaggedStyle != 0:
		return "tags (!)"
	}
	return ""
}

// itemPath names an item of a list: by its name or id when it has one.
func itemPath(path string, i int, v *yaml.Node) string {
	if v.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(v.Content); i += 2 {
			key, value := v.Content[i], v.Content[i+1]
			if (key.Value == "name" || key.Value == "id") && value.Tag == "!!str" && value.Value != "" && len(value.Value) < 100 {
				return param.Path(path, value.Value)
			}
		}
	}
	return path + "[" + itoa(i) + "]"
}

// entries adds the entries of a mapping, its keys and values in turn, and refuses those that come twice.
func (r *reports) entries(out *node, content []*yaml.Node, depth int) {
	out.entries = make([]entry, 0, len(content)/2)
	again := false // the key before stood there already
	find, stands := out.key, map[string]place(nil)
	if len(content) > 64 { // where it pays
		stands = make(map[string]place, len(content)/2)
		find = func(key string) (at place, there bool) { at, there = stands[key]; return at, there }
	}
	for i := 0; i+1 < len(content); i += 2 {
		k, v := content[i], content[i+1]
		at := spot{spotOf(k).at, out.path}
		switch first, twice := find(k.Value); {
		case k.Tag == "!!merge":
			r.add(at, "merge keys (<<) are not part of the scenario language: put what several items share under defaults")
			out.bad = true
		case k.Kind != yaml.ScalarNode || unwanted(k) != "":
			r.add(at, "a key is a plain word")
		case twice:
			if !again { // two items that run into one another have all their keys in common
				r.add(at, "%q stands here a second time; the first is in line %d", k.Value, first.line)
			}
			again = true
			continue
		default:
			again = false
			value := r.node(v, at.field(k.Value).path, depth+1)
			if value.kind == null {
				value.at = at.at // what is missing has no place of its own
			}
			out.entries = append(out.entries, entry{k.Value, at.at, value})
			if stands != nil {
				stands[k.Value] = at.at
			}
		}
	}
}

// syntax reports that the YAML parser has refused the file: what it found, where, and on a later line than
// the beginning of what it was reading, where that began.
func (r *reports) syntax(err error) {
	at, message := spotAt(1, 1), err.Error()
	var e *yaml.LoadError
	if errors.As(err, &e) {
		at, message = spotAt(max(e.Mark.Line, 1), max(e.Mark.Column, 1)), e.Message
		if begin := e.ContextMark; begin.Line > 0 && begin.Line < e.Mark.Line {
			message += fmt.Sprintf(", %s from line %d, column %d on", e.ContextMsg, begin.Line, begin.Column)
		}
	}
	if end := r.before(at.at); end != at.at {
		at.at = end
		message += "; the file ends here"
	}
	if strings.Contains(message, "tab character") || r.character(at.at) == '\t' {
		message = "a tab stands where YAML wants spaces"
	}
	for _, h := range hints {
		if strings.HasPrefix(message, h.of) {
			message += "; " + h.hint
		}
	}
	r.add(at, "this is not YAML: %s", message)
}

// hints tell what is meant most often where the YAML parser says how its message begins.
var hints = []struct{ of, hint string }{
	{"mapping values are not allowed", `a text that holds ": " stands in quotes, and the keys of a mapping begin in one column`},
	{"did not find expected key", "the keys of a mapping begin in one column"},
	{"did not find expected '-' indicator", "the items of a list begin in one column"},
	{"could not find expected ':'", "behind a key stand a colon and a space"},
	{"found character that cannot start any token", "a text that begins with it stands in quotes"},
}

// before returns a place of the file, or the end of its text for one that is behind that.
func (r *reports) before(p place) place {
	last := len(r.lines)
	for last > 1 && strings.TrimSpace(r.lines[last-1]) == "" {
		last--
	}
	if p.line > last {
		p.line, p.column = last, utf8.RuneCountInString(strings.TrimRight(r.lines[last-1], " \t\r"))+1
	}
	return p
}

// character returns what stands at a place of the file, or 0.
func (r *reports) character(p place) rune {
	if p.line > len(r.lines) {
		return 0
	}
	column := 0
	for _, c := range r.lines[p.line-1] {
		if column++; column == p.column {
			return c
		}
	}
	return 0
}

// errDeep says that a file nests too deeply.
type errDeep struct{}

func (errDeep) Error() string { return fmt.Sprintf("nested more than %d deep", maxDepth) }
