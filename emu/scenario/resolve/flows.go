package resolve

import (
	"cmp"
	"fmt"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/spray"
	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// maxFlows is the count of queue pair numbers: 24 bits, without 0 and 1, which InfiniBand
// reserves, and without the multicast number 0xFFFFFF.
const maxFlows = 1<<24 - 3

func (r *resolver) resolveFlows() {
	linked := r.linked()
	for n, v := range r.items("flows") {
		base := flowOf(yaml.Get[string](v, "name"), v, r.Tables)
		r.readSizes(&base.Size, v)
		r.readProgram(&base.Control, v)
		r.expandFlow(base, r.originOf("flows", n, v), r.offerOf(&base, v, n), linked)
	}
	if n := len(r.s.Flows); n > maxFlows {
		r.Add(r.Root.Get("flows").Spot, "there are %d flows: queue pair numbers of 24 bits are enough for %d", n, maxFlows)
	}
	r.checkGroups()
}

// offer is the load of a flow: a rate, or a share of its sender's link.
type offer struct {
	rate unit.Rate
	load float64
}

// offerOf returns the offer of a flow, from its item or else from the defaults.
func (r *resolver) offerOf(f *scenario.Flow, v yaml.View, n *yaml.Node) (o offer) {
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
func (r *resolver) expandFlow(base scenario.Flow, of origin, o offer, linked bool) {
	toAt := of.Get("to")
	from, to := of.Get("from").Value.(pattern.Names), toAt.Value.(pattern.Names)
	uniform := base.Spread == scenario.Uniform
	if from.Ranged && to.Ranged && from.Size() != to.Size() && !uniform {
		r.Add(toAt.Spot,
			"%s has %d endpoints and %s has %d: ranges are joined pairwise, so they must be equally long",
			from.Text, from.Size(), to.Text, to.Size())
		r.trafficLost = true
		return
	}
	start := yaml.Get[scenario.StartAt](of.View, "start")
	members := membersOf(from, to, uniform)
	if len(members) == 0 {
		r.Add(toAt.Spot, "flow %s goes from %s to itself", base.Name, from.Text)
		r.trafficLost = true
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
		if linked {
			r.adaptFlow(&f, of, o)
			if starts {
				r.checkCounting("flow "+f.Name, of, f.Start, f.Stop, f.WarmUp, f.Drain)
			}
		}
		r.left.all = append(r.left.all, f)
		if m.turn < running {
			of.Index = len(r.s.Flows)
			r.s.Flows = append(r.s.Flows, f)
			r.flowOrigins = append(r.flowOrigins, of)
			r.FlowOrigins = append(r.FlowOrigins, of.origin())
		}
	}
	switch later := turns - running; {
	case running == 0:
		r.left.flows = append(r.left.flows, base.Name)
	case later > 0:
		r.left.flows = append(r.left.flows, fmt.Sprintf("%d of %d of %s", later, turns, base.Name))
	}
}

// adaptFlow fills in the values that depend on the sender's link.
func (r *resolver) adaptFlow(f *scenario.Flow, of origin, o offer) {
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

// adaptSending fills in how a flow sends as it depends on the sender's link, and refuses values
// that the family of the link does not have.
func (r *resolver) adaptSending(f *scenario.Flow, of origin) {
	v := of.View
	family := r.FamilyOf(f.From)
	r.adaptTransport(f, v, family)
	r.adaptServiceLevels(f, of)
	refuse := func(key, format string, args ...any) {
		if n := v.Node(key); n != nil {
			r.Add(n.Spot, format, args...)
		}
	}
	if family == wire.InfiniBand {
		f.Priority = 0
	}
	if err := scenario.CheckPayload(f.Packet, r.s.Frame(f, family).Family); err != nil {
		refuse("packet", "%v", err)
	}
	switch given := v.Given("window"); {
	case family == wire.InfiniBand && f.Window == 0:
		refuse("window", "on InfiniBand every packet is acknowledged: a window is a number of packets")
	case family == wire.InfiniBand:
	case f.Window == 0 || !given:
		f.Window = 0
	case f.Transport.Acks():
		refuse("window",
			"a window here is for InfiniBand: give the window of RoCEv2 as transport: {kind: rocev2, window: %d}", f.Window)
	case f.Transport.Streams():
		refuse("window",
			"a window in packets is for InfiniBand: give TCP's, in bytes, as transport: {kind: tcp, receive-window: 64KB}")
	default:
		refuse("window", "on Ethernet nothing is acknowledged, and there is no window: leave it out, or write none")
	}
	switch {
	case f.Timeout == 0:
	case f.Transport.Acks():
		refuse("timeout",
			"this timeout is for InfiniBand: give the timeout of RoCEv2 as transport: {kind: rocev2, ack-timeout: %v}", f.Timeout)
	case f.Transport.Streams():
		refuse("timeout",
			"this timeout is for InfiniBand: TCP computes its own from transport: {kind: tcp, initial-rto: 1s, min-rto: 1s}")
	case family == wire.Ethernet:
		refuse("timeout", "on Ethernet nothing is acknowledged, and nothing can be missed: leave the timeout out, or write never")
	case f.Traffic == traffic.Transfers:
		refuse("timeout", "messages of this transport are not retransmitted: a timeout is for other traffic")
	}
}

// adaptTransport refuses a transport that the family of a flow does not have, and parameters
// that do not fit. It clears the family's usual transport.
func (r *resolver) adaptTransport(f *scenario.Flow, v yaml.View, family wire.Family) {
	t := scheme{View: v.Sub("transport"), By: r.Tables.Transports.By}
	kind := t.Node(t.By)
	if kind == nil {
		f.Transport = scenario.Transport{}
		return
	}
	row := scenario.TransportOf(f.Transport.Kind, family)
	switch checker, ok := f.Transport.Params.(interface{ Check() (string, error) }); {
	case row.Family != family:
		r.Add(t.spotOf(t.By), "flow %s is on %v, and %s is a transport of %v: there is %s",
			f.Name, family, row.Name, row.Family, r.transportsOf(family))
		f.Transport = scenario.Transport{}
	case row.Usual:
		f.Transport = scenario.Transport{}
	case f.Transport.Acks():
		r.adaptRoCE(f, v, t, kind.Spot)
	case f.Packet < tcp.MinPacket:
		r.Add(v.Spot("packet", kind.Spot),
			"flow %s has packets of %v, and an IPv4 packet of TCP has %d bytes of headers: give at least %dB",
			f.Name, f.Packet, wire.TCPOverhead, tcp.MinPacket)
	case ok:
		if key, err := checker.Check(); err != nil {
			r.Add(t.spotOf(key), "flow %s: %v", f.Name, err)
		}
	}
}

// adaptRoCE fills in the code points of a flow with RoCEv2 and the priority that follows from
// them. It refuses code points that disagree with a given priority.
func (r *resolver) adaptRoCE(f *scenario.Flow, v yaml.View, t scheme, kind place.Spot) {
	p := f.Transport.Params.(nodes.RoCEParams)
	if f.Packet > p.MTU.Size() {
		r.Add(t.spotOf("mtu"), "flow %s has packets of %v, and the path MTU is %v: a packet must not be longer",
			f.Name, f.Packet, p.MTU.Size())
	}
	p.Echo = p.Echo || p.Spray.Learns() && !t.Given("echo")
	if key, err := p.Check(); err != nil {
		r.Add(t.spotOf(key), "flow %s: %v", f.Name, err)
	}
	if guest := r.EndpointOf(f.From).Guest.Kind != ""; guest && p.Selective() {
		r.Add(t.spotOf("order"), "flow %s begins at guest %s, whose packets go-back-n alone retransmits: leave out order", f.Name, f.From)
	} else if guest && p.Spray != spray.None {
		r.Add(t.spotOf("spray"), "flow %s begins at guest %s, which chooses source ports itself: leave out spray", f.Name, f.From)
	}
	table := &r.s.Model.DSCP
	switch n := t.Node("dscp"); {
	case n == nil:
		dscp, ok := table.Lowest(f.Priority)
		if !ok {
			r.Add(scheme{View: v, By: "priority", Of: kind}.spotOf("priority"), "flow %s has priority %d, and model.dscp has no DSCP for it",
				f.Name, f.Priority)
		}
		p.DSCP = dscp
	case v.Given("priority") && table.Class(p.DSCP) != f.Priority:
		r.Add(n.Spot,
			"flow %s has priority %d, and the DSCP %d has priority %d (model.dscp): leave one of them out",
			f.Name, f.Priority, p.DSCP, table.Class(p.DSCP))
	default:
		f.Priority = table.Class(p.DSCP)
	}
	if !t.Given("ack-dscp") {
		p.AckDSCP = p.DSCP
	}
	p.AckPriority = table.Class(p.AckDSCP)
	p.Stamped = r.s.Algorithm(f).Feedback == rp.Delays
	p.Telemetry = rp.TraitsOf(f.Control.Params).Telemetry
	if lane, ok := r.CNPPriority(f); ok {
		if p.CNPDSCP, ok = table.Lowest(lane); !ok {
			r.Add(kind, "the CNPs of flow %s have priority %d, and model.dscp has no DSCP for it",
				f.Name, lane)
		}
	}
	f.Transport.Params = p
}

// transportsOf lists the transports of a family.
func (r *resolver) transportsOf(family wire.Family) string {
	var all []string
	for _, t := range nodes.Transports() {
		if t.Family == family {
			all = append(all, t.Name)
		}
	}
	return strings.Join(all, ", ")
}

// checkTraffic refuses traffic that its line or its packets do not allow.
func (r *resolver) checkTraffic(f *scenario.Flow, of origin, line unit.Rate) {
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
func (r *resolver) checkStart(f scenario.Flow, of origin, start scenario.StartAt, members int) (running int, right bool) {
	v := of.View
	at := v.Spot("start", of.Spot)
	end, but := r.s.Model.Duration, r.runEnds()
	if f.Stop > 0 && f.Stop <= end {
		end, but = f.Stop, fmt.Sprintf("it stops at %v", f.Stop)+bySet(v.Node("stop"))
	}
	if r.cut.Set != nil && end == r.s.Model.Duration && at.At.Set == nil {
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
func (r *resolver) jitter(f scenario.Flow, v yaml.View, line unit.Rate) unit.Duration {
	if given, n := v.At("jitter"); n != nil {
		return given.(unit.Duration)
	}
	if f.Spread == scenario.Uniform {
		return 0
	}
	return line.Serialise(r.Length(&f)) / 2
}

// checkGroups refuses names of two flows, or of a group and a flow or a link.
func (r *resolver) checkGroups() {
	isFlow := make(map[string]bool, len(r.s.Flows))
	for f, of := range each(r.s.Flows, r.flowOrigins) {
		if isFlow[f.Name] {
			r.Add(of.Field("name"), "duplicate name %q among the flows", f.Name)
		}
		isFlow[f.Name] = true
	}
	shared := map[[2]string]*scenario.Flow{} // the first of those that share their traffic, by group and endpoint
	for f, of := range each(r.s.Flows, r.flowOrigins) {
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
		if link := r.linkNames[f.Group]; link != nil {
			r.Add(at, "the group %q has the name of a link%s: metrics could not distinguish them",
				f.Group, place.InLine(link.At))
		}
	}
}
