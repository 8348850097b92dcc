package resolve

import (
	"iter"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
)

// placed returns problems with their places. A switch is at its key and an endpoint at its name. A
// value that is not in the file is where it would be.
func placed(r *source, names *names, problems []scenario.Problem) iter.Seq2[place.Spot, scenario.Problem] {
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
		for _, m := range slices.Concat(names.switches, names.endpoints) {
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
func report(r *source, names *names, problems []scenario.Problem) {
	for at, p := range placed(r, names, problems) {
		r.Report(at, p.Text)
	}
}
