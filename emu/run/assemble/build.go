package assemble

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/schedule"
	"fabemu/node/traffic"
	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// New makes the nodes of a fabric, with the schemes of the caller. They report to
// events, which may be nil.
func New(f *fabric.Fabric, schemes Schemes, events *trace.Batch) (*drive.Setup, error) {
	return newBuilder(f, schemes, events).build()
}

// Divided makes the nodes of a fabric as New does, for several domains: the nodes of each report to
// the events of that domain.
func Divided(f *fabric.Fabric, schemes Schemes, domains *drive.Domains) (*drive.Setup, error) {
	b := newBuilder(f, schemes, nil)
	b.domains, b.outs = domains, make([]outbox, len(domains.Events))
	out, err := b.build()
	if err == nil {
		out.Domains = domains
	}
	return out, err
}

// Quiet makes the nodes of a fabric without its traffic.
func Quiet(f *fabric.Fabric, schemes Schemes, events *trace.Batch) (*drive.Setup, error) {
	b := newBuilder(f, schemes, events)
	quiet := *f
	quiet.Flows, b.fabric, b.work = nil, &quiet, nil
	return b.build()
}

// Check returns an error if the nodes of a fabric cannot be made. It makes no tables of routes,
// which are most of the work in a large fabric: the path of each flow is already known.
func Check(f *fabric.Fabric) error {
	b := newBuilder(f, Schemes{}, nil)
	b.unrouted = true
	_, err := b.build()
	return err
}

// Some makes only the nodes of f that run in this process, as here decides. The others are nil.
func Some(f *fabric.Fabric, schemes Schemes, events *trace.Batch, here func(node int) bool) (*drive.Setup, error) {
	b := newBuilder(f, schemes, events)
	b.here = here
	return b.build()
}

// builder turns a fabric that is laid out into nodes that run.
type builder struct {
	scenario   *scenario.Scenario
	trips      map[unit.Size]unit.Duration // the longest round trip, by the length of a packet
	fabric     *fabric.Fabric
	schemes    Schemes
	framing    wire.Framing
	largest    fabric.Sizes // of data frames
	events     *trace.Batch
	begin      [][]int                     // by node, the flows that begin there
	end        [][]int                     // and those that end there
	reroutes   []drive.Change              // of routes
	ports      []port.Config               // of the switch that is made
	outs       []outbox                    // by domain, of all its nodes: the driver empties it after each call
	domains    *drive.Domains              // nil: there is one
	here       func(node int) bool         // which nodes are made; nil: all
	work       []*fabric.Workload          // the workloads
	lists      map[int][][]traffic.Arrival // by workload, the transfers of its members, from a file
	goals      map[int]*schedule.Goal      // by workload, the schedule of its ranks
	unrouted   bool                        // switches get no routes: nothing is to run
	acksAsData bool
	loses      bool // frames, in spite of flow control
}

func newBuilder(f *fabric.Fabric, schemes Schemes, events *trace.Batch) *builder {
	return &builder{
		scenario: f.Scenario, fabric: f, schemes: schemes, framing: f.Framing(), largest: f.Largest(), events: events,
		outs: make([]outbox, 1), work: f.Workloads(), lists: map[int][][]traffic.Arrival{},
		goals: map[int]*schedule.Goal{}, trips: map[unit.Size]unit.Duration{}, acksAsData: f.Scenario.AcksAsData(), loses: f.Scenario.Loses(),
	}
}

// outbox is a port.Outbox that shares no line of the cache with the outbox of another domain.
type outbox struct {
	port.Outbox
	_ [64]byte
}

// outputs returns the outbox of a node, and the batch for its events.
func (b *builder) outputs(i int) (*port.Outbox, *trace.Batch) {
	if b.domains == nil {
		return &b.outs[0].Outbox, b.events
	}
	k := b.domains.Of[i]
	return &b.outs[k].Outbox, b.domains.Events[k]
}

