package guest

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/netip"
	"os"
	"slices"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host"
	"fabemu/emu/host/netns"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	ports "fabemu/wire/port"
	"fabemu/wire/unit"
)

// Guests are the guests of a run.
type Guests struct {
	topology *netns.Topology // of the real ones
	fabric   *fabric.Fabric
	errors   pace.Histogram // of the delays of packets between real hosts, in ns of wall time
	all      []*guest       // in the order of the endpoints
	of       map[int]*guest // by node
	byIP     map[netip.Addr]int
	queues   map[*fabric.Flow]*queue
	sinks    map[*fabric.Flow]*sink
	failed   error           // of a device, in the middle of a call that returns none
	warned   map[string]bool // subjects of warnings
	warnings []string
	clock    func() int64 // of the wall, in ns
	now      int64        // its last reading
	begun    int64        // its reading at model time 0
	seed     maphash.Seed // for transits
	headers  headers      // of the pending packet
	keeping  []*sink      // sinks that keep packets back
	times    []KernelTime // at a dilation above 1
	real     []*guest     // that have devices, as in topology
	poll     *netns.Poll  // of these devices
	at       unit.Time    // model time, as far as it is known here
	programs *Programs
	scratch  string            // folder for the output of programs where the caller has none; empty: it has one
	learned  map[wire.MAC]int  // the node behind which a hardware address is that is not the fabric's
	given    map[wire.MAC]bool // the addresses of guests, which no other guest can take over
	bridged  bool              // some guest has such addresses: a frame to one that is not learned goes to all
	events   []Event
	looked   int64 // when the devices were last looked at for changes, in ns of clock
}

// guest is one host.
type guest struct {
	device  port
	card    *card  // the device of a real one
	ready   bool   // there may be packets in it
	stack   Stack  // the device of a guest in this program; nil: it is real
	space   string // path of the namespace of a real one
	scene   scenario.Guest
	name    string
	node    int
	mac     wire.MAC
	flows   []*queue // to other guests, in the order of the scenario
	others  []*queue // the first flow to each other guest, in the order of the flows
	buf     []byte
	pending wire.Body // the packet that was read last, until it has found room; type 0: none
	to      []*queue  // queues that it still has to enter
	offers  bool      // a flow has a packet of which its endpoint has no notice yet
	gone    bool      // its device is no more
	nic     *adapter  // nil: none
	count   Counts
}

// port is a netns.Device, a Stack, or a test's substitute.
type port interface {
	Read(b []byte) (int, error)
	Write(b []byte) (bool, error)
	Dropped() (sent, received uint64, err error)
}

