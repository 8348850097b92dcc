package scenario

import (
	"fmt"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// resolver makes a Scenario of a tree that was read. It goes on after mistakes:
// what was refused takes the value that comes after it in the chain of defaults,
// and the checks leave it alone.
type resolver struct {
	*reports
	language *shape
	root     *node
	s        Scenario

	machines  map[string]*machine
	links     []linkOf // for each of s.Links
	linkNames map[string]*node
	flows     []flowOf // for each of s.Flows
	checks    []*node  // for each of s.Expect
	crossed   [][2]int // for each of s.Links, and from its A and from its B, the flow with the largest packet that crosses it, and one more; 0 for none
	partial   bool     // machines were refused: what is unknown may be one of them
	broken    bool     // machines or links were refused: paths cannot be judged

	cut  place   // of the --set that says when the run ends; no place without one
	left leftOut // what lies beyond that end
}

// leftOut is what is not run because a --set ends the run before it.
type leftOut struct {
	flows, events, checks []string
	all                   []Flow // those that are run and those that are not
}

// machine is what is known about a name.
type machine struct {
	isSwitch bool
	at       place
	path     string
	links    []int   // endpoints and switches: links that end here
	view     view    // switch: its fields
	linkAt   []place // where each of the links is given
}

// linkOf is where a link's values come from.
type linkOf struct {
	node   *node // the item
	rate   *node // nil: not given
	buffer *node // nil: the default
}

// flowOf is where a flow's values come from.
type flowOf struct {
	node   *node // the item
	from   *node
	to     *node
	packet *node // nil: the default
}

// view is an object with the defaults behind it.
type view struct {
	shape *shape
	chain []*node // the object, then defaults; nil where there is none
}

// at returns the value of a field and the node that gives it, nil for the
// built-in default. The value is nil when there is no default either.
func (v view) at(name string) (any, *node) {
	for _, n := range v.chain {
		if f := n.get(name); f != nil && !f.bad && f.value != nil {
			return f.value, f
		}
	}
	f := v.shape.field(name)
	if f.def == "" {
		return nil, nil
	}
	value, err := f.shape.read(f.def)
	if err != nil {
		panic("scenario: the default of " + name + " is not readable: " + err.Error())
	}
	return value, nil
}

// refused says whether a field was given and refused, so that its value is not
// what the user meant.
func (v view) refused(name string) bool {
	for _, n := range v.chain {
		if f := n.get(name); f != nil {
			return f.bad
		}
	}
	return false
}

// sub returns an object within an object.
func (v view) sub(name string) view {
	out := view{shape: v.shape.field(name).shape}
	for _, n := range v.chain {
		out.chain = append(out.chain, n.get(name))
	}
	return out
}

// get returns the value of a field, the zero value when there is none.
func get[T any](v view, name string) T {
	value, _ := v.at(name)
	t, _ := value.(T)
	return t
}

// resolve fills in everything and checks how the parts fit together.
func (r *resolver) resolve() *Scenario {
	sh := r.language
	top := view{shape: sh, chain: []*node{r.root}}
	r.s.Name = get[string](top, "name")
	r.s.Source = get[string](top, "source")
	r.s.Description = get[string](top, "description")
	model, wall := top.sub("model"), top.sub("wall")
	r.s.Model, r.s.Wall = newModel(model), newWall(wall)
	if _, n := model.at("duration"); n != nil {
		r.cut = place{set: n.at.set}
	}
	r.resolveWindow(top)

	r.machines, r.linkNames = map[string]*machine{}, map[string]*node{}
	defaults := r.root.get("defaults")
	r.resolveSwitches(sh, defaults.get("switch"))
	r.resolveEndpoints()
	r.broken = r.partial
	r.resolveLinks(sh, defaults.get("link"))
	r.resolveFlows(sh, defaults.get("flow"))
	r.resolveEvents(sh)
	r.resolveExpect(sh)
	r.check(top)
	r.reportLeft()
	return &r.s
}

// resolveWindow finds the measuring window. The default is no longer than the
// run, and in a run that a --set cuts short none is.
func (r *resolver) resolveWindow(top view) {
	window, given := top.sub("measure").at("window")
	r.s.Measure.Window = window.(unit.Duration)
	end := r.s.Model.Duration
	if end == 0 || r.s.Measure.Window <= end {
		return
	}
	switch {
	case given == nil:
		r.s.Measure.Window = end
	case r.cut.set != nil && given.at.set == nil:
		r.s.Measure.Window = end
		r.warn(r.cut, "measure.window", "the run is shorter than the measuring window of %v: rates are means over all of it", window)
	}
}

// items returns the items of a list of the scenario.
func (r *resolver) items(name string) []*node {
	if n := r.root.get(name); n != nil {
		return n.items
	}
	return nil
}

// declare enters the name of a machine.
func (r *resolver) declare(name string, m *machine) bool {
	if first := r.machines[name]; first != nil {
		r.add(m.at, m.path, "the name %q is used twice: %s has it already%s", name, first.kind(), first.where())
		return false
	}
	r.machines[name] = m
	return true
}

func (m *machine) kind() string {
	if m.isSwitch {
		return "a switch"
	}
	return "an endpoint"
}

// where tells the line of a machine, for messages.
func (m *machine) where() string { return inLine(m.at) }

func (r *resolver) resolveSwitches(sh *shape, defaults *node) {
	n := r.root.get("switches")
	if n == nil {
		return
	}
	item := sh.field("switches").shape.item
	r.partial = r.partial || n.bad
	for _, e := range n.entries {
		if checkName(e.key.text) != nil {
			r.partial = true
			continue
		}
		v := view{shape: item, chain: []*node{e.value, defaults}}
		if !r.declare(e.key.text, &machine{isSwitch: true, at: e.key.at, path: e.value.path, view: v}) {
			continue
		}
		r.s.Switches = append(r.s.Switches, newSwitch(e.key.text, v))
	}
}

func (r *resolver) resolveEndpoints() {
	if n := r.root.get("endpoints"); n == nil || n.bad {
		r.partial = true
	}
	for _, n := range r.items("endpoints") {
		p, ok := n.value.(pattern)
		if !ok {
			r.partial = true
			continue
		}
		for _, name := range p.names() {
			if !r.declare(name, &machine{at: n.at, path: n.path}) {
				r.partial = r.partial || p.ranged
				break // the rest of a range is likely to be there too
			}
			r.s.Endpoints = append(r.s.Endpoints, name)
		}
	}
}

func (r *resolver) resolveLinks(sh *shape, defaults *node) {
	item := sh.field("links").shape.item
	if n := r.root.get("links"); n == nil || n.bad {
		r.broken = true
	}
	for _, n := range r.items("links") {
		v := view{shape: item, chain: []*node{n, defaults}}
		between := n.get("between")
		if n.bad || between == nil || between.bad {
			r.broken = true
			continue
		}
		j := between.value.(joint)
		known := r.known(between, between.inside(j.aAt), j.a, r.allMachines, "machine")
		known = r.known(between, between.inside(j.bAt), j.b, r.allMachines, "machine") && known
		if !known {
			r.broken = true
			continue
		}
		link := newLink(v)
		of := linkOf{node: n}
		_, of.rate = v.at("rate")
		_, of.buffer = v.at("buffer")
		name, named := v.at("name")
		if named != nil && (j.a.ranged || j.b.ranged) {
			r.add(named.at, named.path, "%s makes %d links, which cannot all be named %q: leave the name out, or give the links one by one", between.text, max(j.a.size(), j.b.size()), name)
			r.broken = true
			continue
		}
		for _, ends := range pairs(j.a, j.b) {
			link.A, link.B = ends[0], ends[1]
			link.Name = link.A + " - " + link.B
			if named != nil {
				link.Name = name.(string)
			}
			if !r.addLink(link, of, named, between) {
				r.broken = true
				break // the rest of a range is likely to be as wrong
			}
		}
	}
}

// addLink enters a link, unless something like it is there.
func (r *resolver) addLink(link Link, of linkOf, named, between *node) bool {
	at, path := between.at, between.path
	switch {
	case link.A == link.B:
		r.add(at, path, "%s is linked to itself", link.A)
		return false
	case link.A+"-"+link.B == link.B+"-"+link.A:
		r.add(at, path, "the directions of this link would both be called %q: rename one of the machines", link.A+"-"+link.B)
		return false
	}
	if named != nil {
		at, path = named.at, named.path
	}
	if first := r.linkNames[link.Name]; first != nil {
		if named == nil {
			r.add(at, path, "%s and %s are linked twice; the first link is given%s. If two are meant, give each a name", link.A, link.B, inLine(first.at))
		} else {
			r.add(at, path, "the name %q is used twice: a link has it already%s", link.Name, inLine(first.at))
		}
		return false
	}
	// A named link beside an unnamed one is as much in doubt as two unnamed.
	for _, i := range r.machines[link.A].links {
		other := r.s.Links[i]
		if !(other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B) {
			continue
		}
		if named == nil || other.Name == other.A+" - "+other.B {
			r.add(at, path, "%s and %s are linked twice; the first link is given%s. If two are meant, give each a name", link.A, link.B, inLine(r.links[i].node.at))
			return false
		}
	}
	r.linkNames[link.Name] = of.node
	for _, name := range []string{link.A, link.B} {
		m := r.machines[name]
		m.links = append(m.links, len(r.s.Links))
		m.linkAt = append(m.linkAt, between.at)
	}
	r.s.Links = append(r.s.Links, link)
	r.links = append(r.links, of)
	return true
}

// inLine tells where something stands, as the end of a clause.
func inLine(at place) string {
	switch {
	case at.set != nil:
		return " by --set " + at.set.String()
	case at.line > 0:
		return " in line " + itoa(at.line)
	}
	return ""
}

// known reports the first name of a pattern that is not one of a kind of
// machines.
func (r *resolver) known(n *node, at place, p pattern, all func() []string, what string) bool {
	missing, first := 0, ""
	for _, name := range p.names() {
		if r.machines[name] == nil {
			if missing == 0 {
				first = name
			}
			missing++
		}
	}
	switch {
	case missing == 0:
		return true
	case r.partial: // what is missing may be what was refused
	case missing == 1 && !p.ranged:
		r.add(at, n.path, "there is no %s named %q%s", what, first, didYouMean(nearest(first, all())))
	case missing == p.size():
		r.add(at, n.path, "there is no %s named %q, nor any other of %s%s", what, first, p.text, didYouMean(nearest(first, all())))
	case missing == 1:
		r.add(at, n.path, "there is no %s named %q, one of %s", what, first, p.text)
	default:
		r.add(at, n.path, "there is no %s named %q, nor %d more of %s", what, first, missing-1, p.text)
	}
	return false
}

func (r *resolver) allMachines() []string {
	var names []string
	for _, s := range r.s.Switches {
		names = append(names, s.Name)
	}
	return append(names, r.s.Endpoints...)
}

func (r *resolver) allEndpoints() []string { return r.s.Endpoints }

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

// runEnds says when the run ends.
func (r *resolver) runEnds() string {
	return fmt.Sprintf("the run ends at %v", r.s.Model.Duration) + bySet(r.root.get("model").get("duration"))
}

// bySet names the --set that gives a value, or nothing.
func bySet(n *node) string {
	if n == nil || n.at.set == nil {
		return ""
	}
	return fmt.Sprintf(" (--set %v)", n.at.set)
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

func (r *resolver) resolveEvents(sh *shape) {
	item := sh.field("events").shape.item
	for _, n := range r.items("events") {
		v := view{shape: item, chain: []*node{n}}
		e := Event{At: get[unit.Duration](v, "at"), Link: get[string](v, "link"), Rate: get[unit.Rate](v, "rate")}
		late := false
		if at := n.get("at"); at != nil && !at.bad && r.s.Model.Duration > 0 && e.At >= r.s.Model.Duration {
			if late = r.cut.set != nil; late {
				r.left.events = append(r.left.events, fmt.Sprintf("%s at %v", e.Link, e.At))
			} else {
				r.add(at.at, at.path, "the event is at %v, but %s", e.At, r.runEnds())
			}
		}
		if link := n.get("link"); link != nil && !link.bad && r.linkNames[e.Link] == nil && !r.broken {
			var names []string
			for _, l := range r.s.Links {
				names = append(names, l.Name)
			}
			r.add(link.at, link.path, "there is no link named %q%s: there are %s", e.Link, didYouMean(nearest(e.Link, names)), someOf(byNearness(e.Link, names)))
		}
		if !late {
			r.s.Events = append(r.s.Events, e)
		}
	}
}

func (r *resolver) resolveExpect(sh *shape) {
	item := sh.field("expect").shape.item
	ids := map[string]place{}
	for _, n := range r.items("expect") {
		v := view{shape: item, chain: []*node{n}}
		c := Check{
			ID:       get[string](v, "id"),
			Source:   get[string](v, "source"),
			Claim:    get[string](v, "claim"),
			Metric:   get[string](v, "metric"),
			Low:      get[float64](v, "low"),
			High:     get[float64](v, "high"),
			Expected: get[string](v, "expected"),
			Reason:   get[string](v, "reason"),
			Why:      get[string](v, "why"),
		}
		if n.get("source") == nil {
			c.Source = r.s.Source
		}
		if id := n.get("id"); id != nil && !id.bad {
			if first, twice := ids[c.ID]; twice {
				r.add(id.at, id.path, "the id %q is used twice: a check has it already%s", c.ID, inLine(first))
			}
			ids[c.ID] = id.at
		}
		late := false
		if during := n.get("during"); during != nil && !during.bad {
			c.During = [2]unit.Duration{during.items[0].value.(unit.Duration), during.items[1].value.(unit.Duration)}
			late = r.checkDuring(during, c.During)
		}
		if low, high := n.get("low"), n.get("high"); low != nil && high != nil && !low.bad && !high.bad && c.Low > c.High {
			r.add(low.at, low.path, "low (%v) is above high (%v): no value can agree", c.Low, c.High)
		}
		reason := n.get("reason")
		switch {
		case c.Expected == "differs" && strings.TrimSpace(c.Reason) == "" && (reason == nil || !reason.bad):
			r.add(n.get("expected").at, n.path+".reason", "a check that is expected to differ needs a reason")
		case c.Expected == "holds" && c.Reason != "" && !v.refused("expected"):
			r.add(reason.at, reason.path, "a reason says why a claim does not come out: it goes with expected: differs")
		}
		if late {
			r.left.checks = append(r.left.checks, c.ID)
			continue
		}
		r.s.Expect = append(r.s.Expect, c)
		r.checks = append(r.checks, n)
	}
}

// checkDuring refuses a span that is empty or ends after the run. It returns true
// for one that does so because a --set cuts the run short.
func (r *resolver) checkDuring(during *node, span [2]unit.Duration) (late bool) {
	switch end := r.s.Model.Duration; {
	case span[0] >= span[1]:
		r.add(during.at, during.path, "the span from %v to %v is empty", span[0], span[1])
	case end > 0 && span[1] > end && r.cut.set != nil:
		return true
	case end > 0 && span[1] > end:
		r.add(during.items[1].at, during.path, "the span ends at %v, but %s", span[1], r.runEnds())
	}
	return false
}

// reportLeft says what is not run because a --set cuts the run short.
func (r *resolver) reportLeft() {
	if n := r.root.get("flows"); len(r.s.Flows) == 0 && len(r.left.flows) > 0 && !n.bad {
		r.add(r.cut, "model.duration", "no flow starts before the end of the run")
		return
	}
	for _, left := range []struct {
		names []string
		what  string
	}{
		{r.left.flows, "flows that start later are"},
		{r.left.events, "events that come later are"},
		{r.left.checks, "checks that look further are"},
	} {
		if len(left.names) > 0 {
			r.warn(r.cut, "model.duration", "%s left out: %s", left.what, someOf(left.names))
		}
	}
}
