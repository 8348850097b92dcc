package report

import (
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/spelling"
	"fabemu/emu/fabric"
	"fabemu/wire/trace"
)

// Choice selects events of a log: an event is chosen if each list has it. An empty list has all
// events.
type Choice struct {
	// Write only events of these kinds, such as transfer-end,cnm; the digest covers all events.
	Kinds []string `json:"kinds,omitempty" flag:"events-kinds" group:"Event log" arg:"KIND,..." needs:"events"`
	// Write only events of these nodes.
	Nodes []string `json:"nodes,omitempty" flag:"events-nodes" arg:"NAME,..." needs:"events"`
	// Write only events of these flows, groups of flows and workloads.
	Flows []string `json:"flows,omitempty" flag:"events-flows" arg:"NAME,..." needs:"events"`
}

// All reports whether all events are chosen.
func (c *Choice) All() bool { return len(c.Kinds)+len(c.Nodes)+len(c.Flows) == 0 }

// of returns whether an event of f is chosen. An error can be corrected by the user.
func (c *Choice) of(f *fabric.Fabric) (func(e *trace.Event) bool, error) {
	kinds, nodes, workloads := map[string][]uint32{}, map[string][]uint32{}, f.Workloads()
	for _, k := range trace.Kinds() {
		kinds[k.String()] = []uint32{uint32(k)}
	}
	kinds["cnm"] = kinds[trace.Notify.String()] // the name of the message in the standard
	for i := range f.Nodes {
		nodes[f.Nodes[i].Name] = []uint32{uint32(i)}
	}
	flows, works := map[string][]uint32{}, map[string]bool{} // by queue pair; a workload has very many
	for i := range f.Flows {
		w := &f.Flows[i]
		flows[w.Name] = append(flows[w.Name], w.QP)
		if w.Group != w.Name {
			flows[w.Group] = append(flows[w.Group], w.QP)
		}
	}
	for _, p := range workloads {
		flows[p.Name], works[p.Name] = nil, slices.Contains(c.Flows, p.Name)
	}
	ofKind, err := chosen("kind of event", c.Kinds, kinds)
	if err != nil {
		return nil, err
	}
	ofNode, err := chosen("node", c.Nodes, nodes)
	if err != nil {
		return nil, err
	}
	ofFlow, err := chosen("flow, group or workload", c.Flows, flows)
	return func(e *trace.Event) bool {
		if ofKind != nil && !ofKind[uint32(e.Kind)] || ofNode != nil && !ofNode[uint32(e.Node)] {
			return false
		}
		if ofFlow == nil || ofFlow[e.Flow] {
			return true
		}
		k, _ := fabric.Transfer(workloads, e.Flow)
		return k >= 0 && works[workloads[k].Name]
	}, err
}

// listed is how many names a message lists.
const listed = 60

// chosen returns the numbers that belong to names, or nil where there are no names.
func chosen(what string, names []string, all map[string][]uint32) (map[uint32]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	numbers := map[uint32]bool{}
	for _, name := range names {
		of, known := all[name]
		if !known {
			var there []string
			for n := range all {
				there = append(there, n)
			}
			slices.Sort(there)
			near, more := spelling.DidYouMean(spelling.Nearest(name, there)), ""
			if len(there) > listed {
				there, more = there[:listed], " and more"
			}
			return nil, errs.Errorf("the event log: there is no %s %q%s: there are %s%s", what, name, near, strings.Join(there, ", "), more)
		}
		for _, n := range of {
			numbers[n] = true
		}
	}
	return numbers, nil
}
