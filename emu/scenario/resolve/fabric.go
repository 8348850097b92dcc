package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
)

// fabric is the nodes of a scenario, the links between them, the routes and the lanes.
type fabric struct {
	*source
	*names
	*scenario.Site          // of the scenario without its traffic
	origins        []origin // for each link
	left           []string // routes and lanes that do not count before the end of the run
	lost           bool     // parts are left out, since a mistake leaves open what they are
}

// linked reports whether the fabric is known: its nodes, and the links between them.
func (r *fabric) linked() bool { return !r.lost && r.sound(fabricSections) }

// joined returns the place of the ends of a link.
func (r *fabric) joined(link int) place.Place { return r.origins[link].Get("between").At }
