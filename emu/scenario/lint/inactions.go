package lint

import (
	"fmt"
	"maps"
	"slices"

	"fabemu/emu/scenario"
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
	of    scenario.Item  // the object with the choice
	by    string         // the key of the choice
	path  string         // of the choice
	flow  *scenario.Flow // the first one
	does  string         // the flow, empty of a marking
	what  string         // waits for feedback
	wants rp.Feedback
	acts  bool
	not   inaction // of the first point that does not act
	heard bool     // of a marking: a flow waits for its marks
	cca   bool     // a subnet manager can change it during the run
}

// inaction is why a congestion point never acts on a flow.
type inaction struct {
	path string // of its scheme; empty: there is no point
	key  string // of the parameter; empty: frames of the flow cannot be marked
	text string
}

// inactions warns of congestion points that can never act, and of algorithms and transports that
// wait for feedback which no switch on the path gives. One rule holds for all schemes: the most
// that can wait for an output, by watermarks and headroom, buffers and credits, must be more than
// the least on which the point acts (cp.Triggered), and a mark needs a frame that can be marked. A
// --set of the marking asks for a run without it. An event may turn marking on.
func inactions(s *scenario.Site, p *scenario.Problems) {
	of, order := map[string]*expectation{}, []*expectation(nil)
	expect := func(item scenario.Item, by string, x expectation) *expectation {
		path := item.Mention(by).Path
		if path != "" && of[path] == nil {
			x.of, x.by, x.path = item, by, path
			of[path], order = &x, append(order, &x)
		}
		return of[path]
	}
	inputs, queues := queues(s)
	if inputs == nil {
		return
	}
	bounds, overruns := map[queue]bound{}, overruns(s)
	for i := range s.Flows {
		f := &s.Flows[i]
		var waits []*expectation
		control, algorithm := s.Flow(i).In("control"), s.Algorithm(f)
		from := control.Mention("algorithm")
		if algorithm.Feedback != rp.Nothing && algorithm.Feedback != rp.Delays && (!from.Usual || from.BySet) {
			_, cca := f.Control.Params.(rp.CCAParams)
			waits = append(waits, expect(control, "algorithm", expectation{flow: f, does: "has the algorithm " + algorithm.Name, what: "algorithm", wants: algorithm.Feedback, cca: cca}))
		}
		if t, ok := f.Transport.Params.(tcp.Params); ok && t.ECN {
			waits = append(waits, expect(s.Flow(i).In("transport"), "ecn",
				expectation{flow: f, does: "has ecn: true", what: "ecn", wants: rp.Marks}))
		}
		waits = slices.DeleteFunc(waits, func(x *expectation) bool { return x == nil })
		for _, q := range queues[i] {
			w := &s.Switches[q.node]
			marking := s.Switch(q.node).In("marking")
			point, ok := s.Point(w)
			by := marking.Mention("scheme")
			if _, ok := bounds[q]; !ok {
				bounds[q] = boundOf(s, q, inputs[q], overruns)
			}
			later := marksLater(s, f, q, bounds[q])
			for _, x := range waits {
				x.acts = x.acts || by.BySet || later && x.wants != rp.Notifications
			}
			if !ok {
				continue
			}
			not := inactionOf(s, f, q, &point, bounds[q])
			not.path = by.Path
			_, cca := w.Marking.Params.(cp.CCAParams)
			if x := expect(marking, "scheme", expectation{flow: f, not: not, cca: cca}); x != nil {
				x.acts = x.acts || later || not.text == ""
				x.heard = x.heard || len(waits) > 0
			}
			for _, x := range waits {
				if !feeds(&point, w.Marking.Params, x.wants) {
					continue
				}
				if point.Notifier == nil && !markable(s, f) { // a dropper drops them
					not.key, not.text = "", unmarkable
				}
				x.acts = x.acts || not.text == ""
				if x.not.path == "" {
					x.not = not
				}
			}
		}
	}
	warned := map[string]bool{}
	for _, x := range order {
		if x.does == "" && !x.acts && (x.not.key != "" || !x.heard) {
			warned[x.not.path] = true
			why := x.not.text
			if x.not.key == "" {
				why += ", so the switches never mark them: give the transport ecn: true"
			}
			x.warn(p, x.not.key, "flow %s has this marking on its path, and %s", x.flow.Name, why)
		}
	}
	for _, x := range order {
		if x.does == "" || x.acts || warned[x.not.path] {
			continue
		}
		does, why, remedy := "marks", x.not.text, ""
		if x.wants == rp.Notifications {
			does = "notifies"
		}
		if x.not.path == "" {
			why, remedy = "no switch on its path "+does, "give the switches such a marking, or "
		} else if x.not.key == "" {
			remedy = "give its transport ecn: true, or "
		}
		x.warn(p, "", "flow %s %s, and %s: the %s never acts; %sleave the %[4]s out", x.flow.Name, x.does, why, x.what, remedy)
	}
}

