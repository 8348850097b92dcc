package resolve

import (
	"iter"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// resolver makes a Scenario of a tree that was read.
type resolver struct {
	*yaml.File
	*scenario.Site
	s       scenario.Scenario
	metrics MetricChecker // nil: metrics are not checked

	linkNames map[string]*yaml.Node
	nodes     map[string]*node
	// For each switch, endpoint, link, flow and workload.
	switchNodes, endpointNodes                []*node
	linkOrigins, flowOrigins, workloadOrigins []origin
	behind                                    map[string]*scenario.Given // the defaults of each kind
	// Objects are left out, since a mistake leaves open what they are.
	fabricLost, trafficLost bool
	routed                  bool             // all frames have paths
	crossed                 bool             // the frames that cross each link are known
	checks                  []*yaml.Node     // for each of s.Expect
	programs                []scenario.Error // for each of s.Programs, the place of its command

	events scenario.Entering

	manageable []scenario.Warning // of congestion control that a subnet manager may change

	cut  place.Place // of the --set that ends the run; zero without one
	left leftOut     // the items beyond that end
}

// read makes the scenario, in stages. Each relies on what the ones before it have found, and leaves
// out what relies on a mistake.
func (r *resolver) read() {
	r.checkChoices()
	r.once()
	r.names()
	r.resolveHead()
	r.connect()
	r.checkEnds()
	if r.linked() {
		r.checkNodes()
	}
	r.resolveTraffic()
	r.checkRun()
	r.standIn()
	if r.linked() && r.sound("routes") && r.right("routing.paths") && r.right("routing.recompute") && (r.s.Routing.Recompute == 0 || r.sound(eventSections)) {
		r.findPaths()
	}
	r.fit()
	r.withdraw()
	r.checkMetrics()
}

// resolveHead fills in what belongs to the whole scenario.
func (r *resolver) resolveHead() {
	top := r.top()
	r.s.Name = yaml.Get[string](top, "name")
	r.s.Source = yaml.Get[string](top, "source")
	r.s.Description = yaml.Get[string](top, "description")
	model := top.Sub("model")
	r.s.Model, r.s.Wall = yaml.Build[scenario.Model](model), yaml.Build[scenario.Wall](top.Sub("wall"))
	r.s.Model.DSCP = dscpOf(model)
	if n := r.Root.Get("model").Get("duration"); n != nil {
		r.cut = place.Place{Set: n.At.Set}
	}
	r.s.Routing, r.s.Subnet = yaml.Build[scenario.Routing](top.Sub("routing")), yaml.Build[scenario.Subnet](top.Sub("subnet"))
	r.resolveWindow(top)
}

// resolveTraffic fills in all that is sent, changed and measured.
func (r *resolver) resolveTraffic() {
	r.resolveFlows()
	r.resolveWorkloads()
	r.resolveEvents()
	r.resolvePrograms()
	r.resolveExpect()
	if r.linked() && r.sound(trafficSections) {
		r.checkGuests()
		r.checkRanges()
	}
	r.checkAtOnce()
	if r.sound("flows workload") {
		r.reportLeft()
	}
}

// top returns the fields of the scenario.
func (r *resolver) top() yaml.View {
	return yaml.View{Of: r.Tables.Language().Object, Chain: [2]*yaml.Node{r.Root}}
}

// resolveWindow sets the measuring window if it is given, and the curves. It is no longer than the
// run if a --set shortens the run.
func (r *resolver) resolveWindow(top yaml.View) {
	if curves, given := top.Sub("measure").At("curves"); given != nil {
		r.s.Measure.Curves = curves.(scenario.Curves)
	}
	window, given := top.Sub("measure").At("window")
	end := r.s.Model.Duration
	if given == nil {
		return // UsualWindow needs the fabric
	}
	r.s.Measure.Window = window.(unit.Duration)
	if r.s.Measure.Window > end && r.cut.Set != nil && given.At.Set == nil {
		r.s.Measure.Window = end
		r.Warn(r.cut.Of("measure.window"),
			"the run is shorter than the measuring window of %v: rates are means over all of it", window)
	}
}

// items returns the items of a list or map of the scenario, each with its fields and the defaults
// of its kind. Items with mistakes are left out.
func (r *resolver) items(section string) iter.Seq2[*yaml.Node, yaml.View] {
	return func(yield func(*yaml.Node, yaml.View) bool) {
		for n, v := range r.all(section) {
			if !r.rightItem(section, n) {
				r.trafficLost = r.trafficLost || section == "flows" || section == "workload"
			} else if !yield(n, v) {
				return
			}
		}
	}
}

// all returns the same with mistakes.
func (r *resolver) all(section string) iter.Seq2[*yaml.Node, yaml.View] {
	return func(yield func(*yaml.Node, yaml.View) bool) {
		list := r.Root.Get(section)
		if list == nil || (list.Kind == yaml.Mapping) != (r.Tables.Language().Object.Find(section).Kind == param.Map) {
			return
		}
		v := r.itemView(section, nil)
		for _, n := range list.All() {
			v.Chain[0] = n
			if !yield(n, v) {
				return
			}
		}
	}
}

// itemView returns the fields of an item of a list or map, and the defaults of its kind behind
// them.
func (r *resolver) itemView(section string, item *yaml.Node) yaml.View {
	kind := kinds[section]
	v := yaml.View{Of: r.Tables.Section(section), Chain: [2]*yaml.Node{item}}
	if kind != "" {
		v.Chain[1] = r.Root.Get("defaults").Get(kind)
	}
	return v
}

// itemOf returns an item of a list or map as the model has it.
func (r *resolver) itemOf(section string, n *yaml.Node, v yaml.View) scenario.Item {
	kind := kinds[section]
	behind, known := r.behind[kind]
	if !known && kind != "" {
		behind = given(v.Chain[1])
		r.behind[kind] = behind
	}
	return scenario.NewItem(v.Of, n.Path, given(n), behind)
}

// originOf returns the origin of an item of a list.
func (r *resolver) originOf(section string, n *yaml.Node, v yaml.View) origin {
	return origin{Node: n, View: v, item: r.itemOf(section, n, v)}
}

// each returns the resolved objects of a kind, each with the source of its values.
func each[T, O any](all []T, of []O) iter.Seq2[*T, O] {
	return func(yield func(*T, O) bool) {
		for i := range all {
			if !yield(&all[i], of[i]) {
				return
			}
		}
	}
}
