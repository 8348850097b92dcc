package resolve

import (
	"fmt"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/unit"
)

// leftOut lists the items that do not run because a --set ends the run before them.
type leftOut struct {
	flows, events, checks []string
	all                   []scenario.Flow // with those that do run
}

// leaves reports whether an event is left out because a --set ends the run before it. Without a
// --set it refuses the event. The message has its instant and the end of the run.
func (r *resolver) leaves(n *yaml.Node, at unit.Duration, name, message string) bool {
	switch {
	case at < r.s.Model.Duration || !r.timed():
		return false
	case r.cut.Set == nil:
		r.Add(n.Get("at").Spot, message, at, r.runEnds())
		return false
	}
	r.left.events = append(r.left.events, fmt.Sprintf("%s at %v", name, at))
	return true
}

// runEnds returns a clause with the end of the run.
func (r *resolver) runEnds() string {
	return fmt.Sprintf("the run ends at %v", r.s.Model.Duration) + bySet(r.Root.Get("model").Get("duration"))
}

// bySet names the --set that gives a value, or nothing.
func bySet(n *yaml.Node) string {
	if n == nil || n.At.Set == nil {
		return ""
	}
	return " (" + n.At.Set.Source() + ")"
}

// reportLeft warns of the items that do not run because a --set shortens the run.
func (r *resolver) reportLeft() {
	if len(r.s.Flows)+len(r.s.Workloads) == 0 && len(r.left.flows) > 0 {
		r.Add(r.cut.Of("model.duration"), "no flow starts before the end of the run")
		return
	}
	for _, left := range []struct {
		names  []string
		format string
	}{
		{r.left.flows, "flows that start later are left out: %s"},
		{r.left.events, "later events are left out: %s"},
		{r.left.checks, "checks that look further are left out: %s"},
	} {
		if len(left.names) > 0 {
			r.Warn(r.cut.Of("model.duration"), left.format, spelling.Several(left.names))
		}
	}
}
