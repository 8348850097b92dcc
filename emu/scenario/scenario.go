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
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Scenario is a fabric and what is to happen in it, with every default filled
// in and every name expanded: what Load returns and what emu.Run takes. Its tags, and those
// of the types within it, are the language (package param).
type Scenario struct {
	Name        string     `key:"name" form:"scenario" need:"given" doc:"Name of the scenario: words of letters, digits, \"_\", \"-\" and \".\", joined by \"/\"."`
	Source      string     `key:"source" form:"text" also:"reference|paper" doc:"Where the scenario comes from: document and figure."`
	Description string     `key:"description" form:"text" also:"summary|comment" doc:"What the scenario shows, in one line."`
	Model       Model      `key:"model" need:"given" doc:"How long the fabric runs, and from which seed."`
	Wall        Wall       `key:"wall" also:"real|clock" doc:"How model time follows the wall clock."`
	_           struct{}   `key:"defaults" form:"defaults" doc:"What links, switches, endpoints and flows have that do not say otherwise."`
	Switches    []Switch   `key:"switches" form:"switches" doc:"The switches, by name, and what each has that differs from defaults.switch."`
	Endpoints   []Endpoint `key:"endpoints" need:"given" least:"1" named:"name" short:"name" what:"a list of names and ranges of names, such as [\"A[1-10]\", BC]" also:"hosts|nodes" doc:"The endpoints, each a name or a range of names, or a mapping with what differs from defaults.endpoint."`
	Links       []Link     `key:"links" need:"given" least:"1" named:"name" short:"between" what:"a list of links, such as \"A[1-10] - A\" or {name: trunk, between: A - B}" doc:"The links, each a text \"X - Y\" or a mapping with what differs from defaults.link."`
	Flows       []Flow     `key:"flows" need:"given" least:"1" named:"name" what:"a list of flows, such as {name: local, from: \"B[1-10]\", to: BC}" doc:"The flows: traffic from one endpoint to another, each with its own rate limiter."` // in the order of the file, one for each sender of a range
	Routing     Routing    `key:"routing" short:"paths" what:"shortest, ecmp, or a mapping with paths and recompute" doc:"Which of the shortest paths frames take, and whether they find others when a link goes down; routing: ecmp is short for routing: {paths: ecmp}."`
	Routes      []Route    `key:"routes" what:"a list of routes, such as {at: S, to: \"B[1-10]\", over: trunk}" doc:"Where frames do not take the shortest path: at a switch, over which link to which endpoints."`
	Events      []Event    `key:"events" what:"a list of events, such as {at: 2s, link: trunk, rate: 0.5Gb/s}" doc:"Changes of the fabric at given times: of a link its rate or state, of an endpoint its service rate or a pause storm."`
	Programs    []Program  `key:"programs" named:"name" what:"a list of programs, such as {at: 1s, on: h1, run: iperf3 -c h2}" also:"commands" doc:"Commands that are run in guests."`
	Measure     Measure    `key:"measure" doc:"How results are taken."`
	Expect      []Check    `key:"expect" named:"id" what:"a list of checks, such as {id: C1, metric: victim.utilisation, during: [42ms, 60ms], low: 0.7, high: 1}" also:"checks|assert|claims" doc:"Claims and the ranges in which they hold."`
	_           struct{}   `key:"short" form:"short" also:"quick" doc:"How a short run of the scenario (fabemu run --short) differs from it: for the wall clock, on which all of it would take too long."`

	// HasShort says that the file has a short run of the scenario, which Load returns with
	// Short. It is no part of the scenario either.
	HasShort bool
	// Open says that events may come to it while it runs, such as a link that goes down (Happen).
	// It is no part of the scenario either.
	Open bool

	// Schemes is what it chooses from; nil: BuiltIn. It is no part of the scenario.
	Schemes *Schemes

	// Warnings is what Load noticed that is right, but probably not meant, by
	// position. They are no part of the scenario: it is the same without them.
	Warnings []Warning

	loaded *loaded // what Load has found out, for as long as it is so
}

