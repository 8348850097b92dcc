package scenario

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// losslessBuffer is a buffer that stops those who send to it: the part of an input in the memory of
// a switch, or the ingress of an endpoint, with watermarks to compute or to check.
type losslessBuffer struct {
	node      string
	kind      string // of the node: switch or endpoint
	owner     *NodeRef
	item      Item // where the watermarks are given: the node, or an event
	room      unit.Size
	called    string // the room in messages
	key       string // of the room; empty: an event gives the watermarks
	remedy    string // where the room is too small; empty: more room
	high, low *unit.Size
	factor    float64 // the part of the headroom that is required
	inputs    []input
}

// input is a link whose sender a losslessBuffer stops.
type input struct {
	link     int
	side     int // from which end the frames come: A (0) or B (1)
	headroom port.Headroom
	classes  int // the number of priorities that are stopped each by itself; 1 with PAUSE
	shares   int // the number of priorities that may each take as much as the high watermark, stopped or not
}

// needs returns the room above the high watermark that an input needs for all its priorities.
func (i *input) needs() unit.Size { return i.headroom.Bytes() * unit.Size(i.classes) }

// memory returns the buffer of an input of an output-queued switch, without watermarks.
func (r *Site) memory(s *Switch, m *NodeRef) *losslessBuffer {
	ports := len(m.Links)
	room := s.Memory.Total(ports) / unit.Size(ports)
	called := fmt.Sprintf("the part of an input, %v", room)
	if !s.Memory.PerPort {
		called = fmt.Sprintf("the part of an input, %v over %d ports", s.Memory, ports)
	}
	return &losslessBuffer{node: s.Name, kind: "switch", owner: m, item: m.Item, room: room, called: called,
		factor: s.Headroom, inputs: r.inputs(m, s.Name, uint8(s.Lossless))}
}

// leave returns the part that a share leaves of the buffer of a switch for the frames that cross a
// link from its A (0) or its B (1), and refuses a share that leaves too little.
func (r *Site) leave(s *Switch, m *NodeRef, link, side int, share float64, path string) (left port.BufferConfig) {
	part := func(n unit.Size) unit.Size { return unit.Size(share * float64(n)) }
	l, longest := &r.Links[link], r.crossed[link][side].longest
	switch {
	case l.FlowControl == port.Credits:
		payload := unit.Size(0)
		for i := range r.Flows {
			payload = max(payload, r.Flows[i].Packet)
		}
		whole := BlocksIn(l.Buffer, payload)
		left.Room = max(part(unit.Size(whole)), 1) * wire.BlockSize
		if f, have := r.Largest(link), int(left.Room/wire.BlockSize); f != nil && have < BlocksOf(f.Packet) {
			need := BlocksOf(f.Packet)
			r.Found.Add(path, "%v of the buffer of link %s cannot hold a packet of flow %s, which takes %d blocks of %d bytes: %d of %d blocks are left; a share of %v would be enough",
				share, l.Name, f.Name, need, wire.BlockSize, have, whole, shareOf(need, whole))
		}
		return left
	case l.FlowControl == port.ChannelCredits:
		return left
	}
	ports := len(m.Links)
	whole := s.Memory.Total(ports) / unit.Size(ports)
	left.Room = part(whole)
	if s.Alpha > 0 {
		r.Found.Add(path, "switch %s has alpha: %v: its inputs share one memory, and the one behind link %s has no part of its own that could become smaller", s.Name, s.Alpha, l.Name)
		return left
	}
	if s.High == 0 {
		if left.Room < longest {
			r.Found.Add(path, "%v of the part of an input of switch %s, %v of %v, cannot hold a frame of %v that arrives over link %s",
				share, s.Name, left.Room, whole, longest, l.Name)
		}
		return left
	}
	left.High = left.Room
	for _, in := range r.inputs(m, s.Name, uint8(s.Lossless)) {
		a := losslessBuffer{node: s.Name, kind: "switch", room: left.Room, factor: s.Headroom}
		if in.link != link {
			continue
		}
		r.sharpen(&in)
		if left.High = in.most(&a); left.High < 1 {
			a.called = fmt.Sprintf("%v of the part of an input, %v of %v", share, left.Room, whole)
			a.remedy = fmt.Sprintf("a share of %v would be enough", shareOf(in.least(&a)+unit.Size(in.shares), whole))
			r.tooLittle(&a, &in, 0, path)
			return left
		}
	}
	left.High = min(left.High, left.Room)
	left.Low = r.lowFor(m, left.High) // the watermarks of the switch count where they are lower
	return left
}

