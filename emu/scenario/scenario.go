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
	"fabemu/node/spray"
	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/node/uet"
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
	// Letters, digits, "_", "-" and "."; "/" separates parts.
	Name        string   `key:"name" form:"scenario" need:"given"`
	Source      string   `key:"source" form:"text" also:"reference|paper" doc:"Source: document and figure."`
	Description string   `key:"description" form:"text" also:"summary|comment" doc:"Subject, in one line."`
	Model       Model    `key:"model" need:"given" doc:"Duration, seed and framing."`
	Wall        Wall     `key:"wall" also:"real|clock" doc:"How the wall clock relates to model time."`
	_           struct{} `key:"defaults" form:"defaults" doc:"Fields of links, switches, endpoints and flows that do not set them."`
	// Switches by name or range, with the fields that differ from defaults.switch.
	Switches []Switch `key:"switches" form:"switches"`
	// Endpoints by name or range, or with the fields that differ from defaults.endpoint.
	Endpoints []Endpoint `key:"endpoints" need:"given" least:"1" named:"name" short:"name" values:"a list of names and ranges of names, such as [\"A[1-10]\", BC]" also:"hosts|nodes"`
	// Links as "X - Y", or with the fields that differ from defaults.link.
	Links []Link `key:"links" need:"given" least:"1" named:"name" short:"between" values:"a list of links, such as \"A[1-10] - A\" or {name: trunk, between: A - B}"`
	// Traffic from one endpoint to another, with a rate limiter each.
	Flows []Flow `key:"flows" named:"name" values:"a list of flows, such as {name: local, from: \"B[1-10]\", to: BC}"` // in the order of the file, one for each sender of a range
	// Flows within a group of endpoints, created as they arrive.
	Workloads []Workload `key:"workload" named:"name" values:"a list of workloads, such as {name: web, over: \"h[1-64]\", size: {cdf: web-search}, load: 0.5}" also:"workloads"`
	// Choice among shortest paths, and rerouting when a link fails. "ecmp" is short for {paths:
	// ecmp}.
	Routing Routing `key:"routing" short:"paths" values:"shortest, ecmp, or a mapping with paths and recompute"`
	Subnet  Subnet  `key:"subnet" doc:"InfiniBand: management packets."`
	// Exceptions from the shortest path.
	Routes []Route `key:"routes" values:"a list of routes, such as {at: S, to: \"B[1-10]\", over: trunk}"`
	// InfiniBand: exceptions from lanes of links, for frames that leave a node.
	LaneRules []LaneRule `key:"sl2vl" values:"a list of rules, such as {at: S, from: ring-1, over: ring-2, lanes: \"1,1\"}" also:"sl-to-vl"`
	// Timed changes and faults of links, endpoints and switches.
	Events []Event `key:"events" form:"events" values:"a list of events, such as {at: 2s, link: trunk, rate: 0.5Gb/s}"`
	// Events, from 0s unless they have a time. link: "*" applies to all links. --set can address a
	// named fault.
	_ struct{} `key:"faults" form:"faults" named:"name" values:"a list of faults, such as {link: trunk, loss: 0.001}"`
	// Commands that run in guests.
	Programs []Program `key:"programs" named:"name" values:"a list of programs, such as {at: 1s, on: h1, run: iperf3 -c h2}" also:"commands"`
	Measure  Measure   `key:"measure" doc:"How results are measured."`
	// Claims, each with an accepted range.
	Expect []Check `key:"expect" named:"id" values:"a list of checks, such as {id: C1, metric: victim.utilisation, during: [42ms, 60ms], low: 0.7, high: 1}" also:"checks|assert|claims"`
	// How fabemu run --short, for the wall clock, differs.
	_ struct{} `key:"short" form:"short" also:"quick"`
	// Version of the scenario language. Newer versions are refused.
	Language int `key:"language" def:"1" low:"1" high:"1"`

	// The fields below are not parts of the language.

	// HasShort is true if the file has a short run of the scenario, which Load returns with Short.
	HasShort bool
	// Endless is true if the user ends the run: Duration is only an upper bound, and the whole run
	// is one phase.
	Endless bool
	// Open is true if events may come during the run, such as a link that goes down (Happen).
	Open bool
	// Managed is true if a subnet manager may change the routes during the run.
	Managed bool

	// Schemes has the tables that the scenario chooses from; nil: BuiltIn.
	Schemes *Schemes

	// Warnings are Load's warnings of values that are right but probably not intended, by position.
	Warnings []Warning

	loaded *loaded // results of Load
}