// build makes the nodes.
func (b *builder) build() (*drive.Setup, error) {
	s, f := b.scenario, b.fabric
	b.begin, b.end = make([][]int, len(f.Nodes)), make([][]int, len(f.Nodes))
	for k := range f.Flows {
		src, dst := f.Flows[k].Src, f.Flows[k].Dst
		b.begin[src], b.end[dst] = append(b.begin[src], k), append(b.end[dst], k)
	}
	out := Wires(f)
	out.End, out.Bodies = unit.Time(s.Model.Duration), &b.outs[0].Bodies
	for i := range f.Nodes {
		var m drive.Node
		var err error
		elsewhere := b.here != nil && !b.here(i)
		switch {
		case f.Nodes[i].Switch != nil:
			if !elsewhere {
				m, err = b.newSwitch(i)
			} else if len(f.Paths.Epochs) > 1 {
				b.routes(i) // its changes of routes have a place among the changes of all
			}
		case !elsewhere:
			m, err = b.newEndpoint(i)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Nodes[i].Name, err)
		}
		out.Nodes = append(out.Nodes, m)
	}
	out.Watch = b.watch()
	out.Changes = b.reroutes
	for i := range f.Nodes {
		_, later := b.lanes(i)
		out.Changes = append(out.Changes, later...)
	}
	for i := range s.Events {
		out.Changes = append(out.Changes, b.changes(i, &s.Events[i])...)
	}
	if m := b.schemes.Management; m != nil {
		out.Outside, out.Changes = m, append(out.Changes, m.Begin(out.Bodies)...)
	}
	slices.SortStableFunc(out.Changes, func(x, y drive.Change) int { return cmp.Compare(x.At, y.At) })
	return out, nil
}

// Wires returns a fabric for drivers without its nodes.
func Wires(f *fabric.Fabric) *drive.Setup {
	out := &drive.Setup{}
	for i, w := range f.Wires {
		out.Wires = append(out.Wires, w.Ends)
		out.Least = append(out.Least, f.Least(i, 0), f.Least(i, 1))
	}
	for i := range f.Nodes {
		out.Passing = append(out.Passing, f.Passing(i))
	}
	return out
}

// routes returns the tables of routes of a switch, each of them once, and records the changes from
// one to another.
func (b *builder) routes(i int) []switchd.Routes {
	if b.unrouted {
		return []switchd.Routes{{}}
	}
	var tables []switchd.Routes
	of := map[int]int{} // by state of the links
	last := 0
	for _, e := range b.fabric.Paths.Epochs {
		k, known := of[e.State]
		if !known {
			t := b.fabric.Table(i, e.State)
			k = slices.IndexFunc(tables, t.Equals)
			if k < 0 {
				k = len(tables)
				tables = append(tables, t)
			}
			of[e.State] = k
		}
		if k != last {
			c := drive.Change{At: unit.Time(e.At), Node: i, Makes: port.RoutesChange{Table: k}}
			b.reroutes = append(b.reroutes, c)
			last = k
		}
	}
	return tables
}

// watch returns the times at which to look for deadlock: rarely enough to cost nothing, and not
// before each port has repeated its credit and frames in flight have arrived.
func (b *builder) watch() *deadlock.Watch {
	const (
		looks = 100 // in a run
		few   = 500 // nodes: a look at more of them costs more, and happens less often
	)
	w := &deadlock.Watch{Every: b.scenario.Model.Duration / looks}
	for i := range b.fabric.Wires {
		l := b.fabric.Wires[i].Link
		slowest, _ := b.scenario.Rates(l)
		hop := l.Propagation + slowest.Serialise(b.largest.Length) + b.scenario.Latest(l)
		w.Word = max(w.Word, 2*hop+l.Response.At(slowest))
		w.Every = max(w.Every, l.Resend+10*hop)
	}
	w.Every *= unit.Duration(1 + len(b.fabric.Nodes)/few)
	w.Idle = 10 * w.Every
	guests, _ := b.scenario.Guests() // they may send at any time
	w.Drains = guests == 0 && (slices.ContainsFunc(b.scenario.Workloads, func(w scenario.Workload) bool { return w.Drain > 0 }) ||
		slices.ContainsFunc(b.scenario.Flows, func(f scenario.Flow) bool { return f.Drain > 0 }))
	for i := range b.fabric.Flows {
		w.Settled = max(w.Settled, b.fabric.Flows[i].Start)
	}
	return w
}