// Open makes the namespaces of the guests of a fabric, whose run has an id, and prepares their
// programs. The output of programs goes into a folder of a directory; for an empty directory,
// into one that Close removes. An interface with the default route is a guest only with yes. The
// user can correct a *errs.Mistake. newStack makes guests of kind netstack; without it a fabric
// with one is an error. Open returns nil for a fabric without guests; Attach, Join, Begin and Close
// of nil do nothing.
func Open(ctx context.Context, f *fabric.Fabric, run uint32, directory string, yes bool, newStack NewStack) (*Guests, error) {
	if all, _ := f.Scenario.Guests(); all == 0 {
		return nil, nil
	}
	if err := CheckLacking(f.Scenario); err != nil {
		return nil, err
	}
	g := layOut(f)
	if err := g.makeReal(ctx, run, yes); err != nil {
		return nil, err
	}
	if err := g.makeStacks(newStack); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	var err error
	if directory == "" {
		if g.scratch, err = os.MkdirTemp("", "fabemu-"); err != nil {
			return nil, errors.Join(err, g.Close())
		}
		directory = g.scratch
	}
	if g.programs, err = g.openPrograms(directory); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// makeReal makes the namespaces and the devices of real hosts.
func (g *Guests) makeReal(ctx context.Context, run uint32, yes bool) error {
	if g.real == nil {
		return nil
	}
	if err := checkTCP(g.fabric.Scenario, kernelTCP()); err != nil {
		return err
	}
	plan := netns.Plan{Run: run, YesThisOne: yes}
	minRTO, parameters := g.dilate()
	for i, x := range g.real {
		plan.Nodes = append(plan.Nodes, x.name)
		at, err := findPlace(ctx, x)
		if err != nil {
			return err
		}
		n := netns.Guest{
			Node: i, At: at, Card: cmp.Or(x.scene.Interface, x.scene.VM), Virtual: x.scene.VM != "", Interface: x.scene.Device,
			Ethernet: x.scene.Kind == scenario.Tap, IPv6: x.scene.IPv6.Prefix, MinRTO: minRTO,
			MTU: int(x.scene.MTU), Queue: x.scene.Queue,
		}
		if !x.scene.Address.None() {
			n.Address = x.scene.Address.Prefix
		}
		for k := range n.Hardware {
			n.Hardware[k] = byte(x.mac >> (40 - 8*k))
		}
		if !x.scene.Attached() {
			n.Parameters = maps.Clone(parameters)
		}
		if x.scene.TCP != "" {
			n.Parameters["net.ipv4.tcp_congestion_control"] = x.scene.TCP
		}
		for _, other := range g.all {
			reached := func(q *queue) bool { return q.to == other.node }
			if x.scene.Attached() && !slices.ContainsFunc(x.others, reached) { // its other routes are its own
				continue
			}
			for k, own := range []scenario.Address{x.scene.Address, x.scene.IPv6} {
				its := []scenario.Address{other.scene.Address, other.scene.IPv6}[k]
				if a := its.Addr(); other != x && !its.None() && (minRTO > 0 || !own.Contains(a)) {
					n.Others = append(n.Others, netip.PrefixFrom(a, a.BitLen()))
				}
			}
		}
		plan.Guests = append(plan.Guests, n)
	}
	var err error
	if g.topology, err = netns.Build(ctx, plan); err != nil {
		return errs.Errorf("the scenario has guests, which are real hosts: %w", err)
	}
	for i, d := range g.topology.Devices {
		x := g.real[i]
		x.card, x.space = newCard(d, x.scene.Kind == scenario.Tap, func() int64 { return g.now }), d.Namespace
		x.device = x.card
	}
	if g.poll, err = netns.NewPoll(g.topology.Devices); err != nil {
		return errors.Join(err, g.topology.Close())
	}
	return nil
}

// makeStacks makes the guests with a stack in this program. Each draws its own random numbers
// from the scenario's seed.
func (g *Guests) makeStacks(newStack NewStack) (err error) {
	for _, x := range g.all {
		if x.scene.Kind.Real() {
			continue
		}
		if newStack == nil {
			return errs.Errorf("endpoint %s is a guest of kind %s, which this program cannot make: set emu.Options.NewStack, to netstack.New of emu/run/guest/netstack for example", x.name, x.scene.Kind)
		}
		x.stack, err = newStack(StackConfig{
			Address: x.scene.Address.Prefix, MTU: int(x.scene.MTU), Queue: x.scene.Queue, TCP: x.scene.TCP,
			Seed: g.fabric.Scenario.Model.Seed + uint64(x.node)<<32,
		})
		if err != nil {
			return err
		}
		x.device = x.stack
	}
	return nil
}

// Join connects the flows between guests to their packets. Other flows keep the sources and sinks
// of s.
func (g *Guests) Join(s *assemble.Schemes) {
	if g == nil {
		return
	}
	source, sink, reaction := s.BodySource, s.BodySink, s.Reaction
	s.Reaction = func(f *fabric.Flow, line unit.Rate) rp.Reaction {
		if l := g.adapted(f); l != nil { // its queue pairs have their own
			l.line = line
			return rp.Reaction{Controller: rp.NewFixed(line)}
		}
		if reaction != nil {
			return reaction(f, line)
		}
		return rp.Reaction{}
	}
	s.BodySource = func(f *fabric.Flow) node.BodySource {
		if own := g.Source(f); own != nil || source == nil {
			return own
		}
		return source(f)
	}
	s.BodySink = func(f *fabric.Flow) node.BodySink {
		if own := g.Sink(f); own != nil || sink == nil {
			return own
		}
		return sink(f)
	}
}

// Attach sets the guests as the driver's Outside if some are real hosts.
func (g *Guests) Attach(f *drive.Setup) {
	if g != nil && g.real != nil {
		f.Outside = g
	}
}

// Begin starts the programs, each at its time: model time 0 is now.
func (g *Guests) Begin() {
	if g != nil {
		g.begun = g.clock()
		g.programs.begin()
	}
}

// Stop kills the programs that still run, and returns them.
func (g *Guests) Stop() *Programs {
	g.programs.stop()
	return g.programs
}

// layOut returns the guests of a fabric, without devices.
func layOut(f *fabric.Fabric) *Guests {
	began := time.Now()
	g := &Guests{clock: func() int64 { return int64(time.Since(began)) }, seed: maphash.MakeSeed(), fabric: f, errors: pace.NewHistogram(100_000_000_000),
		of: map[int]*guest{}, queues: map[*fabric.Flow]*queue{}, sinks: map[*fabric.Flow]*sink{},
		warned: map[string]bool{}, byIP: map[netip.Addr]int{}, learned: map[wire.MAC]int{}, given: map[wire.MAC]bool{}}
	for i := range f.Nodes {
		m := &f.Nodes[i]
		if m.Endpoint == nil || m.Endpoint.Guest.Kind == "" {
			continue
		}
		x := &guest{
			scene: m.Endpoint.Guest, name: m.Name, node: i, mac: cmp.Or(m.Endpoint.Guest.MAC.MAC, m.LID.MAC()), buf: make([]byte, wire.MaxFrameSize),
		}
		for _, a := range []scenario.Address{x.scene.Address, x.scene.IPv6} {
			if !a.None() {
				g.byIP[a.Addr()] = i
			}
		}
		g.bridged = g.bridged || x.scene.Bridged() || x.scene.MAC.MAC != 0
		if x.scene.MAC.MAC != 0 {
			g.learned[x.mac] = i
		}
		g.all, g.given[x.mac] = append(g.all, x), true
		if x.scene.Kind.Real() {
			g.real = append(g.real, x)
		}
		g.of[i] = x
	}
	flows := map[*queue]*fabric.Flow{}
	for i := range f.Flows {
		flow := &f.Flows[i]
		from, to := g.of[flow.Src], g.of[flow.Dst]
		if from == nil || to == nil {
			continue
		}
		q := &queue{guests: g, guest: from, name: flow.Name, to: flow.Dst, priority: flow.Priority,
			family: f.Frame(flow).Family, packet: uint32(flow.Packet)}
		g.queues[flow] = q
		if from.scene.Kind.Real() && to.scene.Kind.Real() {
			q.under = &transit{guests: g}
		}
		g.sinks[flow] = &sink{guests: g, to: to, from: from.mac, under: q.under, flow: flow}
		flows[q] = flow
		if !slices.ContainsFunc(from.flows, func(f *queue) bool { return f.to == q.to }) {
			from.others = append(from.others, q)
		}
		from.flows = append(from.flows, q)
	}
	for _, x := range g.all {
		if x.scene.Adapter != "" {
			x.nic = newAdapter(x, flows)
		}
	}
	return g
}

// Source returns the source of the bodies of a flow; nil for a flow that is not between guests.
func (g *Guests) Source(f *fabric.Flow) node.BodySource {
	switch q := g.queues[f]; {
	case q == nil:
		return nil
	case q.lane != nil:
		return q.lane
	case q.guest.stack != nil:
		return &timed{q}
	default:
		return q
	}
}

// Sink returns the destination of the bodies of a flow, or nil.
func (g *Guests) Sink(f *fabric.Flow) node.BodySink {
	if s := g.sinks[f]; s != nil {
		return s
	}
	return nil
}

// Look sends guests the packets that were kept back and are due, and reads the devices, as far as
// the flows have room.
func (g *Guests) Look(offer func(node int, p ports.ID, c ports.Change) unit.Time) error {
	g.now = g.clock()
	g.watch()
	if len(g.keeping) > 0 {
		g.keeping = slices.DeleteFunc(g.keeping, func(s *sink) bool { return !s.release(g.now) })
	}
	g.find(0)
	for _, x := range g.real {
		if err := g.readReady(x); err != nil {
			return err
		}
		if x.offers {
			x.offers = false
			offer(x.node, 0, ports.Offer{})
		}
	}
	err := g.failed
	g.failed = nil
	return err
}

// find finds the guests that have sent packets, after the first of them or after this much wall
// time.
func (g *Guests) find(most time.Duration) {
	if g.poll != nil {
		g.poll.Wait(most, func(device int) { g.real[device].ready = true })
	}
}

// readReady reads the device of a real guest if there may be packets in it, and writes the packets
// to it that were kept for long enough.
func (g *Guests) readReady(x *guest) error {
	if x.ready || g.poll == nil {
		if err := g.read(x, nil); err != nil {
			return err
		}
	}
	if x.card == nil || x.gone {
		return nil
	}
	refused, err := x.card.flush(g.now)
	x.count.Received -= refused
	x.count.NotTaken += refused
	return err
}

// mostAtOnce is how many packets are read of a guest with an adapter before others have their turn.
const mostAtOnce = 256

// read reads a device, as far as the flows have room. The endpoint finds packets in the queue asked
// without an offer.
func (g *Guests) read(x *guest, asked *queue) error {
	for some := 0; x.pending.Type == 0 && !x.gone; some++ {
		if some == mostAtOnce && x.nic != nil && x.stack == nil {
			return nil // it is still ready
		}
		n, err := x.device.Read(x.buf)
		if errors.Is(err, netns.ErrGone) {
			g.lose(x)
			return nil
		}
		if n == 0 || err != nil {
			x.ready = false
			return err
		}
		x.count.Sent++
		g.sort(x, x.buf[:n])
		x.place(asked)
	}
	x.ready = !x.gone
	return nil
}

// sort takes a pending packet and finds its flows. It counts a packet without a flow, and leaves
// none pending then.
func (g *Guests) sort(x *guest, packet []byte) {
	var dst int
	known, all := false, false
	x.to = x.to[:0]
	if x.scene.Kind == scenario.Tap {
		if len(packet) < ethernetSize {
			x.count.NotIP++
			return
		}
		g.headers.read(packet, true)
		g.damaged(x)
		to, kind := macAt(packet), binary.BigEndian.Uint16(packet[12:])
		lid, ours := to.LID()
		dst, all = int(lid)-1, to>>40&1 == 1
		known = ours && g.of[dst] != nil
		x.pending = wire.Body{Type: wholeFrame, Bytes: packet}
		if known && macAt(packet[6:]) == x.mac && kind >= wire.LeastBodyType && kind != wholeFrame {
			x.pending = wire.Body{Type: kind, Bytes: packet[ethernetSize:]}
		}
		if g.bridged { // such a frame keeps its addresses
			if at, learned := g.learned[to]; learned && !known {
				dst, known = at, true
			}
			all = all || !known
		}
	} else {
		if !g.headers.read(packet, false) {
			if !g.damaged(x) {
				x.count.NotIP++
			}
			return
		}
		to := g.headers.to
		dst, known = g.byIP[to]
		all = to.Is6() && to.IsMulticast()
		x.pending = wire.Body{Type: g.headers.kind, Bytes: packet}
	}
	switch {
	case x.scene.Strict && g.spoofed(x, packet):
		x.pending.Type = 0
		return
	case g.bridged && x.scene.Kind == scenario.Tap:
		g.learn(x, macAt(packet[6:]))
	}
	switch {
	case all:
		x.to = append(x.to, x.others...)
	case known:
		priority, listed := x.scene.DSCP.Priority(g.headers.code)
		takes := func(q *queue) bool { return q.to == dst && (!listed || q.priority == priority) }
		if i := slices.IndexFunc(x.flows, takes); i >= 0 {
			x.to = append(x.to, x.flows[i])
		}
	}
	if len(x.to) == 0 {
		x.pending.Type = 0
		g.noFlow(x, packet, all)
		return
	}
	for _, q := range x.to {
		if !q.family.Carries(q.packet, x.pending) {
			x.pending.Type = 0
			x.count.TooLong++
			g.warnOnce("too-long."+x.name,
				"guest %s has sent packets of %d bytes and more, and flow %s has room for %d: they are dropped",
				x.name, len(packet), q.name, q.family.BodyRoom(q.packet))
			return
		}
	}
}

// damaged reports whether the header of IP of the pending packet is damaged, and counts it: it
// chooses no flow.
func (g *Guests) damaged(x *guest) bool {
	if !g.headers.damaged {
		return false
	}
	x.count.Damaged++
	g.warnOnce("damaged."+x.name, "guest %s has sent packets with a wrong checksum or length in their header of IP%s", x.name,
		map[bool]string{true: ": they are dropped"}[x.scene.Kind == scenario.Tun])
	return true
}

// noFlow counts a packet without a flow, and answers it.
func (g *Guests) noFlow(x *guest, packet []byte, all bool) {
	if all && len(x.others) == 0 {
		return // a broadcast without receivers
	}
	x.count.NoFlow++
	g.warnOnce("no-flow."+x.name,
		"guest %s has sent packets that no flow of the scenario takes, the first to %s: they are dropped%s",
		x.name, g.whither(x),
		map[bool]string{true: ", and answered by ICMP, destination unreachable"}[x.scene.Kind == scenario.Tun])
	if x.scene.Kind == scenario.Tun {
		if answer := unreachable(packet); answer != nil {
			g.write(x, answer)
		}
	}
}

// place puts the pending packet, if there is one, into its queues, as far as they have room; asked
// as in read.
func (x *guest) place(asked *queue) {
	if x.pending.Type == 0 {
		return
	}
	full := x.to[:0]
	for _, q := range x.to {
		if q.lane != nil {
			q.lane.push(x.pending)
			x.offers = true
			continue
		}
		if q.count == queueRoom {
			full = append(full, q)
			continue
		}
		x.offers = x.offers || q.count == 0 && q != asked
		q.push(x.pending)
	}
	if x.to = full; len(full) == 0 {
		x.pending.Type = 0
	}
}

// Wait returns when a device without a pending packet can be read, or after this much wall time.
// With 0 it gives this processor away, if a program of a guest waits for it: the loop has a higher
// priority, and does not sleep.
func (g *Guests) Wait(most time.Duration) {
	if most == 0 {
		host.GiveWay()
		return
	}
	for _, s := range g.keeping {
		most = min(most, max(0, time.Duration(s.kept[0].at-g.clock())))
	}
	for _, x := range g.real {
		if x.card != nil {
			if since, any := x.card.join.Oldest(); any {
				most = min(most, time.Duration(max(0, since+x.card.join.Hold-g.clock())))
			}
		}
		if x.ready && x.pending.Type == 0 && !x.gone {
			return
		}
	}
	g.find(most)
}

// late returns by how much wall time, in ns, a model time lies in the past.
func (g *Guests) late(model unit.Time) int64 {
	return g.now - g.begun - int64(model/unit.Time(unit.Nanosecond))*g.fabric.Scenario.Wall.Dilation
}

// write sends a guest a packet. It keeps an error for the next Look.
func (g *Guests) write(x *guest, packet []byte) {
	if x.gone {
		x.count.NotTaken++
		return
	}
	taken, err := x.device.Write(packet)
	switch {
	case err != nil:
		g.failed = errors.Join(g.failed, err)
	case taken:
		x.count.Received++
	default:
		x.count.NotTaken++
	}
}

// warnOnce warns of a subject the first time.
func (g *Guests) warnOnce(subject, format string, args ...any) {
	if !g.warned[subject] {
		g.warned[subject] = true
		g.warnings = append(g.warnings, fmt.Sprintf(format, args...))
	}
}

// Close ends the programs and removes the namespaces. The error names all that stays. Closing
// twice does no harm.
func (g *Guests) Close() error {
	if g == nil {
		return nil
	}
	if g.programs != nil {
		g.programs.stop()
	}
	if g.scratch != "" {
		_ = os.RemoveAll(g.scratch) // made here, for this run
	}
	for _, x := range g.all {
		if x.stack != nil {
			x.stack.Close()
		}
	}
	if g.topology == nil {
		return nil
	}
	if g.poll != nil {
		_ = g.poll.Close()
		g.poll = nil
	}
	return g.topology.Close()
}