// warn warns of an expectation that is not met, at a key, if it is given, or else at its choice.
func (x *expectation) warn(p *scenario.Problems, key, format string, args ...any) {
	keys := []string{x.by}
	if key != "" {
		keys = []string{key, x.by}
	}
	if found := p.Add(x.of.Where(keys...), format, args...); found != nil {
		found.Manageable = x.cca
	}
}

// marksLater reports whether an event has a switch mark packets of a flow in a queue with this
// bound.
func marksLater(s *scenario.Site, f *scenario.Flow, q queue, b bound) bool {
	frame := s.Frame(f, s.FamilyOf(f.From))
	return slices.ContainsFunc(s.Events, func(e scenario.Event) bool {
		marks := e.Touch().Marks
		if marks == nil || e.Switch != s.Switches[q.node].Name {
			return false
		}
		_, least := cp.LeastOf(marks, &frame, b.least)
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
func markable(s *scenario.Site, f *scenario.Flow) bool {
	if p, ok := f.Transport.Params.(tcp.Params); ok {
		return p.ECN
	}
	frame := s.Frame(f, s.FamilyOf(f.From))
	return frame.ECT()
}

// mostSteps bounds the hops of all flows that inactions looks at. They can grow with the square of
// a fabric, as in a chain, and a warning is not worth that much memory: a larger fabric gets none.
const mostSteps = 1 << 17

// queues returns the links by which frames come that wait in each queue, and the queues of each
// flow on its path. It returns nothing where there are more than mostSteps.
func queues(s *scenario.Site) (inputs map[queue][]int, of [][]queue) {
	total := 0
	inputs, of = map[queue][]int{}, make([][]queue, len(s.Flows))
	for i := range s.Flows {
		into := map[int][]int{} // the links into each node
		var steps []output
		s.VisitPaths(i, func(at int, step paths.Step, _ bool) {
			steps = append(steps, output{at, step.Link})
			into[step.To] = append(into[step.To], step.Link)
		})
		if total += len(steps); total > mostSteps {
			return nil, nil
		}
		for _, o := range steps {
			if o.node >= len(s.Switches) {
				continue
			}
			q, w := queue{output: o}, &s.Switches[o.node]
			if w.Kind == scenario.OutputQueued {
				q.priority = s.Flows[i].Priority
			}
			if s.Paths.Shared() {
				inputs[q] = append(inputs[q], into[o.node]...)
			} else { // other flows of a workload may come by any link
				inputs[q] = s.LinksOf(w.Name)
			}
			of[i] = append(of[i], q)
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

// boundOf returns it for a queue and the links into it. Every flow through the queue has the same.
func boundOf(s *scenario.Site, q queue, inputs []int, overruns bool) bound {
	w := &s.Switches[q.node]
	b := bound{least: unit.MaxRoom, inputs: len(inputs)}
	for _, i := range inputs {
		most, by := holds(s, w, i, q.priority, overruns)
		b.total, b.least, b.by = b.total+most, min(b.least, most), by
	}
	if w.Kind == scenario.OutputQueued {
		b.total = min(b.total, w.Memory.Total(len(s.LinksOf(w.Name))))
		if w.OutputLimit > 0 && !keeps(s, w, q.priority) {
			b.total = min(b.total, w.OutputLimit)
		}
	}
	return b
}

// inactionOf returns why the point of a switch never acts on a flow in a queue with this bound; its
// text is empty if the point may act.
func inactionOf(s *scenario.Site, f *scenario.Flow, q queue, p *cp.Point, b bound) inaction {
	w := &s.Switches[q.node]
	frame := s.Frame(f, s.FamilyOf(f.From))
	if p.Notifier == nil && !markable(s, f) && (p.Marker != nil || keeps(s, w, q.priority)) {
		return inaction{text: unmarkable}
	}
	marking := cp.AtRate(w.Marking.Params, s.Links[q.link].Rate)
	key, least := cp.LeastOf(marking, &frame, b.least)
	if b.total > least {
		return inaction{}
	}
	value := textOf(s.Tables.Points, w.Marking.Scheme, marking, key)
	if least == unit.MaxRoom {
		return inaction{key: key, text: fmt.Sprintf("switch %s never acts on it: %s is %s, and it has packets of %v", w.Name, key, value, f.Packet)}
	}
	comes := "its input is"
	if b.inputs > 1 {
		comes = fmt.Sprintf("its %d inputs are", b.inputs)
	}
	return inaction{key: key, text: fmt.Sprintf("switch %s never acts on it: %s is %s, and no more than %v can wait for link %s, because %s bounded by %s",
		w.Name, key, value, b.total, s.Links[q.link].Name, comes, b.by)}
}

// keeps reports whether flow control keeps frames of a priority from loss at a switch.
func keeps(s *scenario.Site, w *scenario.Switch, priority uint8) bool {
	switch control := s.FlowControlOf(w); control {
	case port.Credits:
		return true
	case port.PauseFrames:
		return w.Lossless > 0
	default:
		return control != port.NoFlowControl && w.Lossless>>priority&1 == 1
	}
}

// holds returns the most bytes of a priority that can wait at a switch of those that come over a
// link, and their bound.
func holds(s *scenario.Site, w *scenario.Switch, link int, priority uint8, overruns bool) (most unit.Size, bound string) {
	l, links, side := &s.Links[link], len(s.LinksOf(w.Name)), 0
	if l.A == w.Name {
		side = 1
	}
	if w.Kind == scenario.InputBuffered {
		payload := unit.Size(wire.MaxPayload)
		if f := s.Largest(link); f != nil {
			payload = f.Packet
		}
		return unit.Size(scenario.BlocksIn(l.Buffer, payload)) * wire.BlockSize, "their buffers"
	}
	part := w.Memory.Total(links)
	if w.Sharing != scenario.Pooled {
		part /= unit.Size(links)
	}
	high := w.High // the highest of the run
	for i := range s.Events {
		if e := &s.Events[i]; e.Switch == w.Name {
			high = max(high, e.Touch().High)
		}
	}
	switch kept := keeps(s, w, priority); {
	case kept && l.FlowControl == port.ChannelCredits:
		return min(part, unit.Size(l.CBFC.Most())*l.CBFC.Credit), "the credits of their channels"
	case w.Alpha > 0 && (!kept || s.Longest(link, side) > 0 && !overruns):
		alone := w.SharesAt(1)
		if kept {
			return min(part, alone+s.Headroom(link, side).Bytes()), fmt.Sprintf("the watermark of an input alone, %v, and the headroom", alone)
		}
		return min(part, alone), fmt.Sprintf("the watermark of an input alone, %v", alone)
	case w.High == 0:
		return part, "the memory of the switch"
	case kept && s.Longest(link, side) > 0 && !overruns:
		return min(part, high+s.Headroom(link, side).Bytes()), fmt.Sprintf("the high watermark, %v, and the headroom", high)
	case kept:
		return part, "the memory of the switch"
	}
	return min(part, high), fmt.Sprintf("the %v of a priority without flow control", high)
}

// overruns reports whether events may have more than the headroom arrive behind a PAUSE, which is
// lost, late or ignored.
func overruns(s *scenario.Site) bool {
	return s.Loses() || slices.ContainsFunc(s.Events, func(e scenario.Event) bool { return e.Touch().Late > 0 })
}
