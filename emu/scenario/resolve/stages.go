package resolve

import (
	"cmp"
	"slices"

	"fabemu/emu/scenario"
)

// resolve makes a scenario of a tree that was read, in stages. Each has what the ones before it
// have made, and leaves out what relies on a mistake. If there are mistakes, the scenario is not
// complete.
func resolve(src *source, empty scenario.Scenario, o options) (*scenario.Scenario, scenario.Findings) {
	checkChoices(src)
	once(src)
	declared := declare(src)
	head, run := headOf(src)
	head.Schemes = empty.Schemes
	of := connect(src, declared, head, run)
	t := makeTraffic(of, run)
	site, s := t.site, t.site.Scenario
	checkRun(of, site, run)

	standIn(site)
	routed, crossed := false, false
	if of.linked() && src.sound("routes") && src.right("routing.paths") && src.right("routing.recompute") && (s.Routing.Recompute == 0 || src.sound(eventSections)) {
		r := &routing{src, declared, site, t.flows.origins, t.workloads.origins}
		routed = r.findPaths()
		if crossed = src.sound(trafficSections) && src.timed() && src.right("model.framing") && src.right("model.dscp"); crossed {
			r.cross()
		}
	}
	fit(src, of, site, t.events, crossed)
	withdraw(site)
	if o.metrics != nil && routed && !t.lost() && src.sound("programs") {
		checkMetrics(run, s, t.checks, t.flows, o.metrics)
	}
	found := scenario.Findings{Paths: site.Paths, Programs: t.programs.at}
	if o.lint != nil && src.Err() == nil {
		found.Manageable = lint(src, declared, site, len(t.flows.left) > 0, o.lint)
	}
	found.Derived = slices.SortedFunc(slices.Values(site.Derived), func(a, b scenario.Threshold) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Bytes, b.Bytes))
	})
	return s, found
}

// sent is all that is sent, changed and measured.
type sent struct {
	site      *scenario.Site // the whole scenario
	flows     flows
	workloads workloads
	events    *events
	programs  programs
	checks    checks
}

// lost reports whether flows or workloads are left out, since a mistake leaves open what they are.
func (t *sent) lost() bool { return t.flows.lost || t.workloads.lost }

// makeTraffic makes the traffic of a fabric.
func makeTraffic(of *fabric, run span) *sent {
	t := &sent{flows: makeFlows(of, run)}
	t.workloads = makeWorkloads(of, run, t.flows.all)
	t.events = enterEvents(of, run)
	t.programs = makePrograms(of, run)
	site, s := *of.Site, *of.Scenario
	t.site, site.Scenario = &site, &s
	s.Flows, s.Workloads, s.Events, s.Programs = t.flows.all, t.workloads.all, t.events.All(), t.programs.all
	site.FlowOrigins, site.WorkloadOrigins = modelled(t.flows.origins), modelled(t.workloads.origins)
	t.checks = makeChecks(of.source, &s, run)
	s.Expect = t.checks.all
	if of.linked() && of.sound(trafficSections) {
		g := &guests{of.source, of.names, t.site, t.flows.origins}
		g.checkGuests()
		checkRanges(of.source, &s, t.workloads)
	}
	checkAtOnce(of.source, t.flows, t.workloads)
	if of.sound("flows workload") {
		left := leftOut{t.flows.left, slices.Concat(of.left, t.events.left, t.programs.left), t.checks.left}
		left.warn(run, len(s.Flows)+len(s.Workloads) == 0)
	}
	return t
}

// modelled returns origins as the model has them.
func modelled(all []origin) []scenario.Origin {
	out := make([]scenario.Origin, len(all))
	for i := range all {
		out[i] = scenario.Origin{Item: all[i].item, Index: all[i].Index}
	}
	return out
}

// lint adds the warnings of a linter, and returns those of congestion control that a subnet manager
// may change. Shortened is true if a --set leaves flows out.
func lint(src *source, declared *names, site *scenario.Site, shortened bool, check Linter) (manageable []scenario.Warning) {
	standIn(site)
	defer withdraw(site)
	site.Shortened = shortened
	for at, p := range placed(src, declared, check(site)) {
		w := src.Entry(at, p.Text)
		src.Warnings = append(src.Warnings, w)
		if p.Manageable {
			manageable = append(manageable, scenario.Warning(w))
		}
	}
	return manageable
}
