package scenario

import (
	"fmt"

	"fabemu/emu/fabric/paths"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Frame returns a data frame of a flow, with all that its law may put into it.
func (s *Scenario) Frame(f *Flow, family wire.Family) wire.Frame {
	frame := wire.Frame{Kind: wire.Data, Family: family, Payload: uint32(f.Packet)}
	if add := rp.TraitsOf(f.Control.Params).Frame; add != nil {
		add(&frame)
	}
	f.Transport.frame(&frame)
	return frame
}

// crossing is what crosses a link in one direction, whatever becomes of the routes.
type crossing struct {
	flow       int       // the flow with the largest packet, and one more; 0: none crosses it
	priorities uint8     // of all frames, a bit each
	longest    unit.Size // frame, feedback included, on the line
}

// add notes a frame.
func (c *crossing) add(priority uint8, length unit.Size) {
	c.priorities |= 1 << priority
	c.longest = max(c.longest, length)
}

// footprint is what a frame leaves at the links that it crosses.
type footprint struct {
	priority uint8
	length   unit.Size // on the line
	packet   unit.Size // 0: no data
}

// trodden returns the places to which frames with a footprint have been led.
func trodden(of map[footprint]map[Place]bool, f footprint) map[Place]bool {
	if of[f] == nil {
		of[f] = map[Place]bool{}
	}
	return of[f]
}

// crossing returns what is known of a link in the direction of a step from a machine.
func (r *resolver) crossing(at int, step paths.Step) *crossing {
	if r.ways.Index[r.s.Links[step.Link].A] == at {
		return &r.crossed[step.Link][0]
	}
	return &r.crossed[step.Link][1]
}

// passes visits the switches that frames of a flow come to, each with the step that leads there.
func (r *resolver) passes(k Key, visit func(s *Switch, step paths.Step)) {
	r.ways.Visit(k, func(_ int, step paths.Step) {
		if step.To < len(r.s.Switches) {
			visit(&r.s.Switches[step.To], step)
		}
	})
}

// checkFeedback notes which links the feedback of congestion control crosses: the frames
// that a law has a flow and its destination send of their own, and notifications. It
// refuses a switch whose notifications would never arrive.
func (r *resolver) checkFeedback() {
	if r.lost {
		return
	}
	r.trod = map[footprint]map[Place]bool{}
	done := map[Key]wire.Frame{} // notifications that are noted
	for f, of := range r.eachFlow() {
		if r.family(f.From) != wire.Ethernet {
			continue
		}
		k, data := r.key(of), r.s.Frame(f, wire.Ethernet)
		back := Key{Src: k.Dst, Dst: k.Src, QP: k.QP}
		data.Lane = f.Priority
		message := wire.Frame{Kind: wire.Message, Lane: data.Lane, Tagged: data.Tagged}
		if r.rows.law(f).Answer != nil {
			probe, answer := r.says(f, &data)
			r.cross(k, probe)
			r.cross(back, answer)
		}
		switch p := f.Transport.Params.(type) {
		case nodes.RoCEParams:
			r.cross(back, p.Ack(true))
		case tcp.Params: // with all that it may have
			ack := wire.Frame{Lane: data.Lane}
			ack.SetSegment(&wire.Segment{Flags: wire.ACK,
				SACK: [wire.MaxSACK]wire.SACKBlock{{Right: 1}, {Right: 1}, {Right: 1}}})
			r.cross(back, ack)
		}
		r.passes(k, func(s *Switch, step paths.Step) {
			if p, ok := r.rows.point(s); !ok || p.Notifier == nil {
				return
			}
			notice := message
			if of := cp.TraitsOf(s.Marking.Params).Notice; of != nil {
				notice = of(&data)
			}
			r.crossNotice(s, f, notice, Key{Src: step.To, Dst: k.Src}, done)
			if r.ways.ecmp { // with few octets there is no queue pair in a notification
				r.crossNotice(s, f, notice, Key{Src: step.To, Dst: k.Src, QP: k.QP}, done)
			}
		})
	}
}

// says returns what the law of a flow has its source send of its own about data frames like this one, and the
// answer.
func (r *resolver) says(f *Flow, data *wire.Frame) (probe, answer wire.Frame) {
	if sends := rp.TraitsOf(f.Control.Params).Sends; sends != nil {
		return sends(data)
	}
	_, roce := f.Transport.Params.(nodes.RoCEParams)
	if law := r.rows.law(f); roce && law.Hears == rp.Marks && law.Answer != nil {
		answer = wire.Frame{Kind: wire.CNP, Family: wire.RoCEv2, Lane: data.Lane}
		answer.SetRoCE(wire.RoCE{IPv6: data.RoCE().IPv6})
		return *data, answer
	}
	message := wire.Frame{Kind: wire.Message, Lane: data.Lane, Tagged: data.Tagged}
	return message, message
}

// cross notes a frame at all links that it may cross.
func (r *resolver) cross(k Key, frame wire.Frame) error {
	length := r.s.Model.Framing.Length(&frame)
	been := trodden(r.trod, footprint{frame.Lane, length, 0})
	_, err := r.ways.VisitNew(k, been, func(at int, step paths.Step) { r.crossing(at, step).add(frame.Lane, length) })
	return err
}

// crossNotice is cross for a notification of a switch about a flow, unless that is done. It refuses one that
// never arrives.
func (r *resolver) crossNotice(s *Switch, f *Flow, notice wire.Frame, k Key, done map[Key]wire.Frame) {
	if was, ok := done[k]; ok && was == notice {
		return
	}
	done[k] = notice
	if r.cross(k, notice) != nil {
		r.add(r.machines[s.Name].view.sub("marking").node("scheme").spot,
			"switch %s cannot notify %s, where flow %s comes from: its frames to there never arrive, since the routes lead them round",
			s.Name, f.From, f.Name)
	}
}

// checkPoints refuses congestion points at switches that do not have what they look at,
// and parameters that do not fit there.
func (r *resolver) checkPoints() {
	for s, m := range r.eachSwitch() {
		p, ok := r.rows.point(s)
		if !ok {
			continue
		}
		v := m.view.sub("marking")
		r.checkParams(v, r.tables.points.find(p.Name))
		switch {
		case r.doubtful(s.Name):
			continue
		case p.Sees == cp.Queues && s.Kind == InputBuffered:
			r.toldAt(v, "scheme", "scheme", m.spot,
				"%s looks at the queues of outputs, which the input-buffered switch %s does not have: make it output-queued",
				p.Name, s.Name)
			continue
		case p.Sees == cp.Buffers && s.Kind == OutputQueued:
			r.toldAt(v, "scheme", "scheme", m.spot,
				"%s marks by input buffers, which the output-queued switch %s does not have", p.Name, s.Name)
			continue
		}
		room := s.Memory.Total(len(m.links))
		if s.OutputLimit > 0 {
			room = min(room, s.OutputLimit)
		}
		if checker, ok := s.Marking.Params.(cp.RoomChecker); ok && !v.anyRefused() {
			for _, wrong := range checker.CheckRoom(room, r.longest()) {
				r.toldAt(v, wrong.Key, "scheme", m.spot, "switch %s: %v", s.Name, wrong.Why)
			}
		}
		if p.Dropper != nil && !cp.TraitsOf(s.Marking.Params).Spares {
			r.checkDropper(s, p.Name, v)
		}
	}
}

// checkDropper refuses a switch whose congestion points would drop what its flow control
// keeps from loss.
func (r *resolver) checkDropper(s *Switch, scheme string, marking view) {
	control := r.control(s)
	if !control.Pauses() || !s.stops(control) {
		return
	}
	m := r.machines[s.Name]
	for f, of := range r.eachFlow() {
		crosses := false
		r.passes(r.key(of), func(at *Switch, _ paths.Step) { crosses = crosses || at == s })
		if crosses && (control == port.PauseFrames || s.Lossless>>f.Priority&1 == 1) {
			instead := "lossless: [], with which it stops nobody"
			if control == port.PriorityPauseFrames {
				instead = fmt.Sprintf("a list of lossless priorities without %d", f.Priority)
			}
			r.toldAt(marking, "ecn", "scheme", m.spot,
				"%s would drop frames of flow %s, and flow-control: %s keeps them from loss at switch %s: give the marking ecn: true, with which it marks them, or the switch %s",
				scheme, f.Name, control, s.Name, instead)
			return
		}
	}
}

// longest returns the length of the longest frame of Ethernet.
func (r *resolver) longest() (longest unit.Size) {
	for f := range r.eachFlow() {
		longest = max(longest, r.length(f))
	}
	return longest
}

// checkLaws refuses laws that nobody tells of congestion, and parameters that do not fit
// the links of their flows.
func (r *resolver) checkLaws() {
	for f, of := range r.eachFlow() {
		law := r.rows.law(f)
		c := of.view.sub("control")
		r.checkParams(c, r.tables.laws.find(law.Name))
		refuse := func(key, format string, args ...any) {
			r.toldAt(c, key, "law", of.node.spot, format, args...)
		}
		if r.doubtful(f.From) || of.view.refused("transport") || of.view.sub("transport").refused("kind") {
			continue
		}
		family := r.family(f.From)
		_, hearsCNPs := r.cnpPriority(f)
		roce, acks := f.Transport.Params.(nodes.RoCEParams)
		switch {
		case law.Hears == rp.Echoes && family == wire.Ethernet && !acks:
			refuse("law", "%s answers the marks that ACKs carry back, and on Ethernet nothing is acknowledged", law.Name)
			continue
		case law.Hears == rp.Echoes && family == wire.Ethernet && !roce.Echo:
			refuse("law", "%s answers the marks that ACKs carry back, and those of RoCEv2 carry none unless it is asked for: transport: {kind: rocev2, echo: true}",
				law.Name)
			continue
		case law.Hears == rp.Notifications && family != wire.Ethernet:
			refuse("law", "%s is told of congestion by notifications, which InfiniBand does not have: flow %s starts on a link with credit",
				law.Name, f.Name)
			continue
		case law.Answer != nil && family != wire.Ethernet:
			refuse("law", "%s is answered by the receiver of a flow, which InfiniBand has no frames for: flow %s starts on a link with credit",
				law.Name, f.Name)
			continue
		case hearsCNPs && !acks:
			refuse("law", "%s is told of congestion by CNPs, which are packets of RoCEv2: give flow %s transport: rocev2",
				law.Name, f.Name)
			continue
		}
		frame := r.s.Frame(f, family)
		grouped := SharedBy(f)
		for _, l := range r.machines[f.From].links {
			if r.s.Links[l].Rate == 0 || c.anyRefused() {
				continue
			}
			r.checkSite(f, rp.Site{Line: r.s.Links[l].Rate, Length: r.s.Model.Framing.Length(&frame)}, grouped, of, refuse)
		}
		if law.Hears == rp.Notifications && !r.lost && !c.anyRefused() {
			r.checkNotified(r.key(of), f, frame.Tagged || grouped != "", refuse)
		}
	}
}

// checkLimiters refuses an endpoint whose flows with a rate-limit need more rate limiters
// than it has.
func (r *resolver) checkLimiters() {
	taken := map[string]int{}
	for f := range r.eachFlow() {
		if f.RateLimit > 0 {
			taken[f.From]++
		}
	}
	for e, m := range r.eachEndpoint() {
		if n := taken[e.Name]; e.Limiters > 0 && n > e.Limiters {
			r.add(m.view.node("limiters").spot,
				"%d of the flows from endpoint %s have a rate-limit, which takes a rate limiter each, and it has %d",
				n, e.Name, e.Limiters)
		}
	}
}

// A refusal says what is wrong with the value of a key.
type refusal func(key, format string, args ...any)

// checkSite refuses parameters that do not fit the line of a flow, or its rate-limit.
func (r *resolver) checkSite(f *Flow, s rp.Site, grouped string, of flowOf, refuse refusal) {
	if f.RateLimit > 0 && grouped != "" {
		r.toldAt(of.view, "rate-limit", "rate-limit", of.spot,
			"flow %s shares a limiter (control.%s) and cannot have a rate-limit of its own: leave one of them out",
			f.Name, grouped)
	}
	checker, ok := f.Control.Params.(rp.SiteChecker)
	if !ok {
		return
	}
	if key, err := checker.CheckSite(s); err != nil {
		refuse(key, "flow %s: %v", f.Name, err)
		return
	}
	if f.RateLimit == 0 || f.RateLimit >= s.Line {
		return
	}
	s.Line = f.RateLimit
	if _, err := checker.CheckSite(s); err != nil {
		r.toldAt(of.view, "rate-limit", "rate-limit", of.spot, "flow %s has a rate-limit of %v: %v",
			f.Name, f.RateLimit, err)
	}
}

// lintLaws warns of parameters of laws that make little sense at their flows' links, or do
// not agree with the congestion points on the way.
func (r *resolver) lintLaws() {
	var busy map[*crossing]int
	for f, of := range r.eachFlow() {
		c := of.view.sub("control")
		warn := func(key, format string, args ...any) {
			r.warnedAt(c, key, "law", of.node.spot, format, args...)
		}
		if warner, ok := f.Control.Params.(rp.SiteWarner); ok {
			frame := r.s.Frame(f, r.family(f.From))
			site := rp.Site{Line: r.line(f), Length: r.s.Model.Framing.Length(&frame)}
			if busy == nil {
				busy = r.busy()
			}
			r.bottleneck(r.key(of), busy, &site)
			for _, d := range warner.WarnSite(site) {
				warn(d.Key, "flow %s: %s", f.Name, d.Why)
			}
		}
		if assumed := rp.TraitsOf(f.Control.Params).Assumes; len(assumed) > 0 {
			r.lintAssumed(r.key(of), f, assumed, warn)
		}
	}
}

// busy counts the greedy flows that cross each link in each direction.
func (r *resolver) busy() map[*crossing]int {
	flows := map[*crossing]int{}
	for f, of := range r.eachFlow() {
		if f.Traffic == traffic.Greedy {
			r.ways.Visit(r.key(of), func(at int, step paths.Step) { flows[r.crossing(at, step)]++ })
		}
	}
	return flows
}

// bottleneck says which link of a way is the busiest, and which part of the frames in
// congestion is marked by the way.
func (r *resolver) bottleneck(k Key, flows map[*crossing]int, s *rp.Site) {
	r.ways.Visit(k, func(at int, step paths.Step) {
		n, rate := flows[r.crossing(at, step)], r.s.Links[step.Link].Rate
		if float64(n)*float64(s.Capacity) > float64(s.Flows)*float64(rate) || s.Capacity == 0 {
			s.Flows, s.Capacity = n, rate
		}
		if step.To < len(r.s.Switches) {
			s.Marked = max(s.Marked, cp.TraitsOf(r.s.Switches[step.To].Marking.Params).Share)
		}
	})
}

// lintAssumed warns of parameters of a flow's law whose values the congestion points on
// the way do not have.
func (r *resolver) lintAssumed(k Key, f *Flow, keys []string, warn refusal) {
	r.passes(k, func(s *Switch, _ paths.Step) {
		for _, key := range keys {
			here := textOf(r.tables.laws.find(f.Control.Law), f.Control.Params, key)
			there := textOf(r.tables.points.find(s.Marking.Scheme), s.Marking.Params, key)
			if there != "" && there != here {
				warn(key, "flow %s reckons with a %s of %s, and that of switch %s is %s: give it to the flow too",
					f.Name, key, here, s.Name, there)
			}
		}
	})
}

// textOf returns a parameter as a scenario writes it; nothing if there is none of the key.
func textOf(of *param.Struct, params any, key string) string {
	if p := of.Find(key); p != nil {
		return p.Text(params)
	}
	return ""
}

// checkNotified refuses a flow of which the notifications of a congestion point on its way
// would not say that it is meant. The source of one that is known needs not be told.
func (r *resolver) checkNotified(k Key, f *Flow, known bool, refuse refusal) {
	r.passes(k, func(s *Switch, _ paths.Step) {
		p, _ := r.rows.point(s)
		nameless := cp.TraitsOf(s.Marking.Params).Nameless
		if p.Notifier != nil && !r.machines[s.Name].view.sub("marking").anyRefused() && nameless && !known {
			refuse("law", "the notifications of switch %s do not name a flow, and flow %s has a limiter of its own: give the marking octets: 14 or more, or the flow cn-tag or shared",
				s.Name, f.Name)
		}
	})
}

// lintDeaf warns of a law for whose feedback there is nothing on the way of any flow that has it by the same
// words. Who takes the marking away by a --set wants the run without it.
func (r *resolver) lintDeaf() {
	type choice struct {
		flow  *Flow
		of    flowOf
		hears bool
	}
	chosen, order := map[*node]*choice{}, []*node{}
	for f, of := range r.eachFlow() {
		control := of.view.sub("control")
		n, law := control.node("law"), r.rows.law(f)
		if n == nil || law.Hears == rp.Nothing || n.value == control.of.Find("law").Usual() && n.at.set == nil {
			continue
		}
		c := chosen[n]
		if c == nil {
			c = &choice{flow: f, of: of}
			chosen[n], order = c, append(order, n)
		}
		r.passes(r.key(of), func(s *Switch, _ paths.Step) {
			p, ok := r.rows.point(s)
			by := r.machines[s.Name].view.sub("marking").node("scheme")
			c.hears = c.hears || ok && feeds(&p, s.Marking.Params, law.Hears) || by != nil && by.at.set != nil
		})
	}
	for _, n := range order {
		c := chosen[n]
		if c.hears {
			continue
		}
		law := r.rows.law(c.flow)
		does := "marks"
		if law.Hears == rp.Notifications {
			does = "notifies"
		}
		r.warnedAt(c.of.view.sub("control"), "law", "law", c.of.node.spot,
			"flow %s has the law %s, and no switch on its way %s: the law never acts; give the switches a marking that does, or leave the law out",
			c.flow.Name, law.Name, does)
	}
}

// feeds reports whether a congestion point gives the feedback that a law listens to.
func feeds(p *cp.Point, params any, hears rp.Feedback) bool {
	if hears == rp.Notifications {
		return p.Notifier != nil
	}
	return p.Marker != nil || p.Dropper != nil && cp.TraitsOf(params).Spares
}
