package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/scenario/paths"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

func itoa(n int) string { return strconv.Itoa(n) }

// check checks how the parts of the scenario fit together.
func (r *resolver) check(top view) {
	r.checkLists()
	r.checkWall(top)
	r.checkRates()
	r.checkLimits()
	for _, m := range each(r.s.Switches, r.switches) {
		r.checkOnce(m.view.list("ets"), "priority", "priority %s has a weight already%s")
	}
	r.checkOnce(top.sub("model").list("dscp"), "dscp", "the DSCP %s has a priority already%s")
	r.checkQuanta()
	r.checkEndpoints()
	r.checkGuests()
	r.checkSwitches()
	r.checkRanges()
	r.checkAtOnce()
	r.withStandIns(r.checkPaths)
	r.checkWindow(top)
}

// checkLists refuses empty lists and fabrics that InfiniBand cannot address.
func (r *resolver) checkLists() {
	for i := range r.tables.language.Params {
		p := &r.tables.language.Params[i]
		if n := r.root.get(p.Key); n != nil && !n.bad && len(n.items) < p.Least {
			r.add(n.spot, "there are no %s: %s is wanted", p.Key, p.Wanted())
		}
	}
	if flows, work := r.root.get("flows"), r.root.get("workload"); (flows == nil || !flows.bad && len(flows.items) == 0) &&
		(work == nil || !work.bad && len(work.items) == 0) {
		at := r.root.field("flows")
		if flows != nil {
			at = flows.spot
		}
		r.add(at, "there are no flows and no workload: nothing would be sent")
	}
	if n := r.root.get("endpoints"); n != nil {
		if total := len(r.s.Switches) + len(r.s.Endpoints); total > int(wire.MaxLID) {
			r.add(n.spot, "there are %d machines; a subnet has addresses (LIDs) for %d", total, wire.MaxLID)
			r.broken = true
		}
	}
	if n := r.root.get("flows"); n != nil && len(r.s.Flows) > maxFlows {
		r.add(n.spot, "there are %d flows; queue pair numbers of 24 bits are enough for %d",
			len(r.s.Flows), maxFlows)
		r.broken = true
	}
}

// maxFlows is the count of queue pair numbers: 24 bits, without 0 and 1, which InfiniBand
// reserves, and without the multicast number 0xFFFFFF.
const maxFlows = 1<<24 - 3

// checkWall refuses a run whose wall time overflows a clock, and ports that do not exist.
func (r *resolver) checkWall(top view) {
	wall := top.sub("wall")
	if ns := int64(r.s.Model.Duration/unit.Nanosecond) + 1; r.s.Wall.Dilation > math.MaxInt64/2/ns {
		r.add(spot{cmp.Or(wall.node("dilation"), r.root.get("model"), r.root).at, "wall.dilation"},
			"%v of model time %d times slower is more wall time than a clock can count",
			r.s.Model.Duration, r.s.Wall.Dilation)
	}
	if n := wall.node("udp-port"); n != nil && r.s.Wall.UDPPort > 0 {
		if last := r.s.Wall.UDPPort + 2*len(r.s.Links) - 1; last > 65535 {
			r.add(n.spot, "%d links need %d ports, from %d to %d; the last port is 65535",
				len(r.s.Links), 2*len(r.s.Links), r.s.Wall.UDPPort, last)
		}
	}
}

// checkRates reports the links without a rate, once.
func (r *resolver) checkRates() {
	var missing []*node
	for l, of := range each(r.s.Links, r.links) {
		if rate := of.get("rate"); l.Rate == 0 && !slices.Contains(missing, of.node) && !(rate != nil && rate.bad) {
			missing = append(missing, of.node)
		}
	}
	defaults := r.root.get("defaults")
	link := defaults.get("link")
	refused := slices.ContainsFunc([]*node{defaults, link, link.get("rate")}, func(n *node) bool { return n != nil && n.bad })
	if len(missing) == 0 || refused { // the refused value may be a rate
		return
	}
	others := ""
	switch n := len(missing) - 1; {
	case n == 1:
		others = ", nor has one more item"
	case n > 1:
		others = ", nor have " + itoa(n) + " more items"
	}
	r.add(missing[0].field("rate"),
		"the link has no rate%s: give it one, such as rate: 1GB/s, or all of them under defaults.link", others)
}

