package emu

import (
	"io"
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/spelling"
	"fabemu/emu/fabric"
	"fabemu/emu/run/assemble"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/feedback"
	"fabemu/node"
)

// checkRecordings refuses names that are not of a flow, or of one without its own rate limiter.
func checkRecordings(f *fabric.Fabric, wanted map[string]io.Writer) error {
	var names []string
	for i := range f.Flows {
		flow := &f.Flows[i]
		names = append(names, flow.Name)
		if by := scenario.SharedBy(flow.Flow); by != "" && wanted[flow.Name] != nil {
			return errs.Errorf("flow %s shares its rate limiter (control.%s): only a flow with its own limiter can be recorded", flow.Name, by)
		}
	}
	for name := range wanted {
		if !slices.Contains(names, name) {
			return errs.Errorf("there is no flow %q%s: there are %s", name, spelling.DidYouMean(spelling.Nearest(name, names)), few(names))
		}
	}
	return nil
}

// listen has s report the feedback of flows that Options.Recordings names to the recording; others keep
// the listeners that s has for them.
func (r *recording) listen(s *assemble.Schemes) {
	if len(r.options.Recordings) == 0 {
		return
	}
	also := s.Listen
	s.Listen = func(f *fabric.Flow) node.Listener {
		if w := r.options.Recordings[f.Name]; w != nil {
			t := feedback.NewWriter(w, r.headOf(f))
			r.told = append(r.told, t)
			return t
		}
		if also == nil {
			return nil
		}
		return also(f)
	}
}

// headOf describes the flow that is recorded.
func (r *recording) headOf(f *fabric.Flow) feedback.Head {
	frame := r.fabric.Frame(f)
	return feedback.Head{
		Scenario: r.fabric.Scenario.Name, Flow: f.Name, Algorithm: r.fabric.Scenario.Algorithm(f.Flow).Name, Family: f.Family,
		Line: r.fabric.Wires[f.Path.Hop.Wire].Link.Rate, Packet: r.fabric.Framing().Length(&frame), Begin: f.Start,
	}
}

// few lists names, the first ones where there are many.
func few(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(slices.Concat(names[:most], []string{"..."}), ", ")
	}
	return strings.Join(names, ", ")
}