// Model is how long the fabric runs, in model time, and from which seed.
type Model struct {
	// Duration in model time.
	Duration unit.Duration `key:"duration" need:"given" low:"above 0s" also:"length|time|stop"`
	Seed     uint64        `key:"seed" form:"natural" def:"1" doc:"Seed of all random draws; equal seeds give equal runs."`
	// Priority of RoCEv2 packets by DSCP. Others have the class selector, DSCP / 8 (RFC 2474,
	// section 4.2.2).
	DSCP DSCP `key:"dscp" form:"dscp" omit:"usual" also:"dscp-to-priority|dscp2prio"`
	// Length on the wire. paper: 20 bytes of header for data and ACKs, nothing for flow control;
	// wire: the real bytes.
	// Source: HPL-2002-224, Table I
	Framing wire.Framing `key:"framing" def:"paper"`
}

// Wall is how model time follows the wall clock.
type Wall struct {
	// How many times slower than real time the model runs on the wall clock.
	Dilation int64 `key:"dilation" def:"200" low:"1" high:"2147483648" also:"slowdown|scale|factor"`
	// First UDP port; each link takes two. 0: chosen by the kernel.
	UDPPort int `key:"udp-port" def:"0" low:"0" high:"65535" also:"port"`
	// Receive buffer of each socket.
	Buffer unit.Size `key:"socket-buffer" def:"128KiB" low:"4186B" also:"buffer|rcvbuf"`
}

// Subnet is how the packets of subnet managers and diagnostic programs cross the fabric.
type Subnet struct {
	// They take time and bandwidth (VL15).
	InBand bool `key:"in-band" def:"false" also:"inband|vl15"`
}

