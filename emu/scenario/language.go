package scenario

import "fabemu/wire/param"

// Language returns the scenario language, which Load follows. It consists of the tags of
// Scenario and of the types within it, and of the parameters of schemes.
func Language() *param.Param { return builtIn().whole() }

// LanguageOf returns the language with other tables of schemes.
func LanguageOf(t Schemes) *param.Param { return t.tables().whole() }

// whole returns the language as one parameter.
func (t tables) whole() *param.Param { return &param.Param{Kind: param.Object, Object: t.language} }

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
func (t tables) forms() param.Forms {
	forms := ownForms()
	object := func(s *param.Struct) param.Param { return param.Param{Kind: param.Object, Object: s} }
	choice := func(of *table, def, doc string) *param.Struct {
		s := &param.Struct{Params: of.fields(def, doc)}
		t.chosen[s] = of
		return s
	}
	forms["control"] = object(choice(t.algorithms, "fixed", "The algorithm by which the source changes its rate"))
	forms["transport"] = param.Param{
		Kind: param.Object, Short: t.transports.by,
		Object: choice(t.transports, "", "How the ends treat packets"),
	}
	forms["marking"] = object(choice(t.points, NoScheme, "Whom the switch marks or notifies, and when"))
	faults := object(param.Of(standing{}, forms))
	at := faults.Object.Find("at")
	at.Required, at.Computed = false, "0s"
	forms["faults"] = param.Param{Kind: param.List, Item: &faults}
	forms["defaults"] = object(param.Of(defaults{}, param.Forms{
		"link": object(shared(Link{}, forms)), "switch": object(shared(Switch{}, forms)),
		"endpoint": object(shared(Endpoint{}, forms)), "flow": object(shared(Flow{}, forms)),
	}))
	return forms
}