// checkEndpoints refuses an endpoint that has not exactly one link, and a switch
// that has none.
func (r *resolver) checkEndpoints() {
	if r.broken {
		return
	}
	for e, m := range each(r.s.Endpoints, r.endpoints) {
		switch item := m.view.chain[0]; {
		case len(m.links) == 0 && r.first(item, "link"):
			r.add(m.spot, "endpoint %s has no link: it needs one", e.Name)
		case len(m.links) > 1 && r.first(item, fmt.Sprint("link ", m.linkAt[1])):
			r.add(spot{m.linkAt[1], r.links[m.links[1]].path},
				"endpoint %s has a second link; its first is given%s, and an endpoint has one",
				e.Name, inLine(m.linkAt[0]))
		}
	}
	for s, m := range each(r.s.Switches, r.switches) {
		if len(m.links) == 0 && r.first(m.view.chain[0], "link") {
			r.add(m.spot, "switch %s has no link", s.Name)
		}
	}
}

// checkSwitches refuses a switch that would forward before it has read a header.
func (r *resolver) checkSwitches() {
	for s, m := range each(r.s.Switches, r.switches) {
		if m.view.refused("forwarding-delay") || r.doubtful(s.Name) || s.Forwarding == StoreAndForward {
			continue
		}
		for _, i := range m.links {
			l := r.s.Links[i]
			header := l.Rate.Serialise(wire.HeaderSize)
			if l.Rate > 0 && s.ForwardingDelay < header {
				r.add(m.view.spot("forwarding-delay", m.spot),
					"switch %s would forward after %v, but the %d bytes of a header take %v on link %s (%v)",
					s.Name, s.ForwardingDelay, wire.HeaderSize, header, l.Name, l.Rate)
				break
			}
		}
	}
}

// checkPaths refuses flows without a path, and records the frames that cross each link.
func (r *resolver) checkPaths() {
	if r.broken || r.misled || len(r.list) > 0 && len(r.s.Links) == 0 {
		return
	}
	r.ways = PathTableOf(&r.s)
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
		if err == nil {
			continue
		}
		r.lost = true
		switch to := of.get("to"); {
		case len(r.machines[f.From].links) == 0 || len(r.machines[f.To].links) == 0: // reported for the endpoint
		case err != ErrRound && !r.firstApart(f.From, f.To): // reported for another flow
		case !r.first(of.node, "path"):
		case err == ErrRound:
			r.add(to.spot, "flow %s goes round and never arrives: the routes lead it past %s again and again",
				f.Name, r.allMachines()[at])
		default:
			r.add(to.spot, "flow %s has no path: no links lead from %s to %s", f.Name, f.From, f.To)
		}
	}
	r.checkBuffers()
	r.checkFull()
	r.checkPriorities()
	r.checkFeedback()
	r.checkRetries()
	r.checkChannels()
	r.checkMemories()
	r.checkAdapters()
	r.checkCuts()
	r.checkSettings()
	r.checkPoints()
	r.checkLaws()
	r.checkLimiters()
}

// firstApart reports whether two machines are the first from two parts of the fabric without links between them.
func (r *resolver) firstApart(from, to string) bool {
	if r.parts == nil {
		r.parts = make(map[string]string)
		for _, name := range r.allMachines() {
			r.spread(name, name)
		}
	}
	a, b := r.parts[from], r.parts[to]
	return r.first(r.root, "path "+min(a, b)+" "+max(a, b))
}

// spread enters a machine, and all that links join to it, into a part.
func (r *resolver) spread(name, part string) {
	for reached := []string{name}; len(reached) > 0; reached = reached[1:] {
		if r.parts[reached[0]] != "" {
			continue
		}
		r.parts[reached[0]] = part
		for _, i := range r.machines[reached[0]].links {
			reached = append(reached, r.s.Links[i].A, r.s.Links[i].B)
		}
	}
}

