package yaml

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"fabemu/emu/scenario/place"
	"fabemu/wire/param"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// The limits of a file. They keep a hostile file from exhausting the memory or the stack of the
// parser. The files that people write are far below.
const (
	maxSource = 16 << 20 // bytes
	maxDepth  = 100      // nested lists and mappings
)

// Parse reads the file into nodes. It returns nil, and reports why, if the file has no usable
// content. A tree may have mistakes as well: features that the language does not have, and keys
// that are given twice, of which the first counts.
func (r *File) Parse() *Node {
	src := r.text
	if len(src) > maxSource {
		r.Add(place.Spot{}, "the file has %d bytes or more; at most %d are read", len(src), maxSource)
		return nil
	}
	if !utf8.ValidString(src) {
		r.Add(spotAt(badUTF8(src)), "the file is not UTF-8 text")
		return nil
	}
	control := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
	for i, line := range r.lines {
		line = strings.TrimSuffix(line, "\r")
		if at := strings.IndexFunc(line, control); at >= 0 {
			r.Add(spotAt(i+1, utf8.RuneCountInString(line[:at])+1), "the file contains the control character U+%04X", line[at])
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
			r.Add(spotOf(doc), "a second document starts here: a file has one scenario")
			return nil
		}
		root = doc
	}
	if root == nil || isNull(root) {
		r.Add(spotAt(1, 1), "the file is empty: a scenario has at least a name, model.duration, endpoints, links and flows")
		return nil
	}
	return r.node(root, "")
}

// spotAt is a place in the file that has no field.
func spotAt(line, column int) place.Spot {
	return place.Spot{At: place.Place{Line: line, Column: column}}
}

// badUTF8 returns the place of the first bytes that are not UTF-8.
func badUTF8(src string) (line, column int) {
	good := src[:strings.IndexRune(src, utf8.RuneError)]
	last := good[strings.LastIndexByte(good, '\n')+1:]
	return strings.Count(good, "\n") + 1, utf8.RuneCountInString(last) + 1
}

func spotOf(n *yaml.Node) place.Spot { return spotAt(n.Line, n.Column) }

// documents runs the YAML parser. It reports a panic of the parser as a mistake in the file.
func documents(src string) (docs []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			docs, err = nil, fmt.Errorf("the YAML parser gives up: %v", p)
		}
	}()
	depth := loaderlimits.DepthFunc(func(depth int, _ *yaml.DepthContext) error {
		if depth > maxDepth {
			return fmt.Errorf("nested more than %d deep", maxDepth)
		}
		return nil
	})
	loader, err := yaml.NewLoader(strings.NewReader(src),
		yaml.WithPlugin(anyAlias{}, loaderlimits.New(depth, loaderlimits.AliasNone())))
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

// anyAlias accepts all anchors and aliases: node refuses them, with their places.
type anyAlias struct{}

// NewAliasDataContext returns the rules of anchors and aliases.
func (anyAlias) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return anyAlias{}, nil
}

// DefineAnchor accepts any anchor.
func (anyAlias) DefineAnchor(string, *yaml.Node) error { return nil }

// ResolveAlias returns an empty value for any alias.
func (anyAlias) ResolveAlias(string) (*yaml.Node, bool, error) {
	return &yaml.Node{Kind: yaml.ScalarNode}, true, nil
}

// BeginDocument does nothing.
func (anyAlias) BeginDocument() error { return nil }

// EndDocument does nothing.
func (anyAlias) EndDocument() error { return nil }

// node converts a node of the YAML tree and all below it.
func (r *File) node(n *yaml.Node, path string) *Node {
	out := &Node{Spot: spotOf(n).At.Of(path)}
	if feature := unwanted(n); feature != "" {
		r.Add(out.Spot,
			"%s are not part of the scenario language: write the value out, or put common values under defaults",
			feature)
		out.refused = true
		r.lack(path, "")
		return out
	}
	switch {
	case n.Kind == yaml.MappingNode:
		out.Kind = Mapping
		r.entries(out, n.Content)
	case n.Kind == yaml.SequenceNode:
		out.Kind, out.Items = List, make([]*Node, 0, len(n.Content))
		for i, v := range n.Content {
			out.Items = append(out.Items, r.node(v, itemPath(path, i, v)))
		}
	case isNull(n):
		out.Kind = Null
	default:
		out.Kind, out.Text = Scalar, n.Value
		out.block = n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	}
	return out
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// unwanted names the feature of YAML that a node uses and the language does not have; empty: none.
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

// itemPath returns the path of an item of a list: by its name or id if it has one.
func itemPath(path string, i int, v *yaml.Node) string {
	if v.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(v.Content); i += 2 {
			key, value := v.Content[i], v.Content[i+1]
			if (key.Value == "name" || key.Value == "id") && value.Tag == "!!str" && value.Value != "" && len(value.Value) < 100 {
				return param.Path(path, value.Value)
			}
		}
	}
	return path + "[" + strconv.Itoa(i) + "]"
}

