package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"fabemu/emu/fabric/paths"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Warning is something in a scenario that is right, but probably not meant. Its
// fields are those of Error.
type Warning Error

// String prints the warning without its excerpt, on one line.
func (w Warning) String() string { return Error(w).Error() }

// lint looks for what is probably not meant in a scenario that is right.
func (r *resolver) lint() {
	r.lintIgnored()
	r.lintCredits()
	r.lintLaws()
	r.lintDeaf()
	r.lintRest()
	r.lintLosses()
	r.lintIdle()
	r.lintGuests()
}

// lintLosses warns of flows that await ACKs which may never come: a link goes down on the
// way of their packets, or of the ACKs, and nothing is sent again.
func (r *resolver) lintLosses() {
	if !r.s.Loses() {
		return
	}
	for f, of := range r.eachFlow() {
		if f.Window == 0 || f.Timeout > 0 {
			continue
		}
		lost := ""
		look := func(_ int, step paths.Step) {
			l := &r.s.Links[step.Link]
			for k := range r.s.Events {
				switch e := &r.s.Events[k]; {
				case lost != "":
				case e.State == Down && e.Link == l.Name:
					lost = fmt.Sprintf("link %s goes down at %v", l.Name, e.At)
				case e.Switch != "" && (e.Switch == l.A || e.Switch == l.B):
					lost = fmt.Sprintf("switch %s is restarted at %v", e.Switch, e.At)
				}
			}
		}
		k := r.key(of)
		r.ways.Visit(k, look)
		r.ways.Visit(Key{Src: k.Dst, Dst: k.Src, QP: k.QP}, look)
		if lost == "" {
			continue
		}
		remedy := "give it a timeout, such as 500us"
		if f.Traffic == traffic.Transfers {
			remedy = "transfers are never sent again"
		}
		r.warnedAt(of.view, "timeout", "timeout", of.node.spot,
			"flow %s has timeout: never and may lose packets, since %s: what is lost is missing, and when all of its window of %d is, it stands still; %s",
			f.Name, lost, f.Window, remedy)
	}
}

// lintIdle warns of links that no flow uses, once for each item that gives them. Where a
// --set has left flows out, another run is meant that has them.
func (r *resolver) lintIdle() {
	if len(r.left.flows) > 0 {
		return
	}
	var keys []Key
	for _, of := range r.flows {
		keys = append(keys, r.key(of))
	}
	equal := *r.ways
	equal.ecmp = true
	could := equal.Used(keys, len(r.s.Links))
	idle := map[*node][]int{}
	var items []*node
	for i, crossed := range r.crossed {
		n := r.links[i].node
		if crossed[0].flow > 0 || crossed[1].flow > 0 || r.ways.ecmp && could[i] { // which way the hash takes is chance
			continue
		}
		if idle[n] == nil {
			items = append(items, n)
		}
		idle[n] = append(idle[n], i)
	}
	const most = 5 // items that are named
	for i, n := range items {
		if i == most-1 && len(items) > most {
			r.warn(n.spot, "no flow uses the links of this item and of %d more, in part or all of them",
				len(items)-most)
			return
		}
		first, more, hint := idle[n][0], "", ""
		if k := len(idle[n]) - 1; k > 0 {
			more = fmt.Sprintf(", nor %d more of this item", k)
		}
		if could[first] {
			hint = ": of several shortest paths one is taken; routing: ecmp takes all"
		}
		r.warn(n.spot, "no flow uses link %s%s%s", r.s.Links[first].Name, more, hint)
	}
}

// uses finds out which values of a file are made use of.
type uses struct {
	order []*node // that may have no effect, in the order in which they were met
	with  map[*node]string
	used  map[*node]bool
}