// port describes one port of a node.
func (b *builder) port(p fabric.Port) port.Config {
	w := &b.fabric.Wires[p.Wire]
	s := b.fabric.Nodes[b.fabric.Peer(p).Node].Switch
	var again *retry.Profile
	if w.Link.Retry.On() {
		again = &w.Link.Retry.Profile
	}
	return port.Config{
		Rate:        w.Link.Rate,
		Propagation: w.Link.Propagation,
		Framing:     b.framing,
		CutThrough:  s != nil && s.Forwarding != scenario.StoreAndForward,
		Room:        b.largest.Room(w.Link.Buffer),
		Lanes:       w.Link.Lanes.Count(),
		AcksAsData:  b.acksAsData,
		SLToVL:      w.Link.Lanes.SLToVL(),
		Arbitration: w.Link.Lanes.Arbitration(),
		HeadLife:    w.Link.Lanes.HeadLife,
		Resend:      w.Link.Resend,
		FlowControl: w.Link.FlowControl,
		Station:     b.fabric.Nodes[w.Ends[p.End].Node].LID,
		Quanta:      w.Link.Quanta,
		Response:    w.Link.Response,
		Retry:       again,
		CBFC:        w.Link.CBFC.CBFC,
		Disobeyed:   s != nil && s.Watchdog.Poll > 0 && s.Watchdog.Action == switchd.StormForward,
	}
}

// newSwitch makes a switch of either kind.
func (b *builder) newSwitch(i int) (drive.Node, error) {
	m := &b.fabric.Nodes[i]
	s := m.Switch
	out, events := b.outputs(i)
	routes, seed, points := b.routes(i), b.fabric.Paths.Seed(i), b.congestionPoints(m, i)
	ports := b.ports[:0]
	for _, p := range m.Ports {
		ports = append(ports, b.port(p))
	}
	b.ports = ports
	if s.Kind == scenario.OutputQueued {
		return switchd.NewOutputQueued(switchd.OutputQueuedConfig{
			Index: i, Outbox: out, Ports: ports, Routes: routes, Seed: seed,
			Delay: s.ForwardingDelay, CutThrough: s.Forwarding == scenario.CutThrough,
			Memory: s.Memory.Total(len(m.Ports)), Pooled: s.Sharing == scenario.Pooled, OutputLimit: s.OutputLimit,
			High: s.High, Low: s.Low, Lossless: uint8(s.Lossless), ETS: switchd.Weights(s.ETS), Points: points,
			Watchdog: s.Watchdog, Balance: b.balancing(), Dynamic: dynamic(s),
			Trim: s.Trim, LastHop: b.lastHops(m),
		}, events)
	}
	marking := cp.TraitsOf(s.Marking.Params)
	lanes, _ := b.lanes(i)
	return switchd.New(switchd.Config{
		Index: i, Outbox: out, Ports: ports, Routes: routes, Seed: seed, Delay: s.ForwardingDelay,
		Single: s.Crossbar == scenario.SingleOutput, Bypass: s.Bypass, Points: points, Packet: b.largest.Blocks,
		Manage: b.manage(i), Lanes: lanes, CountSending: marking.Sending, FullAt: b.largest.Room(marking.Full),
		Balance: b.balancing(),
	}, events)
}

// dynamic returns the watermarks of a switch that follow its free memory.
func dynamic(s *scenario.Switch) (d switchd.Dynamic) {
	if s.Alpha > 0 {
		d = switchd.Dynamic{Alpha: s.Alpha, Shared: s.Shared, Offset: s.XonOffset}
	}
	return d
}

// lastHops returns which ports of a switch that trims lead to endpoints.
func (b *builder) lastHops(m *fabric.Node) (last []bool) {
	if m.Switch.Trim.Size == 0 {
		return nil
	}
	for _, p := range m.Ports {
		last = append(last, b.fabric.Nodes[b.fabric.Peer(p).Node].Switch == nil)
	}
	return last
}

