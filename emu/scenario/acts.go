package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/node/rp"
	"fabemu/node/tcp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// queue is where the frames of a priority wait: at an output of a switch.
type queue struct {
	output
	priority uint8 // on InfiniBand 0: all of them
}

// expectation is a choice in the file, of a marking or of feedback, that has no effect unless a
// congestion point acts.
type expectation struct {
	scheme
	flow  *Flow  // the first one
	does  string // the flow, empty of a marking
	what  string // waits for feedback
	wants rp.Feedback
	acts  bool
	not   inaction // of the first point that does not act
	heard bool     // of a marking: a flow waits for its marks
	cca   bool     // a subnet manager can change it during the run
}

// inaction is why a congestion point never acts on a flow.
type inaction struct {
	node *node  // of its scheme; nil: there is no point
	key  string // of the parameter; empty: frames of the flow cannot be marked
	text string
}

// lintActs warns of congestion points that can never act, and of algorithms and transports that
// wait for feedback which no switch on the path gives. One rule holds for all schemes: the most
// that can wait for an output, by watermarks and headroom, buffers and credits, must be more than
// the least on which the point acts (cp.Triggered), and a mark needs a frame that can be marked. A
// --set of the marking asks for a run without it. An event may turn marking on.
func (r *resolver) lintActs() {
	of, order := map[*node]*expectation{}, []*expectation(nil)
	expect := func(s scheme, key string, x expectation) *expectation {
		n := s.node(key)
		if n != nil && of[n] == nil {
			x.scheme = s
			of[n], order = &x, append(order, &x)
		}
		return of[n]
	}
	inputs, queues := r.queues()
	if inputs == nil {
		return
	}
	bounds, overruns := map[queue]bound{}, r.overruns()
	for f, from := range each(r.s.Flows, r.flows) {
		var waits []*expectation
		c, algorithm := scheme{from.view.sub("control"), "algorithm", from.spot}, r.s.Algorithm(f)
		usual := c.node("algorithm") != nil && c.node("algorithm").value == c.view.of.Find("algorithm").Usual() && c.node("algorithm").at.set == nil
		if algorithm.Feedback != rp.Nothing && algorithm.Feedback != rp.Delays && !usual {
			_, cca := f.Control.Params.(rp.CCAParams)
			waits = append(waits, expect(c, "algorithm", expectation{flow: f, does: "has the algorithm " + algorithm.Name, what: "algorithm", wants: algorithm.Feedback, cca: cca}))
		}
		if p, ok := f.Transport.Params.(tcp.Params); ok && p.ECN {
			waits = append(waits, expect(scheme{from.view.sub("transport"), "ecn", from.spot}, "ecn",
				expectation{flow: f, does: "has ecn: true", what: "ecn", wants: rp.Marks}))
		}
		waits = slices.DeleteFunc(waits, func(x *expectation) bool { return x == nil })
		for _, q := range queues[from.index] {
			s := &r.s.Switches[q.node]
			m := r.nodes[s.Name]
			at := scheme{m.view.sub("marking"), "scheme", m.spot}
			p, ok := r.s.Point(s)
			by := at.node("scheme")
			if _, ok := bounds[q]; !ok {
				bounds[q] = r.bound(q, inputs[q], overruns)
			}
			later := r.marksLater(f, q, bounds[q])
			for _, x := range waits {
				x.acts = x.acts || by != nil && by.at.set != nil || later && x.wants != rp.Notifications
			}
			if !ok {
				continue
			}
			not := r.inaction(f, q, &p, bounds[q])
			not.node = by
			_, cca := s.Marking.Params.(cp.CCAParams)
			if x := expect(at, "scheme", expectation{flow: f, not: not, cca: cca}); x != nil {
				x.acts = x.acts || later || not.text == ""
				x.heard = x.heard || len(waits) > 0
			}
			for _, x := range waits {
				if !feeds(&p, s.Marking.Params, x.wants) {
					continue
				}
				if p.Notifier == nil && !r.markable(f) { // a dropper drops them
					not.key, not.text = "", unmarkable
				}
				x.acts = x.acts || not.text == ""
				if x.not.node == nil {
					x.not = not
				}
			}
		}
	}
	warned := map[*node]bool{}
	for _, x := range order {
		if x.does == "" && !x.acts && (x.not.key != "" || !x.heard) {
			warned[x.not.node] = true
			why := x.not.text
			if x.not.key == "" {
				why += ", so the switches never mark them: give the transport ecn: true"
			}
			r.warnOf(x, cmp.Or(x.not.key, x.by), "flow %s has this marking on its path, and %s", x.flow.Name, why)
		}
	}
	for _, x := range order {
		if x.does == "" || x.acts || warned[x.not.node] {
			continue
		}
		does, why, remedy := "marks", x.not.text, ""
		if x.wants == rp.Notifications {
			does = "notifies"
		}
		if x.not.node == nil {
			why, remedy = "no switch on its path "+does, "give the switches such a marking, or "
		} else if x.not.key == "" {
			remedy = "give its transport ecn: true, or "
		}
		r.warnOf(x, x.by, "flow %s %s, and %s: the %s never acts; %sleave the %[4]s out", x.flow.Name, x.does, why, x.what, remedy)
	}
}

