package scenario

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// account is a room for frames with watermarks that are to be found, or checked: the
// part of an input in the memory of a switch, or the ingress of an endpoint.
type account struct {
	machine   string
	owner     *machine
	memory    Memory // of a switch
	room      unit.Size
	high, low *unit.Size // auto: to be found
	factor    float64    // how much of the headroom must be there
	lossless  uint8      // with PFC: the priorities that are stopped
	inputs    []input
}

// name returns the name of the machine in messages.
func (a *account) name() string {
	if a.owner.isSwitch {
		return "switch " + a.machine
	}
	return "endpoint " + a.machine
}

// what returns the name of the room in messages.
func (a *account) what() string {
	switch {
	case !a.owner.isSwitch:
		return fmt.Sprintf("its ingress, %v", a.room)
	case a.memory.PerPort:
		return fmt.Sprintf("the part of an input, %v", a.room)
	}
	return fmt.Sprintf("the part of an input, %v over %d ports", a.memory, len(a.owner.links))
}

// input is a link whose sender the account stops.
type input struct {
	link     int
	side     int // of the sender: 0 for its A
	headroom port.Headroom
	classes  int // how many are stopped each by itself; 1 with PAUSE
	shares   int // how many may take as much as the high watermark: those, and those that are not stopped
}

// needs returns what an input takes above its high watermark, or all of them together.
func (i *input) needs() unit.Size { return i.headroom.Bytes() * unit.Size(i.classes) }

// checkMemories finds the watermarks of output-queued switches, and refuses those with
// which a link that is to be lossless could lose a frame.
func (r *resolver) checkMemories() {
	for s, m := range r.eachSwitch() {
		if s.Kind != OutputQueued || len(m.links) == 0 || m.view.refused("memory") {
			continue
		}
		ports := len(m.links)
		a := &account{machine: s.Name, owner: m, memory: s.Memory, room: s.Memory.Total(ports) / unit.Size(ports),
			high: &s.High, low: &s.Low, factor: s.Headroom, lossless: uint8(s.Lossless)}
		if !s.stops(r.control(s)) {
			s.High, s.Low = 0, 0
			continue
		}
		a.inputs = r.inputs(m, s.Name, uint8(s.Lossless))
		r.settle(a)
	}
}

// stops reports whether a switch stops senders on links with this flow control, as far as
// lossless says it.
func (s *Switch) stops(control port.FlowControl) bool {
	return s.Lossless > 0 || control != port.PauseFrames
}

// control returns the flow control of the links of a switch.
func (r *resolver) control(s *Switch) port.FlowControl {
	if links := r.machines[s.Name].links; len(links) > 0 {
		return r.s.Links[links[0]].FlowControl
	}
	return port.Credits
}

// checkAdapters finds the watermarks of endpoints on Ethernet, and refuses those with
// which a slow one could lose a frame.
func (r *resolver) checkAdapters() {
	slowed := map[string]bool{}
	for _, e := range r.s.Events {
		slowed[e.Endpoint] = slowed[e.Endpoint] || e.Service > 0 && e.Service != Unlimited
	}
	for e, m := range r.eachEndpoint() {
		if r.family(e.Name) != wire.Ethernet || m.view.refused("ingress") || m.view.refused("service") {
			continue
		}
		a := &account{machine: e.Name, owner: m, room: e.Ingress, high: &e.High, low: &e.Low, factor: 1,
			lossless: 0xFF}
		if e.Ingress == 0 {
			a.room = math.MaxInt64 / 4
		}
		if e.Ingress > 0 && (e.Service != Unlimited || slowed[e.Name]) { // else nothing adds up, or nothing overflows
			a.inputs = r.inputs(m, e.Name, 0xFF)
		}
		r.settle(a)
	}
}

// inputs are the links over which frames come to a machine that can stop their
// sender.
func (r *resolver) inputs(m *machine, name string, lossless uint8) (all []input) {
	for _, i := range m.links {
		l, side := &r.s.Links[i], 0
		if l.A == name {
			side = 1
		}
		in := input{link: i, side: side, classes: 1, shares: 1, headroom: r.headroom(i, side)}
		c := &r.crossed[i][side]
		if l.FlowControl == port.PriorityPauseFrames && m.isSwitch {
			in.classes = bits.OnesCount8(c.priorities & lossless)
			in.shares = bits.OnesCount8(c.priorities)
		}
		keeps := m.isSwitch && c.longest > 0 || c.flow > 0 // an endpoint takes in feedback at once
		if l.FlowControl.Pauses() && keeps && l.Rate > 0 && in.classes > 0 {
			all = append(all, in)
		}
	}
	return all
}