// shareOf returns the least share with three digits of which a whole leaves a part.
func shareOf[N int | unit.Size](part, whole N) float64 {
	return math.Ceil(1000*float64(part)/float64(whole)) / 1000
}

// lowFor returns the low watermark that belongs to a high one: two of the largest frames below it,
// and at least half.
func (r *Site) lowFor(m *NodeRef, high unit.Size) unit.Size {
	return min(max(high-2*r.largestAt(m), high/2), high-1)
}

// largestAt returns the length of the largest frame that crosses a link of a node.
func (r *Site) largestAt(m *NodeRef) (frame unit.Size) {
	for _, i := range m.Links {
		for side := range 2 {
			frame = max(frame, r.Headroom(i, side).Frame)
		}
	}
	return frame
}

// checkWatchdog refuses a watchdog that could watch nothing, or looks too rarely.
func (r *Site) checkWatchdog(s *Switch, w *switchd.Watchdog, path string) {
	switch {
	case w.Poll == 0:
	case r.FlowControlOf(s) != port.PriorityPauseFrames:
		r.Found.Add(path, "switch %s has a PFC watchdog, and its links have flow-control: %s, not pfc", s.Name, r.FlowControlOf(s))
	case w.Poll > w.Detection || w.Poll > w.Restoration:
		r.Found.Add(path, "the watchdog of switch %s looks every %v: that must not be longer than the detection, %v, and the restoration, %v",
			s.Name, w.Poll, w.Detection, w.Restoration)
	}
}

// Stops reports whether a switch stops senders on links with this flow control, given its
// lossless priorities.
func (s *Switch) Stops(control port.FlowControl) bool {
	return s.Lossless > 0 || control != port.PauseFrames
}

// FlowControlOf returns the flow control of the links of a switch.
func (r *Site) FlowControlOf(s *Switch) port.FlowControl {
	return r.Links[r.Nodes[s.Name].Links[0]].FlowControl
}

// inputs returns the links over which a node receives frames and can stop their sender.
func (r *Site) inputs(m *NodeRef, name string, lossless uint8) (all []input) {
	for _, i := range m.Links {
		l, side := &r.Links[i], 0
		if l.A == name {
			side = 1
		}
		in := input{link: i, side: side, classes: 1, shares: 1, headroom: r.Headroom(i, side)}
		c := &r.crossed[i][side]
		if l.FlowControl == port.PriorityPauseFrames && m.IsSwitch {
			in.classes = bits.OnesCount8(c.priorities & lossless)
			in.shares = bits.OnesCount8(c.priorities)
		}
		keeps := m.IsSwitch && c.some() || r.largestOf(c) != nil // an endpoint consumes feedback at once
		if l.FlowControl.Pauses() && keeps && in.classes > 0 {
			all = append(all, in)
		}
	}
	return all
}

// Headroom returns the headroom of a link for frames that cross it from its A (0) or its B (1).
func (r *Site) Headroom(link, side int) port.Headroom {
	l := &r.Links[link]
	h := port.Headroom{
		There: l.Propagation, Back: l.Propagation, Response: l.Response,
		Pause: r.Model.Framing.Length(&wire.Frame{Kind: wire.Pause}),
		Frame: r.crossed[link][side].longest, Reverse: r.crossed[link][1-side].longest,
	}
	if l.Retry.On() {
		h.Replay = l.Rate.Serialise(3 * l.Retry.Bytes)
	}
	if h.Slowest, h.Rate = r.Rates(l); h.Slowest == h.Rate {
		h.Slowest = 0
	}
	return h
}