// balancing returns how switches divide frames among equal routes.
func (b *builder) balancing() switchd.Balancing {
	r := &b.scenario.Routing
	return switchd.Balancing{
		Balance: r.Balance, Idle: r.Idle, Flows: r.Flows, Bands: r.Bands, Low: r.QueueMin, High: r.QueueMax,
		LoadWeight: r.LoadWeight, Sample: r.Sample, Average: r.LoadAverage,
	}
}

// manage returns what decides about management packets at a node.
func (b *builder) manage(i int) port.Manage {
	if b.schemes.Management == nil {
		return nil
	}
	return b.schemes.Management.Manage(i)
}

// lanes returns the exceptions from the lanes of links at a node that count from the beginning, and
// the changes by those that count later.
func (b *builder) lanes(i int) (first []port.PortChange, later []drive.Change) {
	m := &b.fabric.Nodes[i]
	for _, r := range b.scenario.LaneRules {
		if r.At != m.Name {
			continue
		}
		in := port.AnyPort
		for p, at := range m.Ports {
			if b.fabric.Wires[at.Wire].Name == r.From {
				in = port.ID(p)
			}
		}
		for p, at := range m.Ports {
			l := b.fabric.Wires[at.Wire].Link
			if r.Over != "" && r.Over != l.Name || l.Lanes.Count() == 1 {
				continue
			}
			var all []port.Change
			if r.Lanes != "" {
				all = append(all, port.SLToVLChange{Table: r.Lanes.Of(l.Lanes.Count()), In: in})
			}
			if r.Arbitrates() {
				all = append(all, port.ArbitrationChange{Arbitration: r.Arbitration(l.Lanes.Count())})
			}
			for _, c := range all {
				if r.Since == 0 {
					first = append(first, port.PortChange{Port: port.ID(p), Change: c})
				} else {
					later = append(later, drive.Change{At: unit.Time(r.Since), Node: i, Port: port.ID(p), Makes: c})
				}
			}
		}
	}
	return first, later
}

func (b *builder) newEndpoint(i int) (drive.Node, error) {
	m := &b.fabric.Nodes[i]
	out, events := b.outputs(i)
	c := node.Config{
		Index: i, Outbox: out, LID: m.LID, Port: b.port(m.Ports[0]), Reorders: b.scenario.Reroutes() || b.scenario.Disorders(), Manage: b.manage(i),
	}
	lanes, _ := b.lanes(i)
	for _, l := range lanes {
		switch t := l.Change.(type) {
		case port.SLToVLChange:
			c.Port.SLToVL = t.Table
		case port.ArbitrationChange:
			c.Port.Arbitration = t.Arbitration
		}
	}
	if e := m.Endpoint; e != nil {
		c.Adapter = node.AdapterConfig{Egress: e.Egress,
			Ingress: port.BufferConfig{Room: e.Ingress, High: e.High, Low: e.Low}, Service: scenario.Served(e.Service),
			Limiters: e.Limiters}
	}
	pacers := map[int]*node.Pacer{} // of the flows that share a limiter
	spreads := map[string]int{}     // by group of flows, the index of the traffic that they share
	answers := map[string]rp.Answerer{}
	for _, k := range b.end[i] {
		f := &b.fabric.Flows[k]
		a, err := b.answer(f, c.Port.Rate, answers)
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.Name, err)
		}
		s := node.Sink{QP: f.QP, Source: b.fabric.Nodes[f.Src].LID, Lane: f.Priority,
			Transport: b.transport(f), Answer: a}
		if b.schemes.BodySink != nil {
			s.Bodies = b.schemes.BodySink(f)
		}
		c.Sinks = append(c.Sinks, s)
	}
	for _, k := range b.begin[i] {
		f := &b.fabric.Flows[k]
		flow, err := b.flow(f, c.Port.Rate)
		if err == nil {
			err = b.pacer(pacers, f, &flow, c.Port.Rate)
		}
		if err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.Name, err)
		}
		if b.schemes.BodySource != nil {
			flow.Bodies = b.schemes.BodySource(f)
		}
		if flow.Bodies != nil {
			flow.Pace = 0
		} else if f.Spread == scenario.Uniform {
			s, known := spreads[f.Group]
			if !known {
				s = len(c.Spreads)
				spreads[f.Group] = s
				c.Spreads = append(c.Spreads, node.Spread{})
			}
			c.Spreads[s].Flows = append(c.Spreads[s].Flows, len(c.Flows))
		} else if flow.Traffic, err = b.traffic(f, c.Port.Rate, 1); err != nil {
			return nil, fmt.Errorf("flow %s: %w", f.Name, err)
		}
		c.Flows = append(c.Flows, flow)
	}
	for s := range c.Spreads {
		flows := c.Spreads[s].Flows
		first := &b.fabric.Flows[c.Flows[flows[0]].QP-fabric.FirstQP]
		var err error
		if c.Spreads[s].Traffic, err = b.traffic(first, c.Port.Rate, len(flows)); err != nil {
			return nil, fmt.Errorf("group %s: %w", first.Group, err)
		}
	}
	var err error
	if c.Workloads, err = b.workloads(i, c.Port.Rate); err != nil {
		return nil, err
	}
	return node.New(c, events)
}

