package scenario

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// flowOf is where a flow's values come from.
type flowOf struct {
	node   *node // the item
	from   *node
	to     *node
	packet *node // nil: the default
}

func (r *resolver) resolveFlows(sh *shape, defaults *node) {
	item := sh.field("flows").shape.item
	names := map[string]place{}
	for _, n := range r.items("flows") {
		v := view{shape: item, chain: []*node{n, defaults}}
		name, named := v.at("name")
		if named == nil {
			continue
		}
		if first, twice := names[named.text]; twice {
			r.add(named.at, named.path, "the name %q is used twice: a flow has it already%s", named.text, inLine(first))
			continue
		}
		names[named.text] = named.at
		if link := r.linkNames[named.text]; link != nil {
			r.add(named.at, named.path, "the name %q is used twice: a link has it already%s, and metrics could not tell them apart", named.text, inLine(link.at))
			continue
		}
		base := newFlow(name.(string), v)
		if group, given := v.at("group"); given != nil {
			base.Group = group.(string)
		}
		r.flowRate(&base, v, n)
		r.expandFlow(base, v, n)
	}
	r.checkGroups()
}

// flowRate fills in the rate of constant traffic.
func (r *resolver) flowRate(f *Flow, v view, n *node) {
	value, given := v.at("rate")
	if v.refused("rate") || v.refused("traffic") {
		return
	}
	switch own := n.get("rate"); {
	case f.Traffic == "constant" && given == nil:
		r.add(n.at, n.path+".rate", "constant traffic needs a rate, such as 1GB/s")
	case f.Traffic == "constant":
		f.Rate = value.(unit.Rate)
	case own != nil:
		r.add(own.at, own.path, "greedy traffic has no rate: it sends whenever it may; write traffic: constant for a rate")
	}
}

// expandFlow makes a flow for each member of the ranges of an item.
func (r *resolver) expandFlow(base Flow, v view, n *node) {
	of := flowOf{node: n, from: n.get("from"), to: n.get("to")}
	_, of.packet = v.at("packet")
	if n.bad || of.from == nil || of.to == nil || of.from.bad || of.to.bad {
		return
	}
	from, to := of.from.value.(pattern), of.to.value.(pattern)
	ok := r.known(of.from, of.from.at, from, r.allEndpoints, "endpoint")
	if !r.known(of.to, of.to.at, to, r.allEndpoints, "endpoint") || !ok {
		return
	}
	if from.ranged && to.ranged && from.size() != to.size() {
		r.add(of.to.at, of.to.path, "%s stands for %d endpoints and %s for %d: two ranges go pairwise and must be equally long", from.text, from.size(), to.text, to.size())
		return
	}
	begin, startNode := v.at("start")
	start := begin.(startAt)
	ends := pairs(from, to)
	running := r.checkStart(base, v, n, startNode, start, len(ends))
	if running < 0 {
		return
	}
	for i, p := range ends {
		f := base
		f.From, f.To = p[0], p[1]
		f.Start = start.first + unit.Duration(i)*start.step
		switch {
		case from.ranged:
			f.Name = base.Name + "." + f.From
		case to.ranged:
			f.Name = base.Name + "." + f.To
		}
		for _, end := range []struct {
			name string
			n    *node
		}{{f.From, of.from}, {f.To, of.to}} {
			if r.machines[end.name].isSwitch {
				r.add(end.n.at, end.n.path, "%s is a switch: a flow goes from an endpoint to an endpoint", end.name)
				ok = false
			}
		}
		if f.From == f.To {
			r.add(of.to.at, of.to.path, "flow %s goes from %s to itself", f.Name, f.From)
			ok = false
		}
		if !ok {
			return
		}
		f.Jitter = r.jitter(f, v)
		r.left.all = append(r.left.all, f)
		if i < running {
			r.s.Flows = append(r.s.Flows, f)
			r.flows = append(r.flows, of)
		}
	}
	switch later := len(ends) - running; {
	case running == 0:
		r.left.flows = append(r.left.flows, base.Name)
	case later > 0:
		r.left.flows = append(r.left.flows, fmt.Sprintf("%d of %d of %s", later, len(ends), base.Name))
	}
}

// checkStart says how many of the members of a flow start before the end of the
// run: all, unless a --set cuts the run short. It refuses a flow of which one
// starts after its stop or, without such a --set, after the end, and returns -1.
func (r *resolver) checkStart(f Flow, v view, n, startNode *node, start startAt, members int) int {
	if v.refused("start") || v.refused("stop") || r.s.Model.Duration == 0 {
		return members
	}
	at, path := n.at, n.path
	if startNode != nil {
		at, path = startNode.at, startNode.path
	}
	end, what := r.s.Model.Duration, r.runEnds()
	if f.Stop > 0 && f.Stop <= end {
		_, stopNode := v.at("stop")
		end, what = f.Stop, fmt.Sprintf("it stops at %v", f.Stop)+bySet(stopNode)
	}
	if r.cut.set != nil && end == r.s.Model.Duration && (startNode == nil || startNode.at.set == nil) {
		return startedBy(start, members, end)
	}
	if start.first >= end {
		r.add(at, path, "the flow starts at %v, but %s", start.first, what)
		return -1
	}
	if startedBy(start, members, end) < members {
		r.add(at, path, "the last of %d members starts %d x %v after %v, but %s", members, members-1, start.step, start.first, what)
		return -1
	}
	return members
}

// startedBy returns how many of the members of a flow start before an instant.
func startedBy(start startAt, members int, end unit.Duration) int {
	switch {
	case start.first >= end:
		return 0
	case start.step == 0:
		return members
	}
	return int(min(int64(members), int64((end-1-start.first)/start.step)+1))
}

// jitter returns the jitter of a flow: as given, or half of the time of a packet
// on the sender's link.
func (r *resolver) jitter(f Flow, v view) unit.Duration {
	if given, n := v.at("jitter"); n != nil {
		return given.(unit.Duration)
	}
	for _, i := range r.machines[f.From].links {
		if rate := r.s.Links[i].Rate; rate > 0 {
			return rate.Serialise(r.length(f.Packet)) / 2
		}
	}
	return 0
}

// length returns how long a packet with a payload is on the line.
func (r *resolver) length(payload unit.Size) unit.Size {
	framing := wire.PaperFraming
	if r.s.Model.Framing == "wire" {
		framing = wire.WireFraming
	}
	return framing.Length(&wire.Frame{Kind: wire.Data, Payload: uint32(payload)})
}

// checkGroups refuses names that stand for two things: for two flows, or for a
// group and for a flow or a link.
func (r *resolver) checkGroups() {
	isFlow := make(map[string]bool, len(r.s.Flows))
	told := map[*node]bool{} // once for each item
	for i, f := range r.s.Flows {
		if n := r.flows[i].node; isFlow[f.Name] && !told[n] {
			told[n] = true
			r.add(r.flows[i].node.at, r.flows[i].node.path+".name", "the name %q is used twice among the flows", f.Name)
		}
		isFlow[f.Name] = true
	}
	for i, f := range r.s.Flows {
		at, path := r.flows[i].node.at, r.flows[i].node.path+".group"
		if n := r.flows[i].node.get("group"); n != nil {
			at = n.at
		}
		if f.Group != f.Name && isFlow[f.Group] {
			r.add(at, path, "the group %q has the name of a flow, and metrics could not tell them apart", f.Group)
		}
		if link := r.linkNames[f.Group]; link != nil {
			r.add(at, path, "the group %q has the name of a link%s, and metrics could not tell them apart", f.Group, inLine(link.at))
		}
	}
}
