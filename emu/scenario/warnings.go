package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Warning reports a value of a scenario that is right but probably not intended. It has the
// fields of Error.
type Warning Error

// String prints the warning without its excerpt, on one line.
func (w Warning) String() string { return Error(w).Error() }

// UnderManager returns the warnings about s that also hold with a subnet manager, which may turn
// congestion control on during the run.
func (s *Scenario) UnderManager() []Warning {
	return slices.DeleteFunc(slices.Clone(s.Warnings), func(w Warning) bool { return s.loaded != nil && slices.Contains(s.loaded.manageable, w) })
}

// lint warns of values that are probably not intended in a scenario that is right.
func (r *resolver) lint() {
	r.lintRest()
	r.standIn()
	r.lintIgnored()
	r.lintCredits()
	r.lintAlgorithms()
	r.lintActs()
	r.lintLosses()
	r.lintIdle()
	r.lintGuests()
	r.lintTimeouts()
	r.withdraw()
}

// lintLosses warns of flows that may wait for an ACK forever: a link goes down on the
// path of their packets or ACKs, and they send nothing again.
func (r *resolver) lintLosses() {
	if !r.s.Loses() {
		return
	}
	for f, of := range each(r.s.Flows, r.flows) {
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
				case e.Loss+e.Corruption > 0 && e.Link == l.Name:
					lost = fmt.Sprintf("link %s has a %s", l.Name, e.LinkFault.text())
				case e.Restart > 0 && (e.Switch == l.A || e.Switch == l.B):
					lost = fmt.Sprintf("switch %s is restarted at %v", e.Switch, e.At)
				}
			}
		}
		k := r.key(of)
		r.paths.Visit(k, look)
		r.paths.Visit(Key{Src: k.Dst, Dst: k.Src, QP: k.QP}, look)
		if lost == "" {
			continue
		}
		remedy := "give it a timeout, such as 500us"
		if f.Traffic == traffic.Transfers {
			remedy = "transfers are never retransmitted"
		}
		r.warn(scheme{of.view, "timeout", of.spot}.spotOf("timeout"),
			"flow %s has timeout: never and may lose packets, because %s: they are not retransmitted, and if its whole window of %d is lost, it stops; %s",
			f.Name, lost, f.Window, remedy)
	}
}

// lintIdle warns of links that no flow uses, once for each item of the file. If a
// --set has left flows out, a longer run may use them.
func (r *resolver) lintIdle() {
	if len(r.left.flows) > 0 {
		return
	}
	var keys []Key
	for _, of := range r.flows {
		keys = append(keys, r.key(of))
	}
	equal := *r.paths
	equal.ecmp = true
	could := equal.Used(keys, len(r.s.Links)) // with routing: ecmp
	var idle []int                            // the first idle link of each item
	more := map[*node]int{}
	for i := range r.crossed {
		n := r.links[i].node
		if r.largest(i) != nil {
			continue
		}
		if _, met := more[n]; !met {
			idle = append(idle, i)
			more[n] = -1
		}
		more[n]++
	}
	const most = 5 // items that are named
	for k, i := range idle {
		n, nor, hint := r.links[i].node, "", ""
		if k == most-1 && len(idle) > most {
			r.warn(n.spot, "no flow uses the links of this item and of %d more, in part or all of them", len(idle)-most)
			return
		}
		if more[n] > 0 {
			nor = fmt.Sprintf(", nor %d more of this item", more[n])
		}
		if could[i] {
			hint = ": of several shortest paths one is taken; routing: ecmp takes all"
		}
		r.warn(n.spot, "no flow uses link %s%s%s", r.s.Links[i].Name, nor, hint)
	}
}

// uses collects the values of a file that may have no effect.
type uses struct {
	order []*node          // as they were entered
	with  map[*node]string // the warning
	used  map[*node]bool
	met   map[selection]bool
}

// look enters a value that has an effect only with some values of another field,
// and whether it has. Defaults do not count, unless they come from a --set: files
// with every default filled in are full of them. A value does not count either if
// a --set of the other field takes its effect away: the user asked for that.
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
		u.with[n] = fmt.Sprintf("%s has no effect: it is used only with %s", name, with)
	}
	u.used[n] = u.used[n] || effect
}

// lookAll enters the values of an object that count only with others of it, without some keys. The
// pointer points to the struct that was made of the object.
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

