package resolve

import (
	"cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
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
	r.CheckValues(v, of)
}
