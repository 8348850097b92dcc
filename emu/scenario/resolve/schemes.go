package resolve

import (
	"cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
)

// checkChoices reports values that another algorithm, scheme or transport may have, but not the
// chosen one.
func checkChoices(r *source) {
	for _, c := range []struct {
		section, key string
		of           *scenario.Table
	}{
		{"switches", "marking", r.language.Points},
		{"flows", "control", r.language.Algorithms}, {"flows", "transport", r.language.Transports},
		{"workload", "control", r.language.Algorithms}, {"workload", "transport", r.language.Transports},
	} {
		for _, v := range r.all(c.section) {
			checkParams(r, v.Sub(c.key), c.of)
		}
	}
}

// checkParams reports values that the chosen one of a table cannot have.
func checkParams(r *source, v yaml.View, t *scenario.Table) {
	by := cmp.Or(v.Chain[0].Get(t.By), v.Chain[1].Get(t.By))
	of := t.Find(yaml.Get[string](v, t.By))
	if of == nil || by != nil && by.Value == nil { // there is no choice, or it was wrong
		return
	}
	checkValues(r.File, v, of)
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
func checkValues(r *yaml.File, v yaml.View, of *param.Struct) {
	for i := range of.Params {
		p := &of.Params[i]
		if n := v.Node(p.Key); n != nil && p.Kind.Single() {
			if _, err := p.Read(n.Text); err != nil {
				r.Add(n.Spot, "%v", err)
			}
		}
	}
}
