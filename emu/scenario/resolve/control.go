package resolve

import (
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// checkPoints refuses congestion points at switches without the buffers or queues that they
// observe, and parameters that do not fit there.
func (r *resolver) checkPoints() {
	longest := unit.Size(0) // of the frames of Ethernet
	for f := range each(r.s.Flows, r.FlowOrigins) {
		longest = max(longest, r.Length(f))
	}
	for s, m := range each(r.s.Switches, r.SwitchNodes) {
		p, ok := r.s.Point(s)
		if !ok {
			continue
		}
		marking := scenario.Scheme{View: m.View.Sub("marking"), By: "scheme", Of: m.Spot}
		wrong := ""
		switch {
		case p.Sees == cp.Queues && s.Kind == scenario.InputBuffered:
			wrong = "%s looks at the queues of outputs, which the input-buffered switch %s does not have: make it output-queued"
		case p.Sees == cp.Buffers && s.Kind == scenario.OutputQueued:
			wrong = "%s marks by input buffers, which the output-queued switch %s does not have"
		}
		if wrong != "" {
			r.Add(marking.SpotOf("scheme"), wrong, p.Name, s.Name)
			continue
		}
		room := s.Memory.Total(len(m.Links))
		if s.OutputLimit > 0 {
			room = min(room, s.OutputLimit)
		}
		if checker, ok := s.Marking.Params.(cp.RoomChecker); ok {
			for _, wrong := range checker.CheckRoom(room, longest) {
				r.Add(marking.SpotOf(wrong.Key), "switch %s: %v", s.Name, wrong.Why)
			}
		}
		if p.Dropper != nil && !cp.TraitsOf(s.Marking.Params).Spares {
			r.checkDropper(s, p.Name, marking)
		}
	}
}

// checkDropper refuses a switch whose congestion points would drop frames that its flow control
// keeps from loss.
func (r *resolver) checkDropper(s *scenario.Switch, name string, marking scenario.Scheme) {
	control := r.FlowControlOf(s)
	if !control.Pauses() || !s.Stops(control) {
		return
	}
	for _, i := range r.Nodes[s.Name].Links {
		for p, f := range r.Arriving(s.Name, i) {
			if f == nil || control == port.PriorityPauseFrames && s.Lossless>>p&1 == 0 {
				continue
			}
			instead := "lossless: [], with which it stops no sender"
			if control == port.PriorityPauseFrames {
				instead = fmt.Sprintf("a list of lossless priorities without %d", p)
			}
			r.Add(marking.SpotOf("ecn"),
				"%s would drop frames of flow %s, and flow-control: %s keeps them from loss at switch %s: give the marking ecn: true, with which it marks them, or the switch %s",
				name, f.Name, control, s.Name, instead)
			return
		}
	}
}

// dcqcn is the algorithm of the adapters of guests.
const dcqcn = "dcqcn"

// checkAlgorithms refuses algorithms that receive no feedback, and parameters that do not fit the
// links of their flows.
func (r *resolver) checkAlgorithms() {
	nameless := slices.ContainsFunc(r.s.Switches, func(s scenario.Switch) bool { return r.nameless(&s) })
	r.checkProcesses()
	for f, of := range each(r.s.Flows, r.FlowOrigins) {
		algorithm := r.s.Algorithm(f)
		c := scenario.Scheme{View: of.View.Sub("control"), By: "algorithm", Of: of.Spot}
		family := r.FamilyOf(f.From)
		_, receivesCNPs := r.CNPPriority(f)
		roce, acks := f.Transport.Params.(nodes.RoCEParams)
		adapter := r.EndpointOf(f.From).Guest.Adapter != ""
		wrong := ""
		switch {
		case adapter && (receivesCNPs || algorithm.Feedback != rp.Nothing) && algorithm.Name != dcqcn:
			wrong = fmt.Sprintf("cannot pace the queue pairs of guest %s: its adapter runs algorithm: %s, with any preset, or fixed", f.From, dcqcn)
		case algorithm.Feedback == rp.Echoes && family == wire.Ethernet && !acks:
			wrong = "reacts to marks in ACKs, and on Ethernet nothing is acknowledged"
		case algorithm.Feedback == rp.Echoes && family == wire.Ethernet && !roce.Echo:
			wrong = "reacts to marks in ACKs, and ACKs of RoCEv2 carry none by default: give transport: {kind: rocev2, echo: true}"
		case algorithm.Feedback == rp.Delays && family != wire.Ethernet:
			wrong = "uses round trips, which the ACKs of RoCEv2 measure, on Ethernet: flow " + f.Name + " starts on a link with credit"
		case algorithm.Feedback == rp.Delays && !acks:
			wrong = "uses round trips, which the ACKs of RoCEv2 measure: give flow " + f.Name + " transport: rocev2"
		case algorithm.Feedback == rp.Notifications && family != wire.Ethernet:
			wrong = "needs notifications, which InfiniBand does not have: flow " + f.Name + " starts on a link with credit"
		case algorithm.Answer != nil && family != wire.Ethernet:
			wrong = "needs answers from the receiver, and InfiniBand has no frames for them: flow " + f.Name + " starts on a link with credit"
		case roce.Telemetry != wire.NoTelemetry && r.EndpointOf(f.From).Guest.Kind != "":
			wrong = "puts telemetry into its packets, which then have no room for a guest's: flow " + f.Name + " starts at the guest " + f.From
		case receivesCNPs && !acks && !adapter && r.EndpointOf(f.From).Guest.Kind != "":
			wrong = fmt.Sprintf("needs CNPs, and nothing answers the packets of guest %s: give it adapter: %s", f.From, scenario.RoCE)
		case receivesCNPs && !acks && !adapter:
			wrong = "needs CNPs, which are packets of RoCEv2: give flow " + f.Name + " transport: rocev2"
		}
		if wrong != "" {
			r.Add(c.SpotOf("algorithm"), "%s %s", algorithm.Name, wrong)
			continue
		}
		frame, grouped := r.s.Frame(f, family), scenario.SharedBy(f)
		r.CheckSite(f, rp.Site{Line: r.LineRate(f), Length: r.s.Model.Framing.Length(&frame)}, grouped, of, c)
	}
	for s := range r.Senders {
		f, c := s.Flow, scenario.Scheme{View: s.Of.View.Sub("control"), By: "algorithm", Of: s.Of.Spot}
		frame := r.s.Frame(f, r.FamilyOf(f.From))
		if known := frame.Tagged || scenario.SharedBy(f) != ""; r.s.Algorithm(f).Feedback == rp.Notifications && nameless && !known {
			r.checkNotified(s, c)
		}
		if roce, _ := f.Transport.Params.(nodes.RoCEParams); roce.Telemetry != wire.NoTelemetry {
			r.checkTelemetry(s, roce.Telemetry, c)
		}
	}
}

// checkTelemetry refuses paths with more switches than telemetry has room for, and outputs of a
// rate that it cannot describe, now or after an event.
func (r *resolver) checkTelemetry(s *scenario.Sender, form wire.Telemetry, control scenario.Scheme) {
	if hops := s.Hops(); hops > wire.MaxHops {
		r.Add(control.SpotOf("algorithm"), "%s: %s passes %d switches, and telemetry has room for %d: 42 bytes are a head and %d entries of 8",
			s.Flow.Control.Algorithm, s.Name, hops, wire.MaxHops, wire.MaxHops)
	}
	said := false
	s.Forth(func(at int, step paths.Step) {
		link := &r.s.Links[step.Link]
		if said || at >= len(r.s.Switches) {
			return
		}
		rates := []unit.Rate{link.Rate}
		for i := range r.s.Events {
			if rate := r.s.Events[i].Touches(link).Rate; rate > 0 {
				rates = append(rates, rate)
			}
		}
		if i := slices.IndexFunc(rates, func(rate unit.Rate) bool { return !form.Fits(rate) }); i >= 0 {
			r.Add(control.SpotOf("exact"), "%s passes switch %s, and telemetry has no code for its output of %v: it has codes for %v Gb/s; give exact: true, which describes any rate in kb/s",
				s.Name, r.s.Switches[at].Name, rates[i], wire.RatesOfTelemetry())
			said = true
		}
	})
}

// checkLimiters refuses an endpoint whose flows with a rate-limit need more rate limiters
// than it has.
func (r *resolver) checkLimiters() {
	taken := map[string]int{}
	for f := range each(r.s.Flows, r.FlowOrigins) {
		if f.RateLimit > 0 {
			taken[f.From]++
		}
	}
	for e, m := range each(r.s.Endpoints, r.EndpointNodes) {
		if n := taken[e.Name]; e.Limiters > 0 && n > e.Limiters {
			r.Add(m.View.Node("limiters").Spot,
				"%d of the flows from endpoint %s have a rate-limit and need a rate limiter each, but the endpoint has %d",
				n, e.Name, e.Limiters)
		}
	}
}

// nameless reports whether the notifications of a switch do not name a flow.
func (r *resolver) nameless(s *scenario.Switch) bool {
	p, _ := r.s.Point(s)
	return p.Notifier != nil && cp.TraitsOf(s.Marking.Params).Nameless
}

// checkNotified refuses flows that the notifications of a congestion point on their paths do not
// identify.
func (r *resolver) checkNotified(s *scenario.Sender, control scenario.Scheme) {
	said := map[int]bool{}
	s.Forth(func(_ int, step paths.Step) {
		if step.To < len(r.s.Switches) && r.nameless(&r.s.Switches[step.To]) && !said[step.To] {
			said[step.To] = true
			r.Add(control.SpotOf("algorithm"), "the notifications of switch %s do not name a flow, but %s has its own limiter: give the marking octets: 14 or more, or the flow cn-tag or shared",
				r.s.Switches[step.To].Name, s.Name)
		}
	})
}
