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

// read checks a tree against the language: keys, kinds and values. It stores the values in the
// nodes.
func (r *reports) read(n *node, p *param.Param) {
	switch p.Kind {
	case param.Object:
		r.readObject(n, p)
	case param.Map:
		if n.kind == null || n.want(r, mapping, p) {
			for _, e := range n.entries {
				if _, err := p.Form.Read(e.key); err != nil {
					r.add(spot{e.at, n.path}, "%v", err)
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

// rename gives the keys of earlier versions in a tree their present names.
func (r *reports) rename(n *node, p *param.Param) {
	for i := range n.entries {
		e := &n.entries[i]
		switch p.Kind {
		case param.Object:
			if key := p.Object.Current(e.key); key != e.key && n.get(key) != nil {
				r.add(spot{e.at, n.path}, "%s is the old name of %s: give one of them", e.key, key)
			} else {
				e.key = key
			}
			if f := p.Object.Find(e.key); f != nil {
				r.rename(e.value, f)
			}
		case param.Map:
			r.rename(e.value, p.Item)
		}
	}
	if p.Kind == param.List {
		for _, item := range n.items {
			r.rename(item, p.Item)
		}
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
	r.add(n.spot, "found %s: expected %s", n.kind, wanted(p))
	return false
}

// wanted describes the values of a parameter for messages: of many keys the first.
func wanted(p *param.Param) string {
	if p.Kind == param.Object && p.Values == "" {
		return "a mapping with " + spelling.Several(p.Object.Keys())
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
	var meant []*param.Param // the fields that unknown keys probably mean: they do not count as missing
	for _, e := range n.entries {
		key, at := e.key, spot{e.at, n.path}
		before, rest, _ := strings.Cut(key, ":")
		switch f := p.Object.Find(key); {
		case f != nil:
			before := len(r.list)
			r.read(e.value, f)
			r.elsewhere(e.value, p.Object, f, r.list[before:])
		case before != "" && strings.Trim(before, "0123456789") == "":
			meant := fmt.Sprintf("write a fraction with a point, such as 0.%s", before)
			if rest != "" || e.value.kind != null {
				meant = fmt.Sprintf(`put a list in quotes, such as "0:0,%s:1"`, before)
			}
			r.add(at, "%q is not a key: a comma separates keys; %s", before, meant)
		case rest != "" && p.Object.Find(before) != nil:
			r.add(at, "a space is missing after %q in %q", before+":", key)
			meant = append(meant, p.Object.Find(before))
		case r.grammar.never(p.Object, key) != "":
			r.add(at, "%s", r.grammar.never(p.Object, key))
		default:
			near, list := r.unknown(n, p.Object, key)
			r.add(at, "unknown key %q%s: allowed here are %s", key, spelling.DidYouMean(near), list)
			meant = append(meant, p.Object.Find(near))
		}
	}
	r.missing(n, p.Object, meant)
}

// elsewhere adds to the message about a wrong word the field next to it that has such a word.
func (r *reports) elsewhere(n *node, of *param.Struct, p *param.Param, wrong []Error) {
	if len(wrong) != 1 || n.kind != scalar || !p.Kind.Single() || strings.Contains(wrong[0].Message, "did you mean") {
		return
	}
	if other := r.grammar.elsewhere(of, p, n.text); other != "" {
		wrong[0].Message += spelling.DidYouMean(other)
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
				r.add(spot{e.at, whole.path}, "unknown key %q%s: allowed here are %s",
					e.key, spelling.DidYouMean(spelling.Nearest(e.key, all)), spelling.Several(all))
			case n.get(field) != nil:
				r.add(spot{e.at, e.value.path}, "%s and %s.%s set the same field: give one of them",
					field, p.Key, e.key)
			default:
				n.put(field, e.value)
			}
		}
	}
}

// part returns the field that a key of a mapping instead of a value stands for, or nothing, and
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

// missing reports the required fields that an object does not have, except some.
func (r *reports) missing(n *node, of *param.Struct, but []*param.Param) {
	var missing []string
	for i := range of.Params {
		if p := &of.Params[i]; p.Required && !p.Inherits && n.get(p.Key) == nil && !slices.Contains(but, p) {
			missing = append(missing, fmt.Sprintf("%s (%s)", p.Key, wanted(p)))
		}
	}
	if len(missing) > 0 {
		r.add(n.spot, "missing: %s", strings.Join(missing, "; "))
	}
}

func (r *reports) readList(n *node, p *param.Param) {
	if n.kind == null && p.Length == 0 {
		n.kind = list
	}
	if !n.want(r, list, p) {
		return
	}
	switch {
	case p.Length > 0 && len(n.items) != p.Length:
		r.add(n.spot, "found a list of %d: expected %s", len(n.items), wanted(p))
		return
	case len(n.items) < p.Least:
		r.add(n.spot, "there are no %s: expected %s", p.Key, p.Wanted())
	}
	for _, v := range n.items {
		v.expand(p.Short)
		r.read(v, p.Item)
	}
}

// expand replaces a short form, a single value, by a mapping with that value of a field.
func (n *node) expand(field string) {
	if n.kind == scalar && field != "" {
		text := *n
		*n = node{kind: mapping, spot: text.spot}
		n.put(field, &text)
	}
}

func (r *reports) readValue(n *node, p *param.Param) {
	if n.kind == null {
		r.add(n.spot, "the value is missing: expected %s", wanted(p))
		return
	}
	if !n.want(r, scalar, p) {
		return
	}
	v, err := p.Read(n.text)
	if err != nil {
		at := n.spot
		if wrong, ok := errors.AsType[param.Misread](err); ok {
			at = r.inside(n, wrong.At)
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
	units := p.Units()
	if rate := speedOf(word); number == "" && rate != "" && slices.Contains(units, "Gb/s") {
		return spelling.DidYouMean(rate)
	}
	if number == "" || word == "" || slices.Contains(units, word) {
		return ""
	}
	near := spelling.Nearest(word, units)
	if near == "" { // 10G
		if i := slices.IndexFunc(units, func(u string) bool { return len(u) > len(word) && strings.EqualFold(u[:len(word)], word) }); i >= 0 {
			near = number + units[i]
		}
	}
	return spelling.DidYouMean(near)
}

// speedOf returns the data rate of a link of four lanes that InfiniBand has a name for, or nothing.
func speedOf(name string) string {
	switch strings.ToUpper(name) {
	case "SDR":
		return "8Gb/s"
	case "DDR":
		return "16Gb/s"
	case "QDR":
		return "32Gb/s"
	case "EDR":
		return "100Gb/s"
	case "HDR":
		return "200Gb/s"
	case "NDR":
		return "400Gb/s"
	case "XDR":
		return "800Gb/s"
	}
	return ""
}
