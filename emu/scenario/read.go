package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// read checks a tree against the language: keys, kinds and values. It stores the
// values in the nodes, and marks the nodes that it refuses as bad.
func (r *reports) read(n *node, p *param.Param) {
	if n.bad {
		return
	}
	switch p.Kind {
	case param.Object:
		r.readObject(n, p)
	case param.Map:
		if n.kind == null || n.want(r, mapping, p) {
			for _, e := range n.entries {
				if _, err := parsePattern(e.key); err != nil {
					r.add(spot{e.at, n.path}, "%v", err)
					e.value.bad = true
					continue
				}
				r.read(e.value, p.Item)
			}
		}
	case param.List:
		r.readList(n, p)
	default:
		n.join(p)
		r.readValue(n, p)
	}
}

// join makes a list the text that it stands for, where a value may have commas.
func (n *node) join(p *param.Param) {
	if n.kind != list || !p.Listed() {
		return
	}
	var texts []string
	for _, v := range n.items {
		if v.kind != scalar {
			return
		}
		texts = append(texts, v.text)
	}
	*n = node{kind: scalar, spot: n.spot, text: strings.Join(texts, ", ")}
}

// want reports a node that is not of a kind.
func (n *node) want(r *reports, k kind, p *param.Param) bool {
	if n.kind == k {
		return true
	}
	n.bad = true
	r.add(n.spot, "%s stands here, where %s is wanted", n.kind, wanted(p))
	return false
}

// wanted describes the values of a parameter for messages: of many keys the first.
func wanted(p *param.Param) string {
	if p.Kind == param.Object && p.Values == "" {
		return "a mapping with " + someOf(p.Object.Keys())
	}
	return p.Wanted()
}

func (r *reports) readObject(n *node, p *param.Param) {
	if n.kind == null {
		n.kind = mapping
	}
	n.expand(p.Short)
	if !n.want(r, mapping, p) {
		return
	}
	r.unfold(n, p.Object)
	for _, e := range n.entries {
		key, at := e.key, spot{e.at, n.path}
		before, rest, _ := strings.Cut(key, ":")
		switch f := p.Object.Find(key); {
		case f != nil:
			r.read(e.value, f)
		case before != "" && strings.Trim(before, "0123456789") == "":
			meant := fmt.Sprintf("a fraction has a point, such as 0.%s", before)
			if rest != "" || e.value.kind != null {
				meant = fmt.Sprintf(`a list stands in quotes, such as "0:0,%s:1"`, before)
			}
			r.addUnknown(at, "%q is not a key: a comma begins the next one, and %s", before, meant)
		case rest != "" && p.Object.Find(before) != nil:
			r.addUnknown(at, "%q is not a key and a value: a space is missing behind %q", key, before+":")
			r.mean(n, p.Object.Find(before), at)
		case p.Object.Find("loss") != nil && noFault(key) != "":
			r.addUnknown(at, "%q is no fault of a link: %s", key, noFault(key))
		default:
			near := suggest(p.Object, key)
			r.addUnknown(at, "unknown key %q%s: allowed here are %s", key, spelling.DidYouMean(near), keys(p.Object, key))
			r.mean(n, p.Object.Find(near), at)
		}
	}
	r.missing(n, p.Object)
}

// mean enters a bad value for the key that an unknown key probably stands for, unless that key is there too.
// So the field does not count as missing, and no check uses its default.
func (r *reports) mean(n *node, p *param.Param, at spot) {
	if p != nil && n.get(p.Key) == nil {
		n.entries = append(n.entries, entry{p.Key, at.at, &node{spot: at.field(p.Key), bad: true, lost: true}})
		if p.Required || !p.Kind.Single() || slices.Contains([]string{"name", "group", "spread"}, p.Key) { // it decides which objects exist
			r.affect(at.field(p.Key).path)
		}
	}
}

// unfold replaces mappings that stand for several fields by those fields.
func (r *reports) unfold(n *node, of *param.Struct) {
	for i := range of.Params {
		p := &of.Params[i]
		whole := n.get(p.Key)
		if p.Parts == nil || whole == nil || whole.kind != mapping {
			continue
		}
		n.remove(p.Key)
		for _, e := range whole.entries {
			field, all := part(p, e.key)
			switch {
			case field == "":
				r.addUnknown(spot{e.at, whole.path}, "unknown key %q%s: allowed here are %s",
					e.key, spelling.DidYouMean(spelling.Nearest(e.key, all)), someOf(all))
			case n.get(field) != nil:
				r.add(spot{e.at, e.value.path}, "%s and %s.%s set the same field: one of them is enough",
					field, p.Key, e.key)
			default:
				n.put(field, e.value)
			}
		}
	}
}

// part returns the field that a key of a mapping in place of a value stands for, or nothing, and
// all keys of the mapping.
func part(p *param.Param, key string) (field string, all []string) {
	for _, part := range p.Parts {
		if part.Key == key {
			field = part.Field
		}
		all = append(all, part.Key)
	}
	return field, all
}

// missing reports the required fields that an object does not have.
func (r *reports) missing(n *node, of *param.Struct) {
	var missing []string
	for i := range of.Params {
		if p := &of.Params[i]; p.Required && !p.Inherits && n.get(p.Key) == nil {
			missing = append(missing, fmt.Sprintf("%s (%s)", p.Key, wanted(p)))
		}
	}
	switch len(missing) {
	case 0:
		return
	case 1:
		r.add(n.spot, "this is missing: %s", missing[0])
	default:
		r.add(n.spot, "these are missing: %s", strings.Join(missing, "; "))
	}
	n.bad = true
}

func (r *reports) readList(n *node, p *param.Param) {
	if n.kind == null && p.Length == 0 {
		n.kind = list
	}
	if !n.want(r, list, p) {
		return
	}
	if p.Length > 0 && len(n.items) != p.Length {
		n.bad = true
		r.add(n.spot, "a list of %d stands here, where %s is wanted", len(n.items), wanted(p))
		return
	}
	for _, v := range n.items {
		v.expand(p.Short)
		r.read(v, p.Item)
		n.bad = n.bad || v.bad && p.Length > 0
	}
}

// expand replaces a short form, a single value, by a mapping with that value of a field.
func (n *node) expand(field string) {
	if n.kind == scalar && field != "" {
		text := *n
		*n = node{kind: mapping, spot: text.spot, bad: text.bad}
		n.put(field, &text)
	}
}

func (r *reports) readValue(n *node, p *param.Param) {
	if n.kind == null {
		n.bad = true
		r.add(n.spot, "a value is missing: %s is wanted", wanted(p))
		return
	}
	if !n.want(r, scalar, p) {
		return
	}
	v, err := p.Read(n.text)
	if err != nil {
		n.bad = true
		at := n.spot
		var off interface{ Offset() int }
		if errors.As(err, &off) {
			at = r.inside(n, off.Offset())
		}
		r.add(at, "%v%s", err, meant(p, n.text))
		return
	}
	n.value = v
}

// meant returns a question for the word or unit nearest to a misspelt one, or nothing.
func meant(p *param.Param, text string) string {
	if p.Kind == param.Word {
		if word := p.Means[text]; word != "" {
			return spelling.DidYouMean(word)
		}
		return spelling.DidYouMean(spelling.Nearest(text, p.Words))
	}
	number, word := unit.Split(text)
	if number == "" || word == "" || slices.Contains(p.Units(), word) {
		return ""
	}
	return spelling.DidYouMean(spelling.Nearest(word, p.Units()))
}