// sharpen has an input need no more than it has to where the rate of its link becomes only lower
// during the run. A watermark that is computed keeps the room for a rate that becomes higher again.
func (r *Site) sharpen(in *input) {
	l, h := &r.Links[in.link], in.headroom
	type change struct {
		At   unit.Duration
		Rate unit.Rate
	}
	var changes []change
	for i := range r.Events {
		if rate := r.Events[i].Touches(l).Rate; rate > 0 {
			changes = append(changes, change{r.Events[i].At, rate})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.At, b.At) })
	least, _ := r.Rates(l)
	h.Slowest = 0
	// Changes that are further apart than this have no effect on the same PAUSE frame.
	apart := h.There + h.Back + h.Response.At(least) + least.Serialise(2*h.Frame+h.Reverse+2*h.Pause+3*l.Retry.Bytes)
	need, before := h.Bytes(), l.Rate
	for i, first := range changes {
		if first.Rate > before {
			return
		}
		from, at := h, h
		from.Rate, at.Rate = before, before
		for _, c := range changes[i:] {
			if c.At-first.At > apart || c.Rate > at.Rate {
				break
			}
			from.Falls += at.Falling(c.Rate)
			at.Rate = c.Rate
		}
		need, before = max(need, from.Bytes()), first.Rate
	}
	if h.Falls = need - h.Bytes(); h.Bytes() < in.headroom.Bytes() {
		in.headroom = h
	}
}

// setWatermarks computes the watermarks of a losslessBuffer that are not given, and refuses
// those in the wrong order or with less than the headroom above them.
func (r *Site) setWatermarks(a *losslessBuffer) {
	high, low := a.item.Mention("high"), a.item.Mention("low")
	var tight *input // the one with the lowest limit
	least := unit.Size(0)
	for i := range a.inputs {
		if *a.high != 0 {
			r.sharpen(&a.inputs[i])
		}
		if most := a.inputs[i].most(a); tight == nil || most < least {
			tight, least = &a.inputs[i], most
		}
	}
	computed := *a.high == 0
	switch {
	case !computed && *a.high > a.room:
		r.Found.Add(high.Path, "the high watermark of %s %s, %v, is more than %s: it would never be reached",
			a.kind, a.node, *a.high, a.called)
		return
	case tight == nil: // there is no sender to stop
	case computed && least < 1:
		path := a.item.Where(a.key)
		if high.Given() && !high.Usual {
			path = high.Path
		}
		r.tooLittle(a, tight, 0, path)
		*a.high, *a.low = 0, 0
		return
	case computed:
		*a.high = least
		r.derive(a, "high", least)
	case *a.high > least:
		r.tooLittle(a, tight, *a.high, high.Path)
	}
	if tight != nil && a.factor < 1 && a.key != "" {
		r.Doubts.Add(a.item.Where("headroom"),
			"%s %s keeps %.3g %% of its headroom and may lose frames that arrive over link %s. The headroom is %s",
			a.kind, a.node, 100*a.factor, r.Links[tight.link].Name, tight.arithmetic())
	}
	switch {
	case *a.high == 0:
		*a.low = 0
	case *a.low == auto:
		*a.low = r.lowFor(a.owner, *a.high)
		r.derive(a, "low", *a.low)
	case *a.low >= *a.high && low.Given():
		r.Found.Add(low.Path,
			"the low watermark of %s %s, %v, is not below the high one, %v: a stopped sender would continue at once",
			a.kind, a.node, *a.low, *a.high)
	}
}

// most returns the highest watermark with which an input has its headroom.
func (i *input) most(a *losslessBuffer) unit.Size {
	return (a.room - i.least(a)) / unit.Size(i.shares)
}

// least returns the least room above the watermark.
func (i *input) least(a *losslessBuffer) unit.Size {
	return unit.Size(math.Ceil(a.factor * float64(i.needs())))
}

// tooLittle refuses a high watermark with less than the headroom above it; 0 if the room is too
// small for any.
func (r *Site) tooLittle(a *losslessBuffer, in *input, high unit.Size, path string) {
	each := ""
	if in.shares > 1 {
		each = fmt.Sprintf(" for each of %d priorities", in.shares)
	}
	sum := fmt.Sprintf("its headroom, %v, is", in.needs())
	remedy := cmp.Or(a.remedy, "give it more room")
	if high > 0 {
		sum = fmt.Sprintf("the high watermark, %v%s, and the headroom, %v, are %v,",
			high, each, in.needs(), high*unit.Size(in.shares)+in.needs())
		remedy = fmt.Sprintf("a high watermark of %v would be low enough", in.most(a))
	}
	r.Found.Add(path, "%s %s could lose a frame that arrives over link %s: %s more than %s. The headroom is %s; %s",
		a.kind, a.node, r.Links[in.link].Name, sum, a.called, in.arithmetic(), remedy)
}

