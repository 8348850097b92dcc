package emu

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fabemu/emu/capture"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Capture says what of a run is captured, and where the capture goes.
type Capture struct {
	To io.Writer // an io.WriterAt gets the verdict into its first block, too
	// Filter holds names: of ports ("B:3"), machines, links and directions of links
	// ("trunk", "trunk.A-B": the ports at their ends, or the one that sends), and of
	// flows and their groups; a name that is both means the former. What is named is captured: at the ports, if any is named,
	// the frames of the flows, if any is named. None is everything.
	Filter []string
	// Snap is how many bytes of a data frame are kept, whose payload is padding; 0: all.
	// Frames of other kinds are kept whole.
	Snap int
	// Both records each frame at both ends of its link; by default it stands there once,
	// data where it is sent and what controls a link where it is obeyed.
	Both bool
	// Rotate, if not 0, is how many bytes a file may have. Then Next ends it and begins the
	// next one; each can be read by itself.
	Rotate unit.Size
	Next   func() (io.Writer, error)
	// WallTime stamps frames with the wall time; by default with the model time.
	WallTime bool
}

// DefaultSnap is the snap length of captures on the command line: all headers, and none of
// the padding that makes a capture large.
const DefaultSnap = 128

// capture begins the capture of a run.
func (r *run) capture() (*capture.Capture, error) {
	c := r.options.Capture
	o := capture.Options{Ports: portsOf(r.fabric), Filter: strings.Join(c.Filter, " "), Snap: c.Snap, Both: c.Both, WallTime: c.WallTime, Wall: r.options.Clock == WallClock}
	if err := narrow(&o, r.fabric, c.Filter); err != nil {
		return nil, err
	}
	o.Names, o.Machines = make(map[uint32]string), make(map[wire.LID]string)
	for i := range r.fabric.Machines {
		o.Machines[r.fabric.Machines[i].LID] = r.fabric.Machines[i].Name
	}
	for i := range r.fabric.Flows {
		o.Names[r.fabric.Flows[i].QP] = r.fabric.Flows[i].Name
	}
	o.Comment = fmt.Sprintf("%s, seed %d, virtual clock", r.scenario.Name, r.scenario.Model.Seed)
	if o.Wall {
		o.Comment = fmt.Sprintf("%s, seed %d, wall clock, dilation %d, link %s, timing %s", r.scenario.Name, r.scenario.Model.Seed, r.scenario.Wall.Dilation, r.options.Link, r.options.Timing)
	}
	if c.WallTime {
		o.Comment += ". Times are wall times"
	} else {
		o.Comment += ". Times are model times, from 1970 on"
	}
	if o.Rotate, o.Next = c.Rotate, c.Next; o.Rotate > 0 && o.Rotate < o.Smallest() {
		return nil, mistakef("a capture in files of %v: what each begins and ends with, and a frame, take %v", o.Rotate, o.Smallest())
	}
	return capture.New(c.To, o), nil
}

// portsOf returns the ports of a fabric as interfaces: those of wire i are 2i and
// 2i+1.
func portsOf(f *fabric.Fabric) []capture.Port {
	var ports []capture.Port
	for i := range f.Wires {
		w := &f.Wires[i]
		for end, e := range w.Ends {
			peer := w.Ends[1-end].Machine
			ports = append(ports, capture.Port{
				Machine: e.Machine, Port: e.Port,
				Name:        fmt.Sprintf("%s:%d <- %s", f.Machines[e.Machine].Name, e.Port, f.Machines[peer].Name),
				Description: metrics.LinkName(f, fabric.Hop{Wire: i, From: end}),
				Ethernet:    w.Link.FlowControl != "credit",
				Rate:        w.Link.Rate,
			})
		}
	}
	return ports
}

// narrow puts the names of a filter into o.
func narrow(o *capture.Options, f *fabric.Fabric, names []string) error {
	for _, name := range names {
		found := false
		for i := range f.Wires {
			for end, e := range f.Wires[i].Ends {
				p := 2*i + end
				switch port, _, _ := strings.Cut(o.Ports[p].Name, " "); name {
				case f.Wires[i].Name, f.Machines[e.Machine].Name, port, o.Ports[p].Description:
					found = true
					if o.Only == nil {
						o.Only = make([]bool, len(o.Ports))
					}
					o.Only[p] = true
				}
			}
		}
		for i := range f.Flows {
			if found || f.Flows[i].Name != name && f.Flows[i].Group != name {
				continue
			}
			if o.Flows == nil {
				o.Flows = map[uint32]bool{}
			}
			o.Flows[f.Flows[i].QP] = true
		}
		if !found && !slices.ContainsFunc(f.Flows, func(w fabric.Flow) bool { return w.Name == name || w.Group == name }) {
			port, _, _ := strings.Cut(o.Ports[0].Name, " ")
			return mistakef("capture filter: %q is no port, machine, link or flow of this scenario; a port is named such as %s", name, port)
		}
	}
	return nil
}

// captured takes the capture to its end, but for the verdict.
func (r *run) captured() {
	if written, missed := r.tap.End(); missed > 0 && r.tap.Err() == nil {
		r.warnings = append(r.warnings, fmt.Sprintf("the capture lacks %d of %d frames: they came faster than they could be written; a filter or a snap length helps", missed, written+missed))
	}
}

// verdictText returns what a capture says of its run.
func verdictText(r *report.Result) string {
	if r.Verdict.Level == report.Virtual {
		return ""
	}
	text := fmt.Sprintf("Verdict: %s: %s", r.Verdict.Level, r.Verdict.Reason)
	if r.Partial {
		text += " (the run was ended early)"
	}
	return text
}
