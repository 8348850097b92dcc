package scenario

import (
	"cmp"

	"fabemu/emu/scenario/yaml"
)

// WithSchemes has Load choose from other tables than BuiltIn.
func WithSchemes(s Schemes) Option { return func(o *options) { o.schemes = &s } }

// checkChoices reports values that another algorithm, scheme or transport may have, but not the
// chosen one.
func (r *resolver) checkChoices() {
	for _, c := range []struct {
		section, key string
		of           *table
	}{
		{"switches", "marking", r.tables.points},
		{"flows", "control", r.tables.algorithms}, {"flows", "transport", r.tables.transports},
		{"workload", "control", r.tables.algorithms}, {"workload", "transport", r.tables.transports},
	} {
		for _, v := range r.items(c.section) {
			r.checkParams(v.Sub(c.key), c.of)
		}
	}
}

// checkParams reports values that the chosen one of a table cannot have.
func (r *resolver) checkParams(v yaml.View, t *table) {
	by := cmp.Or(v.Chain[0].Get(t.by), v.Chain[1].Get(t.by))
	of := t.find(yaml.Get[string](v, t.by))
	if of == nil || by != nil && by.Value == nil { // there is no choice, or it was wrong
		return
	}
	r.checkValues(v, of)
}
