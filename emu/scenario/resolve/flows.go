package resolve

import (
	"cmp"
	"fmt"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/traffic"
	"fabemu/wire/unit"
)

// maxFlows is the count of queue pair numbers: 24 bits, without 0 and 1, which InfiniBand
// reserves, and without the multicast number 0xFFFFFF.
const maxFlows = 1<<24 - 3

// flows are the flows of a scenario.
type flows struct {
	all     []scenario.Flow
	origins []origin        // for each of them
	lost    bool            // some are left out, since a mistake leaves open what they are
	left    []string        // the items that start after the end of the run
	whole   []scenario.Flow // with those
}

// flowing makes flows.
type flowing struct {
	sending
	flows
	run    span
	links  map[string]*yaml.Node // by name
	linked bool                  // the fabric is known
}

// makeFlows makes the flows of a fabric.
func makeFlows(of *fabric, run span) flows {
	r := &flowing{sending: sending{of.source, of.Site}, run: run, links: of.links, linked: of.linked()}
	r.lost = of.fewer
	for n, v := range r.items("flows", &r.lost) {
		base := flowOf(yaml.Get[string](v, "name"), v, r.language)
		readSizes(r.source, &base.Size, v)
		readProgram(r.source, &base.Control, v)
		r.expandFlow(base, r.originOf("flows", n, v), r.offerOf(&base, v, n))
	}
	if n := len(r.flows.all); n > maxFlows {
		r.Add(r.Root.Get("flows").Spot, "there are %d flows: queue pair numbers of 24 bits are enough for %d", n, maxFlows)
	}
	r.checkGroups()
	return r.flows
}

// offer is the load of a flow: a rate, or a share of its sender's link.
type offer struct {
	rate unit.Rate
	load float64
}

// offerOf returns the offer of a flow, from its item or else from the defaults.
func (r *flowing) offerOf(f *scenario.Flow, v yaml.View, n *yaml.Node) (o offer) {
	for _, c := range v.Chain {
		rate, load := c.Get("rate"), c.Get("load")
		switch {
		case rate == nil && load == nil:
			continue
		case rate != nil && load != nil:
			r.Add(load.Spot, "rate and load both set the offered load: give one of them")
		case rate != nil:
			o.rate = rate.Value.(unit.Rate)
		default:
			o.load = load.Value.(float64)
		}
		if own := cmp.Or(rate, load); f.Traffic == traffic.Greedy && c == n {
			r.Add(own.Spot,
				"greedy traffic takes no %s, because it sends whenever it may: for a rate give traffic: paced or constant",
				own.Path[strings.LastIndexByte(own.Path, '.')+1:])
		}
		if f.Traffic == traffic.Greedy {
			return offer{}
		}
		return o
	}
	if f.Traffic != traffic.Greedy && f.Traffic != traffic.Transfers {
		r.Add(n.At.Of(n.Path+".rate"), "%s traffic needs a rate, such as 1GB/s, or a load, such as 0.85", f.Traffic)
	}
	return o
}

// member is one flow of an item.
type member struct {
	from, to string
	turn     int // of those that start one after another
}

// membersOf returns the flows of an item: pairwise, or if uniform from each sender to each other
// endpoint.
func membersOf(from, to pattern.Names, uniform bool) (all []member) {
	if !uniform {
		for turn, p := range pattern.Pairs(from, to) {
			all = append(all, member{p[0], p[1], turn})
		}
		return all
	}
	for turn, a := range from.List() {
		for _, b := range to.List() {
			if a != b || !to.Ranged {
				all = append(all, member{a, b, turn})
			}
		}
	}
	return all
}

// suffix returns the suffix of a member's name: its ends that are of a range, of pairs the first.
func (m *member) suffix(from, to pattern.Names, uniform bool) (s string) {
	if from.Ranged {
		s = "." + m.from
	}
	if to.Ranged && (uniform || !from.Ranged) {
		s += "." + m.to
	}
	return s
}

// expandFlow makes a flow for each member of the ranges of an item.
func (r *flowing) expandFlow(base scenario.Flow, of origin, o offer) {
	toAt := of.Get("to")
	from, to := of.Get("from").Value.(pattern.Names), toAt.Value.(pattern.Names)
	uniform := base.Spread == scenario.Uniform
	if from.Ranged && to.Ranged && from.Size() != to.Size() && !uniform {
		r.Add(toAt.Spot,
			"%s has %d endpoints and %s has %d: ranges are joined pairwise, so they must be equally long",
			from.Text, from.Size(), to.Text, to.Size())
		r.lost = true
		return
	}
	start := yaml.Get[scenario.StartAt](of.View, "start")
	members := membersOf(from, to, uniform)
	if len(members) == 0 {
		r.Add(toAt.Spot, "flow %s goes from %s to itself", base.Name, from.Text)
		r.lost = true
		return
	}
	turns := members[len(members)-1].turn + 1
	running, starts := turns, true
	if r.timed() {
		running, starts = r.checkStart(base, of, start, turns)
	}
	for _, m := range members {
		f := base
		f.From, f.To, f.Name = m.from, m.to, base.Name+m.suffix(from, to, uniform)
		f.Start = start.First + unit.Duration(m.turn)*start.Step
		if f.From == f.To {
			r.Add(toAt.Spot, "flow %s goes from %s to itself", f.Name, f.From)
		}
		if r.linked {
			r.adaptFlow(&f, of, o)
			if starts {
				checkCounting(r.run, "flow "+f.Name, of, f.Start, f.Stop, f.WarmUp, f.Drain)
			}
		}
		r.flows.whole = append(r.flows.whole, f)
		if m.turn < running {
			of.Index = len(r.flows.all)
			r.flows.all = append(r.flows.all, f)
			r.origins = append(r.origins, of)
		}
	}
	switch later := turns - running; {
	case running == 0:
		r.left = append(r.left, base.Name)
	case later > 0:
		r.left = append(r.left, fmt.Sprintf("%d of %d of %s", later, turns, base.Name))
	}
}

