package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Scenario is a fabric and its traffic, events and checks, with every default filled
// in and every name expanded. Load returns it, and emu.Run takes it. Its tags, and the tags
// of the types within it, are the language (package param).
type Scenario struct {
	// Name of the scenario: words of letters, digits, "_", "-" and ".", joined by "/".
	Name        string   `key:"name" form:"scenario" need:"given"`
	Source      string   `key:"source" form:"text" also:"reference|paper" doc:"Where the scenario comes from: document and figure."`
	Description string   `key:"description" form:"text" also:"summary|comment" doc:"The subject of the scenario, in one line."`
	Model       Model    `key:"model" need:"given" doc:"How long the fabric runs, and from which seed."`
	Wall        Wall     `key:"wall" also:"real|clock" doc:"How model time follows the wall clock."`
	_           struct{} `key:"defaults" form:"defaults" doc:"Fields of all links, switches, endpoints and flows that do not set them."`
	// The switches, by name or by a range of names, each with the fields that differ from defaults.switch.
	Switches []Switch `key:"switches" form:"switches"`
	// The endpoints, each a name or a range of names, or a mapping with the fields that differ from defaults.endpoint.
	Endpoints []Endpoint `key:"endpoints" need:"given" least:"1" named:"name" short:"name" values:"a list of names and ranges of names, such as [\"A[1-10]\", BC]" also:"hosts|nodes"`
	// The links, each a text "X - Y" or a mapping with the fields that differ from defaults.link.
	Links []Link `key:"links" need:"given" least:"1" named:"name" short:"between" values:"a list of links, such as \"A[1-10] - A\" or {name: trunk, between: A - B}"`
	// The flows: traffic from one endpoint to another, each with its own rate limiter.
	Flows []Flow `key:"flows" named:"name" values:"a list of flows, such as {name: local, from: \"B[1-10]\", to: BC}"` // in the order of the file, one for each sender of a range
	// Transfers among the endpoints of a group, without a flow for each pair.
	Workloads []Workload `key:"workload" named:"name" values:"a list of workloads, such as {name: web, over: \"h[1-64]\", size: {cdf: web-search}, load: 0.5}" also:"workloads"`
	// Which of the shortest paths frames take, and whether they find others when a link goes down; routing: ecmp is short
	// for routing: {paths: ecmp}.
	Routing Routing `key:"routing" short:"paths" values:"shortest, ecmp, or a mapping with paths and recompute"`
	// Exceptions from the shortest path: at a switch, over which link to which endpoints.
	Routes []Route `key:"routes" values:"a list of routes, such as {at: S, to: \"B[1-10]\", over: trunk}"`
	// Changes of the fabric at given times: of a link its rate or state, or a fault; of an endpoint its service rate, a
	// pause storm or another fault; of a switch a restart, its watermarks or its watchdog.
	Events []Event `key:"events" values:"a list of events, such as {at: 2s, link: trunk, rate: 0.5Gb/s}"`
	// Faults: events that happen at 0s unless they have a time. With link: "*" all links have the fault. A fault with a
	// name can be addressed by --set.
	_ struct{} `key:"faults" form:"faults" named:"name" values:"a list of faults, such as {link: trunk, loss: 0.001}"`
	// Commands that run in guests.
	Programs []Program `key:"programs" named:"name" values:"a list of programs, such as {at: 1s, on: h1, run: iperf3 -c h2}" also:"commands"`
	Measure  Measure   `key:"measure" doc:"How results are taken."`
	// Claims and the ranges in which they hold.
	Expect []Check `key:"expect" named:"id" values:"a list of checks, such as {id: C1, metric: victim.utilisation, during: [42ms, 60ms], low: 0.7, high: 1}" also:"checks|assert|claims"`
	// How a short run of the scenario (fabemu run --short) differs from it: for the wall clock, on which all of it would
	// take too long.
	_ struct{} `key:"short" form:"short" also:"quick"`
	// Version of this language. A file without it is of version 1. A program refuses a newer version than its own.
	Language int `key:"language" def:"1" low:"1" high:"1"`

	// The fields below are not parts of the language.

	// HasShort is true if the file has a short run of the scenario, which Load returns with Short.
	HasShort bool
	// Endless is true if the user ends the run: Duration is only an upper bound, and the whole run is one phase.
	Endless bool
	// Open is true if events may come during the run, such as a link that goes down (Happen).
	Open bool

	// Schemes has the tables that the scenario chooses from; nil: BuiltIn.
	Schemes *Schemes

	// Warnings are Load's warnings of values that are right but probably not intended, by position.
	Warnings []Warning

	loaded *loaded // results of Load
}

// loaded is a scenario as it was loaded.
type loaded struct {
	scenario Scenario // with lists of its own
	ways     *PathTable
	programs []Error // with the places of the commands of programs
	derived  []Threshold
}

// newLoaded returns a copy of a scenario with its ways.
func newLoaded(s *Scenario, w *PathTable) *loaded {
	l := &loaded{scenario: *s, ways: w}
	c := &l.scenario
	c.Switches, c.Endpoints, c.Links, c.Flows = slices.Clone(s.Switches), slices.Clone(s.Endpoints),
		slices.Clone(s.Links), slices.Clone(s.Flows)
	c.Routes, c.Events, c.Expect = slices.Clone(s.Routes), slices.Clone(s.Events), slices.Clone(s.Expect)
	c.Programs, c.Workloads = slices.Clone(s.Programs), slices.Clone(s.Workloads)
	return l
}