// Switch is a switch: where frames wait in it, and how it marks. The fields of the other kind
// are zero.
type Switch struct {
	Name string
	// input-buffered: frames wait at the port of arrival; InfiniBand. output-queued: frames wait in
	// output queues of a shared memory; Ethernet.
	Kind SwitchKind `key:"kind" def:"input-buffered" words:"input-buffered|output-queued"`
	// Minimum from the first bit in (store-and-forward: the last) to the first bit out.
	// Cut-through: at least the time of a 20-byte header on each link.
	// Source: HPL-2002-224, Table I
	ForwardingDelay unit.Duration `key:"forwarding-delay" def:"40ns" low:"1ns" also:"delay|latency"`
	// Whether an input buffer may feed several outputs at once (multi-output, model M1) or one
	// (single-output, model M2).
	Crossbar Crossbar `key:"crossbar" def:"multi-output" words:"multi-output|single-output" with:"kind=input-buffered"`
	// single-output: how often younger frames may overtake a frame whose input is busy.
	// Source: HPL-2002-224, Table I
	Bypass  int     `key:"bypass" def:"4" low:"0" high:"1048576" with:"kind=input-buffered" counts:"crossbar=single-output"`
	Marking Marking `key:"marking" form:"marking" doc:"How the switch signals congestion."`
	// Whether a frame may leave before its tail has arrived. Input-buffered switches cut through.
	Forwarding Forwarding `key:"forwarding" words:"store-and-forward|cut-through" computed:"output-queued: store-and-forward; input-buffered: cut-through" with:"kind=output-queued"`
	// output-queued: memory for frames, total or per port.
	Memory Memory `key:"memory" form:"memory" def:"300KB per port" low:"1B" with:"kind=output-queued" also:"buffer"`
	// output-queued: each input has an equal part of the memory (partitioned), or all share one
	// pool.
	Sharing Sharing `key:"sharing" def:"partitioned" words:"partitioned|pooled" with:"kind=output-queued"`
	// output-queued: maximum bytes waiting for an output; more are dropped. Only for frames without
	// flow control; with pause it requires lossless: [].
	OutputLimit unit.Size `key:"output-limit" def:"none" none:"none" low:"1B" with:"kind=output-queued"`
	// output-queued: an input with this many bytes stops its peer; with pfc per priority. auto:
	// memory / ports, less the headroom, with pfc divided among the priorities in use.
	High unit.Size `key:"high" def:"auto" none:"auto" low:"1B" with:"kind=output-queued" also:"high-watermark|xoff"`
	// output-queued: level at which the peer may continue; below high. auto: two of the largest
	// frames below high, and at least half of it; with alpha 0B.
	Low unit.Size `key:"low" def:"auto" none:"auto" at:"-1" low:"0B" with:"kind=output-queued" also:"low-watermark|xon"`
	// output-queued, sharing: pooled, with pause or pfc: high follows the free memory. An input
	// stops its peer when it has this times the shared memory that is free, which is memory less
	// the headroom of all inputs: alone it has alpha / (1 + alpha) of that, one of n that fill at
	// the same pace alpha / (1 + n alpha). Chips have powers of two. none: high is fixed.
	// Source: ours; the rule: Choudhury and Hahne 1998; SAI: SHARED_DYNAMIC_TH
	Alpha float64 `key:"alpha" def:"none" none:"none" low:"0.0009765625" high:"1024" with:"kind=output-queued" omit:"usual" also:"dynamic-threshold|dt-alpha" values:"a factor such as 0.125"`
	// output-queued with alpha: the peer may continue when the input has this much less than high,
	// or at most low, and its headroom is free. auto: two of the largest frames.
	// Source: ours; the rule: SAI: XON_TH, XON_OFFSET_TH
	XonOffset unit.Size `key:"xon-offset" def:"auto" none:"auto" at:"-1" low:"1B" with:"kind=output-queued" omit:"usual" also:"xon_offset|resume-offset"`
	// output-queued: share of a lossless link's headroom that must be free above high. With 1, a
	// switch that could lose a frame is refused; with less, there is a warning.
	// Source: IEEE 802.1Qbb, annex O
	Headroom float64 `key:"headroom" def:"1" low:"0" high:"100" with:"kind=output-queued" values:"a factor such as 1"`
	// output-queued with pfc: PFC watchdog at every queue of a lossless priority. Without it storms
	// and deadlocks last.
	Watchdog switchd.Watchdog `key:"watchdog" short:"action" omit:"usual" with:"kind=output-queued" values:"drop, forward, alert, or a mapping with action, detection, restoration, poll, strict" also:"pfcwd|pfc-watchdog"`
	// output-queued: data packets of RoCEv2 that find no room are cut, and their headers go on to
	// the destination, where flow control does not promise that none is lost. none: they are
	// dropped.
	// Source: SAI: packet trimming
	Trim switchd.Trimming `key:"trim" short:"size" omit:"usual" with:"kind=output-queued" values:"none, a size such as 128B, or a mapping with size, priority, dscp, last-hop-dscp, limit" also:"packet-trim|trimming|packet-trimming"`
	// output-queued: with pfc, the lossless priorities; others are dropped when memory is full.
	// With pause, all, or [] for a switch that drops instead.
	Lossless Priorities `key:"lossless" form:"priorities" computed:"all" with:"kind=output-queued"`
	// output-queued: enhanced transmission selection. Listed priorities share each output by
	// deficit round robin, in bytes; the others go first, in strict order. Endpoints always use
	// strict priority.
	// Source: IEEE 802.1Q, clause 37
	ETS Weights `key:"ets" form:"weights" computed:"none: all priorities are strict" with:"kind=output-queued" omit:"usual" also:"weights|scheduling|wrr|drr"`

	Shared unit.Size // with Alpha: the memory without the headroom of all inputs
}

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

// Total returns the room of a switch with this many ports.
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

