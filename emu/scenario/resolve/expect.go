package resolve

import (
	"errors"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

func (r *resolver) resolveExpect() {
	for n, v := range r.items("expect") {
		c := yaml.Build[scenario.Check](v)
		if n.Get("source") == nil && c.Basis != scenario.Ours {
			c.Source = r.s.Source
		}
		late := false
		_, ofProgram := r.s.ProgramMetric(c.Metric)
		_, _, ofAny := scenario.ReadProgramMetric(c.Metric)
		switch during := n.Get("during"); {
		case during == nil && !ofProgram && ofAny && !r.sound("programs"): // of one with a mistake
		case during == nil && !ofProgram:
			r.Add(n.Spot, "missing: during (%s)", r.Tables.Section("expect").Find("during").Wanted())
		case during == nil:
		case ofProgram:
			r.Add(during.Spot, "%s is a figure of a program, available when the program has ended: leave during out", c.Metric)
		default:
			c.During = [2]unit.Duration{during.Items[0].Value.(unit.Duration), during.Items[1].Value.(unit.Duration)}
			late = r.checkDuring(during, c.During)
		}
		if low := n.Get("low"); v.Node("low") != nil && v.Node("high") != nil && c.Low > c.High {
			r.Add(low.Spot, "low (%v) is above high (%v): no value is in that range", c.Low, c.High)
		}
		r.checkBasis(n, &c)
		reason := n.Get("reason")
		switch {
		case c.Expected == scenario.Differs && strings.TrimSpace(c.Reason) == "":
			r.Add(n.Get("expected").At.Of(n.Path+".reason"), "a check that is expected to differ needs a reason")
		case c.Expected == scenario.Holds && c.Reason != "":
			r.Add(reason.Spot, "a reason explains why a claim fails: it needs expected: differs")
		}
		if late {
			r.left.checks = append(r.left.checks, c.ID)
			continue
		}
		r.s.Expect = append(r.s.Expect, c)
		r.checks = append(r.checks, n)
	}
}

// checkBasis refuses a quotation without words or source, a derivation without its reasoning, and a
// reasoning of another claim.
func (r *resolver) checkBasis(n *yaml.Node, c *scenario.Check) {
	need := func(basis bool, key, message string, args ...any) {
		f := n.Get(key)
		if basis && (f == nil || strings.TrimSpace(f.Text) == "") {
			r.Add(n.Get("basis").At.Of(n.Path+"."+key), message, args...)
		}
	}
	need(c.Basis != scenario.Ours && strings.TrimSpace(c.Source) == "", "source",
		"a claim that is %s needs its source: the section, figure or footnote", c.Basis)
	need(c.Basis == scenario.Quoted, "claim", "a claim that is quoted needs claim: the words of its source")
	need(c.Basis == scenario.Derived, "from", "a claim that is derived needs from: the statement that it follows from, and how")
	if c.Basis != scenario.Derived && c.From != "" {
		r.Add(n.Get("from").Spot, "from explains how a claim follows from its source: it needs basis: derived")
	}
}

// checkDuring refuses a span that is empty or ends after the run. It returns true
// if the span does so because a --set shortens the run.
func (r *resolver) checkDuring(during *yaml.Node, span [2]unit.Duration) (late bool) {
	switch end := r.s.Model.Duration; {
	case span[0] >= span[1]:
		r.Add(during.Spot, "the span from %v to %v is empty", span[0], span[1])
	case !r.timed():
	case span[1] > end && r.cut.Set != nil:
		return true
	case span[1] > end:
		r.Add(during.Items[1].At.Of(during.Path), "the span ends at %v, but %s", span[1], r.runEnds())
	}
	return false
}

// checkMetrics reports checks whose metrics cannot be measured. It leaves out those that lack only
// a flow that a --set has left out.
func (r *resolver) checkMetrics() {
	if r.metrics == nil || !r.routed || r.trafficLost || !r.sound("programs") {
		return
	}
	var kept []scenario.Check
	var left []string
	s, whole := &r.s, r.s
	whole.Flows = r.left.all
	for i, n := range r.checks {
		c := s.Expect[i]
		if _, ofProgram := s.ProgramMetric(c.Metric); ofProgram {
			kept = append(kept, c)
			continue
		}
		err := r.metrics(c.Metric, s)
		if err != nil && len(r.left.flows) > 0 && r.metrics(c.Metric, &whole) == nil {
			left = append(left, c.ID)
			continue
		}
		kept = append(kept, c)
		metric := n.Get("metric")
		at := metric.Spot
		if wrong, ok := errors.AsType[param.Misread](err); ok && metric.Text == c.Metric {
			at = r.Inside(metric, wrong.At)
		}
		if err != nil {
			r.Add(at, "%v", err)
		}
	}
	for _, name := range s.Measure.Curves.Names() {
		if err := r.metrics(name+".rate", s); err != nil {
			r.Add(r.Root.Get("measure").Get("curves").Spot, "curves: %v", err)
		}
	}
	if len(left) > 0 {
		s.Expect = kept
		r.Warn(r.cut.Of("model.duration"), "checks of flows that start later are left out: %s", spelling.Several(left))
	}
}