// is reports whether s is still the scenario that was loaded.
func (l *loaded) is(s *Scenario) bool { return l != nil && differs(&l.scenario, s) == "" }

// Model is how long the fabric runs, in model time, and from which seed.
type Model struct {
	// How long the fabric runs, in model time; above zero.
	Duration unit.Duration `key:"duration" need:"given" low:"above 0s" also:"length|time|stop"`
	Seed     uint64        `key:"seed" form:"natural" def:"1" doc:"Seed of all random draws. The same seed gives the same run."`
	// The priority of packets of RoCEv2 by their DSCP. A DSCP that is not listed has the priority in its first three bits,
	// DSCP / 8, which are the class selector (RFC 2474, section 4.2.2).
	DSCP DSCP `key:"dscp" form:"dscp" omit:"usual" also:"dscp-to-priority|dscp2prio"`
	// Which length of a frame paces a line: paper counts 20 bytes of header for data and for an ACK and nothing for flow
	// control; wire counts the bytes that are sent.
	// Source: HPL-2002-224, Table I
	Framing wire.Framing `key:"framing" def:"paper"`
}

// Wall is how model time follows the wall clock.
type Wall struct {
	// How many times slower than model time the wall clock runs; a whole factor of 1 or more.
	Dilation int64 `key:"dilation" def:"200" low:"1" high:"2147483648" also:"slowdown|scale|factor"`
	// First UDP port of the fabric, two to a link; 0 lets the kernel choose.
	UDPPort int `key:"udp-port" def:"0" low:"0" high:"65535" also:"port"`
	// Receive buffer to ask the kernel for, for each socket; at least one datagram of the largest packet (4096 + 26 bytes)
	// with its trailer (64 bytes).
	Buffer unit.Size `key:"socket-buffer" def:"128KiB" low:"4186B" also:"buffer|rcvbuf"`
}

// Switch is a switch: where frames wait in it, and how it marks. The fields of the other kind
// are zero.
type Switch struct {
	Name string
	// Where frames wait: at the port of their arrival, on links with credit; or in queues of their outputs in a memory
	// that all ports share, on links of Ethernet.
	Kind SwitchKind `key:"kind" def:"input-buffered"`
	// From the first bit in to the first bit out, at the least; with forwarding: store-and-forward from the last bit in.
	// No less than the 20 bytes of the header take on any link of a switch that cuts through, and at least 1ns.
	// Source: HPL-2002-224, Table I
	ForwardingDelay unit.Duration `key:"forwarding-delay" def:"40ns" low:"1ns" also:"delay|latency"`
	// Whether an input buffer may feed several outputs at once (multi-output, the model M1) or one (single-output, the
	// model M2).
	Crossbar Crossbar `key:"crossbar" def:"multi-output" with:"kind=input-buffered"`
	// How often younger frames may overtake one whose input is busy; counts with single-output only.
	// Source: HPL-2002-224, Table I: "max bypass: 4"
	Bypass  int     `key:"bypass" def:"4" low:"0" high:"1048576" with:"kind=input-buffered" counts:"crossbar=single-output"`
	Marking Marking `key:"marking" form:"marking" doc:"How the switch signals congestion."`
	// When a frame may leave: after all of it has arrived, or after its header has. An input-buffered switch cuts through.
	Forwarding Forwarding `key:"forwarding" computed:"store-and-forward with output-queued, cut-through with input-buffered" with:"kind=output-queued"`
	// output-queued: room for frames, of the whole switch or for each of its ports.
	Memory Memory `key:"memory" form:"memory" def:"300KB per port" low:"1B" with:"kind=output-queued" also:"buffer"`
	// output-queued: whether each input has an equal part of the memory to itself, or all take from one pool.
	Sharing Sharing `key:"sharing" def:"partitioned" with:"kind=output-queued"`
	// output-queued: how many bytes may wait for one output; a frame beyond is dropped. The limit applies to frames
	// without flow control: with pfc to priorities that are not lossless. With pause it is refused, unless lossless is [].
	OutputLimit unit.Size `key:"output-limit" def:"none" none:"none" low:"1B" with:"kind=output-queued"`
	// output-queued: an input whose frames take this much stops its peer, with pfc for each priority by itself. auto is
	// the part of an input, the whole memory over the number of ports, less the headroom; with pfc this is divided among
	// the priorities that come in, including the priority of notifications.
	High unit.Size `key:"high" def:"auto" none:"auto" low:"1B" with:"kind=output-queued" also:"high-watermark|xoff"`
	// output-queued: at this much the peer may go on; below high. auto is two of the largest frames below high, and at
	// least half of it.
	Low unit.Size `key:"low" def:"auto" none:"auto" at:"-1" low:"0B" with:"kind=output-queued" also:"low-watermark|xon"`
	// output-queued: the part of the headroom of a lossless link that must be free above high. At 1 a switch that could
	// lose a frame is refused, with the arithmetic; less takes the risk, with a warning.
	// Source: IEEE 802.1Qbb, annex O: the bytes that may still arrive after a PAUSE was due
	Headroom float64 `key:"headroom" def:"1" low:"0" high:"100" with:"kind=output-queued" values:"a factor such as 1"`
	// output-queued, with pfc: a watchdog of PFC storms at each queue of a lossless priority. A scenario without one lets
	// a storm, or a deadlock, last.
	Watchdog Watchdog `key:"watchdog" short:"action" omit:"usual" with:"kind=output-queued" values:"drop, forward, alert, or a mapping with action, detection, restoration, poll, strict" also:"pfcwd|pfc-watchdog"`
	// output-queued: with pfc, the priorities that are stopped; the others are dropped when there is no room. With pause,
	// all, or [] for a switch that stops no sender, and drops frames that have no room.
	Lossless Priorities `key:"lossless" form:"priorities" computed:"all" with:"kind=output-queued"`
	// output-queued: weights of priorities at each output, enhanced transmission selection. Listed priorities share the
	// line in bytes by deficit round robin, as far as they have frames to send; the others are strict and go before them,
	// the higher first. Endpoints send by strict priority.
	// Source: IEEE 802.1Q, clause 37 (802.1Qaz)
	ETS Weights `key:"ets" form:"weights" computed:"none: all priorities are strict" with:"kind=output-queued" omit:"usual" also:"weights|scheduling|wrr|drr"`
}

