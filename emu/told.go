package emu

import (
	"io"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/mistake"
	"fabemu/emu/spelling"
	"fabemu/emu/told"
	"fabemu/node"
	"fabemu/node/rp"
)

// listen has the sources of the flows that Options.Told names be recorded.
func (r *run) listen() error {
	if len(r.options.Told) == 0 {
		return nil
	}
	left := make(map[string]io.Writer, len(r.options.Told))
	var names []string
	for name, w := range r.options.Told {
		left[name] = w
	}
	for i := range r.fabric.Flows {
		f := &r.fabric.Flows[i]
		names = append(names, f.Name)
		if g, ok := f.Control.Params.(rp.Grouper); ok && g.Grouped() && left[f.Name] != nil {
			return mistake.Errorf("flow %s has no rate limiter of its own (control.shared): what one with its own is told can be recorded", f.Name)
		}
		delete(left, f.Name)
	}
	for name := range left {
		return mistake.Errorf("there is no flow %q%s: there are %s", name, spelling.DidYouMean(spelling.Nearest(name, names)), few(names))
	}
	also := r.options.Schemes.Listen
	r.options.Schemes.Listen = func(f *fabric.Flow) node.Listener {
		if w := r.options.Told[f.Name]; w != nil {
			t := told.NewWriter(w, r.headOf(f))
			r.told = append(r.told, t)
			return t
		}
		if also == nil {
			return nil
		}
		return also(f)
	}
	return nil
}

// headOf says which flow is recorded.
func (r *run) headOf(f *fabric.Flow) told.Head {
	frame := r.fabric.Frame(f)
	return told.Head{
		Scenario: r.scenario.Name, Flow: f.Name, Law: r.scenario.Law(f.Flow).Name, Family: f.Family,
		Line: r.fabric.Wires[f.Hops[0].Wire].Link.Rate, Packet: r.fabric.Framing().Length(&frame), Begin: f.Start,
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
