package node

import (
	"errors"
	"fmt"
	"slices"

	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/agenda"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Config describes an endpoint.
type Config struct {
	Index  int          // of the node in the fabric, for events
	Outbox *port.Outbox // where its frames wait for the driver; may be shared with other nodes; nil: its own
	LID    wire.LID     // its address
	Port   port.Config  // its one port
	Flows  []Flow       // the flows that begin here
	Sinks  []Sink       // the destinations of the flows that end here

	Reorders bool // routes may change, so packets of a flow, and ACKs, may overtake one another

	Spreads   []Spread   // traffic that several of the flows share
	Workloads []Workload // workloads in which it takes part

	Manage port.Manage // decides about management packets that come; nil: they are lost

	Adapter AdapterConfig // its memory for arrivals, on Ethernet, and how fast it takes frames out
}

// Sink configures the destination of one flow.
type Sink struct {
	QP        uint32      // the queue pair of the flow
	Source    wire.LID    // the endpoint at which the flow begins, to which answers go
	Lane      uint8       // of its frames; answers use at least this lane
	Transport Transport   // the transport of the flow
	Answer    rp.Answerer // Ethernet: sends answers to it; nil: there are none
	Bodies    BodySink    // where the bodies of its packets go; nil: nowhere
}

// New returns an endpoint that reports to events. It refuses a flow that could never send.
func New(c Config, events trace.Sink) (*Endpoint, error) {
	for i := range c.Flows {
		if err := c.Flows[i].check(c.Port.FlowControl); err != nil {
			return nil, fmt.Errorf("flow with queue pair %d: %w", c.Flows[i].QP, err)
		}
	}
	for i := range c.Sinks {
		if err := c.Sinks[i].check(c.Port.FlowControl); err != nil {
			return nil, fmt.Errorf("sink of queue pair %d: %w", c.Sinks[i].QP, err)
		}
	}
	sources, answered := len(c.Flows), 0
	for k := range c.Workloads {
		if err := c.Workloads[k].check(c.Port.FlowControl); err != nil {
			return nil, fmt.Errorf("workload with queue pairs from %d on: %w", c.Workloads[k].Range.First, err)
		}
		sources += c.Workloads[k].Open
	}
	var shared []*Pacer
	for i := range c.Flows {
		if g := c.Flows[i].Pacer; g != nil && !slices.Contains(shared, g) {
			shared = append(shared, g)
		}
	}
	for i := range c.Sinks {
		if c.Sinks[i].answers() {
			answered++
		}
	}
	e := &Endpoint{
		lid:      c.LID,
		out:      c.Outbox,
		rec:      trace.NewRecorder(c.Index, events),
		sources:  make([]source, sources),
		sinks:    make([]sink, len(c.Sinks)),
		spreads:  make([]spread, len(c.Spreads)),
		limiters: c.Adapter.Limiters,
		reorders: c.Reorders,
		manage:   c.Manage,
		draft:    new(wire.Frame),
		soon:     unit.Never,
	}
	e.slots = newSlots([owners]int{node: flowSlot, flows: sources, spreads: len(c.Spreads), pacers: len(shared),
		workloads: len(c.Workloads), answers: answered, calls: min(len(c.Workloads), 1)})
	e.agenda = agenda.NewSlots(int(e.slots[calls]))
	if len(c.Workloads) > 0 {
		e.workloads = &workloadSet{all: make([]workloadRun, len(c.Workloads))}
	}
	if e.out == nil {
		e.out = new(port.Outbox)
	}
	e.port.Init(0, &c.Port, e.out, &e.rec)
	e.makeLanes(&c.Port)
	for k, g := range shared {
		e.pacers = append(e.pacers, newShared(g, &e.agenda, e.slots.of(pacers, k)))
	}
	pairs := make([]uint32, len(c.Flows))
	for i, f := range c.Flows {
		e.addSource(i, f)
		if f.Pacer != nil {
			e.sources[i].mayShare(e.pacers[slices.Index(shared, f.Pacer)])
		}
		pairs[i] = f.QP
	}
	e.source = newTable(pairs)
	first := len(c.Flows)
	for k := range c.Workloads {
		e.addWorkload(k, first, &c)
		first += c.Workloads[k].Open
	}
	if err := e.addSpreads(&c); err != nil {
		return nil, err
	}
	e.addAdapter(&c)
	ends := make([]uint32, len(c.Sinks))
	for i := range c.Sinks {
		e.addSink(&e.sinks[i], &c.Sinks[i])
		ends[i] = c.Sinks[i].QP
	}
	e.sink = newTable(ends)
	e.agenda.Set(resendSlot, 0)
	return e, nil
}

// check refuses a flow that could never send.
func (f *Flow) check(kind port.FlowControl) error {
	switch {
	case f.Pacer != nil && (f.Pacer.Limiter == nil || f.Pacer.Reaction.Controller == nil):
		return errors.New("its group has no limiter or no reaction point")
	case f.Pacer != nil && f.Pacer.Reaction.Acknowledged != nil:
		return errors.New("a reaction point that uses ACKs has one flow, not a group")
	case f.Limiter == nil:
		return errors.New("it has no limiter")
	case f.Transport == nil:
		return errors.New("it has no transport")
	case f.SL >= port.ServiceLevels:
		return fmt.Errorf("service level %d, of 0 to %d", f.SL, port.ServiceLevels-1)
	case f.Lane >= port.Priorities:
		return fmt.Errorf("priority %d, of 0 to %d", f.Lane, port.Priorities-1)
	case f.sends() && kind == port.Credits:
		return errors.New("its reaction point sends its own frames, which InfiniBand does not have")
	case f.Family != wire.RoCEv2 && f.Family != wire.UET && f.Reaction.Acknowledged != nil:
		return errors.New("its reaction point uses the ACKs of RoCEv2 or UET, and its transport is neither")
	case f.Payload != f.Family.Fit(f.Payload):
		return fmt.Errorf("packets of %d bytes do not fit a frame; %d do", f.Payload, f.Family.Fit(f.Payload))
	}
	return f.Transport.check(f)
}

// check refuses a destination that could not answer.
func (k *Sink) check(kind port.FlowControl) error {
	switch {
	case k.Transport == nil:
		return errors.New("it has no transport")
	case k.Answer != nil && kind == port.Credits:
		return errors.New("InfiniBand has no frames for a destination that answers the flow")
	}
	return nil
}

// answers reports whether the destination sends frames by itself.
func (k *Sink) answers() bool { return k.Answer != nil || k.Transport.streams() }

func (e *Endpoint) addSource(i int, f Flow) {
	s := &e.sources[i]
	e.newSource(s, f, flowSlot+i, nil)
	if f.Bodies != nil {
		b := &bodies{sender: s.sender, source: s, endpoint: e, from: f.Bodies}
		b.timer, _ = f.Bodies.(BodyTimer)
		s.filled, s.sender = true, b
		e.bodied = append(e.bodied, s.slot)
	}
	e.addLane(f.Lane)
	e.agenda.Set(s.slot, f.Start)
}

// addLane makes a queue for the packets of a lane.
func (e *Endpoint) addLane(lane uint8) {
	if lanes := int(lane) + 1; lanes > len(e.ready) {
		e.ready = append(e.ready, make([]ready, lanes-len(e.ready))...)
	}
}

// addSpreads begins the traffic that flows share.
func (e *Endpoint) addSpreads(c *Config) error {
	for k, s := range c.Spreads {
		for _, i := range s.Flows {
			if i < 0 || i >= len(c.Flows) || c.Flows[i].Traffic != nil || c.Flows[i].Bodies != nil {
				return fmt.Errorf("traffic is spread to flow %d of %d, which is not there or has its own", i, len(c.Flows))
			}
			e.sources[i].greedy = false
		}
		e.spreads[k] = spread{Spread: s, next: s.Traffic.Next()}
		e.agenda.Set(e.slots.of(spreads, k), e.spreads[k].next.At)
	}
	return nil
}

// addAdapter makes the memory of the endpoint, where it has one.
func (e *Endpoint) addAdapter(c *Config) {
	if c.Port.FlowControl == port.Credits {
		if c.Adapter.Service > 0 {
			e.ingress = newIngress(c.Adapter, port.Credits, &e.port)
		}
		return
	}
	e.ingress = newIngress(c.Adapter, c.Port.FlowControl, &e.port)
	newVOQs(e.sources[:len(c.Flows)])
	if c.Adapter.Egress > 0 {
		out := &egress{room: c.Adapter.Egress}
		for i := range e.sources {
			e.sources[i].packets.egress = out
		}
	}
}

// addSink makes the destination of a flow.
func (e *Endpoint) addSink(s *sink, k *Sink) {
	*s = sink{qp: k.QP, source: k.Source, lane: k.Lane, reorders: e.reorders, answer: k.Answer, bodies: k.Bodies}
	s.receiver, s.receiving = k.Transport.receiver(k, e)
	if k.answers() {
		s.slot = int32(e.slots.of(answers, len(e.answered)))
		e.answered = append(e.answered, s)
		e.agenda.Set(int(s.slot), s.deadline())
	}
}