// loaded is a scenario as it was loaded.
type loaded struct {
	scenario Scenario // of which nobody else has the lists
	ways     *Ways
	programs []Error // where the commands of programs stand
	derived  []Threshold
}

// newLoaded keeps what was found out of a scenario.
func newLoaded(s *Scenario, w *Ways) *loaded {
	l := &loaded{scenario: *s, ways: w}
	c := &l.scenario
	c.Switches, c.Endpoints, c.Links, c.Flows = slices.Clone(s.Switches), slices.Clone(s.Endpoints),
		slices.Clone(s.Links), slices.Clone(s.Flows)
	c.Routes, c.Events, c.Expect = slices.Clone(s.Routes), slices.Clone(s.Events), slices.Clone(s.Expect)
	c.Programs = slices.Clone(s.Programs)
	return l
}

// is reports whether s is still the scenario that was loaded.
func (l *loaded) is(s *Scenario) bool { return l != nil && differs(&l.scenario, s) == "" }

// waysOf returns the ways of s, if they are still those of the scenario that was loaded.
func (l *loaded) waysOf(s *Scenario) (*Ways, bool) {
	if l == nil || l.ways == nil {
		return nil, false
	}
	c := &l.scenario
	return l.ways,
		c.Model == s.Model && c.Routing == s.Routing && slices.Equal(c.Routes, s.Routes) &&
			slices.Equal(c.Events, s.Events) &&
			slices.Equal(c.Links, s.Links) && slices.Equal(c.Switches, s.Switches) &&
			slices.Equal(c.Endpoints, s.Endpoints)
}

// Model is how long the fabric runs, in model time, and from which seed.
type Model struct {
	Duration unit.Duration `key:"duration" need:"given" low:"above 0s" also:"length|time|stop" doc:"How long the fabric runs, in model time; above zero."`
	Seed     uint64        `key:"seed" form:"natural" def:"1" doc:"Seed of all random draws. The same seed gives the same run."`
	DSCP     DSCP          `key:"dscp" form:"dscp" omit:"usual" also:"dscp-to-priority|dscp2prio" doc:"Which priority packets of RoCEv2 have, by their DSCP. What is not listed has the priority in its first three bits, DSCP / 8, which are the class selector (RFC 2474, section 4.2.2)."`
	Framing  wire.Framing  `key:"framing" def:"paper" doc:"Which length of a frame paces a line: paper counts 20 bytes of header for data and for an ACK and nothing for flow control; wire counts the bytes that are sent." source:"HPL-2002-224, Table I"`
}

// Wall is how model time follows the wall clock.
type Wall struct {
	Dilation int64         `key:"dilation" def:"200" low:"1" high:"2147483648" also:"slowdown|scale|factor" doc:"How many times slower than model time the wall clock runs; a whole factor of 1 or more."`
	UDPPort  int           `key:"udp-port" def:"0" low:"0" high:"65535" also:"port" doc:"First UDP port of the fabric, two to a link; 0 lets the kernel choose."`
	Lateness unit.Duration `key:"lateness" def:"0s" omit:"usual" also:"late" doc:"By how much a frame of Ethernet may be overtaken, in model time, where machines run in processes of their own: the headroom has room for it, on the way of the data and on that of the PAUSE. In one process none is."`
	Buffer   unit.Size     `key:"socket-buffer" def:"128KiB" low:"4186B" also:"buffer|rcvbuf" doc:"Receive buffer to ask the kernel for, for each socket; at least one datagram of the largest packet (4096 + 26 bytes) with its trailer (64 bytes)."`
}

