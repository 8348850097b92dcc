package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
)

// Linter returns what is right in a scenario, but probably not intended. Package
// emu/scenario/lint has one.
type Linter func(*scenario.Site) []scenario.Problem

// Lint has Load warn of what a linter finds.
func Lint(check Linter) Option {
	return func(o *options) { o.lint = check }
}

// lint adds the warnings of a linter.
func (r *resolver) lint(check Linter) {
	r.standIn()
	defer r.withdraw()
	r.Shortened = len(r.left.flows) > 0
	problems := check(r.Site)
	if len(problems) == 0 {
		return
	}
	spots := map[string]yaml.Spot{}
	for _, p := range problems {
		spots[p.Path] = yaml.Spot{Path: p.Path}
	}
	r.Root.Locate(spots)
	for _, p := range problems {
		w := r.Entry(spots[p.Path], p.Text)
		r.Warnings = append(r.Warnings, w)
		if p.Manageable {
			r.manageable = append(r.manageable, scenario.Warning(w))
		}
	}
}