// flow describes the source of a flow, without its traffic.
func (b *builder) flow(f *fabric.Flow, line unit.Rate) (node.Flow, error) {
	limiter, reaction, err := b.pacing(f, line)
	time, limiter, reaction := b.measured(f, false, line, limiter, reaction)
	var listener node.Listener
	if b.schemes.Listen != nil {
		listener = b.schemes.Listen(f)
	}
	if time != nil {
		listener = time.Listener(listener)
	}
	frame, pace := b.fabric.Frame(f), unit.Rate(0)
	if f.Traffic == traffic.Paced {
		pace = f.Rate
	}
	return node.Flow{
		Family: frame.Family, Lane: f.Priority, SL: f.SL, Tagged: frame.Tagged, QP: f.QP, Dst: b.fabric.Nodes[f.Dst].LID,
		Payload: uint32(f.Packet), Transport: b.transport(f),
		Start: f.Start, Stop: f.Stop, Pace: pace, Limited: f.RateLimit > 0,
		Marks: b.scenario.Algorithm(f.Flow).Feedback == rp.Marks, Limiter: limiter, Reaction: reaction,
		Listener: listener,
	}, err
}

// transport returns the transport of a flow.
func (b *builder) transport(f *fabric.Flow) node.Transport {
	t := scenario.NewTransport(f.Flow, f.Family, b.loses)
	switch t := t.(type) {
	case node.RoCE:
		t.Seed = b.scenario.Model.Seed
		return t
	case node.UET:
		t.Seed, t.Codes = b.scenario.Model.Seed, b.trimCodes(f.Dst)
		return t
	}
	return t
}

// trimCodes returns how packets are told apart that were trimmed on the way to an endpoint: by the
// switch that it is linked to, or, if that does not trim, by the first one that does.
func (b *builder) trimCodes(endpoint int) wire.TrimCodes {
	if w := b.fabric.Nodes[b.fabric.Peer(b.fabric.Nodes[endpoint].Ports[0]).Node].Switch; w != nil && w.Trim.Size > 0 {
		return w.Trim.Codes()
	}
	for i := range b.scenario.Switches {
		if t := &b.scenario.Switches[i].Trim; t.Size > 0 {
			return t.Codes()
		}
	}
	return wire.TrimCodes{}
}

// traffic returns the traffic of a flow, or of several that share it; nil for greedy and
// paced traffic. It has its own stream of random numbers.
func (b *builder) traffic(f *fabric.Flow, line unit.Rate, destinations int) (traffic.Generator, error) {
	frame := b.fabric.Frame(f)
	c := traffic.Config{
		Kind: f.Traffic, Start: f.Start, Rate: f.Rate, Length: b.framing.Length(&frame), Peak: line, Burst: f.Burst,
		Shape: f.Shape, Count: f.Count, Destinations: destinations, Seed: b.scenario.Model.Seed, Stream: 1<<32 + uint64(f.QP),
	}
	switch f.Traffic {
	case traffic.Greedy, traffic.Paced:
		return nil, nil
	case traffic.Transfers:
		c.Sizes = f.Size.Distribution()
	}
	return traffic.New(c)
}
