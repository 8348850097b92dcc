package scenario

import (
	"fmt"

	"fabemu/wire/unit"
)

// leftOut lists the items that are not run because a --set ends the run before it.
type leftOut struct {
	flows, events, checks []string
	all                   []Flow // those that are run and those that are not
}

// leaves reports whether an event is left out, since a --set ends the run before it. Without one it
// refuses the event, in words for its instant and the end of the run.
func (r *resolver) leaves(n *node, at unit.Duration, name, words string) bool {
	given, end := n.sound("at"), r.s.Model.Duration
	switch {
	case given == nil || end == 0 || at < end:
		return false
	case r.cut.set == nil:
		r.add(given.spot, words, at, r.runEnds())
		return false
	}
	r.left.events = append(r.left.events, fmt.Sprintf("%s at %v", name, at))
	return true
}

// runEnds returns, in words, when the run ends.
func (r *resolver) runEnds() string {
	return fmt.Sprintf("the run ends at %v", r.s.Model.Duration) + bySet(r.root.get("model").get("duration"))
}

// bySet names the --set that gives a value, or nothing.
func bySet(n *node) string {
	if n == nil || n.at.set == nil {
		return ""
	}
	return " (" + n.at.set.said() + ")"
}

// reportLeft warns of the items that are not run because a --set cuts the run short.
func (r *resolver) reportLeft() {
	if n := r.root.get("flows"); len(r.s.Flows) == 0 && len(r.left.flows) > 0 && !n.bad {
		r.add(spot{r.cut, "model.duration"}, "no flow starts before the end of the run")
		return
	}
	for _, left := range []struct {
		names []string
		what  string
	}{
		{r.left.flows, "flows that start later are"},
		{r.left.events, "events that come later are"},
		{r.left.checks, "checks that look further are"},
	} {
		if len(left.names) > 0 {
			r.warn(spot{r.cut, "model.duration"}, "%s left out: %s", left.what, someOf(left.names))
		}
	}
}
