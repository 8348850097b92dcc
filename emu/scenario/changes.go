package scenario

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Change is an instant at which an event changes the fabric.
type Change struct {
	At   unit.Time
	What string // "link trunk down"
}

// Changes returns when the events of s change the fabric, by time. An event that takes its
// change back, such as a restart, makes two.
func (s *Scenario) Changes() []Change {
	var all []Change
	add := func(at unit.Duration, format string, args ...any) {
		if at < s.Model.Duration {
			all = append(all, Change{unit.Time(at), fmt.Sprintf(format, args...)})
		}
	}
	for i := range s.Events {
		switch e := &s.Events[i]; {
		case e.Restart != 0:
			add(e.At, "switch %s restarts", e.Switch)
			add(e.At+e.Restart, "switch %s is back", e.Switch)
		case e.State != "":
			add(e.At, "link %s %s", e.Link, e.State)
		case e.PauseStorm != "":
			add(e.At, "endpoint %s: pause storm %s", e.Endpoint, e.PauseStorm)
		case e.Service != 0:
			add(e.At, "endpoint %s: service %s", e.Endpoint, builtIn().section("events").Find("service").Text(*e))
		default:
			add(e.At, "link %s at %v", e.Link, e.Rate)
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return all
}