// entries adds the entries of a mapping, and reports duplicate keys. The content has keys and
// values in turn.
func (r *File) entries(out *Node, content []*yaml.Node) {
	out.Entries = make([]Entry, 0, len(content)/2)
	keys := make(map[string]place.Place, len(content)/2)
	again := false // the previous key was a repetition
	for i := 0; i+1 < len(content); i += 2 {
		k, v := content[i], content[i+1]
		at := spotOf(k).At.Of(out.Path)
		switch first, twice := keys[k.Value]; {
		case k.Tag == "!!merge":
			r.Add(at, "merge keys (<<) are not part of the scenario language: put common values under defaults")
			r.lack(out.Path, "")
		case k.Kind != yaml.ScalarNode || unwanted(k) != "":
			r.Add(at, "a key must be a plain word")
			r.lack(out.Path, "")
		case twice:
			if !again { // two items that run into one another have all their keys in common
				r.Add(at, "duplicate key %q: the first is in line %d", k.Value, first.Line)
			}
			again = true
		default:
			again = false
			value := r.node(v, at.Field(k.Value).Path)
			if value.Kind == Null {
				value.At = at.At // a missing value has no place
			}
			out.Entries = append(out.Entries, Entry{k.Value, at.At, value})
			keys[k.Value] = at.At
		}
	}
}

// syntax reports an error of the YAML parser with its place. If the parser was reading something
// that began on an earlier line, it reports the beginning too.
func (r *File) syntax(err error) {
	at, message := spotAt(1, 1), err.Error()
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		at, message = spotAt(max(e.Mark.Line, 1), max(e.Mark.Column, 1)), e.Message
		if begin := e.ContextMark; begin.Line > 0 && begin.Line < e.Mark.Line {
			message += fmt.Sprintf(", %s from line %d, column %d on", e.ContextMsg, begin.Line, begin.Column)
		}
	}
	if end := r.before(at.At); end != at.At {
		at.At = end
		message += "; the file ends here"
	}
	if strings.Contains(message, "tab character") || r.character(at.At) == '\t' {
		message = "YAML needs spaces here, not a tab"
	}
	for _, h := range hints {
		if strings.HasPrefix(message, h.of) {
			message += "; " + h.hint
		}
	}
	r.Add(at, "this is not YAML: %s", message)
}

// hints are remedies for the most frequent messages of the YAML parser, by the beginning of the
// message.
var hints = []struct{ of, hint string }{
	{"mapping values are not allowed", `put a text with ": " in quotes, and start the keys of a mapping in one column`},
	{"did not find expected key", "start the keys of a mapping in one column"},
	{"did not find expected '-' indicator", "start the items of a list in one column"},
	{"could not find expected ':'", "put a colon and a space after a key"},
	{"found character that cannot start any token", "put a text that starts with it in quotes"},
}

// before returns a place, or the end of the text if the place is behind it.
func (r *File) before(p place.Place) place.Place {
	last := len(r.lines)
	for last > 1 && strings.TrimSpace(r.lines[last-1]) == "" {
		last--
	}
	if p.Line > last {
		p.Line, p.Column = last, utf8.RuneCountInString(strings.TrimRight(r.lines[last-1], " \t\r"))+1
	}
	return p
}

// character returns the character at a place of the file, or 0.
func (r *File) character(p place.Place) rune {
	if p.Line <= len(r.lines) {
		if text := []rune(r.lines[p.Line-1]); p.Column <= len(text) {
			return text[p.Column-1]
		}
	}
	return 0
}
