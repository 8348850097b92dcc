package resolve

import (
	"fmt"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/unit"
)

// span is how long the run is, and what ends it.
type span struct {
	*source
	end unit.Duration // model.duration
	cut place.Place   // of the --set that ends the run; zero without one
}

// leaves reports whether an item is left out because a --set ends the run before it, and then adds
// its name to the items that are. Without a --set it refuses the item. The message has its instant
// and the end of the run.
func (r span) leaves(left *[]string, n *yaml.Node, at unit.Duration, name, message string) bool {
	switch {
	case at < r.end || !r.timed():
		return false
	case r.cut.Set == nil:
		r.Add(n.Get("at").Spot, message, at, r.ends())
		return false
	}
	*left = append(*left, fmt.Sprintf("%s at %v", name, at))
	return true
}

// ends returns a clause with the end of the run.
func (r span) ends() string {
	return fmt.Sprintf("the run ends at %v", r.end) + bySet(r.Root.Get("model").Get("duration"))
}

// bySet names the --set that gives a value, or nothing.
func bySet(n *yaml.Node) string {
	if n == nil || n.At.Set == nil {
		return ""
	}
	return " (" + n.At.Set.Source() + ")"
}

// leftOut lists the items that do not run because a --set ends the run before them.
type leftOut struct{ flows, events, checks []string }

// warn warns of the items that do not run because a --set shortens the run. Without any of the
// traffic that is a mistake.
func (left leftOut) warn(run span, silent bool) {
	if silent && len(left.flows) > 0 {
		run.Add(run.cut.Of("model.duration"), "no flow starts before the end of the run")
		return
	}
	for _, left := range []struct {
		names  []string
		format string
	}{
		{left.flows, "flows that start later are left out: %s"},
		{left.events, "later events are left out: %s"},
		{left.checks, "checks that look further are left out: %s"},
	} {
		if len(left.names) > 0 {
			run.Warn(run.cut.Of("model.duration"), left.format, spelling.Several(left.names))
		}
	}
}

// checkCounting refuses arrivals of which none would count. They begin at start and may end at
// stop; 0: at the end.
func checkCounting(r span, what string, of origin, start, stop, warmUp, drain unit.Duration) {
	if !r.timed() {
		return
	}
	end := r.end
	until := min(scenario.Until(stop, drain, end), unit.Time(end))
	switch {
	case drain > 0 && stop > 0:
		r.Add(of.View.Spot("drain", of.Spot), "%s: stop and drain both set when arrivals stop: leave one of them out", what)
	case drain > 0 && until <= unit.Time(start):
		r.Add(of.View.Spot("drain", of.Spot), "%s: nothing would arrive: it starts at %v, and drain takes the last %v of %v: shorten drain, or give a longer model.duration",
			what, start, drain, end)
	case warmUp > 0 && unit.Time(start+warmUp) >= until:
		r.Add(of.View.Spot("warm-up", of.Spot), "%s: nothing would count: warm-up lasts until %v, and arrivals stop at %v: shorten warm-up, or give a longer model.duration",
			what, start+warmUp, until)
	}
}