// look enters a value that has an effect only with something, of which another
// field decides, and whether it has. A value that is the default says nothing,
// unless it comes from a --set: files with every default filled in are full of
// them. Nor does one that a --set of the other field has taken the effect from: a
// run without it is what is wanted.
func (u *uses) look(v view, name, other string, effect bool, with string) {
	n, by := v.node(name), v.node(other)
	if n == nil || n.at.set == nil && by != nil && by.at.set != nil {
		return
	}
	if usual := v.of.Find(name).Usual(); usual != nil && usual == n.value && n.at.set == nil {
		return
	}
	if _, met := u.with[n]; !met {
		u.order = append(u.order, n)
		u.with[n] = fmt.Sprintf("%s has no effect: it counts with %s only", name, with)
	}
	u.used[n] = u.used[n] || effect
}

// lookAll enters the values of an object that count only with others of it, but for some. It was made of a
// struct, by its pointer.
func (u *uses) lookAll(v view, pointer any, but ...string) {
	var made any
	for i := range v.of.Params {
		p := &v.of.Params[i]
		with := p.Counts
		if with.Key == "" {
			with = p.With
		}
		if with.Key != "" && !slices.Contains(but, p.Key) && v.given(p.Key) {
			if made == nil {
				made = reflect.ValueOf(pointer).Elem().Interface()
			}
			u.look(v, p.Key, with.Key, v.of.Holds(with, made), with.String())
		}
	}
}

// lintIgnored warns of values that no switch and no flow makes use of.
func (r *resolver) lintIgnored() {
	u := uses{with: map[*node]string{}, used: map[*node]bool{}}
	for s, m := range r.eachSwitch() {
		v := m.view
		u.lookParams(v.sub("marking"), r.tables.points, s.Marking.Scheme)
		if s.Kind != OutputQueued || s.stops(r.control(s)) {
			u.lookAll(v, s)
			continue
		}
		stopping := []string{"high", "low", "headroom"}
		u.lookAll(v, s, stopping...)
		for _, name := range stopping {
			u.look(v, name, "lossless", false, "lossless other than []")
		}
	}
	for e, m := range r.eachEndpoint() {
		v, ethernet := m.view, r.family(e.Name) == wire.Ethernet
		for _, name := range []string{"egress", "ingress", "high", "low", "limiters"} {
			u.look(v, name, "ingress", ethernet, "a link of Ethernet")
		}
	}
	for l, of := range r.eachLink() {
		u.lookAll(of.view, l)
	}
	for f, of := range r.eachFlow() {
		v := of.view
		u.lookParams(v.sub("control"), r.tables.laws, f.Control.Law)
		u.lookParams(v.sub("transport"), r.tables.transports, f.Transport.Kind)
		u.lookAll(v, f)
		u.look(v, "rate-limit", "rate-limit", f.RateLimit < r.line(f), "a rate below that of the sender's link")
		u.look(v, "priority", "priority", r.family(f.From) == wire.Ethernet, "a link of Ethernet")
	}
	for _, n := range u.order {
		if !u.used[n] {
			r.warn(n.spot, "%s", u.with[n])
		}
	}
}

// maxGranted is how many blocks a receiver grants in advance at the most: half of
// the 12 bits of the counters.
const maxGranted = 2048

// lintCredits warns of links that cannot run at their full rate, since more
// packets are under way, or awaited back as credit, than the buffer holds.
//
// The credit for a packet comes back to the sender one packet's time, twice the
// propagation and the forwarding delay of the receiver (none at an endpoint)
// after the packet began to leave, at the soonest. In that time the sender can
// have sent no more than fits into the buffer.
func (r *resolver) lintCredits() {
	for l, of := range r.eachLink() {
		for side, c := range r.crossed[of.index] {
			if c.flow == 0 || l.Family() != wire.InfiniBand {
				continue
			}
			f, receiver := r.s.Flows[c.flow-1], r.machines[[2]string{l.B, l.A}[side]]
			time := l.Rate.Serialise(r.length(&f))
			trip := time + 2*l.Propagation
			forwarding := ""
			if receiver.isSwitch {
				delay := get[unit.Duration](receiver.view, "forwarding-delay")
				trip += delay
				forwarding = fmt.Sprintf(", %v of forwarding", delay)
			}
			blocks := blocksOf(f.Packet)
			room := blocksIn(l.Buffer, f.Packet)
			holds := min(room, maxGranted) / blocks
			if unit.Duration(holds)*time >= trip {
				continue
			}
			n := cmp.Or(of.view.node("buffer"), of.view.node("propagation"), of.node)
			if !r.first(n, "credit") {
				continue
			}
			enough := int((trip + time - 1) / time)
			remedy := fmt.Sprintf("a buffer of %d packets would do", enough)
			if enough*blocks > maxGranted {
				remedy = fmt.Sprintf("no buffer would do, since at most %d blocks of %d bytes are granted in advance",
					maxGranted, wire.BlockSize)
			}
			r.warn(n.spot,
				"link %s cannot run at its full rate, %.3g %% of %v at the most: the credit for a packet comes back after %v (%v on the line, twice %v of propagation%s), and its buffer holds %d in that time. Nothing is lost; %s",
				l.Name, 100*float64(holds)*float64(time)/float64(trip), l.Rate, trip, time, l.Propagation, forwarding,
				holds, remedy)
		}
	}
}