// Switch is a switch: where frames wait in it, and how it marks. What the other kind
// has is zero.
type Switch struct {
	Name            string
	Kind            SwitchKind    `key:"kind" def:"input-buffered" doc:"Where frames wait: at the port that they came in by, on links with credit; or in a memory that all ports share, in queues of their output, on links of Ethernet."`
	ForwardingDelay unit.Duration `key:"forwarding-delay" def:"40ns" low:"1ns" also:"delay|latency" doc:"From the first bit in to the first bit out, at the least; with forwarding: store-and-forward from the last bit in. No less than the 20 bytes of the header take on any link of a switch that cuts through, and at least 1ns." source:"HPL-2002-224, Table I"`
	Crossbar        Crossbar      `key:"crossbar" def:"multi-output" with:"kind=input-buffered" doc:"Whether an input buffer may feed several outputs at once (multi-output, the model M1) or one (single-output, the model M2)."`
	Bypass          int           `key:"bypass" def:"4" low:"0" high:"1048576" with:"kind=input-buffered" counts:"crossbar=single-output" doc:"How often younger frames may overtake one whose input is busy; counts with single-output only." source:"HPL-2002-224, Table I: \"max bypass: 4\""`
	Marking         Marking       `key:"marking" form:"marking" doc:"How the switch tells of congestion."`
	Forwarding      Forwarding    `key:"forwarding" computed:"store-and-forward with output-queued, cut-through with input-buffered" with:"kind=output-queued" doc:"When a frame may leave: when it has come whole, or when its header has. An input-buffered switch cuts through."`
	Memory          Memory        `key:"memory" form:"memory" def:"300KB per port" low:"1B" with:"kind=output-queued" also:"buffer" doc:"output-queued: room for frames, of the whole switch or for each of its ports."`
	Sharing         Sharing       `key:"sharing" def:"partitioned" with:"kind=output-queued" doc:"output-queued: whether each input has an equal part of the memory to itself, or all take from one pool."`
	OutputLimit     unit.Size     `key:"output-limit" def:"none" none:"none" low:"1B" with:"kind=output-queued" doc:"output-queued: what may wait for one output; a frame beyond is dropped. It holds for frames without flow control: with pfc those of priorities that are not lossless; with pause it is refused, unless lossless is []."`
	High            unit.Size     `key:"high" def:"auto" none:"auto" low:"1B" with:"kind=output-queued" also:"high-watermark|xoff" doc:"output-queued: an input whose frames take this much stops its peer, with pfc for each priority by itself. auto is the part of an input, the whole memory over the number of ports, less the headroom; with pfc that is divided among the priorities that come in, that of notifications among them."`
	Low             unit.Size     `key:"low" def:"auto" none:"auto" at:"-1" low:"0B" with:"kind=output-queued" also:"low-watermark|xon" doc:"output-queued: at this much the peer may go on; below high. auto is two of the largest frames below high, and at least half of it."`
	Headroom        float64       `key:"headroom" def:"1" low:"0" high:"100" with:"kind=output-queued" what:"a factor such as 1" doc:"output-queued: how much of the headroom that a lossless link needs must be there above high. At 1 a switch that could lose a frame is refused, with the arithmetic; less takes the risk, with a warning." source:"IEEE 802.1Qbb, annex O: what may still come after a PAUSE was due"`
	Lossless        Priorities    `key:"lossless" form:"priorities" computed:"all" with:"kind=output-queued" doc:"output-queued: with pfc, the priorities that are stopped; the others are dropped when there is no room. With pause, all, or [] for a switch that stops nobody, and drops what has no room."`
	ETS             Weights       `key:"ets" form:"weights" computed:"none: all priorities are strict" with:"kind=output-queued" omit:"usual" also:"weights|scheduling|wrr|drr" doc:"output-queued: weights of priorities at each output, enhanced transmission selection. Those that are listed share the line in bytes by deficit round robin, as far as they have something to send; the others are strict and go before them, the higher first. Endpoints send by strict priority." source:"IEEE 802.1Q, clause 37 (802.1Qaz)"`
}