// Watchdog is the PFC watchdog of a switch.
type Watchdog struct{ switchd.Watchdog }

// String prints a watchdog as a mapping.
func (w Watchdog) String() string { return "{" + fieldsOf(param.Of(w), w, ", ") + "}" }

// Complete fills in fields of output-queued switches.
func (s *Switch) Complete(given func(key string) bool) {
	param.Fill(&s.Forwarding, StoreAndForward, given("forwarding"))
	param.Fill(&s.Lossless, AllPriorities, given("lossless"))
}

// Memory is the room of an output-queued switch.
type Memory struct {
	Bytes   unit.Size
	PerPort bool // for each port; else of the whole switch
}

// Total returns the room of a switch with so many ports.
func (m Memory) Total(ports int) unit.Size {
	if m.PerPort {
		return m.Bytes * unit.Size(ports)
	}
	return m.Bytes
}

// String prints m so that it reads back: "300KB per port", "2MB".
func (m Memory) String() string {
	if m.PerPort {
		return m.Bytes.String() + " per port"
	}
	return m.Bytes.String()
}

// Priorities is a set of priorities, a bit each.
type Priorities uint8

// AllPriorities is the set of all priorities.
const AllPriorities Priorities = 0xFF

// String prints a set as a list.
func (p Priorities) String() string {
	var all []string
	for class := range 8 {
		if p>>class&1 == 1 {
			all = append(all, strconv.Itoa(class))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Weights has the weight of each priority; 0: strict, before all that have a weight.
type Weights [8]int

// weight is the weight of one priority.
type weight struct {
	Priority uint8 `key:"priority" need:"given" low:"0" high:"7" also:"class|pcp" doc:"The priority that has a weight."`
	// Its share of the line, relative to the weights of the others that have frames to send.
	Weight int `key:"weight" need:"given" low:"1" high:"1000" also:"share|percent|bandwidth"`
}

// String prints the weights as a list.
func (w Weights) String() string {
	var all []string
	for priority, weight := range w {
		if weight > 0 {
			all = append(all, fmt.Sprintf("{priority: %d, weight: %d}", priority, weight))
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// Endpoint is an endpoint and its adapter. On InfiniBand all fields but its name, its guest and a limited service
// are zero.
type Endpoint struct {
	Name string `key:"name" form:"names" need:"given" own:"true" doc:"Name of the endpoint, or a range of names."`
	// On Ethernet: room for packets that were offered and have not left yet, of all flows of the endpoint. Further packets
	// are dropped at the endpoint and counted; greedy and paced flows and transfers wait for room instead. Flows to one
	// destination share a queue, and the queues take turns.
	Egress unit.Size `key:"egress" def:"unlimited" none:"unlimited" low:"1B" also:"egress-buffer"`
	// On Ethernet: room for frames that have arrived and were not taken out yet.
	Ingress unit.Size `key:"ingress" def:"300KB" none:"unlimited" low:"1B" also:"buffer|ingress-buffer"`
	// On Ethernet: when this much of ingress is taken the endpoint stops its peer. auto is ingress less the headroom.
	High unit.Size `key:"high" def:"auto" none:"auto" low:"1B" also:"high-watermark|xoff"`
	// On Ethernet: at this much the peer may go on; below high. auto is two of the largest frames below high, and at least
	// half of it.
	Low unit.Size `key:"low" def:"auto" none:"auto" at:"-1" low:"0B" also:"low-watermark|xon"`
	// How fast frames are taken out of ingress, on InfiniBand out of the receive buffer of the link, whose credit they
	// hold until then; unlimited takes each frame at once.
	Service unit.Rate `key:"service" def:"unlimited" none:"unlimited" at:"9223372036854775807" also:"service-rate|rate"`

	// On Ethernet: how many rate limiters the adapter has. A flow with a rate-limit has one; others take one with the
	// first notification of congestion, and give it back when the rate is back at the rate of the line. A notification for
	// a flow that finds none is dropped and counted as no-limiter: the flow goes on as it is.
	Limiters int `key:"limiters" def:"unlimited" none:"unlimited" low:"1" high:"1000000" also:"rate-limiters"`

	// The endpoint is a host. tun and tap: a real one, on the wall clock, a network namespace of its own, in which
	// programs run, whose device leads into the fabric; it needs root. netstack: gVisor's TCP in this program, on either
	// clock, the same each time. Its packets to another guest travel in the bodies of the packets of the scenario's flow
	// between the two, in place of traffic. See docs/guide/guests.md.
	Guest Guest `key:"guest" short:"kind" omit:"usual" values:"tun, tap, netstack, or a mapping with kind, address, mtu, queue, tcp, dscp; netns, pid, container, interface or vm for a guest that is there"`
}

// Unlimited is a rate of service that takes each frame at once.
const Unlimited unit.Rate = math.MaxInt64

// auto stands for a computed low watermark; a computed high one is zero.
const auto unit.Size = -1

// Marking is the scheme by which a switch marks frames or notifies sources.
type Marking struct {
	Scheme string // NoScheme, or the name of a row of cp.Points
	Params any    // of the type of that row's Params; nil without a scheme
}

// NoScheme is the marking of a switch that marks nothing.
const NoScheme = rp.NoPoint

// String prints a marking as a mapping.
func (m Marking) String() string { return "{scheme: " + m.Scheme + paramsOf(m.Params) + "}" }

// Link is a link between two machines. Both directions are alike.
type Link struct {
	// Name of the link, for events, metrics and --set. A link of a range has none.
	Name string `key:"name" form:"name" own:"true" computed:"its two ends, \"A - B\""`
	// The two machines that the link joins. A range on one side makes a link for each member; ranges of the same length on
	// both sides go pairwise, and if one is longer, each member of the other has as many of it in turn. "A[1-4] x B[1-2]"
	// joins each to each.
	_    struct{}  `key:"between" form:"joint" need:"given" own:"true" also:"endpoints|nodes|ends"`
	A, B string    // names of switches or endpoints
	Rate unit.Rate `key:"rate" need:"inherited" also:"bandwidth|speed|capacity" doc:"Rate of each direction; above zero."`
	// Time on the way; at least 1ns, since no latency in a model is zero.
	Propagation unit.Duration `key:"propagation" def:"1ns" low:"1ns" also:"delay|latency"`
	// How a receiver keeps the sender from overrunning it. credit is InfiniBand's: absolute counters of 64-byte blocks.
	// The others make the link one of Ethernet: pause stops all frames (IEEE 802.3, annex 31B), pfc each priority by
	// itself (IEEE 802.1Qbb), and none stops nothing: a frame without room is dropped. cbfc has credits for each virtual
	// channel (Ultra Ethernet, section 5.2).
	FlowControl port.FlowControl `key:"flow-control" def:"credit"`
	// Room of each receiver for data, in packets of the largest size that crosses the link, or in bytes; at least one
	// packet, in blocks of 64 bytes of its size on the wire. ACKs have a lane and a room of their own. At most 2048 blocks
	// (128 KiB) are granted in advance.
	// Source: HPL-2002-224, Table I
	Buffer unit.Room `key:"buffer" def:"4 packets" with:"flow-control=credit" also:"queue|buffers"`
	// pause, pfc: for how long a frame stops the peer, in units of 512 bit times of the link. It is repeated before that
	// is over, and taken back when the low watermark is reached. At least 142, with framing: wire 143, so that there is
	// time for the longest frame in between.
	Quanta uint16 `key:"quanta" def:"65535" low:"1" high:"65535" with:"flow-control=pause|pfc" also:"pause-time"`
	// cbfc: the credits of its channels, and the messages about them.
	CBFC CBFC `key:"cbfc" short:"limit" omit:"usual" with:"flow-control=cbfc"`
	// Flow control packets are repeated at this interval at the latest, so that a lost one heals; at least 1ns.
	// Source: IBTA Volume 1, 7.9.4: 65 536 symbol times, here of 4 ns (2.5 Gbaud)
	Resend unit.Duration `key:"resend" def:"262.144us" low:"1ns" with:"flow-control=credit"`
	// Both ends send lost frames again: link layer retry of Ultra Ethernet, below any flow control. A link without it
	// loses the frames that a fault of the link hits.
	Retry Retry `key:"retry" short:"profile" omit:"usual" values:"fitted, 200g-5m, 200g-40m, 400g-5m, 400g-40m, or a mapping with profile, frames, bytes, timer and others" also:"llr|link-layer-retry"`
}

// CBFC is the credit-based flow control of a link.
type CBFC struct {
	port.CBFC
	// The channel of priority 0, of 0 to 31; priority 1 has the next, and so on.
	First uint8 `key:"first-channel" def:"0" low:"0" high:"24"`
	// The priorities that have a channel; the others are best effort, and dropped where there is no room.
	Carry Priorities `key:"lossless" form:"priorities" computed:"all"`
}

// String prints it as a mapping.
func (c CBFC) String() string {
	var without []string
	if c.Carry == AllPriorities {
		without = append(without, "lossless")
	}
	return "{" + fieldsOf(builtIn().section("links").Find("cbfc").Object, c, ", ", without...) + "}"
}

// Family returns the family of the link's frames.
func (l *Link) Family() wire.Family {
	if l.FlowControl == port.Credits {
		return wire.InfiniBand
	}
	return wire.Ethernet
}

// Flow is traffic from one endpoint to another.
type Flow struct {
	// Name of the flow. A flow from or to a range becomes one flow for each member, with the member's name after a dot.
	Name  string `key:"name" form:"flow" need:"given" own:"true"` // "local.B1"
	Group string `key:"group" form:"flow" own:"true" computed:"the flow's name" doc:"Group under which figures are added up."`
	// The endpoint that sends, or a range of them.
	From string `key:"from" form:"names" values:"the name of an endpoint or a range of them such as A[1-10]" need:"given" own:"true" also:"source|src"`
	// The endpoint that receives, or a range of them. Ranges of the same length on both sides go pairwise.
	To string `key:"to" form:"names" values:"the name of an endpoint or a range of them such as A[1-10]" need:"given" own:"true" also:"destination|dst|dest"`
	// When the flow starts; with a step, "0us + 100us", each further member of a range starts that much later. Before the
	// end of the run.
	Start unit.Duration `key:"start" form:"start" def:"0s" also:"begin"`
	// When the flow stops, after its start; end is the end of the run.
	Stop unit.Duration `key:"stop" def:"end" none:"end" low:"above 0s" values:"a duration such as 60ms" also:"until"`
	// The start is delayed by a random part of this, drawn from the seed.
	Jitter unit.Duration `key:"jitter" computed:"half a packet's time on the sender's link"`
	// On Ethernet: the priority of its frames; a higher one goes first, and pfc stops each by itself.
	Priority uint8 `key:"priority" def:"0" low:"0" high:"7" omit:"usual" also:"class|pcp"`
	// greedy sends whenever it may; paced does too, but never above its rate: after a pause it makes up for one packet at
	// the most. With the others packets arrive whether they can be sent or not, and wait; they arrive at equal distances
	// (constant), in each slot of the line with the same probability (bernoulli), at exponential distances (poisson), or
	// back to back in bursts of a Pareto distributed length, with silences between them (bursts). transfers are of a
	// number of bytes each.
	// Source: HPL-2002-224, section III: "All flows are greedy"
	Traffic traffic.Kind `key:"traffic" def:"greedy" means:"limited=paced|pareto=bursts|on-off=bursts|transfer=transfers|cbr=constant"`
	// The mean rate that the flow offers, of paced the highest, on the line. All traffic needs it or load, except greedy,
	// which has none, and transfers, which begin all at once without it and as a Poisson process with it.
	Rate unit.Rate `key:"rate" with:"traffic!=greedy" omit:"usual" also:"bandwidth|speed"`
	// The rate as a share of the rate of the sender's link, above 0 and at most 1.
	_ float64 `key:"load" with:"traffic!=greedy" low:"above 0" high:"1" values:"a part such as 0.85"`
	// bursts: mean length of a burst, on the line; at least a packet.
	Burst unit.Size `key:"burst" def:"64KB" low:"1B" with:"traffic=bursts"`
	// bursts: shape of both Pareto distributions; the smaller, the longer the tail.
	Shape float64 `key:"shape" form:"shape" def:"1.5" with:"traffic=bursts"`
	// transfers: payload of each, a size or a distribution, as of a workload.
	Size Sizes `key:"size" def:"1MB" parts:"cdf=size" with:"traffic=transfers"`
	// transfers: how many there are.
	Count int `key:"count" low:"1" high:"2147483648" computed:"1, or without end with a rate" with:"traffic=transfers" omit:"usual"`
	// none: each member of a range is a flow with traffic of its own. uniform: each arrival at an endpoint goes to any one
	// of the destinations, all equally likely; there is a flow from each endpoint of from to each other endpoint of to.
	Spread Spread `key:"spread" def:"none" counts:"traffic!=greedy" omit:"usual"`
	Source
}

// Source is how a flow sends: its packets, its transport and its rate.
type Source struct {
	// Payload of a packet; a multiple of 4 bytes from 4B to 4096B, on Ethernet any size from 12B to 9000B.
	// Source: HPL-2002-224, Table I
	Packet unit.Size `key:"packet" form:"packet" def:"2048B" also:"payload|mtu"`
	// Packets that may await their ACK; at least 1, and at most half of the 24-bit sequence numbers. On Ethernet there are
	// no ACKs and no window.
	// Source: HPL-2002-224, section IV: a window of one packet
	Window int `key:"window" none:"none" low:"1" high:"8388608" values:"a number of packets such as 1" computed:"1, on Ethernet none"`
	// After so long without an ACK the oldest packet that waits for one is sent again, and all packets behind it; the
	// receiver drops packets out of order. It is for fabrics that lose packets: a link goes down, a switch is restarted.
	// With never, lost packets stay missing, and a flow whose whole window is lost stands still. On InfiniBand only.
	Timeout unit.Duration `key:"timeout" def:"never" none:"never" low:"above 0s" omit:"usual" also:"retransmit|rto"`
	// How the ends treat packets; transport: tcp is short for transport: {kind: tcp}.
	Transport Transport `key:"transport" form:"transport" omit:"usual"`
	// The rate limiter: ipd holds an inter-packet delay from start to start; token-bucket collects tokens at the rate, up
	// to its depth, and lets as many bytes through; segments lets the bytes of a segment, its depth, through back to back,
	// and holds the delay between segments. {kind: token-bucket, rate: 1Gb/s, depth: 3KB} sets limiter, rate-limit and
	// depth at once.
	Limiter Limiter `key:"limiter" def:"ipd" parts:"kind=limiter|rate=rate-limit|depth=depth"`
	// token-bucket: how many bytes may leave at once after a silence, on the line; it holds a packet at the least.
	// segments: the bytes of a segment, likewise.
	Depth unit.Size `key:"depth" def:"16KB" low:"1B" with:"limiter=token-bucket|segments" also:"bucket"`
	// The highest rate of the rate limiter, on the line: with law: fixed its rate; with another law the rate at which the
	// flow starts and to which it recovers. unlimited is the rate of the sender's link.
	RateLimit unit.Rate `key:"rate-limit" def:"unlimited" none:"unlimited" omit:"usual" also:"limit|max-rate|maximum-rate"`
	Control   Control   `key:"control" form:"control" doc:"How the source answers marks and notifications."`
}

// Complete fills in the window of a source on InfiniBand.
func (s *Source) Complete(given func(key string) bool) {
	param.Fill(&s.Window, 1, given("window"))
}

// Transport is the treatment of packets by both ends of a flow.
type Transport struct {
	Kind   string // empty: the usual one of the flow's family; or the name of another row of node.Transports
	Params any    // of the type of that row's Params
}

// Acks reports whether packets are numbered and acknowledged on Ethernet: RoCEv2.
func (t Transport) Acks() bool { _, ok := t.Params.(nodes.RoCEParams); return ok }

// collects reports whether packets collect telemetry: RoCEv2, for some laws.
func (t Transport) collects() bool {
	p, ok := t.Params.(nodes.RoCEParams)
	return ok && p.Telemetry != wire.NoTelemetry
}

// Collects reports whether packets of a flow or a workload collect telemetry.
func (s *Scenario) Collects() bool {
	return slices.ContainsFunc(s.Flows, func(f Flow) bool { return f.Transport.collects() }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Transport.collects() })
}

// Streams reports whether packets are segments of a stream: TCP.
func (t Transport) Streams() bool { _, ok := t.Params.(tcp.Params); return ok }

// frame makes a data frame one of the transport.
func (t Transport) frame(f *wire.Frame) {
	if p, ok := t.Params.(nodes.RoCEParams); ok {
		p.Frame(f)
	}
}

// String prints a transport as a mapping.
func (t Transport) String() string { return "{kind: " + t.Kind + paramsOf(t.Params) + "}" }

// Control is the law by which a source changes its rate.
type Control struct {
	Law    string // the name of a row of rp.Laws
	Params any    // of the type of that row's Params
}

// String prints a law as a mapping.
func (c Control) String() string { return "{law: " + c.Law + paramsOf(c.Params) + "}" }

// Routing is the choice among the shortest paths, and the reaction to links that go
// down.
type Routing struct {
	// Which of the shortest paths frames take. shortest: one for each destination, over the machine with the first name,
	// and over parallel links the first. ecmp: any of them, by a hash of the flow (addresses and queue pair) and of each
	// switch's part of the seed, so that all frames of a flow take the same one.
	Paths Paths `key:"paths" def:"shortest" means:"single=shortest|spf=shortest|equal-cost=ecmp|multipath=ecmp" also:"mode"`
	// So long after a link has gone down or up, the switches have routes for the links as they were then. Frames that wait
	// in a switch for a link that is down take the new routes; other frames under way keep their way, so that frames of a
	// flow may overtake one another. never: frames wait for the link.
	Recompute unit.Duration `key:"recompute" def:"never" none:"never" low:"above 0s" also:"convergence|reconverge"`
}

// Route is an exception from the shortest path: at a switch, towards an endpoint,
// over a link.
type Route struct {
	At string `key:"at" form:"machine" need:"given" also:"switch|from" doc:"The switch that forwards."`
	// The endpoint that the frames go to, or a range of them.
	To string `key:"to" form:"names" values:"the name of an endpoint or a range of them such as A[1-10]" need:"given" also:"destination|dst|dest"`
	// Name of the link that they take from there; of a link without a name, its two ends, "A - B".
	Over string `key:"over" form:"link" need:"given" also:"via|link|by"`
}

// Event is one change of a link, an endpoint or a switch at a time.
type Event struct {
	At unit.Duration `key:"at" need:"given" doc:"Model time of the event, within the run."`
	// Name of the link that changes; of a link without a name, its two ends, "A - B". With rate, state, loss, corruption,
	// delay, flap, stuck or buffer.
	Link string `key:"link" form:"link" omit:"usual"`
	// Name of the endpoint that changes. With service, pause-storm, pauses or sink.
	Endpoint string `key:"endpoint" form:"machine" omit:"usual" also:"node|host"`
	// Name of the switch that changes. With restart, high or watchdog.
	Switch string `key:"switch" form:"machine" omit:"usual"`
	// The switch loses all its frames, and is away for so long with all its links down; then it begins anew. Its process,
	// if it has one, lives on.
	Restart unit.Duration `key:"restart" low:"above 0s" omit:"usual" also:"outage"`
	// The link runs at this rate, in both directions, from its next frame on.
	Rate unit.Rate `key:"rate" omit:"usual" also:"bandwidth|speed|capacity"`
	// The link goes down: frames on it and frames sent over it are lost. Or it comes up again, and its flow control begins
	// anew: on Ethernet, frames that find a full memory before their sender is stopped again are lost too.
	State LinkState `key:"state" omit:"usual"`
	// The endpoint takes frames in at this rate from now on.
	Service unit.Rate `key:"service" none:"unlimited" at:"9223372036854775807" omit:"usual" also:"service-rate"`
	// The endpoint pauses its peer without end, however much room it has; or stops doing so. It sends PAUSE frames again
	// before they run out, so that the storm has no gap.
	PauseStorm Storm `key:"pause-storm" omit:"usual" also:"storm"`
	// With pause-storm, on a link with pfc: the priorities that it pauses; by default all.
	Classes Priorities `key:"priorities" form:"priorities" omit:"usual"`
	// With pause-storm, on a link with pfc: the storm has frames that the peer must ignore. pause: PAUSE frames;
	// no-classes: PFC frames with a time of each priority, of which they enable none.
	Invalid Invalid `key:"invalid" omit:"usual" also:"malformed"`
	// With pause-storm: a choppy storm, which lets go for so long at the end of each period.
	Gap unit.Duration `key:"gap" low:"above 0s" omit:"usual"`
	// With flap, or with gap: from the beginning of one to the next.
	Period unit.Duration `key:"period" low:"above 0s" omit:"usual" also:"interval"`
	// The endpoint ignores the PAUSE and PFC frames of its peer, as a faulty adapter does; or obeys them again. Frames
	// that its peer then has no room for are lost.
	Pauses Obedience `key:"pauses" omit:"usual" also:"pfc"`
	Sink   SinkState `key:"sink" omit:"usual" doc:"The endpoint takes no frames in any more; or goes on."`
	// An output-queued switch has this high watermark at all inputs. An input that holds as much stops its peer at once.
	// Refused without the headroom above it.
	High unit.Size `key:"high" low:"1B" omit:"usual" also:"high-watermark|xoff"`
	// With high: the low watermark; by default two of the largest frames below high, and at least half of it. A stopped
	// peer of an input that holds no more may go on at once.
	Low unit.Size `key:"low" low:"1B" omit:"usual" also:"low-watermark|xon"`
	// An output-queued switch with pfc has a PFC watchdog with these parameters; others stay as they are, or have their
	// defaults if there was none. Storms that it has found are over, and its polls begin with this instant.
	Watchdog Watchdog `key:"watchdog" short:"action" omit:"usual" values:"drop, forward, alert, or a mapping with action, detection, restoration, poll, strict" also:"pfcwd|pfc-watchdog"`
	LinkFault
}

// standing is an item of faults.
type standing struct {
	Name string `key:"name" form:"name" own:"true" doc:"Name of the fault, for --set."`
	Event
}

// LinkFault is a fault of a link, from an instant on. It is drawn from the seed of the scenario.
type LinkFault struct {
	// The fault concerns the direction that comes from this end of the link; by default both. Required with stuck, whose
	// output it names. With buffer the buffer at the other end, of a switch.
	From string `key:"from" form:"machine" omit:"usual" also:"direction"`
	// The fault ends after so long; by default with the run. With loss, corruption, delay, flap, buffer, pause-storm: on,
	// pauses: ignored or sink: stopped.
	For unit.Duration `key:"for" low:"above 0s" omit:"usual" also:"duration"`
	// This share of the frames is lost on the link.
	Loss float64 `key:"loss" low:"above 0" high:"1" omit:"usual" also:"lose|drop" values:"a share such as 0.001"`
	// This share of the frames comes with wrong bits: the port that receives them discards them, with the reason
	// fcs-error.
	Corruption float64 `key:"corruption" low:"above 0" high:"1" omit:"usual" also:"corrupt|ber" values:"a share such as 0.001"`
	// The frames come so much later. They keep their order.
	Delay unit.Duration `key:"delay" low:"above 0s" omit:"usual" also:"latency"`
	// With delay: a random further delay of up to this, drawn for each frame. A frame waits for the one before it.
	Jitter unit.Duration `key:"jitter" low:"above 0s" omit:"usual"`
	// With loss, corruption or delay: only frames of this kind; a NAK is an ack.
	Frames wire.Kind `key:"frames" omit:"usual" words:"all|data|ack|fcp|pause|pfc|cnm|bcn|message|probe|tcp|cnp|cc-update|cf-update|llr-ack|llr-nack|llr-init|llr-init-echo"`
	// With loss, corruption or delay: of these frames only the one with this number, from 1; with every, from this one on.
	Nth int `key:"nth" low:"1" high:"2147483648" omit:"usual"`
	// With loss, corruption or delay: of these frames only each so-manieth.
	Every int `key:"every" low:"1" high:"2147483648" omit:"usual"`
	// With loss or corruption: the frames that are hit are in bad periods of this mean length in frames, by the two-state
	// chain of Gilbert and Elliott. The share is the mean over all frames.
	Burst float64 `key:"burst" low:"1" high:"1000000000" omit:"usual" values:"a number of frames such as 20"`
	// With burst: this share of the frames in a bad period is hit; by default all.
	Within float64 `key:"within" low:"above 0" high:"1" omit:"usual" values:"a share such as 0.5"`
	// With loss or corruption: the share grows from zero in so long, as when an optical link fades.
	Rise unit.Duration `key:"rise" low:"above 0s" omit:"usual" also:"fade"`
	// The link goes down for so long, and again after each period: it stands for events with its state.
	Flap unit.Duration `key:"flap" low:"above 0s" omit:"usual"`
	// The output of the end in from sends nothing but flow control for so long.
	Stuck unit.Duration `key:"stuck" low:"above 0s" omit:"usual"`
	// The port of a switch that takes in the frames of the link has this share of its buffer: of the credit of the link,
	// or of its part of the memory, with lower watermarks that leave the headroom above them; 1 ends the fault. Nothing
	// that was promised is taken back: the rest goes as frames leave it.
	Buffer float64 `key:"buffer" low:"above 0" high:"1" omit:"usual" values:"a share such as 0.5"`

	Left [2]port.BufferConfig // with buffer: the part that is left at each end of the link; zero: all of it
}

// Measure is how results are taken.
type Measure struct {
	// Rates are means over a sliding window of this length, centred on the point in time. It holds at least one packet and
	// is no longer than the run. A burst that is shorter than the window shows as a ramp as long as the window.
	// Source: HPL-2002-224, section III: "a sliding time window of duration 2ms", in a run of 100ms
	Window unit.Duration `key:"window" computed:"a hundredth of the run, 2ms at the most and four packets at the least, and longer in large fabrics" low:"above 0s"`
	// Links, groups of flows, flows and workloads by name: these curves alone are in rates.svg and series.csv. A name may
	// have ranges and * for any characters, such as leaf[1-4]-spine*; in rates.svg it is then one band, from the lowest to
	// the highest, with the median as its curve. Without curves, links with names and groups are drawn, and the table has
	// all.
	Curves Curves `key:"curves" omit:"usual" also:"series"`
}

// Check is a claim and the range in which it holds.
type Check struct {
	ID string `key:"id" form:"name" values:"a name such as IB-5a" need:"given" doc:"Name of the check."`
	// The place of the claim: section, figure or footnote.
	Source string `key:"source" form:"text" computed:"the scenario's source, of a claim that is quoted or derived"`
	Claim  string `key:"claim" form:"text" also:"description" doc:"The claim, in words."`
	// The measured figure: <object>.<quantity>, or a quotient of two. Of a program it is <program>.status, its exit
	// status, or <program>.json.<keys>, a number in its output. Objects are a direction of a link, trunk.A-B, a flow or a
	// group of flows; quantities are utilisation and rate.
	Metric string `key:"metric" form:"metric" need:"given"`
	// When it is measured: from and to, within the run; required, except for figures of a program.
	During [2]unit.Duration `key:"during" omit:"usual" values:"the beginning and the end, such as [42ms, 60ms]"`
	// The least value that agrees with the claim.
	Low float64 `key:"low" need:"given" values:"a number such as 0.9" also:"min|minimum"`
	// The greatest value that agrees with the claim.
	High float64 `key:"high" need:"given" values:"a number such as 1.0" also:"max|maximum"`
	// The ground of the claim: quoted, it has the words of its source, with "..." for omitted words; derived, it follows
	// from a statement of the source, and from explains how; ours, it is an expectation of yours.
	Basis Basis `key:"basis" def:"ours"` // empty: Ours
	// The statement of the source that the claim follows from, and how; required with derived.
	From string `key:"from" form:"text" omit:"usual"`
	// Whether the claim is expected to come out: differs is for a claim that does not, with a reason.
	Expected Expected `key:"expected" def:"holds" also:"outcome"`
	// Why the claim does not come out; required with differs.
	Reason string `key:"reason" form:"text" omit:"usual" also:"because"`
	// The reason for low and high: the text or the figure that supports them.
	Why string `key:"why" form:"text" omit:"usual" also:"range|rationale"`
}

// Differs returns the reason why the claim is not expected to come out; empty if it is.
func (c *Check) Differs() string {
	if c.Expected == Differs {
		return cmp.Or(c.Reason, "it is expected to, for no reason that is given")
	}
	return c.Reason
}

// Statement prints a claim and its source, as its basis requires.
func (b Basis) Statement(claim, source string) string {
	switch {
	case b == Quoted:
		return fmt.Sprintf("\"%s\" (%s)", claim, source)
	case b == Derived:
		return fmt.Sprintf("%s (derived from %s)", claim, source)
	case source != "":
		return fmt.Sprintf("%s (%s)", claim, source)
	}
	return claim
}

// Loses reports whether frames may be lost although all links have flow control: a link goes
// down or has a fault, or a switch is restarted.
func (s *Scenario) Loses() bool {
	return s.Open || slices.ContainsFunc(s.Events, func(e Event) bool {
		return e.State == Down || e.Restart > 0 || e.Loss+e.Corruption > 0 || e.Pauses == Ignored
	})
}

// Rates returns the lowest and the highest rate of a link in the run.
func (s *Scenario) Rates(l *Link) (least, most unit.Rate) {
	least, most = l.Rate, l.Rate
	for i := range s.Events {
		if e := &s.Events[i]; e.Rate > 0 && e.Link == l.Name {
			least, most = min(least, e.Rate), max(most, e.Rate)
		}
	}
	return least, most
}

// Latest returns the longest delay that faults give a frame of a link.
func (s *Scenario) Latest(l *Link) (d unit.Duration) {
	for i := range s.Events {
		if e := &s.Events[i]; e.Delay > 0 && e.Link == l.Name {
			d += e.Delay + e.Jitter
		}
	}
	return d
}

// IsSwitch reports whether s has a switch of that name.
func (s *Scenario) IsSwitch(name string) bool {
	_, ok := rowOf(s.Switches, func(w *Switch) bool { return w.Name == name })
	return ok
}