// adaptFlow fills in the values that depend on the sender's link.
func (r *flowing) adaptFlow(f *scenario.Flow, of origin, o offer) {
	v := of.View
	f.Rate = o.rate
	line := r.LineRate(f)
	if o.load > 0 {
		f.Rate = max(unit.Rate(o.load*float64(line)), 1)
	}
	r.adaptSending(f, of)
	f.Jitter = r.jitter(*f, v, line)
	r.checkTraffic(f, of, line)
}

// checkTraffic refuses traffic that its line or its packets do not allow.
func (r *flowing) checkTraffic(f *scenario.Flow, of origin, line unit.Rate) {
	refuse := func(key, format string, args ...any) {
		r.Add(of.View.Spot(key, of.Field(key)), format, args...)
	}
	if (f.Traffic == traffic.Bernoulli || f.Traffic == traffic.Bursts) && f.Rate > line {
		refuse("rate", "flow %s offers %v, more than its link of %v carries: %s traffic cannot",
			f.Name, f.Rate, line, f.Traffic)
	}
	if length := r.Length(f); f.Traffic == traffic.Bursts && f.Burst < length {
		refuse("burst", "a burst of %v is less than a packet of flow %s, which is %v on the link",
			f.Burst, f.Name, length)
	}
	if f.Spread == scenario.Uniform && (f.Traffic == traffic.Greedy || f.Traffic == traffic.Paced) {
		refuse("spread",
			"%s traffic has no arrivals to spread over destinations: leave spread out, or give other traffic", f.Traffic)
	}
}

// checkStart returns the number of members of a flow that start before the end of the run: all,
// unless a --set shortens the run. If a member starts after the flow's stop, or without a --set
// after the end, it refuses the flow.
func (r *flowing) checkStart(f scenario.Flow, of origin, start scenario.StartAt, members int) (running int, right bool) {
	v := of.View
	at := v.Spot("start", of.Spot)
	end, but := r.run.end, r.run.ends()
	if f.Stop > 0 && f.Stop <= end {
		end, but = f.Stop, fmt.Sprintf("it stops at %v", f.Stop)+bySet(v.Node("stop"))
	}
	if r.run.cut.Set != nil && end == r.run.end && at.At.Set == nil {
		return startedBy(start, members, end), true
	}
	if start.First >= end {
		r.Add(at, "the flow starts at %v, but %s", start.First, but)
		return members, false
	}
	if startedBy(start, members, end) < members {
		r.Add(at, "the last of %d members starts %d x %v after %v, but %s",
			members, members-1, start.Step, start.First, but)
		return members, false
	}
	return members, true
}

// startedBy returns the number of members of a flow that start before an instant.
func startedBy(start scenario.StartAt, members int, end unit.Duration) int {
	switch {
	case start.First >= end:
		return 0
	case start.Step == 0:
		return members
	}
	return int(min(int64(members), int64((end-1-start.First)/start.Step)+1))
}

// jitter returns the jitter of a flow: as given, or half of the time of a packet
// on the sender's line. Flows that share their traffic start together.
func (r *flowing) jitter(f scenario.Flow, v yaml.View, line unit.Rate) unit.Duration {
	if given, n := v.At("jitter"); n != nil {
		return given.(unit.Duration)
	}
	if f.Spread == scenario.Uniform {
		return 0
	}
	return line.Serialise(r.Length(&f)) / 2
}

// checkGroups refuses names of two flows, or of a group and a flow or a link.
func (r *flowing) checkGroups() {
	isFlow := make(map[string]bool, len(r.flows.all))
	for f, of := range each(r.flows.all, r.origins) {
		if isFlow[f.Name] {
			r.Add(of.Field("name"), "duplicate name %q among the flows", f.Name)
		}
		isFlow[f.Name] = true
	}
	shared := map[[2]string]*scenario.Flow{} // the first of those that share their traffic, by group and endpoint
	for f, of := range each(r.flows.all, r.origins) {
		if source := [2]string{f.Group, f.From}; f.Spread == scenario.Uniform {
			first := cmp.Or(shared[source], f)
			shared[source] = first
			if !f.SharesWith(first) {
				r.Add(of.Field("spread"),
					"flow %s shares the traffic of %s, because they have the same group and endpoint: give both the same values",
					f.Name, first.Name)
			}
		}
		at := of.View.Spot("group", of.Field("group"))
		if f.Group != f.Name && isFlow[f.Group] {
			r.Add(at, "the group %q has the name of a flow: metrics could not distinguish them", f.Group)
		}
		if link := r.links[f.Group]; link != nil {
			r.Add(at, "the group %q has the name of a link%s: metrics could not distinguish them",
				f.Group, place.InLine(link.At))
		}
	}
}