// Complete fills in what only an output-queued switch has.
func (s *Switch) Complete(given func(key string) bool) {
	if !given("forwarding") {
		s.Forwarding = StoreAndForward
	}
	if !given("lossless") {
		s.Lossless = AllPriorities
	}
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

// AllPriorities is the set of all.
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

// Weights are those of the priorities; 0: strict, ahead of those that have one.
type Weights [8]int

// weight is the weight of one.
type weight struct {
	Priority uint8 `key:"priority" need:"given" low:"0" high:"7" also:"class|pcp" doc:"The priority that has a weight."`
	Weight   int   `key:"weight" need:"given" low:"1" high:"1000" also:"share|percent|bandwidth" doc:"Its part of the line, as against the weights of the others that have something to send."`
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

// Endpoint is an endpoint and its adapter. On InfiniBand all but its name and a service that is limited is zero.
type Endpoint struct {
	Name    string    `key:"name" form:"names" need:"given" own:"true" doc:"Name of the endpoint, or a range of names."`
	Egress  unit.Size `key:"egress" def:"unlimited" none:"unlimited" low:"1B" also:"egress-buffer" doc:"On Ethernet: room for packets that were offered and have not left yet, of all flows of the endpoint. What is offered beyond it is dropped at the endpoint and counted; greedy and paced flows and transfers wait for room instead. Flows to one destination share a queue, and the queues take turns."`
	Ingress unit.Size `key:"ingress" def:"300KB" none:"unlimited" low:"1B" also:"buffer|ingress-buffer" doc:"On Ethernet: room for frames that have come and were not yet taken."`
	High    unit.Size `key:"high" def:"auto" none:"auto" low:"1B" also:"high-watermark|xoff" doc:"On Ethernet: when this much of ingress is taken the endpoint stops its peer. auto is ingress less the headroom."`
	Low     unit.Size `key:"low" def:"auto" none:"auto" at:"-1" low:"0B" also:"low-watermark|xon" doc:"On Ethernet: at this much the peer may go on; below high. auto is two of the largest frames below high, and at least half of it."`
	Service unit.Rate `key:"service" def:"unlimited" none:"unlimited" at:"9223372036854775807" also:"service-rate|rate" doc:"How fast frames are taken out of ingress, on InfiniBand out of the receive buffer of the link, whose credit they hold until then; unlimited takes each as it comes."`

	Limiters int `key:"limiters" def:"unlimited" none:"unlimited" low:"1" high:"1000000" also:"rate-limiters" doc:"On Ethernet: how many rate limiters the adapter has. A flow with a rate-limit has one; others take one with the first notification of congestion, and give it back when the rate is that of the line again. A notification for a flow that finds none is dropped and counted as no-limiter: the flow goes on as it is."`

	Guest Guest `key:"guest" short:"kind" omit:"usual" what:"tun, tap, netstack, or a mapping with kind, address, mtu, queue, tcp, dscp" doc:"The endpoint is a host. tun and tap: a real one, on the wall clock, a network namespace of its own, in which programs run, whose device leads into the fabric; it needs root. netstack: gVisor's TCP in this program, on either clock, the same each time. What it sends to another guest goes by the scenario's flow from it to that one, as bodies of its packets, in place of traffic. See docs/guide/guests.md."`
}

// Unlimited is a rate of service that takes everything as it comes.
const Unlimited unit.Rate = math.MaxInt64

// auto stands for a low watermark that is computed; a high one is zero then.
const auto unit.Size = -1

// Marking is whom a switch marks or notifies, and when.
type Marking struct {
	Scheme string // NoScheme, or the name of a row of cp.Points
	Params any    // of the type of that row's; nil without a scheme
}

// NoScheme is the marking of a switch that marks nothing.
const NoScheme = rp.NoPoint

// String prints a marking as a mapping.
func (m Marking) String() string { return "{scheme: " + m.Scheme + paramsOf(m.Params) + "}" }

// Link is a link between two machines. Both directions are alike.
type Link struct {
	Name        string           `key:"name" form:"name" own:"true" computed:"what it joins, \"A - B\"" doc:"Name of the link, for events, metrics and --set. A link of a range has none."`
	_           struct{}         `key:"between" form:"joint" need:"given" own:"true" also:"endpoints|nodes|ends" doc:"The two machines that the link joins. A range on one side makes a link for each member; ranges of the same length on both sides go pairwise."`
	A, B        string           // names of switches or endpoints
	Rate        unit.Rate        `key:"rate" need:"inherited" also:"bandwidth|speed|capacity" doc:"Rate of each direction; above zero."`
	Propagation unit.Duration    `key:"propagation" def:"1ns" low:"1ns" also:"delay|latency" doc:"Time on the way; at least 1ns, since no latency in a model is zero."`
	FlowControl port.FlowControl `key:"flow-control" def:"credit" doc:"How a receiver keeps the sender from overrunning it: credit is InfiniBand's, absolute counters of 64-byte blocks. The others make the link one of Ethernet: pause stops everything (IEEE 802.3, annex 31B), pfc each priority by itself (IEEE 802.1Qbb), none nothing: a frame that has no room is dropped."`
	Buffer      unit.Room        `key:"buffer" def:"4 packets" with:"flow-control=credit" also:"queue|buffers" doc:"Room of each receiver for data, in packets of the largest size that crosses the link, or in bytes; at least one packet, in blocks of 64 bytes of its size on the wire. ACKs have a lane and a room of their own. At most 2048 blocks (128 KiB) are granted in advance." source:"HPL-2002-224, Table I"`
	Quanta      uint16           `key:"quanta" def:"65535" low:"1" high:"65535" with:"flow-control=pause|pfc" also:"pause-time" doc:"pause, pfc: for how long a frame stops the peer, in units of 512 bit times of the link. It is repeated before that is over, and taken back when the low watermark is reached. At least 142, with framing: wire 143, so that there is time for the longest frame in between."`
	Resend      unit.Duration    `key:"resend" def:"262.144us" low:"1ns" with:"flow-control=credit" doc:"Flow control packets are repeated at this interval at the latest, so that a lost one heals; at least 1ns." source:"IBTA Volume 1, 7.9.4: 65 536 symbol times, here of 4 ns (2.5 Gbaud)"`
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
	Name      string        `key:"name" form:"flow" need:"given" own:"true" doc:"Name of the flow. A flow from or to a range becomes one flow for each member, with the member's name after a dot."` // "local.B1"
	Group     string        `key:"group" form:"flow" own:"true" computed:"the flow's name" doc:"Group under which figures are added up."`
	From      string        `key:"from" form:"names" what:"the name of an endpoint or a range of them such as A[1-10]" need:"given" own:"true" also:"source|src" doc:"The endpoint that sends, or a range of them."`
	To        string        `key:"to" form:"names" what:"the name of an endpoint or a range of them such as A[1-10]" need:"given" own:"true" also:"destination|dst|dest" doc:"The endpoint that receives, or a range of them. Ranges of the same length on both sides go pairwise."`
	Start     unit.Duration `key:"start" form:"start" def:"0s" also:"begin" doc:"When the flow starts; with a step, \"0us + 100us\", each further member of a range starts that much later. Before the end of the run."`
	Stop      unit.Duration `key:"stop" def:"end" none:"end" low:"above 0s" what:"a duration such as 60ms" also:"until" doc:"When the flow stops, after its start; end is the end of the run."`
	Jitter    unit.Duration `key:"jitter" computed:"half a packet's time on the sender's link" doc:"The start is delayed by a random part of this, drawn from the seed."`
	Priority  uint8         `key:"priority" def:"0" low:"0" high:"7" omit:"usual" also:"class|pcp" doc:"On Ethernet: the priority of its frames; a higher one goes first, and pfc stops each by itself."`
	Traffic   traffic.Kind  `key:"traffic" def:"greedy" means:"limited=paced|pareto=bursts|on-off=bursts|transfer=transfers|cbr=constant" doc:"greedy sends whenever it may; paced does too, but never above its rate: of what it could not send it makes up for one packet. With the others packets arrive whether they can be sent or not, and wait; they arrive at equal distances (constant), in each slot of the line with the same probability (bernoulli), at exponential distances (poisson), or back to back in bursts of a Pareto distributed length, with silences between them (bursts). transfers are of a number of bytes each." source:"HPL-2002-224, section III: \"All flows are greedy\""`
	Rate      unit.Rate     `key:"rate" with:"traffic!=greedy" omit:"usual" also:"bandwidth|speed" doc:"What the flow offers in the mean, of paced at the most, on the line. All traffic needs it or load, but greedy, which has none, and transfers, which begin all at once without and as a Poisson process with it."`
	_         float64       `key:"load" with:"traffic!=greedy" low:"above 0" high:"1" what:"a part such as 0.85" doc:"The rate as a part of that of the sender's link, above 0 and at most 1."`
	Burst     unit.Size     `key:"burst" def:"64KB" low:"1B" with:"traffic=bursts" doc:"bursts: mean length of a burst, on the line; at least a packet."`
	Shape     float64       `key:"shape" form:"shape" def:"1.5" with:"traffic=bursts" doc:"bursts: shape of both Pareto distributions; the smaller, the longer the tail."`
	Size      unit.Size     `key:"size" def:"1MB" low:"1B" with:"traffic=transfers" doc:"transfers: payload of each."`
	Count     int           `key:"count" low:"1" high:"2147483648" computed:"1, or without end with a rate" with:"traffic=transfers" omit:"usual" doc:"transfers: how many there are."`
	Spread    Spread        `key:"spread" def:"none" counts:"traffic!=greedy" omit:"usual" doc:"none: each member of a range is a flow with traffic of its own. uniform: what arrives at an endpoint goes to any one of the destinations, all equally likely; there is a flow from each of from to each of to, but to itself."`
	Packet    unit.Size     `key:"packet" form:"packet" def:"2048B" also:"payload|mtu" doc:"Payload of a packet; a multiple of 4 bytes from 4B to 4096B, on Ethernet any size from 12B to 9000B." source:"HPL-2002-224, Table I"`
	Window    int           `key:"window" none:"none" low:"1" high:"8388608" what:"a number of packets such as 1" computed:"1, on Ethernet none" doc:"Packets that may await their ACK; at least 1, and at most half of the 24-bit sequence numbers. On Ethernet there are no ACKs and no window." source:"HPL-2002-224, section IV: a window of one packet"`
	Timeout   unit.Duration `key:"timeout" def:"never" none:"never" low:"above 0s" omit:"usual" also:"retransmit|rto" doc:"After so long without an ACK the oldest packet that awaits one is sent again, and all behind it; what comes out of turn is not taken. For fabrics that lose packets: a link goes down, a switch is restarted. With never what is lost there is missing, and a flow whose whole window is lost stands still. On InfiniBand only."`
	Transport Transport     `key:"transport" form:"transport" omit:"usual" doc:"What becomes of packets on their way; transport: tcp is short for transport: {kind: tcp}."`
	Limiter   Limiter       `key:"limiter" def:"ipd" parts:"kind=limiter|rate=rate-limit|depth=depth" doc:"The rate limiter: ipd holds an inter-packet delay from start to start; token-bucket lets through what has come together at the rate, up to its depth. {kind: token-bucket, rate: 1Gb/s, depth: 3KB} says limiter, rate-limit and depth at once."`
	Depth     unit.Size     `key:"depth" def:"16KB" low:"1B" with:"limiter=token-bucket" also:"bucket" doc:"token-bucket: what may leave at once after a silence, on the line; it holds a packet at the least."`
	RateLimit unit.Rate     `key:"rate-limit" def:"unlimited" none:"unlimited" omit:"usual" also:"limit|max-rate|maximum-rate" doc:"The highest rate of the rate limiter, on the line: with law: fixed its rate; under another law the one at which the flow starts and to which it recovers. unlimited is that of the sender's link."`
	Control   Control       `key:"control" form:"control" doc:"How the source answers marks and notifications."`
}

// Complete fills in the window of a flow on InfiniBand.
func (f *Flow) Complete(given func(key string) bool) {
	if !given("window") {
		f.Window = 1
	}
}

// Transport is what both ends of a flow do about packets on their way.
type Transport struct {
	Kind   string // empty: what is usual on the family of the flow; or the name of another row of node.Transports
	Params any    // of the type of that row's
}

// Acks reports whether packets are numbered and acknowledged on Ethernet: RoCEv2.
func (t Transport) Acks() bool { _, ok := t.Params.(nodes.RoCEParams); return ok }

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
	Params any    // of the type of that row's
}

// String prints a law as a mapping.
func (c Control) String() string { return "{law: " + c.Law + paramsOf(c.Params) + "}" }

// Routing is which of the shortest paths frames take, and what becomes of them when a
// link goes down.
type Routing struct {
	Paths     Paths         `key:"paths" def:"shortest" means:"single=shortest|spf=shortest|equal-cost=ecmp|multipath=ecmp" also:"mode" doc:"Which of the shortest paths frames take. shortest: one for each destination, over the machine with the first name, and over parallel links the first. ecmp: any of them, by a hash of the flow (addresses and queue pair) and of each switch's part of the seed, so that all frames of a flow take the same one."`
	Recompute unit.Duration `key:"recompute" def:"never" none:"never" low:"above 0s" also:"convergence|reconverge" doc:"So long after a link has gone down or up, the switches have routes for the links as they were then. What waits in a switch for a link that is down goes by the new ones; what else is under way stays on its way, so that frames of a flow may overtake one another. never: frames wait for the link."`
}

// Route is a way that is not the shortest path: at a switch, towards an endpoint,
// over a link.
type Route struct {
	At   string `key:"at" form:"machine" need:"given" also:"switch|from" doc:"The switch that forwards."`
	To   string `key:"to" form:"names" what:"the name of an endpoint or a range of them such as A[1-10]" need:"given" also:"destination|dst|dest" doc:"The endpoint that the frames go to, or a range of them."`
	Over string `key:"over" form:"link" need:"given" also:"via|link|by" doc:"Name of the link that they take from there; of one without a name, what it joins, \"A - B\"."`
}

// Event is a change of the fabric at a time: of a link, an endpoint or a switch, one thing.
type Event struct {
	At         unit.Duration `key:"at" need:"given" doc:"Model time of the event, within the run."`
	Link       string        `key:"link" form:"link" omit:"usual" doc:"Name of the link that changes; of one without a name, what it joins, \"A - B\". With rate or state."`
	Endpoint   string        `key:"endpoint" form:"machine" omit:"usual" also:"node|host" doc:"Name of the endpoint that changes. With service or pause-storm."`
	Switch     string        `key:"switch" form:"machine" omit:"usual" doc:"Name of the switch that is restarted. With restart."`
	Restart    unit.Duration `key:"restart" low:"above 0s" omit:"usual" also:"outage" doc:"The switch loses all that is in it, and is away for so long, all its links down; then they begin anew. With --placement process and --sync late its process is killed, and another one started."`
	Rate       unit.Rate     `key:"rate" omit:"usual" also:"bandwidth|speed|capacity" doc:"The link runs at this rate, in both directions, from its next frame on."`
	State      LinkState     `key:"state" omit:"usual" doc:"The link goes down: what is on it and what is sent over it is lost; or up again, with its flow control begun anew: on Ethernet, what a full memory has no room for until its sender is stopped again is lost too."`
	Service    unit.Rate     `key:"service" none:"unlimited" at:"9223372036854775807" omit:"usual" also:"service-rate" doc:"The endpoint takes frames in at this rate from now on."`
	PauseStorm Storm         `key:"pause-storm" omit:"usual" also:"storm" doc:"The endpoint pauses its peer without end, whatever room it has; or stops to."`
}

// Measure is how results are taken.
type Measure struct {
	Window unit.Duration `key:"window" computed:"a hundredth of the run, 2ms at the most and four packets at the least, and longer in large fabrics" low:"above 0s" doc:"Rates are means over a sliding window of this length, centred on the point in time. It holds at least one packet and is no longer than the run. A burst that is shorter than the window shows as a ramp as long as the window." source:"HPL-2002-224, section III: \"a sliding time window of duration 2ms\", in a run of 100ms"`
}

// Check is a claim and the range in which it holds.
type Check struct {
	ID       string           `key:"id" form:"name" what:"a name such as IB-5a" need:"given" doc:"Name of the check."`
	Source   string           `key:"source" form:"text" computed:"the scenario's source, of a claim that is quoted or derived" doc:"Where the claim is made: section, figure or footnote."`
	Claim    string           `key:"claim" form:"text" also:"description" doc:"What is claimed, in words."`
	Metric   string           `key:"metric" form:"metric" need:"given" doc:"What is measured: <object>.<quantity>, or a quotient of two. Of a program it is <program>.status, its exit status, or <program>.json.<keys>, a number in its output. Objects are a direction of a link, trunk.A-B, a flow or a group of flows; quantities are utilisation and rate."`
	During   [2]unit.Duration `key:"during" omit:"usual" what:"the begin and the end, such as [42ms, 60ms]" doc:"When it is measured: from and to, within the run; required, but for what is measured of a program."`
	Low      float64          `key:"low" need:"given" what:"a number such as 0.9" also:"min|minimum" doc:"The least value that agrees with the claim."`
	High     float64          `key:"high" need:"given" what:"a number such as 1.0" also:"max|maximum" doc:"The greatest value that agrees with the claim."`
	Basis    Basis            `key:"basis" def:"ours" doc:"What the claim rests on: quoted, it has the words of its source, with \"...\" for what is left out; derived, it follows from what the source says, and from tells how; ours, it is an expectation of yours."` // empty: Ours
	From     string           `key:"from" form:"text" omit:"usual" doc:"The statement of the source that the claim follows from, and how; required with derived."`
	Expected Expected         `key:"expected" def:"holds" also:"outcome" doc:"Whether the claim is known to come out: differs is for one that is known not to, with a reason."`
	Reason   string           `key:"reason" form:"text" omit:"usual" also:"because" doc:"Why the claim does not come out; required with differs."`
	Why      string           `key:"why" form:"text" omit:"usual" also:"range|rationale" doc:"Why low and high are what they are: what in the text or the figure supports them."`
}

// Differs returns why the claim is known not to come out; it is empty where the claim should.
func (c *Check) Differs() string {
	if c.Expected == Differs {
		return cmp.Or(c.Reason, "it is expected to, for no reason that is given")
	}
	return c.Reason
}

// Statement prints a claim of that basis with what it rests on.
func (b Basis) Statement(claim, source, from string) string {
	switch {
	case b == Quoted:
		return fmt.Sprintf("\"%s\" (%s)", claim, source)
	case b == Derived:
		return fmt.Sprintf("%s (derived from %s: %s)", claim, source, from)
	case source != "":
		return fmt.Sprintf("%s (%s)", claim, source)
	}
	return claim
}

// Loses reports whether frames may be lost although flow control keeps all links from it:
// a link goes down, or a switch is restarted.
func (s *Scenario) Loses() bool {
	return s.Open || slices.ContainsFunc(s.Events, func(e Event) bool { return e.State == Down || e.Switch != "" })
}

// IsSwitch reports whether s has a switch of that name.
func (s *Scenario) IsSwitch(name string) bool {
	for i := range s.Switches {
		if s.Switches[i].Name == name {
			return true
		}
	}
	return false
}
