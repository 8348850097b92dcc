package process

import "fabemu/emu/run/mode"

// distant reports whether the links between parts are so long that their nodes work at the same time: at least a
// quarter of a packet time.
func (p *Plan) distant(of []int) bool {
	f, longest := p.Fabric, p.Fabric.Longest()
	for w, wire := range f.Wires {
		if of[wire.Ends[0].Node] == of[wire.Ends[1].Node] {
			continue
		}
		if min(f.Least(w, 0), f.Least(w, 1)) < longest[w]/4 {
			return false
		}
	}
	return true
}

// pin chooses the processors for the loops of parts, which all run on this machine.
func (r *conductor) pin() {
	list := processors()
	if r.plan.Pin == mode.PinOff || len(list) == 0 {
		return
	}
	spread := r.plan.distant(r.partOf())
	if !spread {
		list = list[len(list)-1:]
	}
	share := r.plan.Fabric.Partition(len(list))
	for _, s := range r.participants {
		s.CPUs = []int{list[share[s.nodes[0]]]}
		s.Spread = spread
	}
}