// headroom describes a link for frames that cross it from its A (0) or its B (1).
func (r *resolver) headroom(link, side int) port.Headroom {
	l := &r.s.Links[link]
	h := port.Headroom{
		Rate: l.Rate, There: l.Propagation, Back: l.Propagation, Response: 2 * r.s.Wall.Lateness,
		Pause: r.s.Model.Framing.Length(&wire.Frame{Kind: wire.Pause}),
		Frame: r.crossed[link][side].longest, Reverse: r.crossed[link][1-side].longest,
	}
	slowest := l.Rate
	for i := range r.s.Events {
		if e := &r.s.Events[i]; e.Rate > 0 && e.Link == l.Name {
			h.Rate, slowest = max(h.Rate, e.Rate), min(slowest, e.Rate)
		}
	}
	if slowest < h.Rate {
		h.Slowest = slowest
	}
	return h
}

// settle finds the watermarks of an account where they are not given, and refuses
// those that are in disorder, or leave less than the headroom above them.
func (r *resolver) settle(a *account) {
	v := a.owner.view
	highNode, lowNode := v.node("high"), v.node("low")
	if v.refused("high") || v.refused("low") {
		return
	}
	tight, least := -1, unit.Size(0) // the input that leaves the least below its headroom, and that
	for i := range a.inputs {
		if most := a.inputs[i].most(a); tight < 0 || most < least {
			tight, least = i, most
		}
	}
	computed := *a.high == 0
	switch {
	case !computed && *a.high > a.room:
		r.add(highNode.spot, "the high watermark of %s, %v, is more than %s: it would never be reached",
			a.name(), *a.high, a.what())
		return
	case tight < 0 && computed:
		*a.high = 0 // there is nobody to stop
	case computed && least < 1:
		r.tooLittle(a, &a.inputs[tight], 0, a.spot(highNode))
		*a.high, *a.low = 0, 0
		return
	case computed:
		*a.high = least
		r.derive(a, "high", least)
	case tight >= 0 && *a.high > least:
		r.tooLittle(a, &a.inputs[tight], *a.high, highNode.spot)
	}
	if tight >= 0 && a.factor < 1 && len(r.list) == 0 {
		r.risky(a, &a.inputs[tight])
	}
	switch frame := unit.Size(0); {
	case *a.high == 0:
		*a.low = 0
	case *a.low == auto:
		for _, i := range a.owner.links {
			for side := range 2 {
				frame = max(frame, r.headroom(i, side).Frame)
			}
		}
		*a.low = min(max(*a.high-2*frame, *a.high/2), *a.high-1)
		r.derive(a, "low", *a.low)
	case *a.low >= *a.high && lowNode != nil:
		r.add(lowNode.spot,
			"the low watermark of %s, %v, is not below the high one, %v: whoever was stopped there would go on at once",
			a.name(), *a.low, *a.high)
	}
}

// most returns the highest watermark with which an input has its headroom.
func (i *input) most(a *account) unit.Size {
	need := unit.Size(math.Ceil(a.factor * float64(i.needs())))
	return (a.room - need) / unit.Size(i.shares)
}

// spot returns what a mistake about the room of an account is shown at.
func (a *account) spot(high *node) spot {
	switch {
	case high != nil && high.value != any(unit.Size(0)):
		return high.spot
	case a.owner.isSwitch:
		return a.owner.view.spot("memory", a.owner.spot)
	}
	return a.owner.view.spot("ingress", a.owner.spot)
}

// tooLittle refuses a high watermark that leaves less than the headroom above it; 0
// where even none would do.
func (r *resolver) tooLittle(a *account, in *input, high unit.Size, at spot) {
	each := ""
	if in.shares > 1 {
		each = fmt.Sprintf(" for each of %d priorities", in.shares)
	}
	sum := fmt.Sprintf("its headroom, %v, is", in.needs())
	remedy := "give it more room"
	if high > 0 {
		sum = fmt.Sprintf("the high watermark, %v%s, and the headroom, %v, are %v,",
			high, each, in.needs(), high*unit.Size(in.shares)+in.needs())
		remedy = fmt.Sprintf("a high watermark of %v would do", in.most(a))
	}
	r.add(at, "%s could lose a frame that comes over link %s: %s more than %s. The headroom is %s; %s",
		a.name(), r.s.Links[in.link].Name, sum, a.what(), in.arithmetic(), remedy)
}

