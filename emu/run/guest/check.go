package guest

import (
	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/scenario"
)

// Check returns a *errs.Mistake where the guests of a scenario cannot take part in a run. The
// run has the wall clock or the virtual one; apart: nodes are their own in processes.
func Check(s *scenario.Scenario, wall, apart bool) error {
	all, real := s.Guests()
	switch {
	case apart && all > 0:
		return errs.Errorf("scenario %s has guests: it runs with placement goroutine", s.Name)
	case real == 0:
		return nil
	case !wall:
		return errs.Errorf("scenario %s has guests that are real hosts and live in real time: it runs with --clock wall only; guests of kind %s run on both clocks",
			s.Name, scenario.Netstack)
	}
	return host.NeedsLinux("a scenario with guests that are real hosts")
}
