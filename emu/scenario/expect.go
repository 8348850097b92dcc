package scenario

import (
	"slices"
	"strings"

	"fabemu/wire/unit"
)

func (r *resolver) resolveExpect() {
	ids := map[string]place{}
	for n, v := range r.items("expect") {
		c := build[Check](v)
		if n.get("source") == nil && c.Basis != Ours {
			c.Source = r.s.Source
		}
		if id := n.sound("id"); id != nil {
			if first, twice := ids[c.ID]; twice {
				r.add(id.spot, "the id %q is used twice: a check has it already%s", c.ID, inLine(first))
			}
			ids[c.ID] = id.at
		}
		late := false
		_, ofProgram := r.s.ProgramMetric(c.Metric)
		switch during := n.get("during"); {
		case during == nil || during.bad || during.items[0].value == nil: // the item was not read
		case ofProgram:
			r.add(during.spot, "%s is a figure of a program, available when the program has ended: leave during out", c.Metric)
		default:
			c.During = [2]unit.Duration{during.items[0].value.(unit.Duration), during.items[1].value.(unit.Duration)}
			late = r.checkDuring(during, c.During)
		}
		if low := n.get("low"); v.node("low") != nil && v.node("high") != nil && c.Low > c.High {
			r.add(low.spot, "low (%v) is above high (%v): no value can agree", c.Low, c.High)
		}
		r.checkBasis(n, v, &c)
		reason := n.get("reason")
		switch {
		case c.Expected == Differs && strings.TrimSpace(c.Reason) == "" && (reason == nil || !reason.bad):
			r.add(spot{n.get("expected").at, n.path + ".reason"}, "a check that is expected to differ needs a reason")
		case c.Expected == Holds && c.Reason != "" && !v.refused("expected"):
			r.add(reason.spot, "a reason explains why a claim does not come out: it goes with expected: differs")
		}
		if late {
			r.left.checks = append(r.left.checks, c.ID)
			continue
		}
		r.s.Expect = append(r.s.Expect, c)
		r.checks = append(r.checks, n)
	}
}

// mayBeOfProgram reports whether a metric may belong to a refused program.
func (r *resolver) mayBeOfProgram(metric string) bool {
	name, _, _ := strings.Cut(metric, ".")
	ofFlow := func(f Flow) bool { return f.Name == name || f.Group == name }
	return r.fabric && r.root.get("programs") != nil && r.linkNames[name] == nil && !slices.ContainsFunc(r.s.Flows, ofFlow)
}

// checkDated refuses a check without a span, unless it measures a program.
func (r *resolver) checkDated(n *node) {
	metric := n.sound("metric")
	if n.bad || metric == nil || n.get("during") != nil {
		return
	}
	if _, ofProgram := r.s.ProgramMetric(metric.text); !ofProgram {
		r.add(n.spot, "this is missing: during (%s)", r.tables.section("expect").Find("during").Wanted())
	}
}

// checkBasis refuses a quotation without words or source, a derivation without its reasoning, and a
// reasoning of another claim.
func (r *resolver) checkBasis(n *node, v view, c *Check) {
	if v.refused("basis") || n.bad {
		return
	}
	need := func(basis bool, key, message string, args ...any) {
		f := n.get(key)
		if basis && (f == nil || !f.bad && strings.TrimSpace(f.text) == "") {
			r.add(spot{n.get("basis").at, n.path + "." + key}, message, args...)
		}
	}
	need(c.Basis != Ours && strings.TrimSpace(c.Source) == "", "source",
		"a claim that is %s needs its source: section, figure or footnote", c.Basis)
	need(c.Basis == Quoted, "claim", "a claim that is quoted needs the words of its source")
	need(c.Basis == Derived, "from", "a claim that is derived needs from: the statement that it follows from, and how")
	if c.Basis != Derived && c.From != "" {
		r.add(n.get("from").spot, "from explains how a claim follows from its source: it goes with basis: derived")
	}
}

// checkDuring refuses a span that is empty or ends after the run. It returns true
// if the span does so because a --set shortens the run.
func (r *resolver) checkDuring(during *node, span [2]unit.Duration) (late bool) {
	switch end := r.s.Model.Duration; {
	case span[0] >= span[1]:
		r.add(during.spot, "the span from %v to %v is empty", span[0], span[1])
	case end > 0 && span[1] > end && r.cut.set != nil:
		return true
	case end > 0 && span[1] > end && r.astray && !strings.HasPrefix(during.path, "short."):
		// The short run may change this check under a wrong id.
	case end > 0 && span[1] > end:
		r.add(spot{during.items[1].at, during.path}, "the span ends at %v, but %s", span[1], r.runEnds())
	}
	return false
}
