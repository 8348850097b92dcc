package scenario

import (
	"fabemu/emu/spelling"
	"fabemu/wire/param"
)

// Language returns the scenario language: what Load follows. It is that of the tags of
// Scenario and of the types within it, and of the parameters of schemes.
func Language() *param.Param { return builtIn().whole() }

// LanguageOf returns the language of scenarios that choose from other tables.
func LanguageOf(t Schemes) *param.Param { return t.tables().whole() }

// whole is the language as that of one value.
func (t tables) whole() *param.Param { return &param.Param{Kind: param.Object, Object: t.language} }

// shared returns the parameters of a type that may stand under defaults: all but those
// that belong to an item.
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

// defaults are what the items of lists have that do not say otherwise.
type defaults struct {
	_ struct{} `key:"link" form:"link" also:"links" doc:"What links have that do not say otherwise."`
	_ struct{} `key:"switch" form:"switch" also:"switches" doc:"What switches have that do not say otherwise."`
	_ struct{} `key:"endpoint" form:"endpoint" also:"endpoints|adapter" doc:"What endpoints have that do not say otherwise."`
	_ struct{} `key:"flow" form:"flow" also:"flows" doc:"What flows have that do not say otherwise."`
}

// forms are the ways of writing of a scenario that chooses from tables.
func (t tables) forms() param.Forms {
	forms := ownForms()
	object := func(s *param.Struct) param.Param { return param.Param{Kind: param.Object, Object: s} }
	forms["control"] = object(&param.Struct{Params: t.laws.fields("fixed", "The law by which the source changes its rate")})
	forms["transport"] = param.Param{
		Kind: param.Object, Short: t.transports.by,
		Object: &param.Struct{Params: t.transports.fields("", "What becomes of packets on their way")},
	}
	forms["marking"] = object(&param.Struct{Params: t.points.fields(NoScheme, "Whom the switch marks or notifies, and when")})
	forms["defaults"] = object(param.Of(defaults{}, param.Forms{
		"link": object(shared(Link{}, forms)), "switch": object(shared(Switch{}, forms)),
		"endpoint": object(shared(Endpoint{}, forms)), "flow": object(shared(Flow{}, forms)),
	}))
	return forms
}

// keys lists the keys of an object, the nearest to a misspelt one first.
func keys(of *param.Struct, word string) string {
	return someOf(spelling.ByNearness(word, of.Keys()))
}

// suggest returns the key of an object nearest to a misspelt one, or nothing.
func suggest(of *param.Struct, word string) (key string) {
	for i := range of.Params {
		for _, w := range of.Params[i].Also {
			if spelling.Same(w, word) {
				return of.Params[i].Key
			}
		}
	}
	return spelling.Nearest(word, of.Keys())
}
