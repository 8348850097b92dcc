package resolve

import (
	"iter"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
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
	for at, p := range r.placed(check(r.Site)) {
		w := r.Entry(at, p.Text)
		r.Warnings = append(r.Warnings, w)
		if p.Manageable {
			r.manageable = append(r.manageable, scenario.Warning(w))
		}
	}
}

// placed returns problems with their places. A switch is at its key and an endpoint at its name. A
// value that is not in the file is where it would be.
func (r *resolver) placed(problems []scenario.Problem) iter.Seq2[place.Spot, scenario.Problem] {
	return func(yield func(place.Spot, scenario.Problem) bool) {
		if len(problems) == 0 {
			return
		}
		spots := map[string]place.Spot{}
		for _, p := range problems {
			for path := p.Path; ; path = path[:strings.LastIndexAny(path, ".[")] {
				spots[path] = place.Spot{Path: path}
				if !strings.ContainsAny(path, ".[") {
					break
				}
			}
		}
		r.Root.Locate(spots)
		for _, m := range slices.Concat(r.switchNodes, r.endpointNodes) {
			spots[m.Spot.Path] = m.Spot
		}
		for _, p := range problems {
			path := p.Path
			for spots[path].At == (place.Place{}) && strings.ContainsAny(path, ".[") {
				path = path[:strings.LastIndexAny(path, ".[")]
			}
			if !yield(spots[path].At.Of(p.Path), p) {
				return
			}
		}
	}
}

// report adds problems to the mistakes.
func (r *resolver) report(problems []scenario.Problem) {
	for at, p := range r.placed(problems) {
		r.Report(at, p.Text)
	}
}