// output is a link in the direction from a machine.
type output struct{ machine, link int }

// lintRest warns of outputs whose flows of DCQCN have no queue at which they could come to rest. It
// counts the flows for which the output is the narrowest on their way, as if all had packets at all times.
func (r *resolver) lintRest() {
	isDCQCN := func(f Flow) bool {
		_, ok := f.Control.Params.(rp.DCQCNParams)
		return ok && r.family(f.From) == wire.Ethernet
	}
	if !slices.ContainsFunc(r.s.Flows, isDCQCN) {
		return
	}
	visit := func(of flowOf, do func(o output)) {
		r.ways.Visit(r.key(of), func(at int, step paths.Step) { do(output{at, step.Link}) })
	}
	crossed := map[output]int{} // by flows of any law
	for _, of := range r.flows {
		visit(of, func(o output) { crossed[o]++ })
	}
	narrow, order := map[output][]*Flow{}, []output(nil)
	for f, of := range r.eachFlow() {
		if !isDCQCN(*f) {
			continue
		}
		least, at := 0.0, output{}
		visit(of, func(o output) {
			if share := float64(r.s.Links[o.link].Rate) / float64(crossed[o]); least == 0 || share < least {
				least, at = share, o
			}
		})
		if narrow[at] == nil {
			order = append(order, at)
		}
		narrow[at] = append(narrow[at], f)
	}
	for _, o := range order {
		if o.machine < len(r.s.Switches) {
			r.lintCliff(o, len(narrow[o]), narrow[o][0])
		}
	}
}

// lintCliff warns if so many flows like f would need more marks than the line of an output has.
func (r *resolver) lintCliff(o output, flows int, f *Flow) {
	s, l, law := &r.s.Switches[o.machine], &r.s.Links[o.link], f.Control.Params.(rp.DCQCNParams)
	line := cp.TraitsOf(s.Marking.Params).Line
	if line == nil || !law.HasRest() {
		return
	}
	frame := r.s.Frame(f, wire.Ethernet)
	packet := r.s.Model.Framing.Length(&frame)
	most, share := line.Most, law.Rest(flows, l.Rate, packet)
	if line.Max.Size(packet) <= line.Min.Size(packet) || share <= most {
		return
	}
	cliff := 1
	for law.Rest(cliff, l.Rate, packet) <= most {
		cliff++
	}
	bytes := "none"
	if law.ByteCounter > 0 {
		bytes = law.ByteCounter.String()
	}
	r.warnedAt(r.machines[s.Name].view.sub("marking"), "max-p", "scheme", r.machines[s.Name].spot,
		"%s: %d flows of dcqcn would come to rest with %.3g %% of their packets marked, cbrt(R_AI N^2/(K C^2) (1/B + N/(T C))^2) with R_AI %v, N %d, C %v, K %v, B %s, T %v and packets of %v, and the line of switch %s ends at %.3g %%: above it each packet is marked, and the queue stays at that cliff. That is so from %d flows on",
		l.Name, flows, 100*share, law.ActiveIncrease, flows, l.Rate, law.AlphaTimer, bytes, law.RateTimer,
		packet, s.Name, 100*most, cliff)
}