// Weight is the weight of one priority.
type Weight struct {
	Priority uint8 `key:"priority" need:"given" low:"0" high:"7" also:"class|pcp" doc:"The priority that has a weight."`
	// Share of the link relative to the other weights with frames to send.
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

// Endpoint is an endpoint and its adapter. On InfiniBand all fields but its name, its guest and a
// limited service are zero.
type Endpoint struct {
	Name string `key:"name" form:"names" need:"given" own:"true" doc:"Name of the endpoint, or a range of names."`
	// Ethernet: buffer for packets of all flows. Overflow is dropped and counted, but greedy, paced
	// and transfers traffic waits. Flows to the same destination share a queue; queues are served
	// round robin.
	Egress unit.Size `key:"egress" def:"unlimited" none:"unlimited" low:"1B" also:"egress-buffer"`
	// Ethernet: buffer for received frames.
	Ingress unit.Size `key:"ingress" def:"300KB" none:"unlimited" low:"1B" also:"buffer|ingress-buffer"`
	// Ethernet: level of ingress at which the peer is stopped. auto: ingress less the headroom.
	High unit.Size `key:"high" def:"auto" none:"auto" low:"1B" also:"high-watermark|xoff"`
	// Ethernet: level at which the peer may continue; below high. auto: as in switches.
	Low unit.Size `key:"low" def:"auto" none:"auto" at:"-1" low:"0B" also:"low-watermark|xon"`
	// Rate at which frames leave ingress, or on InfiniBand the link's receive buffer, whose credit
	// they hold until then.
	Service unit.Rate `key:"service" def:"unlimited" none:"unlimited" at:"9223372036854775807" also:"service-rate|rate"`

	// Ethernet: rate limiters in the adapter. A flow with a rate-limit has one; others take one
	// from their first congestion notification until they are back at link rate. If none is free,
	// the notification is dropped (no-limiter).
	Limiters int `key:"limiters" def:"unlimited" none:"unlimited" low:"1" high:"1000000" also:"rate-limiters"`

	// Makes the endpoint a host (docs/guide/guests.md).
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

// Link is a link between two nodes. Both directions are alike.
type Link struct {
	// Name for events, metrics and --set; not for ranges.
	Name string `key:"name" form:"name" own:"true" computed:"its two ends, \"A - B\""`
	// The two ends. A range on one side makes a link per member; equal ranges pair up; otherwise
	// each member of the shorter gets an equal, consecutive part of the longer. "A[1-4] x B[1-2]"
	// links each with each.
	_    struct{}  `key:"between" form:"joint" need:"given" own:"true" also:"endpoints|nodes|ends"`
	A, B string    // names of switches or endpoints
	Rate unit.Rate `key:"rate" need:"inherited" also:"bandwidth|speed|capacity" doc:"Rate per direction."`
	// Propagation delay.
	Propagation unit.Duration `key:"propagation" def:"1ns" low:"1ns" also:"delay|latency"`
	// credit: InfiniBand, absolute counters of 64-byte blocks. pause: Ethernet, stops all frames
	// (IEEE 802.3, annex 31B). pfc: Ethernet, stops single priorities (IEEE 802.1Qbb). none:
	// Ethernet, drops frames without room. cbfc: Ethernet, credits per virtual channel (Ultra
	// Ethernet, section 5.2).
	FlowControl port.FlowControl `key:"flow-control" def:"credit"`
	// Receive buffer for data, in packets of the link's largest size or in bytes, counted in blocks
	// of 64 bytes. At most 2048 blocks (128 KiB) are granted in advance. ACKs have their own.
	// Source: HPL-2002-224, Table I
	Buffer unit.Room `key:"buffer" def:"4 packets" with:"flow-control=credit" also:"queue|buffers"`
	// InfiniBand: data virtual lanes.
	Lanes Lanes `key:"lanes" short:"max-vls" omit:"usual" with:"flow-control=credit" also:"qos|vls|virtual-lanes"`
	// pause, pfc: duration of a stop, in units of 512 bit times; renewed before it expires,
	// cancelled at the low watermark. At least the time of the longest frame, 142 (framing: wire
	// 143).
	Quanta uint16 `key:"quanta" def:"65535" low:"1" high:"65535" with:"flow-control=pause|pfc" also:"pause-time"`
	// pause, pfc: how long a port takes to obey a stop, or its end: a duration, or quanta of 512
	// bit times. The frame on the link completes. The headroom counts it. The standard allows 67
	// quanta at 10 Gb/s, 80 at 25, 118 at 40, 394 at 100, 453 at 200 and 905 at 400 (IEEE 802.3,
	// 31B.3.7).
	Response port.Response `key:"response" def:"0s" with:"flow-control=pause|pfc" omit:"usual" also:"response-time|peer-response|reaction"`
	// cbfc: credits and messages.
	CBFC CBFC `key:"cbfc" short:"limit" omit:"usual" with:"flow-control=cbfc"`
	// Maximum interval between flow control packets, so that a lost one heals.
	// Source: IBTA Volume 1, 7.9.4: 65 536 symbol times at 2.5 Gbaud
	Resend unit.Duration `key:"resend" def:"262.144us" low:"1ns" with:"flow-control=credit"`
	// Link layer retry of Ultra Ethernet: both ends retransmit lost frames, for any flow control.
	Retry Retry `key:"retry" short:"profile" omit:"usual" values:"fitted, 200g-5m, 200g-40m, 400g-5m, 400g-40m, or a mapping with profile, frames, bytes, timer and others" also:"llr|link-layer-retry"`
}

// CBFC is the credit-based flow control of a link.
type CBFC struct {
	port.CBFC
	// Channel of priority 0; the next priorities follow.
	First uint8 `key:"first-channel" def:"0" low:"0" high:"24"`
	// Priorities with a channel; the others are best effort and may be dropped.
	Carry Priorities `key:"lossless" form:"priorities" computed:"all"`
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
	// Name. A flow from or to a range becomes one flow per member, named NAME.MEMBER.
	Name  string `key:"name" form:"flow" need:"given" own:"true"` // "local.B1"
	Group string `key:"group" form:"flow" own:"true" computed:"the flow's name" doc:"Group for metrics."`
	// Sender, or a range.
	From string `key:"from" form:"names" values:"an endpoint or a range such as A[1-10]" need:"given" own:"true" also:"source|src"`
	// Receiver, or a range. Equal ranges on both sides pair up.
	To string `key:"to" form:"names" values:"an endpoint or a range such as A[1-10]" need:"given" own:"true" also:"destination|dst|dest"`
	// Start. With a step, each further member of a range starts that much later.
	Start unit.Duration `key:"start" form:"start" def:"0s" also:"begin"`
	// End of the flow. end: the end of the run.
	Stop unit.Duration `key:"stop" def:"end" none:"end" low:"above 0s" values:"a duration such as 60ms" also:"until"`
	// Maximum random delay of the start.
	Jitter unit.Duration `key:"jitter" computed:"half a packet's time on the sender's link"`
	// Ethernet: priority of its frames; higher ones are sent first, and pfc stops each separately.
	Priority uint8 `key:"priority" def:"0" low:"0" high:"7" omit:"usual" also:"class|pcp"`
	// greedy: whenever the flow may send. paced: up to its rate, making up for at most one packet
	// after a pause. transfers: messages of given size. The others queue packets that arrive at
	// equal intervals (constant), with equal probability per packet time (bernoulli), at
	// exponential intervals (poisson), or in back-to-back bursts with Pareto lengths and silences
	// (bursts).
	// Source: HPL-2002-224, section III
	Traffic traffic.Kind `key:"traffic" def:"greedy" means:"limited=paced|pareto=bursts|on-off=bursts|transfer=transfers|cbr=constant"`
	// Mean offered rate on the wire; paced: the maximum. Required, or load, except for greedy,
	// which has none, and transfers, which without it all arrive at the start and with it as a
	// Poisson process.
	Rate unit.Rate `key:"rate" with:"traffic!=greedy" omit:"usual" also:"bandwidth|speed"`
	// Rate as a share of the sender's link rate.
	_ float64 `key:"load" with:"traffic!=greedy" low:"above 0" high:"1" values:"a part such as 0.85"`
	// bursts: mean burst length on the wire; at least a packet.
	Burst unit.Size `key:"burst" def:"64KB" low:"1B" with:"traffic=bursts"`
	// bursts: shape of both Pareto distributions; smaller values have longer tails.
	Shape float64 `key:"shape" form:"shape" def:"1.5" with:"traffic=bursts"`
	// transfers: payload of each, a size or a distribution as in workloads.
	Size Sizes `key:"size" def:"1MB" parts:"cdf=size" with:"traffic=transfers"`
	// transfers: their number.
	Count int `key:"count" low:"1" high:"2147483648" computed:"1, or unlimited with a rate" with:"traffic=transfers" omit:"usual"`
	// transfers: as for workloads.
	WarmUp unit.Duration `key:"warm-up" def:"0s" with:"traffic=transfers" omit:"usual" also:"warmup"`
	Drain  unit.Duration `key:"drain" def:"0s" with:"traffic=transfers" omit:"usual" also:"cool-down" doc:"transfers: as for workloads."`
	// none: each member of a range has its own traffic. uniform: each arrival at an endpoint of
	// from goes to a random other endpoint of to.
	Spread Spread `key:"spread" words:"none|uniform" def:"none" counts:"traffic!=greedy" omit:"usual"`
	Source
}

// Source is how a flow sends: its packets, its transport and its rate.
type Source struct {
	// Payload per packet. InfiniBand: a multiple of 4 bytes up to 4096B; Ethernet: 12B to 9000B.
	// Source: HPL-2002-224, Table I
	Packet unit.Size `key:"packet" form:"packet" def:"2048B" also:"payload|mtu"`
	// InfiniBand: maximum number of unacknowledged packets. RoCEv2 and TCP have their windows in
	// transport.
	// Source: HPL-2002-224, section IV
	Window int `key:"window" none:"none" low:"1" high:"8388608" values:"a number of packets such as 1" computed:"1, on Ethernet none"`
	// InfiniBand: service level.
	SL uint8 `key:"sl" def:"0" low:"0" high:"15" omit:"usual" also:"service-level"`
	// InfiniBand: service level of ACKs. apart: a lane behind the data lanes, which goes first.
	AckSL int `key:"ack-sl" def:"apart" none:"apart" at:"-1" low:"0" high:"15" omit:"usual"`
	// InfiniBand: without an ACK for this long, all unacknowledged packets are retransmitted; the
	// receiver drops packets out of order. With never, a flow that loses its whole window stops.
	Timeout unit.Duration `key:"timeout" def:"never" none:"never" low:"above 0s" omit:"usual" also:"retransmit|rto"`
	// How the ends transport packets. "tcp" is short for {kind: tcp}.
	Transport Transport `key:"transport" form:"transport" omit:"usual"`
	// ipd: delay between packet starts. token-bucket: tokens accumulate at the rate, up to depth.
	// segments: segments of depth bytes, back to back, with a delay between them. {kind:
	// token-bucket, rate: 1Gb/s, depth: 3KB} sets limiter, rate-limit and depth.
	Limiter Limiter `key:"limiter" def:"ipd" words:"ipd|token-bucket|segments" parts:"kind=limiter|rate=rate-limit|depth=depth"`
	// token-bucket: maximum burst after a silence; segments: bytes per segment. On the wire, at
	// least one packet.
	Depth unit.Size `key:"depth" def:"16KB" low:"1B" with:"limiter=token-bucket|segments" also:"bucket"`
	// Maximum rate on the wire, at which the flow starts and to which it recovers. unlimited: the
	// link rate.
	RateLimit unit.Rate `key:"rate-limit" def:"unlimited" none:"unlimited" omit:"usual" also:"limit|max-rate|maximum-rate"`
	Control   Control   `key:"control" form:"control" doc:"Congestion control at the source."`
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

// Acks reports whether packets are numbered and acknowledged on Ethernet: RoCEv2 and UET.
func (t Transport) Acks() bool {
	_, roce := t.Params.(nodes.RoCEParams)
	return roce || t.Ultra()
}

// Ultra reports whether packets are those of Ultra Ethernet transport.
func (t Transport) Ultra() bool { _, ok := t.Params.(uet.Params); return ok }

// Selective reports whether packets that come out of order are accepted, and only lost ones are
// retransmitted: RoCEv2 with such an order, and UET unless delivery is ordered.
func (t Transport) Selective() bool {
	if p, ok := t.Params.(uet.Params); ok {
		return p.Delivery == uet.Unordered
	}
	p, ok := t.Params.(nodes.RoCEParams)
	return ok && p.Selective()
}

// Spray returns the policy by which the source chooses a path for each packet: RoCEv2 and UET.
func (t Transport) Spray() spray.Policy {
	switch p := t.Params.(type) {
	case nodes.RoCEParams:
		return p.Spray
	case uet.Params:
		return p.Spray
	}
	return spray.None
}

// Sprays reports whether the source chooses a path for each packet.
func (t Transport) Sprays() bool { return t.Spray() != spray.None }

// Sprays reports whether the source of a flow or a workload chooses among equal paths for each
// packet.
func (s *Scenario) Sprays() bool {
	return s.Routing.Paths == ECMP && (slices.ContainsFunc(s.Flows, func(f Flow) bool { return f.Transport.Sprays() }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return w.Transport.Sprays() }))
}

// AnyOrder reports whether packets are delivered in the order in which they come: RoCEv2 with
// direct placement, and UET unless delivery is ordered.
func (t Transport) AnyOrder() bool {
	if t.Ultra() {
		return t.Selective()
	}
	p, ok := t.Params.(nodes.RoCEParams)
	return ok && p.Order == nodes.Direct
}

// collects reports whether packets collect telemetry: RoCEv2, for some algorithms.
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
	if p, ok := t.Params.(interface{ Frame(*wire.Frame) }); ok {
		p.Frame(f)
	}
}

// Control is the algorithm by which a source changes its rate.
type Control struct {
	Algorithm string // the name of a row of rp.Algorithms
	Params    any    // of the type of that row's Params
}

// Routing is the choice among the shortest paths, and the reaction to links that go
// down.
type Routing struct {
	// shortest: one path per destination, through the node whose name sorts first, over the first
	// of parallel links. ecmp: all of them, by default by a hash of
	// the flow (addresses, queue pair) and the switch's seed.
	Paths Paths `key:"paths" words:"shortest|ecmp" def:"shortest" means:"single=shortest|spf=shortest|equal-cost=ecmp|multipath=ecmp" also:"mode"`
	// Delay from a link failure or recovery to new routes. Frames that wait for a failed link are
	// rerouted; others keep their path, so frames may overtake each other. never: frames wait for
	// the link.
	Recompute unit.Duration `key:"recompute" def:"never" none:"never" low:"above 0s" also:"convergence|reconverge"`
	// paths: ecmp: how switches divide frames among equal paths. hash: a flow keeps its path;
	// random, round-robin: each frame takes another; flowlet: each flowlet, at random; adaptive,
	// adaptive-flowlet: the output with the shortest queue and the least load. All but hash pass
	// over links that are down, and frames may overtake each other.
	// Source: SAI: SAI_ARS_ATTR_MODE
	Balance switchd.Balance `key:"balance" omit:"usual" def:"hash" means:"fixed=hash|per-packet-random=random|spray=random|flowlet-random=flowlet|per-packet-quality=adaptive|flowlet-quality=adaptive-flowlet" also:"load-balancing"`
	// flowlet, adaptive-flowlet: a pause of a flow after which a switch may choose another path.
	// Source: SAI: SAI_ARS_ATTR_IDLE_TIME
	Idle unit.Duration `key:"idle" omit:"usual" def:"256us" low:"above 0s" also:"idle-time"`
	// flowlet, adaptive-flowlet: flows that a switch can tell apart; more share paths.
	// Source: SAI: SAI_ARS_ATTR_MAX_FLOWS
	Flows int `key:"max-flows" omit:"usual" def:"512" low:"1" high:"1048576"`
	// adaptive, adaptive-flowlet: equal bands into which queues from queue-min to queue-max are
	// divided. Outputs in one band are equally good: one of them is chosen at random.
	// Source: SAI: the ARS profile has thresholds of 8 bands
	Bands int `key:"bands" omit:"usual" def:"8" low:"1" high:"256" also:"quant-bands"`
	// adaptive, adaptive-flowlet: queues up to here are in the first band.
	// Source: SAI: LOAD_FUTURE_MIN_VAL of the ARS profile
	QueueMin unit.Size `key:"queue-min" omit:"usual" def:"0B" low:"0B" also:"load-future-min-val"`
	// adaptive, adaptive-flowlet: queues from here on are in the last band.
	// Source: ours, for LOAD_FUTURE_MAX_VAL of SAI's ARS profile, which is set to fit the switch
	QueueMax unit.Size `key:"queue-max" omit:"usual" def:"64KiB" low:"1B" also:"load-future-max-val"`
	// adaptive, adaptive-flowlet: the part of the load of outputs, in percent, in their quality, of
	// which their queues have the rest. The load is in as many bands, from an idle link to a full
	// one.
	// Source: SAI: PORT_LOAD_PAST of the ARS profile; the weight is ours
	LoadWeight int `key:"load-weight" omit:"usual" def:"0" low:"0" high:"100" values:"a percentage such as 50"`
	// adaptive, adaptive-flowlet: how often the load is sampled: what the output has sent since
	// then.
	// Source: SAI: SAMPLING_INTERVAL of the ARS profile
	Sample unit.Duration `key:"load-interval" omit:"usual" def:"16us" low:"above 0s" also:"sampling-interval"`
	// adaptive, adaptive-flowlet: a sample counts for one part in so many of the average load.
	// Source: SAI: PORT_LOAD_PAST_WEIGHT of the ARS profile
	LoadAverage int `key:"load-average" omit:"usual" def:"16" low:"1" high:"255" also:"port-load-past-weight|load-past-weight"`
}

// Route is an exception from the shortest path: at a switch, towards an endpoint,
// over a link.
type Route struct {
	At string `key:"at" form:"node" need:"given" also:"switch|from" doc:"Switch that forwards."`
	// Destination endpoint, or a range.
	To string `key:"to" form:"names" values:"an endpoint or a range such as A[1-10]" need:"given" also:"destination|dst|dest"`
	// Next link, by name or, without one, as "A - B".
	Over string `key:"over" form:"link" need:"given" also:"via|link|by"`
	// Model time from which the route counts. A later route to the same endpoint replaces it.
	Since unit.Duration `key:"since" low:"0s" def:"0s" omit:"usual" also:"from-time"`
}

// Event is one change of a link, an endpoint or a switch at a time.
type Event struct {
	At unit.Duration `key:"at" need:"given" doc:"Model time, within the run."`
	// Link, by name or, without one, as "A - B".
	Link     string `key:"link" form:"link" omit:"usual"`
	Endpoint string `key:"endpoint" form:"node" omit:"usual" also:"node|host" doc:"Endpoint."`
	Switch   string `key:"switch" form:"node" omit:"usual" doc:"Switch."`

	Act Act // what the event does: its parameters are further keys
}

// standing is an item of faults.
type standing struct {
	Name string `key:"name" form:"name" own:"true" doc:"Name of the fault, for --set."`
	Event
}

// Measure is how results are taken.
type Measure struct {
	// Length of the centred sliding window of rates; at least one packet. Shorter bursts appear as
	// ramps of this length.
	// Source: HPL-2002-224, section III: 2 ms in 100 ms
	Window unit.Duration `key:"window" computed:"1/100 of the run, from four packets to 2ms, and longer in large fabrics" low:"above 0s"`
	// Links, groups, flows and workloads in rates.svg and series.csv; by default named links and
	// groups in rates.svg, everything in series.csv. A name with a range or * for any characters is
	// one band in rates.svg, from minimum to maximum, with its median.
	Curves Curves `key:"curves" omit:"usual" also:"series"`
}

// Check is a claim and the range in which it holds.
type Check struct {
	ID string `key:"id" form:"name" values:"a name such as IB-5a" need:"given" doc:"Name of the check."`
	// Place of the claim: section, figure or footnote.
	Source string `key:"source" form:"text" computed:"the scenario's source, if quoted or derived"`
	Claim  string `key:"claim" form:"text" also:"description" doc:"The claim, in words."`
	// What is measured: OBJECT.QUANTITY or a quotient of two (see metrics.md); of programs
	// PROGRAM.status, the exit status, and PROGRAM.json.KEYS, a number in their output.
	Metric string `key:"metric" form:"metric" need:"given"`
	// Start and end of the measurement; required, except for programs.
	During [2]unit.Duration `key:"during" omit:"usual" values:"start and end, such as [42ms, 60ms]"`
	// Minimum that agrees with the claim.
	Low float64 `key:"low" need:"given" values:"a number such as 0.9" also:"min|minimum"`
	// Maximum that agrees with the claim.
	High float64 `key:"high" need:"given" values:"a number such as 1.0" also:"max|maximum"`
	// quoted: the claim is in the source's words, with "..." for omissions; derived: it follows
	// from the statement in from; ours: your expectation.
	Basis Basis `key:"basis" def:"ours" words:"quoted|derived|ours"` // empty: Ours
	// derived: the source's statement, and how the claim follows.
	From string `key:"from" form:"text" omit:"usual"`
	// Expected outcome. differs requires a reason.
	Expected Expected `key:"expected" def:"holds" words:"holds|differs" also:"outcome"`
	// Why the claim does not hold; required with differs.
	Reason string `key:"reason" form:"text" omit:"usual" also:"because"`
	// Reason for low and high.
	Why string `key:"why" form:"text" omit:"usual" also:"range|rationale"`
}

// Differs returns the reason why the claim is not expected to hold; empty if it is.
func (c *Check) Differs() string {
	if c.Expected == Differs {
		return cmp.Or(c.Reason, "it is expected to, for no reason that is given")
	}
	return c.Reason
}

// Statement prints a claim and its source, if it has one, as its basis requires.
func (b Basis) Statement(claim, source string) string {
	switch b {
	case Quoted:
		claim = `"` + claim + `"`
	case Derived:
		source = strings.TrimSuffix("derived from "+source, " from ")
	}
	if source != "" {
		claim += " (" + source + ")"
	}
	return claim
}
