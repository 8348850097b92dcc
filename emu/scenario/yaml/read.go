package yaml

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario/place"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Read checks a tree against the language: keys, kinds and values. It stores the values in the
// nodes.
func (r *File) Read(n *Node, p *param.Param) {
	if n.refused {
		return
	}
	switch p.Kind {
	case param.Object:
		r.readObject(n, p)
	case param.Map:
		if n.Kind == Null || n.want(r, Mapping, p) {
			for _, e := range n.Entries {
				if _, err := p.Form.Read(e.Key); err != nil {
					r.Add(e.At.Of(n.Path), "%v", err)
				}
				r.Read(e.Value, p.Item)
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
func (r *File) rename(n *Node, p *param.Param) {
	for i := range n.Entries {
		e := &n.Entries[i]
		switch p.Kind {
		case param.Object:
			if key := p.Object.Current(e.Key); key != e.Key && n.Get(key) != nil {
				r.Add(e.At.Of(n.Path), "%s is the old name of %s: give one of them", e.Key, key)
			} else {
				e.Key = key
			}
			if f := p.Object.Find(e.Key); f != nil {
				r.rename(e.Value, f)
			}
		case param.Map:
			r.rename(e.Value, p.Item)
		}
	}
	if p.Kind == param.List {
		for _, item := range n.Items {
			r.rename(item, p.Item)
		}
	}
}

// join makes a list the text that it stands for, where a value may have commas.
func (n *Node) join(p *param.Param) {
	if n.Kind != List || !p.Listed() {
		return
	}
	var texts []string
	for _, v := range n.Items {
		if v.Kind != Scalar {
			return
		}
		texts = append(texts, v.Text)
	}
	*n = Node{Kind: Scalar, Spot: n.Spot, Text: strings.Join(texts, ", ")}
}

// want reports a node that is not of a kind.
func (n *Node) want(r *File, k Kind, p *param.Param) bool {
	if n.Kind == k {
		return true
	}
	r.Add(n.Spot, "found %s: expected %s", n.Kind, wanted(p))
	r.lack(n.Path, "")
	return false
}

// wanted describes the values of a parameter for messages: of many keys the first.
func wanted(p *param.Param) string {
	if p.Kind == param.Object && p.Values == "" {
		return "a mapping with " + spelling.Several(p.Object.Keys())
	}
	return p.Wanted()
}

func (r *File) readObject(n *Node, p *param.Param) {
	if n.Kind == Null {
		n.Kind = Mapping
	}
	n.expand(p.Short)
	if !n.want(r, Mapping, p) {
		return
	}
	r.unfold(n, p.Object)
	var meant []*param.Param // the fields that unknown keys probably mean: they do not count as missing
	for _, e := range n.Entries {
		key, at := e.Key, e.At.Of(n.Path)
		before, rest, _ := strings.Cut(key, ":")
		switch f := p.Object.Find(key); {
		case f != nil:
			before := len(r.Mistakes)
			r.Read(e.Value, f)
			r.elsewhere(e.Value, p.Object, f, r.Mistakes[before:])
		case before != "" && strings.Trim(before, "0123456789") == "":
			meant := fmt.Sprintf("write a fraction with a point, such as 0.%s", before)
			if rest != "" || e.Value.Kind != Null {
				meant = fmt.Sprintf(`put a list in quotes, such as "0:0,%s:1"`, before)
			}
			r.Add(at, "%q is not a key: a comma separates keys; %s", before, meant)
			r.lack(n.Path, "")
		case rest != "" && p.Object.Find(before) != nil:
			r.Add(at, "a space is missing after %q in %q", before+":", key)
			r.lack(n.Path, before)
			meant = append(meant, p.Object.Find(before))
		default:
			near, list := r.unknown(n, p.Object, key)
			r.Add(at, "unknown key %q%s: allowed here are %s", key, spelling.DidYouMean(near), list)
			r.lack(n.Path, near)
			meant = append(meant, p.Object.Find(near))
		}
	}
	r.missing(n, p.Object, meant)
}

// elsewhere adds to the message about a wrong word the field next to it that has such a word.
func (r *File) elsewhere(n *Node, of *param.Struct, p *param.Param, wrong []place.Error) {
	if len(wrong) != 1 || n.Kind != Scalar || !p.Kind.Single() || strings.Contains(wrong[0].Message, "did you mean") {
		return
	}
	if other := r.grammar.Elsewhere(of, p, n.Text); other != "" {
		wrong[0].Message += spelling.DidYouMean(other)
	}
}

// unfold replaces mappings that stand for several fields by those fields.
func (r *File) unfold(n *Node, of *param.Struct) {
	for i := range of.Params {
		p := &of.Params[i]
		whole := n.Get(p.Key)
		if p.Parts == nil || whole == nil || whole.Kind != Mapping {
			continue
		}
		n.Remove(p.Key)
		for _, e := range whole.Entries {
			field, all := part(p, e.Key)
			switch {
			case field == "":
				r.Add(e.At.Of(whole.Path), "unknown key %q%s: allowed here are %s",
					e.Key, spelling.DidYouMean(spelling.Nearest(e.Key, all)), spelling.Several(all))
				r.lack(n.Path, "")
			case n.Get(field) != nil:
				r.Add(e.At.Of(e.Value.Path), "%s and %s.%s set the same field: give one of them",
					field, p.Key, e.Key)
			default:
				n.Put(field, e.Value)
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
func (r *File) missing(n *Node, of *param.Struct, but []*param.Param) {
	var missing []string
	for i := range of.Params {
		if p := &of.Params[i]; p.Required && !p.Inherits && n.Get(p.Key) == nil && !slices.Contains(but, p) {
			missing = append(missing, fmt.Sprintf("%s (%s)", p.Key, wanted(p)))
			r.lack(n.Path, p.Key)
		}
	}
	if len(missing) > 0 {
		r.Add(n.Spot, "missing: %s", strings.Join(missing, "; "))
	}
}

func (r *File) readList(n *Node, p *param.Param) {
	if n.Kind == Null && p.Length == 0 {
		n.Kind = List
	}
	if !n.want(r, List, p) {
		return
	}
	switch {
	case p.Length > 0 && len(n.Items) != p.Length:
		r.Add(n.Spot, "found a list of %d: expected %s", len(n.Items), wanted(p))
		return
	case len(n.Items) < p.Least:
		r.Add(n.Spot, "there are no %s: expected %s", p.Key, p.Wanted())
	}
	for _, v := range n.Items {
		v.expand(p.Short)
		r.Read(v, p.Item)
	}
}

// expand replaces a short form, a single value, by a mapping with that value of a field.
func (n *Node) expand(field string) {
	if n.Kind == Scalar && field != "" {
		text := *n
		*n = Node{Kind: Mapping, Spot: text.Spot}
		n.Put(field, &text)
	}
}

func (r *File) readValue(n *Node, p *param.Param) {
	if n.Kind == Null {
		r.Add(n.Spot, "the value is missing: expected %s", wanted(p))
		return
	}
	if !n.want(r, Scalar, p) {
		return
	}
	v, err := p.Read(n.Text)
	if err != nil {
		at := n.Spot
		if wrong, ok := errors.AsType[param.Misread](err); ok {
			at = r.Inside(n, wrong.At)
		}
		r.Add(at, "%v%s", err, meant(p, n.Text))
		return
	}
	n.Value = v
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

// Begin has a tree read against a grammar: it reports a tree that is not a mapping, and gives the
// keys of earlier versions their present names.
func (r *File) Begin(root *Node, g Grammar) (ok bool) {
	r.grammar, r.Root = g, root
	if ok = !root.refused && root.want(r, Mapping, g.Language()); ok {
		r.rename(root, g.Language())
	}
	return ok
}
