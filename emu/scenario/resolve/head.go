package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/unit"
)

// headOf returns what belongs to the whole scenario, and how long the run is.
func headOf(r *source) (s scenario.Scenario, run span) {
	top := r.top()
	s.Name = yaml.Get[string](top, "name")
	s.Source = yaml.Get[string](top, "source")
	s.Description = yaml.Get[string](top, "description")
	model := top.Sub("model")
	s.Model, s.Wall = yaml.Build[scenario.Model](model), yaml.Build[scenario.Wall](top.Sub("wall"))
	s.Model.DSCP = dscpOf(model)
	run = span{source: r, end: s.Model.Duration}
	if n := r.Root.Get("model").Get("duration"); n != nil {
		run.cut = place.Place{Set: n.At.Set}
	}
	s.Routing, s.Subnet = yaml.Build[scenario.Routing](top.Sub("routing")), yaml.Build[scenario.Subnet](top.Sub("subnet"))
	s.Measure = measureOf(run)
	return s, run
}

// measureOf returns the curves, and the measuring window if it is given. The window is no longer
// than the run if a --set shortens the run.
func measureOf(run span) (m scenario.Measure) {
	measure := run.top().Sub("measure")
	if curves, given := measure.At("curves"); given != nil {
		m.Curves = curves.(scenario.Curves)
	}
	window, given := measure.At("window")
	if given == nil {
		return m // UsualWindow needs the fabric
	}
	m.Window = window.(unit.Duration)
	if m.Window > run.end && run.cut.Set != nil && given.At.Set == nil {
		m.Window = run.end
		run.Warn(run.cut.Of("measure.window"),
			"the run is shorter than the measuring window of %v: rates are means over all of it", window)
	}
	return m
}
