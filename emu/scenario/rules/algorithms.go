package rules

import (
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// dcqcn is the algorithm of the adapters of guests.
const dcqcn = "dcqcn"

// algorithms refuses algorithms that receive no feedback, and parameters that do not fit the
// links of their flows.
func algorithms(s *scenario.Site, p *scenario.Problems) {
	some := slices.ContainsFunc(s.Switches, func(w scenario.Switch) bool { return nameless(s, &w) })
	for i := range s.Flows {
		f, of := &s.Flows[i], s.Flow(i)
		algorithm := s.Algorithm(f)
		family := s.FamilyOf(f.From)
		_, receivesCNPs := s.CNPPriority(f)
		roce, isRoCE := f.Transport.Params.(nodes.RoCEParams)
		acks, ultra := f.Transport.Acks(), f.Transport.Ultra()
		adapter := s.EndpointOf(f.From).Guest.Adapter != ""
		wrong := ""
		switch {
		case adapter && (receivesCNPs || algorithm.Feedback != rp.Nothing) && algorithm.Name != dcqcn:
			wrong = fmt.Sprintf("cannot pace the queue pairs of guest %s: its adapter runs algorithm: %s, with any preset, or fixed", f.From, dcqcn)
		case algorithm.Feedback == rp.Echoes && family == wire.Ethernet && !acks:
			wrong = "reacts to marks in ACKs, and on Ethernet nothing is acknowledged"
		case algorithm.Feedback == rp.Echoes && family == wire.Ethernet && !roce.Echo && !ultra:
			wrong = "reacts to marks in ACKs, and ACKs of RoCEv2 carry none by default: give transport: {kind: rocev2, echo: true}"
		case algorithm.Ultra && !ultra:
			wrong = "asks for credit in packets of Ultra Ethernet: give flow " + f.Name + " transport: uet"
		case algorithm.Feedback == rp.Delays && family != wire.Ethernet:
			wrong = "uses round trips, which the ACKs of RoCEv2 and UET measure, on Ethernet: flow " + f.Name + " starts on a link with credit"
		case algorithm.Feedback == rp.Delays && !acks:
			wrong = "uses round trips, which the ACKs of RoCEv2 and UET measure: give flow " + f.Name + " transport: rocev2 or uet"
		case algorithm.Feedback == rp.Notifications && family != wire.Ethernet:
			wrong = "needs notifications, which InfiniBand does not have: flow " + f.Name + " starts on a link with credit"
		case algorithm.Answer != nil && family != wire.Ethernet:
			wrong = "needs answers from the receiver, and InfiniBand has no frames for them: flow " + f.Name + " starts on a link with credit"
		case roce.Telemetry != wire.NoTelemetry && s.EndpointOf(f.From).Guest.Kind != "":
			wrong = "puts telemetry into its packets, which then have no room for a guest's: flow " + f.Name + " starts at the guest " + f.From
		case receivesCNPs && !isRoCE && !adapter && s.EndpointOf(f.From).Guest.Kind != "":
			wrong = fmt.Sprintf("needs CNPs, and nothing answers the packets of guest %s: give it adapter: %s", f.From, scenario.RoCE)
		case receivesCNPs && !isRoCE && !adapter:
			wrong = "needs CNPs, which are packets of RoCEv2: give flow " + f.Name + " transport: rocev2"
		}
		if wrong != "" {
			p.Add(of.In("control").Where("algorithm"), "%s %s", algorithm.Name, wrong)
			continue
		}
		frame := s.Frame(f, family)
		s.CheckSite(f, rp.Site{Line: s.LineRate(f), Length: s.Model.Framing.Length(&frame)}, of, func() scenario.Item { return of.In("control") }, "algorithm", p)
	}
	for sender := range s.Senders {
		f := sender.Flow
		frame := s.Frame(f, s.FamilyOf(f.From))
		if known := frame.Tagged || scenario.SharedBy(f) != ""; s.Algorithm(f).Feedback == rp.Notifications && some && !known {
			notified(sender, p)
		}
		if f.Transport.Ultra() {
			quoted(sender, p)
		}
		if roce, _ := f.Transport.Params.(nodes.RoCEParams); roce.Telemetry != wire.NoTelemetry {
			telemetry(sender, roce.Telemetry, p)
		}
	}
}

// telemetry refuses paths with more switches than telemetry has room for, and outputs of a
// rate that it cannot describe, now or after an event.
func telemetry(s *scenario.Sender, form wire.Telemetry, p *scenario.Problems) {
	if hops := s.Hops(); hops > wire.MaxHops {
		p.Add(s.Item().In("control").Where("algorithm"), "%s: %s passes %d switches, and telemetry has room for %d: 42 bytes are a head and %d entries of 8",
			s.Flow.Control.Algorithm, s.Name, hops, wire.MaxHops, wire.MaxHops)
	}
	said := false
	s.Forth(func(at int, step paths.Step) {
		link := &s.Links[step.Link]
		if said || at >= len(s.Switches) {
			return
		}
		rates := []unit.Rate{link.Rate}
		for i := range s.Events {
			if rate := s.Events[i].Touches(link).Rate; rate > 0 {
				rates = append(rates, rate)
			}
		}
		if i := slices.IndexFunc(rates, func(rate unit.Rate) bool { return !form.Fits(rate) }); i >= 0 {
			p.Add(s.Item().In("control").Where("exact", "algorithm"), "%s passes switch %s, and telemetry has no code for its output of %v: it has codes for %v Gb/s; give exact: true, which describes any rate in kb/s",
				s.Name, s.Switches[at].Name, rates[i], wire.RatesOfTelemetry())
			said = true
		}
	})
}

// quoted refuses flows with UET that meet a congestion point which sends notifications: these quote
// frames, and cannot quote those of UET.
func quoted(s *scenario.Sender, p *scenario.Problems) {
	said := false
	s.Forth(func(_ int, step paths.Step) {
		if said || step.To >= len(s.Switches) {
			return
		}
		w := &s.Switches[step.To]
		if point, _ := s.Point(w); point.Notifier != nil {
			said = true
			p.Add(s.Item().In("transport").Where("kind"), "%s passes switch %s, whose marking: %s sends notifications about frames, and those of uet cannot be quoted in one: give the switch another marking, such as ecn",
				s.Name, w.Name, w.Marking.Scheme)
		}
	})
}

// nameless reports whether the notifications of a switch do not name a flow.
func nameless(s *scenario.Site, w *scenario.Switch) bool {
	p, _ := s.Point(w)
	return p.Notifier != nil && cp.TraitsOf(w.Marking.Params).Nameless
}

// notified refuses flows that the notifications of a congestion point on their paths do not
// identify.
func notified(s *scenario.Sender, p *scenario.Problems) {
	said := map[int]bool{}
	s.Forth(func(_ int, step paths.Step) {
		if step.To < len(s.Switches) && nameless(s.Site, &s.Switches[step.To]) && !said[step.To] {
			said[step.To] = true
			p.Add(s.Item().In("control").Where("algorithm"), "the notifications of switch %s do not name a flow, but %s has its own limiter: give the marking octets: 14 or more, or the flow cn-tag or shared",
				s.Switches[step.To].Name, s.Name)
		}
	})
}
