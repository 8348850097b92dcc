package scenario

import (
	"cmp"

	"fabemu/emu/scenario/paths"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/tcp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// findPaths finds the paths, and records the frames that cross each link. It reports flows without
// a path.
func (r *resolver) findPaths() {
	r.standIn()
	r.paths = PathTableOf(&r.s)
	r.crossed = make([][2]crossing, len(r.s.Links))
	r.visited = map[footprint]map[Place]bool{}
	for f, of := range each(r.s.Flows, r.flows) {
		frame := r.s.Frame(f, r.family(f.From))
		length := r.s.Model.Framing.Length(&frame)
		at, err := r.visitNew(r.key(of), footprint{f.Priority, length, f.Packet}, func(at int, step paths.Step) {
			c := r.crossing(at, step)
			if c.flow == 0 || r.s.Flows[c.flow-1].Packet < f.Packet {
				c.flow = of.index + 1
			}
			c.add(f.Priority, length)
		})
		switch to := cmp.Or(of.get("to"), of.get("over")); {
		case err == ErrRound:
			r.add(to.spot, "flow %s never arrives: the routes lead it past %s again and again", f.Name, r.named("node")[at])
		case err != nil:
			r.add(to.spot, "flow %s has no path: no links lead from %s to %s", f.Name, f.From, f.To)
		}
	}
	if len(r.list) == 0 {
		r.crossFeedback()
	}
}

// key returns the key by which the paths of a flow are chosen.
func (r *resolver) key(of origin) Key {
	f := &r.s.Flows[of.index]
	return Key{Src: r.paths.Index[f.From], Dst: r.paths.Index[f.To], QP: uint32(of.index + FirstQP)}
}

// largest returns the flow with the largest packet that crosses a link in either
// direction; nil if none does.
func (r *resolver) largest(link int) *Flow {
	var largest *Flow
	for _, c := range r.crossed[link] {
		if i := c.flow; i > 0 && (largest == nil || largest.Packet < r.s.Flows[i-1].Packet) {
			largest = &r.s.Flows[i-1]
		}
	}
	return largest
}

// Frame returns a data frame of a flow, of the greatest length that its algorithm and transport
// give it.
func (s *Scenario) Frame(f *Flow, family wire.Family) wire.Frame {
	frame := wire.Frame{Kind: wire.Data, Family: family, Payload: uint32(f.Packet)}
	if add := rp.TraitsOf(f.Control.Params).Frame; add != nil {
		add(&frame)
	}
	f.Transport.frame(&frame)
	return frame
}

// crossing sums up the frames that cross a link in one direction, in all states of the routes.
type crossing struct {
	flow       int       // the index of the flow with the largest packet, plus one; 0: none crosses it
	priorities uint8     // of all frames, a bit each
	longest    unit.Size // frame, feedback included, on the link
}

// add adds a frame.
func (c *crossing) add(priority uint8, length unit.Size) {
	c.priorities |= 1 << priority
	c.longest = max(c.longest, length)
}

// footprint has the properties of a frame that count at the links that it crosses.
type footprint struct {
	priority uint8
	length   unit.Size // on the line
	packet   unit.Size // 0: no data
}

// visitNew visits the steps of a flow's frames that no frame with the same footprint has taken
// before.
func (r *resolver) visitNew(k Key, f footprint, visit func(at int, step paths.Step)) (at int, err error) {
	if r.visited[f] == nil {
		r.visited[f] = map[Place]bool{}
	}
	return r.paths.VisitNew(k, r.visited[f], visit)
}

// crossing returns the crossing of a link in the direction of a step from a node.
func (r *resolver) crossing(at int, step paths.Step) *crossing {
	if r.paths.Index[r.s.Links[step.Link].A] == at {
		return &r.crossed[step.Link][0]
	}
	return &r.crossed[step.Link][1]
}

// passes visits the switches that frames of a flow reach, each with the step that leads there.
func (r *resolver) passes(k Key, visit func(s *Switch, step paths.Step)) {
	r.paths.Visit(k, func(_ int, step paths.Step) {
		if step.To < len(r.s.Switches) {
			visit(&r.s.Switches[step.To], step)
		}
	})
}

// crossFeedback records the links that the feedback of congestion control crosses: frames
// that an algorithm has a flow and its destination send, and notifications. It
// reports a switch whose notifications would never arrive.
func (r *resolver) crossFeedback() {
	done := map[Key]wire.Frame{} // notifications that are recorded
	for f, of := range each(r.s.Flows, r.flows) {
		if r.family(f.From) != wire.Ethernet {
			continue
		}
		k, data := r.key(of), r.s.Frame(f, wire.Ethernet)
		back := Key{Src: k.Dst, Dst: k.Src, QP: k.QP}
		data.Lane = f.Priority
		message := wire.Frame{Kind: wire.Message, Lane: data.Lane, Tagged: data.Tagged}
		if r.s.Algorithm(f).Answer != nil {
			probe, answer := r.algorithmFrames(f, &data)
			r.cross(k, probe)
			r.cross(back, answer)
		}
		switch p := f.Transport.Params.(type) {
		case nodes.RoCEParams:
			r.cross(back, p.Ack(true))
		case tcp.Params: // with all options that an ACK may have
			ack := wire.Frame{Lane: data.Lane}
			ack.SetSegment(&wire.Segment{Flags: wire.ACK,
				SACK: [wire.MaxSACK]wire.SACKBlock{{Right: 1}, {Right: 1}, {Right: 1}}})
			r.cross(back, ack)
		}
		r.passes(k, func(s *Switch, step paths.Step) {
			if p, ok := r.s.Point(s); !ok || p.Notifier == nil {
				return
			}
			notice := message
			if of := cp.TraitsOf(s.Marking.Params).Notice; of != nil {
				notice = of(&data)
			}
			r.crossNotice(s, f, notice, Key{Src: step.To, Dst: k.Src}, done)
			if r.paths.ecmp { // a notification with few octets has no queue pair
				r.crossNotice(s, f, notice, Key{Src: step.To, Dst: k.Src, QP: k.QP}, done)
			}
		})
	}
}

// algorithmFrames returns the frame that the algorithm of a flow has its source send for a data
// frame, and the answer.
func (r *resolver) algorithmFrames(f *Flow, data *wire.Frame) (probe, answer wire.Frame) {
	if sends := rp.TraitsOf(f.Control.Params).Sends; sends != nil {
		return sends(data)
	}
	_, roce := f.Transport.Params.(nodes.RoCEParams)
	if algorithm := r.s.Algorithm(f); roce && algorithm.Feedback == rp.Marks && algorithm.Answer != nil {
		answer = wire.Frame{Kind: wire.CNP, Family: wire.RoCEv2, Lane: data.Lane}
		answer.SetRoCE(wire.RoCE{IPv6: data.RoCE().IPv6})
		return *data, answer
	}
	message := wire.Frame{Kind: wire.Message, Lane: data.Lane, Tagged: data.Tagged}
	return message, message
}

// cross records a frame at all links that it may cross.
func (r *resolver) cross(k Key, frame wire.Frame) error {
	length := r.s.Model.Framing.Length(&frame)
	_, err := r.visitNew(k, footprint{frame.Lane, length, 0}, func(at int, step paths.Step) {
		r.crossing(at, step).add(frame.Lane, length)
	})
	return err
}

// crossNotice records a switch's notification about a flow once. It refuses one that can never
// arrive.
func (r *resolver) crossNotice(s *Switch, f *Flow, notice wire.Frame, k Key, done map[Key]wire.Frame) {
	if was, ok := done[k]; ok && was == notice {
		return
	}
	done[k] = notice
	if r.cross(k, notice) != nil {
		r.add(r.nodes[s.Name].view.sub("marking").node("scheme").spot,
			"switch %s cannot notify %s, the source of flow %s: its frames never arrive, because the routes go round",
			s.Name, f.From, f.Name)
	}
}