// risky warns of an account with less than its headroom, where that was asked for.
func (r *resolver) risky(a *account, in *input) {
	if n := a.owner.view.node("headroom"); n != nil {
		r.warn(n.spot,
			"%s keeps %.3g %% of its headroom and may lose frames that come over link %s. The headroom is %s",
			a.name(), 100*a.factor, r.s.Links[in.link].Name, in.arithmetic())
	}
}

// arithmetic returns the sum that makes a headroom.
func (i *input) arithmetic() string {
	h := i.headroom
	slowest, highest, at, late := h.Rate, "", "", ""
	if h.Slowest > 0 {
		slowest, highest, at = h.Slowest, ", the highest rate of the link,", fmt.Sprintf(" at %v", h.Slowest)
	}
	if h.Response > 0 {
		late = fmt.Sprintf(", %v of lateness", h.Response)
	}
	ahead := max(h.Reverse, h.Pause)
	text := fmt.Sprintf("%v: what comes at %v%s in %v there and %v back, %v for a frame of %v that has just begun the other way%s%s and %v for the PAUSE frame, and two frames of %v",
		h.Bytes(), h.Rate, highest, h.There, h.Back, slowest.Serialise(ahead), ahead, at, late,
		slowest.Serialise(h.Pause), h.Frame)
	if i.classes > 1 {
		text += fmt.Sprintf("; for %d priorities, each stopped by itself, %v", i.classes, i.needs())
	}
	return text
}

// Threshold is a watermark that no scenario gives: it follows from memories, rates, lengths and
// frames, and so it changes where any of these does.
type Threshold struct {
	Key   string   `json:"key"` // switch.high, switch.low, endpoint.high or endpoint.low
	Bytes int64    `json:"bytes"`
	Of    []string `json:"of"` // the switches or endpoints that have this value
}

// Derived returns the watermarks that Load has found, by their keys and values.
func (s *Scenario) Derived() []Threshold {
	if s.loaded == nil {
		return nil
	}
	return s.loaded.derived
}

// derive notes a watermark that was found.
func (r *resolver) derive(a *account, key string, value unit.Size) {
	section := "endpoint."
	if a.owner.isSwitch {
		section = "switch."
	}
	key = section + key
	i := slices.IndexFunc(r.derived, func(d Threshold) bool { return d.Key == key && d.Bytes == int64(value) })
	if i < 0 {
		i = len(r.derived)
		r.derived = append(r.derived, Threshold{Key: key, Bytes: int64(value)})
	}
	r.derived[i].Of = append(r.derived[i].Of, a.machine)
}

// byThreshold orders derived values.
func byThreshold(a, b Threshold) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Bytes, b.Bytes))
}

// DerivedApart says which values two scenarios have derived differently of the same machines, a
// sentence for each key and pair of values. First and second are what to call the two.
func DerivedApart(a, b []Threshold, first, second string) (all []string) {
	for _, x := range a {
		for _, y := range b {
			if x.Key != y.Key || x.Bytes == y.Bytes {
				continue
			}
			there := make(map[string]bool, len(y.Of))
			for _, name := range y.Of {
				there[name] = true
			}
			var both []string
			for _, name := range x.Of {
				if there[name] {
					both = append(both, name)
				}
			}
			if len(both) > 0 {
				all = append(all, fmt.Sprintf("%s of %s is derived, and is %v in %s and %v in %s: to hold it fixed give it a value, by --set defaults.%s",
					x.Key, Threshold{Of: both}.Where(), unit.Size(x.Bytes), first, unit.Size(y.Bytes), second, x.Key))
			}
		}
	}
	return all
}

// Where names the first of those that have the value.
func (d Threshold) Where() string {
	const most = 4
	if more := len(d.Of) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(d.Of[:most], ", "), more)
	}
	return strings.Join(d.Of, ", ")
}