// arithmetic returns the terms of a headroom.
func (i *input) arithmetic() string {
	h := i.headroom
	slowest, highest, at, more := h.Rate, "", "", ""
	if h.Slowest > 0 {
		slowest, highest, at = h.Slowest, ", the highest rate of the link,", fmt.Sprintf(" at %v", h.Slowest)
	}
	if h.Response != (port.Response{}) {
		more += fmt.Sprintf(", %v for the sender to obey", h.Response.At(slowest))
	}
	if h.Falls > 0 {
		more += fmt.Sprintf(", %v of a frame that started before the rate became lower", h.Falls)
	}
	if h.Replay > 0 {
		more += fmt.Sprintf(", %v for replays", h.Replay)
	}
	ahead := max(h.Reverse, h.Pause)
	text := fmt.Sprintf("%v: the bytes that arrive at %v%s in %v there and %v back, %v for a frame of %v that has just started in the other direction%s%s and %v for the PAUSE frame, and two frames of %v",
		h.Bytes(), h.Rate, highest, h.There, h.Back, slowest.Serialise(ahead), ahead, at, more,
		slowest.Serialise(h.Pause), h.Frame)
	if i.classes > 1 {
		text += fmt.Sprintf("; for %d priorities, each stopped by itself, %v", i.classes, i.needs())
	}
	return text
}

// Threshold is a watermark that Load has computed from memories, rates, lengths and frames. It
// changes if any of these changes.
type Threshold struct {
	Key   string   `json:"key"` // switch.high, switch.low, endpoint.high or endpoint.low; with alpha switch.shared, and switch.high with so many inputs that are stopped
	Bytes int64    `json:"bytes"`
	Of    []string `json:"of"` // the switches or endpoints that have this value
}

// IsField reports whether the threshold is a field that a scenario can give instead.
func (d *Threshold) IsField() bool {
	return strings.HasSuffix(d.Key, ".high") || strings.HasSuffix(d.Key, ".low")
}

// derive records a computed watermark, and deriveKey any threshold.
func (r *Site) derive(a *losslessBuffer, key string, value unit.Size) {
	r.deriveKey(a.kind+"."+key, a.node, value)
}

func (r *Site) deriveKey(key, node string, value unit.Size) {
	i := slices.IndexFunc(r.Derived, func(d Threshold) bool { return d.Key == key && d.Bytes == int64(value) })
	if i < 0 {
		i = len(r.Derived)
		r.Derived = append(r.Derived, Threshold{Key: key, Bytes: int64(value)})
	}
	r.Derived[i].Of = append(r.Derived[i].Of, node)
}

// DerivedApart returns the values that two scenarios have derived differently for the same nodes, a
// sentence for each key and pair of values. First and second are names for the two.
func DerivedApart(a, b []Threshold, first, second string) (all []string) {
	for _, x := range a {
		for _, y := range b {
			if x.Key != y.Key || x.Bytes == y.Bytes {
				continue
			}
			only := func(name string) bool { return !slices.Contains(y.Of, name) }
			both := slices.DeleteFunc(slices.Clone(x.Of), only)
			if len(both) == 0 {
				continue
			}
			remedy := "by other memory"
			if x.IsField() {
				remedy = "give it a value, by --set defaults." + x.Key
			}
			all = append(all, fmt.Sprintf("%s of %s is derived, and is %v in %s and %v in %s: to hold it fixed %s",
				x.Key, Threshold{Of: both}.Where(), unit.Size(x.Bytes), first, unit.Size(y.Bytes), second, remedy))
		}
	}
	return all
}

// Where names the nodes with the value, of many the first.
func (d Threshold) Where() string {
	const most = 4
	if more := len(d.Of) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(d.Of[:most], ", "), more)
	}
	return strings.Join(d.Of, ", ")
}
