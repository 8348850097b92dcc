package fabric

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/node"
)

// Workload is a workload of the scenario with its addresses.
type Workload struct {
	*scenario.Workload
	Members []int        // nodes, in the order of the workload
	Range   node.QPRange // of its transfers, from each member in turn
	Flow    Flow         // with all that its transfers have in common
	Plain   scenario.Flow
}

// Workloads returns the workloads of the scenario.
func (f *Fabric) Workloads() (all []*Workload) {
	if f.Scenario == nil || len(f.Scenario.Workloads) == 0 {
		return nil
	}
	ranges := f.Scenario.Ranges()
	for i := range f.Scenario.Workloads {
		w := &f.Scenario.Workloads[i]
		p := &Workload{Workload: w, Range: ranges[i]}
		names := w.Members()
		for _, name := range names {
			p.Members = append(p.Members, f.Paths.Index[name])
		}
		p.Plain = w.Template(names[0], names[1])
		p.Flow = Flow{Flow: &p.Plain, Src: p.Members[0], Dst: p.Members[1],
			Family: f.Wires[f.Nodes[p.Members[0]].Ports[0].Wire].Link.Family()}
		all = append(all, p)
	}
	return all
}

// Transfer returns the index of the pool of a queue pair, and the node that sends with it; -1: it is not a transfer of a
// workload.
func Transfer(workloads []*Workload, qp uint32) (workload, source int) {
	for k, p := range workloads {
		if n := (qp - p.Range.First) / p.Range.Each; qp >= p.Range.First && int(n) < len(p.Members) {
			return k, p.Members[n]
		}
	}
	return -1, 0
}

// spread notes the directions of wires that the transfers of a workload can cross, now or after the routes have
// changed, with any choice among equal paths.
func (f *Fabric) spread(p *Workload, carries [][2]bool) {
	for _, e := range f.Paths.Epochs {
		for _, dst := range p.Members {
			f.Paths.Flood(e.State, p.Members, dst, func(at int, s paths.Step) {
				carries[s.Link][f.Wires[s.Link].side(at)] = true
			})
		}
	}
}