// warnOf warns of an expectation that is not met, at one of its keys.
func (r *resolver) warnOf(x *expectation, key, format string, args ...any) {
	before := len(r.warnings)
	if r.warn(x.scheme.spotOf(key), format, args...); x.cca {
		r.manageable = append(r.manageable, r.warnings[before:]...)
	}
}

// marksLater reports whether an event has a switch mark packets of a flow in a queue with this
// bound.
func (r *resolver) marksLater(f *Flow, q queue, b bound) bool {
	frame := r.s.Frame(f, r.family(f.From))
	return slices.ContainsFunc(r.s.Events, func(e Event) bool {
		if !e.marks() || e.Switch != r.s.Switches[q.node].Name {
			return false
		}
		_, least := cp.LeastOf(e.Marking.CCAParams, &frame, b.least)
		return b.total > least
	})
}

// unmarkable is why a point does not act on a flow.
const unmarkable = "its packets cannot be marked (ecn: false)"

// feeds reports whether a congestion point gives a kind of feedback.
func feeds(p *cp.Point, params any, feedback rp.Feedback) bool {
	if feedback == rp.Notifications {
		return p.Notifier != nil
	}
	return p.Marker != nil || p.Dropper != nil && cp.TraitsOf(params).Spares
}

// markable reports whether packets of a flow can be marked.
func (r *resolver) markable(f *Flow) bool {
	if p, ok := f.Transport.Params.(tcp.Params); ok {
		return p.ECN
	}
	frame := r.s.Frame(f, r.family(f.From))
	return frame.ECT()
}

// mostSteps bounds the hops of all flows that lintActs looks at. They can grow with the square of a
// fabric, as in a chain, and a warning is not worth that much memory: a larger fabric gets none.
const mostSteps = 1 << 17

// queues returns the links by which frames come that wait in each queue, and the queues of each
// flow on its path. It returns nothing where there are more than mostSteps.
func (r *resolver) queues() (inputs map[queue][]int, of [][]queue) {
	total := 0
	inputs, of = map[queue][]int{}, make([][]queue, len(r.s.Flows))
	for f, from := range each(r.s.Flows, r.flows) {
		into := map[int][]int{} // the links into each node
		var steps []output
		r.paths.Visit(r.key(from), func(at int, step paths.Step) {
			steps = append(steps, output{at, step.Link})
			into[step.To] = append(into[step.To], step.Link)
		})
		if total += len(steps); total > mostSteps {
			return nil, nil
		}
		for _, o := range steps {
			if o.node >= len(r.s.Switches) {
				continue
			}
			q, s := queue{output: o}, &r.s.Switches[o.node]
			if s.Kind == OutputQueued {
				q.priority = f.Priority
			}
			if r.paths.ecmp { // other flows of a workload may come by any link
				inputs[q] = r.nodes[s.Name].links
			} else {
				inputs[q] = append(inputs[q], into[o.node]...)
			}
			of[from.index] = append(of[from.index], q)
		}
	}
	for q, links := range maps.All(inputs) {
		inputs[q] = slices.Compact(slices.Sorted(slices.Values(links)))
	}
	return inputs, of
}

// bound is the most that can wait in a queue, into which so many links lead, and the least of any
// of them.
type bound struct {
	total, least unit.Size
	inputs       int
	by           string
}

