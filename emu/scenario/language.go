package scenario

import (
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/node/traffic"
	"fabemu/wire/param"
)

// shared returns the parameters of a type that may be under defaults: all but an item's
// own.
func shared(v any, forms param.Forms) *param.Struct {
	all, out := param.Of(v, forms), &param.Struct{}
	for _, p := range all.Params {
		if !p.Own {
			p.Required = p.Required && !p.Inherits
			out.Params = append(out.Params, p)
		}
	}
	return out
}

// defaults has the fields of all items of a list that do not set them.
type defaults struct {
	_ struct{} `key:"link" form:"link" also:"links" doc:"Fields of all links that do not set them."`
	_ struct{} `key:"switch" form:"switch" also:"switches" doc:"Fields of all switches that do not set them."`
	_ struct{} `key:"endpoint" form:"endpoint" also:"endpoints|adapter" doc:"Fields of all endpoints that do not set them."`
	_ struct{} `key:"flow" form:"flow" also:"flows" doc:"Fields of all flows that do not set them."`
}

// forms returns the forms of a scenario that chooses from tables.
func (t Tables) forms() param.Forms {
	forms := ownForms()
	object := func(s *param.Struct) param.Param { return param.Param{Kind: param.Object, Object: s} }
	choice := func(of *Table, def, doc string) *param.Struct {
		s := &param.Struct{Params: of.fields(def, doc)}
		t.chosen[s] = of
		return s
	}
	forms["control"] = object(choice(t.Algorithms, "fixed", "The algorithm by which the source changes its rate"))
	forms["transport"] = param.Param{
		Kind: param.Object, Short: t.Transports.By,
		Object: choice(t.Transports, "", "How the ends treat packets"),
	}
	forms["marking"] = object(choice(t.Points, NoScheme, "Whom the switch marks or notifies, and when"))
	for _, a := range t.rows {
		t.acts.add(a.Row().Key, nil, "", a, forms)
	}
	events, faults := object(t.events(Event{}, forms)), object(t.events(standing{}, forms))
	at := faults.Object.Find("at")
	at.Required, at.Computed = false, "0s"
	forms["events"] = param.Param{Kind: param.List, Item: &events}
	forms["faults"] = param.Param{Kind: param.List, Item: &faults}
	forms["short"] = object(param.Of(shortRun{}, forms))
	forms["defaults"] = object(param.Of(defaults{}, param.Forms{
		"link": object(shared(Link{}, forms)), "switch": object(shared(Switch{}, forms)),
		"endpoint": object(shared(Endpoint{}, forms)), "flow": object(shared(Flow{}, forms)),
	}))
	return forms
}

// Own returns the parameters of an object with what it has chosen: of its scheme, or of its act;
// nil if that is unknown. Has reports whether it has a key. Chosen returns the word for its choice
// from a table; empty if it has none.
func (t Tables) Own(of *param.Struct, has func(key string) bool, chosen func(from *Table) string) *param.Struct {
	if of == t.Section("events") || of == t.Section("faults") {
		return t.ownOfEvent(of, has)
	}
	c := t.chosen[of]
	if c == nil {
		return nil
	}
	own := c.chosen(chosen(c))
	if own == nil {
		return nil
	}
	return &param.Struct{Params: append([]param.Param{*of.Find(c.By)}, own.Params...)}
}

// Elsewhere returns the field that has a word. Words of schemes are left out: they belong to other
// schemes.
func (t Tables) Elsewhere(of *param.Struct, p *param.Param, word string) string {
	if t.chosen[of] != nil || word == NoScheme {
		return ""
	}
	for i := range of.Params {
		q := &of.Params[i]
		words := q.Words
		if _, ok := q.Usual().(Sizes); ok {
			words = traffic.Distributions()
		}
		same := func(other string) bool {
			return spelling.Same(strings.ReplaceAll(other, "-", ""), strings.ReplaceAll(word, "-", ""))
		}
		if j := slices.IndexFunc(words, same); q != p && j >= 0 {
			return q.Key + ": " + words[j]
		}
	}
	return ""
}