// lintIgnored warns of values that no switch and no flow uses.
func (r *resolver) lintIgnored() {
	u := uses{with: map[*node]string{}, used: map[*node]bool{}, met: map[selection]bool{}}
	for s, m := range each(r.s.Switches, r.switches) {
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
	for e, m := range each(r.s.Endpoints, r.endpoints) {
		v, ethernet := m.view, r.family(e.Name) == wire.Ethernet
		for _, name := range adapterKeys() {
			u.look(v, name, "ingress", ethernet, "a link of Ethernet")
		}
	}
	for l, of := range each(r.s.Links, r.links) {
		u.lookAll(of.view, l)
	}
	for f, of := range each(r.s.Flows, r.flows) {
		v := of.view
		u.lookParams(v.sub("control"), r.tables.algorithms, f.Control.Algorithm)
		u.lookParams(v.sub("transport"), r.tables.transports, f.Transport.Kind)
		if of.index < r.own {
			u.lookAll(v, f)
		}
		u.look(v, "rate-limit", "rate-limit", f.RateLimit < r.lineRate(f), "a rate below the rate of the sender's link")
		u.look(v, "priority", "priority", r.family(f.From) == wire.Ethernet, "a link of Ethernet")
	}
	for w, of := range each(r.s.Workloads, r.workloads) {
		u.lookAll(of.view, w)
	}
	for _, n := range u.order {
		if !u.used[n] {
			r.warn(n.spot, "%s", u.with[n])
		}
	}
}

// maxGranted is the most blocks that a receiver grants in advance: half of
// the 12 bits of the counters.
const maxGranted = 2048

// lintCredits warns of links that cannot run at their full rate, since more
// packets are in flight, or wait for their credit, than the buffer holds.
//
// The credit for a packet returns to the sender at the earliest one packet's time,
// twice the propagation and the forwarding delay of the receiver (none at an
// endpoint) after the packet began to leave. In that time the sender can send no
// more than fits into the buffer.
func (r *resolver) lintCredits() {
	for l, of := range each(r.s.Links, r.links) {
		for side, c := range r.crossed[of.index] {
			f := r.largestOf(&c)
			if f == nil || l.Family() != wire.InfiniBand {
				continue
			}
			receiver := r.nodes[[2]string{l.B, l.A}[side]]
			time := l.Rate.Serialise(r.length(f))
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
			enough := int((trip + time - 1) / time)
			remedy := fmt.Sprintf("a buffer of %d packets would be enough", enough)
			if enough*blocks > maxGranted {
				remedy = fmt.Sprintf("no buffer would be enough, since at most %d blocks of %d bytes are granted in advance",
					maxGranted, wire.BlockSize)
			}
			r.warn(n.spot,
				"link %s cannot run at its full rate, only at %.3g %% of %v: the credit for a packet comes back after %v (%v of transmission, twice %v of propagation%s), and its buffer holds %d in that time. Nothing is lost; %s",
				l.Name, 100*float64(holds)*float64(time)/float64(trip), l.Rate, trip, time, l.Propagation, forwarding,
				holds, remedy)
		}
	}
}

// output is a link in the direction from a node.
type output struct{ node, link int }

// lintRest warns of outputs at which flows of DCQCN have no fixed point of the queue. It counts the
// flows that have their bottleneck at the output if all flows always have packets.
func (r *resolver) lintRest() {
	isDCQCN := func(f Flow) bool {
		_, ok := f.Control.Params.(rp.DCQCNParams)
		return ok && r.family(f.From) == wire.Ethernet
	}
	if !slices.ContainsFunc(r.s.Flows, isDCQCN) {
		return
	}
	crossed := map[output]int{} // by flows of any algorithm
	for _, of := range r.flows {
		r.paths.Visit(r.key(of), func(at int, step paths.Step) { crossed[output{at, step.Link}]++ })
	}
	narrow, order := map[output][]*Flow{}, []output(nil)
	for f, of := range each(r.s.Flows, r.flows) {
		if !isDCQCN(*f) {
			continue
		}
		least, at := 0.0, output{}
		r.paths.Visit(r.key(of), func(node int, step paths.Step) {
			o := output{node, step.Link}
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
		if o.node < len(r.s.Switches) {
			r.lintCliff(o, len(narrow[o]), narrow[o][0])
		}
	}
}

// lintCliff warns if this many flows like f need a higher share of marks than the line of an output
// reaches.
func (r *resolver) lintCliff(o output, flows int, f *Flow) {
	s, l, algorithm := &r.s.Switches[o.node], &r.s.Links[o.link], f.Control.Params.(rp.DCQCNParams)
	line := cp.TraitsOf(s.Marking.Params).Line
	if line == nil || !algorithm.HasRest() {
		return
	}
	frame := r.s.Frame(f, wire.Ethernet)
	packet := r.s.Model.Framing.Length(&frame)
	most, share := line.Most, algorithm.Rest(flows, l.Rate, packet)
	if line.Max.Size(packet) <= line.Min.Size(packet) || share <= most {
		return
	}
	cliff := 1
	for algorithm.Rest(cliff, l.Rate, packet) <= most {
		cliff++
	}
	bytes := "none"
	if algorithm.ByteCounter > 0 {
		bytes = algorithm.ByteCounter.String()
	}
	r.warn(scheme{r.nodes[s.Name].view.sub("marking"), "scheme", r.nodes[s.Name].spot}.spotOf("max-p"),
		"%s: %d flows of dcqcn would come to rest with %.3g %% of their packets marked, cbrt(R_AI N^2/(K C^2) (1/B + N/(T C))^2) with R_AI %v, N %d, C %v, K %v, B %s, T %v and packets of %v, and the marking curve of switch %s ends at %.3g %%: above it every packet is marked, and the queue stays at that cliff. That is so from %d flows on",
		l.Name, flows, 100*share, algorithm.ActiveIncrease, flows, l.Rate, algorithm.AlphaTimer, bytes, algorithm.RateTimer,
		packet, s.Name, 100*most, cliff)
}
