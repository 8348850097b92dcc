package resolve

import (
	"errors"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/wire/param"
)

// checkMetrics reports checks whose metrics cannot be measured. It leaves out those that lack only
// a flow that a --set has left out.
func checkMetrics(run span, s *scenario.Scenario, checks checks, flows flows, check MetricChecker) {
	var kept []scenario.Check
	var left []string
	whole := *s
	whole.Flows = flows.whole
	for i, n := range checks.from {
		c := s.Expect[i]
		if _, ofProgram := s.ProgramMetric(c.Metric); ofProgram {
			kept = append(kept, c)
			continue
		}
		err := check(c.Metric, s)
		if err != nil && len(flows.left) > 0 && check(c.Metric, &whole) == nil {
			left = append(left, c.ID)
			continue
		}
		kept = append(kept, c)
		metric := n.Get("metric")
		at := metric.Spot
		if wrong, ok := errors.AsType[param.Misread](err); ok && metric.Text == c.Metric {
			at = run.Inside(metric, wrong.At)
		}
		if err != nil {
			run.Add(at, "%v", err)
		}
	}
	for _, name := range s.Measure.Curves.Names() {
		if err := check(name+".rate", s); err != nil {
			run.Add(run.Root.Get("measure").Get("curves").Spot, "curves: %v", err)
		}
	}
	if len(left) > 0 {
		s.Expect = kept
		run.Warn(run.cut.Of("model.duration"), "checks of flows that start later are left out: %s", spelling.Several(left))
	}
}