// key returns the key by which the ways of a flow are chosen.
func (r *resolver) key(of origin) Key {
	f := &r.s.Flows[of.index]
	return Key{Src: r.ways.Index[f.From], Dst: r.ways.Index[f.To], QP: uint32(of.index + FirstQP)}
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

// blocksOf returns the blocks of credit that a packet with a payload takes.
func blocksOf(payload unit.Size) int {
	return (&wire.Frame{Kind: wire.Data, Payload: uint32(payload)}).Blocks()
}

// checkBuffers refuses a buffer with no room for the largest packet that crosses the link.
func (r *resolver) checkBuffers() {
	for l, of := range each(r.s.Links, r.links) {
		n, f := of.view.node("buffer"), r.largest(of.index)
		if f == nil || l.Buffer.Bytes == 0 || n == nil {
			continue
		}
		need, have := blocksOf(f.Packet), int(l.Buffer.Bytes/wire.BlockSize)
		if have < need && r.first(n, "buffer") {
			r.add(n.spot,
				"the buffer of link %s holds no packet of flow %s: %v and %d bytes of headers and CRCs are %d blocks of %d bytes, %dB, and %v are %d blocks",
				l.Name, f.Name, f.Packet, wireOverhead, need, wire.BlockSize, need*wire.BlockSize, l.Buffer.Bytes, have)
		}
	}
}

// wireOverhead is the length of a packet on the wire without its payload.
const wireOverhead = wire.HeaderSize + wire.ICRCSize + wire.VCRCSize

// checkFull refuses a full-at above every buffer of the switch: it would never
// be reached.
func (r *resolver) checkFull() {
	for s, m := range each(r.s.Switches, r.switches) {
		n := m.view.sub("marking").node("full-at")
		full := cp.TraitsOf(s.Marking.Params).Full
		if n == nil || full == (unit.Room{}) || s.Kind != InputBuffered {
			continue
		}
		reached := false
		for _, i := range m.links {
			room := r.s.Links[i].Buffer
			payload := unit.Size(wire.MaxPayload)
			if f := r.largest(i); f != nil {
				payload = f.Packet
			}
			reached = reached || blocksIn(full, payload) <= blocksIn(room, payload)
		}
		if !reached && len(m.links) > 0 {
			r.add(n.spot, "full-at is more than any buffer of switch %s holds: it would never be reached", s.Name)
		}
	}
}

// blocksIn returns the blocks of a room for packets with a payload.
func blocksIn(b unit.Room, payload unit.Size) int {
	if b.Packets > 0 {
		return b.Packets * blocksOf(payload)
	}
	return int(b.Bytes / wire.BlockSize)
}

// maxWindows is the most windows that a run can have, in the smallest fabric. A larger fabric has more
// figures, and room for fewer windows (package metrics).
const maxWindows = 512 << 10

// checkWindow refuses a measuring window longer than the run, or shorter than a
// packet.
func (r *resolver) checkWindow(top view) {
	measure := top.sub("measure")
	n := measure.node("window")
	if n == nil {
		r.s.Measure.Window = r.s.usualWindow()
	}
	w, end := r.s.Measure.Window, r.s.Model.Duration
	if end == 0 || measure.refused("window") {
		return
	}
	at := spot{cmp.Or(n, r.root.get("model"), r.root).at, "measure.window"}
	if n == nil && r.cut.set != nil {
		at.at = r.cut
	}
	if w > end {
		r.add(at, "the window of %v does not fit: %s", w, r.runEnds())
	}
	if n := int64(end / w); w > 0 && n > maxWindows {
		r.add(at,
			"%v of model time are %d windows of %v, and at most %d can be kept: choose a shorter model.duration, or a wider window",
			end, n, w, maxWindows)
	}
	for _, f := range r.s.Flows {
		for _, i := range r.machines[f.From].links {
			l := r.s.Links[i]
			if t := l.Rate.Serialise(r.length(&f)); l.Rate > 0 && t > w {
				r.add(at, "the window of %v is shorter than one packet of flow %s, which takes %v on link %s",
					w, f.Name, t, l.Name)
				return
			}
		}
	}
}

// checkMetrics refuses checks whose metrics cannot be measured. It leaves out those that lack only a flow
// that a --set has left out.
func (r *resolver) checkMetrics(s *Scenario, check MetricChecker) {
	var kept []Check
	var left []string
	whole := *s
	whole.Flows = r.left.all
	for i, n := range r.checks {
		c := s.Expect[i]
		metric := n.sound("metric")
		if metric == nil || metric.value == nil {
			continue // refused already
		}
		if _, ofProgram := s.ProgramMetric(c.Metric); ofProgram {
			kept = append(kept, c)
			continue
		}
		err := check(c.Metric, s)
		if err != nil && len(r.left.flows) > 0 && check(c.Metric, &whole) == nil {
			left = append(left, c.ID)
			continue
		}
		kept = append(kept, c)
		at := metric.spot
		var misread interface{ Offset() int }
		if errors.As(err, &misread) && metric.text == c.Metric {
			at = r.inside(metric, misread.Offset())
		}
		var missing interface{ Unknown() string }
		if errors.As(err, &missing) {
			name := missing.Unknown()
			link, _, _ := strings.Cut(name, ".") // of which name is a direction
			if !r.reported[subject{r.root, "name " + link}] && r.firstMissing(name) {
				r.add(at, "%v", err)
			}
			continue
		}
		if err != nil {
			r.add(at, "%v", err)
		}
		r.checkDated(n)
	}
	for _, name := range s.Measure.Curves.Names() {
		if err := check(name+".rate", s); err != nil {
			r.add(r.root.get("measure").get("curves").spot, "curves: %v", err)
		}
	}
	if len(left) > 0 {
		s.Expect = kept
		r.warn(spot{r.cut, "model.duration"}, "checks of flows that start later are left out: %s", someOf(left))
	}
}