// bound returns it for a queue and the links into it. Every flow through the queue has the same.
func (r *resolver) bound(q queue, inputs []int, overruns bool) bound {
	s := &r.s.Switches[q.node]
	b := bound{least: unit.MaxRoom, inputs: len(inputs)}
	for _, i := range inputs {
		most, by := r.holds(s, i, q.priority, overruns)
		b.total, b.least, b.by = b.total+most, min(b.least, most), by
	}
	if s.Kind == OutputQueued {
		b.total = min(b.total, s.Memory.Total(len(r.nodes[s.Name].links)))
		if s.OutputLimit > 0 && !r.keeps(s, q.priority) {
			b.total = min(b.total, s.OutputLimit)
		}
	}
	return b
}

// inaction returns why the point of a switch never acts on a flow in a queue with this bound; its
// text is empty if the point may act.
func (r *resolver) inaction(f *Flow, q queue, p *cp.Point, b bound) inaction {
	s := &r.s.Switches[q.node]
	frame := r.s.Frame(f, r.family(f.From))
	if p.Notifier == nil && !r.markable(f) && (p.Marker != nil || r.keeps(s, q.priority)) {
		return inaction{text: unmarkable}
	}
	key, least := cp.LeastOf(s.Marking.Params, &frame, b.least)
	if b.total > least {
		return inaction{}
	}
	value := textOf(r.tables.points.find(p.Name), s.Marking.Params, key)
	if least == unit.MaxRoom {
		return inaction{key: key, text: fmt.Sprintf("switch %s never acts on it: %s is %s, and it has packets of %v", s.Name, key, value, f.Packet)}
	}
	comes := "its input is"
	if b.inputs > 1 {
		comes = fmt.Sprintf("its %d inputs are", b.inputs)
	}
	return inaction{key: key, text: fmt.Sprintf("switch %s never acts on it: %s is %s, and no more than %v can wait for link %s, because %s bounded by %s",
		s.Name, key, value, b.total, r.s.Links[q.link].Name, comes, b.by)}
}

// keeps reports whether flow control keeps frames of a priority from loss at a switch.
func (r *resolver) keeps(s *Switch, priority uint8) bool {
	switch control := r.control(s); control {
	case port.Credits:
		return true
	case port.PauseFrames:
		return s.Lossless > 0
	default:
		return control != port.NoFlowControl && s.Lossless>>priority&1 == 1
	}
}

// holds returns the most bytes of a priority that can wait at a switch of those that come over a
// link, and their bound.
func (r *resolver) holds(s *Switch, link int, priority uint8, overruns bool) (most unit.Size, bound string) {
	l, m, side := &r.s.Links[link], r.nodes[s.Name], 0
	if l.A == s.Name {
		side = 1
	}
	if s.Kind == InputBuffered {
		payload := unit.Size(wire.MaxPayload)
		if f := r.largest(link); f != nil {
			payload = f.Packet
		}
		return unit.Size(blocksIn(l.Buffer, payload)) * wire.BlockSize, "their buffers"
	}
	part := s.Memory.Total(len(m.links))
	if s.Sharing != Pooled {
		part /= unit.Size(len(m.links))
	}
	high := s.High // the highest of the run
	for i := range r.s.Events {
		if e := &r.s.Events[i]; e.Switch == s.Name {
			high = max(high, e.High)
		}
	}
	switch kept := r.keeps(s, priority); {
	case kept && l.FlowControl == port.ChannelCredits:
		return min(part, unit.Size(l.CBFC.Most())*l.CBFC.Credit), "the credits of their channels"
	case s.High == 0:
		return part, "the memory of the switch"
	case kept && r.crossed[link][side].longest > 0 && !overruns:
		return min(part, high+r.headroom(link, side).Bytes()), fmt.Sprintf("the high watermark, %v, and the headroom", high)
	case kept:
		return part, "the memory of the switch"
	}
	return min(part, high), fmt.Sprintf("the %v of a priority without flow control", high)
}

// overruns reports whether events may have more than the headroom arrive behind a PAUSE, which is
// lost, late or ignored.
func (r *resolver) overruns() bool {
	return r.s.Loses() || slices.ContainsFunc(r.s.Events, func(e Event) bool { return e.Delay > 0 })
}
