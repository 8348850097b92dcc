package resolve

import (
	"cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
)

// WithSchemes has Load choose from other tables than BuiltIn.
func WithSchemes(s scenario.Schemes) Option { return func(o *options) { o.schemes = &s } }

// checkChoices reports values that another algorithm, scheme or transport may have, but not the
// chosen one.
func (r *resolver) checkChoices() {
	for _, c := range []struct {
		section, key string
		of           *scenario.Table
	}{
		{"switches", "marking", r.Tables.Points},
		{"flows", "control", r.Tables.Algorithms}, {"flows", "transport", r.Tables.Transports},
		{"workload", "control", r.Tables.Algorithms}, {"workload", "transport", r.Tables.Transports},
	} {
		for _, v := range r.all(c.section) {
			r.checkParams(v.Sub(c.key), c.of)
		}
	}
}

// checkParams reports values that the chosen one of a table cannot have.
func (r *resolver) checkParams(v yaml.View, t *scenario.Table) {
	by := cmp.Or(v.Chain[0].Get(t.By), v.Chain[1].Get(t.By))
	of := t.Find(yaml.Get[string](v, t.By))
	if of == nil || by != nil && by.Value == nil { // there is no choice, or it was wrong
		return
	}
	r.checkValues(v, of)
}

// prioritiesOf returns the priorities in a list, and others without it.
func prioritiesOf(v yaml.View, key string, others scenario.Priorities) (p scenario.Priorities) {
	classes := v.List(key)
	if classes == nil {
		return others
	}
	for _, n := range classes.Items {
		if class, ok := n.Value.(int64); ok {
			p |= 1 << class
		}
	}
	return p
}

// params returns the parameters of a choice. It leaves out values that the choice cannot have:
// checkChoices reports them.
func params(v yaml.View, of *param.Struct, finish func(pointer any)) any {
	return of.Build(func(p *param.Param) any {
		n := v.Node(p.Key)
		switch {
		case p.Kind == param.Object:
			if sub := v.Sub(p.Key); sub.Present() {
				return params(sub, p.Object, nil)
			}
		case n != nil && p.Kind == param.List:
			return prioritiesOf(v, p.Key, 0)
		case n != nil:
			if value, err := p.Read(n.Text); err == nil {
				return value
			}
		}
		return nil
	}, func(pointer any) {
		param.Complete(v.Given)(pointer)
		if finish != nil {
			finish(pointer)
		}
	})
}

// chosen returns the choice that an object within another names, and its parameters; nil if it has
// none.
func chosen(t *scenario.Table, v yaml.View, key string, finish func(pointer any)) (name string, made any) {
	v = v.Sub(key)
	name = yaml.Get[string](v, t.By)
	if of := t.Find(name); of != nil {
		made = params(v, of, finish)
	}
	return name, made
}

// checkValues reports values that parameters cannot have.
func (r *resolver) checkValues(v yaml.View, of *param.Struct) {
	for i := range of.Params {
		p := &of.Params[i]
		if n := v.Node(p.Key); n != nil && p.Kind.Single() {
			if _, err := p.Read(n.Text); err != nil {
				r.Add(n.Spot, "%v", err)
			}
		}
	}
}

// grammar is the language as a tree is read against it.
type grammar struct{ scenario.Tables }

// Own implements yaml.Grammar.
func (g grammar) Own(of *param.Struct, n, root *yaml.Node) *param.Struct {
	return g.Tables.Own(of, func(key string) bool { return n.Get(key) != nil }, func(from *scenario.Table) string {
		usual := root
		for _, key := range from.Usual {
			usual = usual.Get(key)
		}
		if by := cmp.Or(n.Get(from.By), usual.Get(from.By)); by != nil && by.Kind == yaml.Scalar {
			return by.Text
		}
		return ""
	})
}
