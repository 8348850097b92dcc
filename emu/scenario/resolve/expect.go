package resolve

import (
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/unit"
)

// checks are the checks of a scenario.
type checks struct {
	all  []scenario.Check
	from []*yaml.Node // for each of them
	left []string     // those that look further than the end of the run
}

// makeChecks makes the checks of a scenario that has its head and its programs.
func makeChecks(r *source, s *scenario.Scenario, run span) (out checks) {
	for n, v := range r.items("expect", new(bool)) {
		c := yaml.Build[scenario.Check](v)
		if n.Get("source") == nil && c.Basis != scenario.Ours {
			c.Source = s.Source
		}
		late := false
		_, ofProgram := s.ProgramMetric(c.Metric)
		_, _, ofAny := scenario.ReadProgramMetric(c.Metric)
		switch during := n.Get("during"); {
		case during == nil && !ofProgram && ofAny && !r.sound("programs"): // of one with a mistake
		case during == nil && !ofProgram:
			r.Add(n.Spot, "missing: during (%s)", r.language.Section("expect").Find("during").Wanted())
		case during == nil:
		case ofProgram:
			r.Add(during.Spot, "%s is a figure of a program, available when the program has ended: leave during out", c.Metric)
		default:
			c.During = [2]unit.Duration{during.Items[0].Value.(unit.Duration), during.Items[1].Value.(unit.Duration)}
			late = checkDuring(run, during, c.During)
		}
		if low := n.Get("low"); v.Node("low") != nil && v.Node("high") != nil && c.Low > c.High {
			r.Add(low.Spot, "low (%v) is above high (%v): no value is in that range", c.Low, c.High)
		}
		checkBasis(r, n, &c)
		reason := n.Get("reason")
		switch {
		case c.Expected == scenario.Differs && strings.TrimSpace(c.Reason) == "":
			r.Add(n.Get("expected").At.Of(n.Path+".reason"), "a check that is expected to differ needs a reason")
		case c.Expected == scenario.Holds && c.Reason != "":
			r.Add(reason.Spot, "a reason explains why a claim fails: it needs expected: differs")
		}
		if late {
			out.left = append(out.left, c.ID)
			continue
		}
		out.all = append(out.all, c)
		out.from = append(out.from, n)
	}
	return out
}

// checkBasis refuses a quotation without words or source, a derivation without its reasoning, and a
// reasoning of another claim.
func checkBasis(r *source, n *yaml.Node, c *scenario.Check) {
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
func checkDuring(r span, during *yaml.Node, span [2]unit.Duration) (late bool) {
	switch end := r.end; {
	case span[0] >= span[1]:
		r.Add(during.Spot, "the span from %v to %v is empty", span[0], span[1])
	case !r.timed():
	case span[1] > end && r.cut.Set != nil:
		return true
	case span[1] > end:
		r.Add(during.Items[1].At.Of(during.Path), "the span ends at %v, but %s", span[1], r.ends())
	}
	return false
}
