package scenario

import (
	"strings"

	"fabemu/emu/spelling"
	"fabemu/node/traffic"
)

// Form says what is written in a place of a file.
type Form uint8

// The forms.
const (
	FormValue   Form = iota // one value, written as Field.Pattern says
	FormWord                // one of Field.Words
	FormWhole               // a whole number, or one of Field.Words
	FormDecimal             // a number
	FormFlag                // true or false
	FormText                // any text, on one line
	FormObject              // a mapping with the keys Field.Fields
	FormMap                 // a mapping whose keys are names; Field.Fields[0] says what each holds
	FormList                // a list; Field.Fields[0] says what each item is
)

// shape says what may stand in a place of a file. The shapes make a tree, the
// language; reading, --set, messages, the schema and documentation all follow
// it.
type shape struct {
	form    Form
	what    string // what is wanted there, for messages and documentation: "a duration such as 100us"
	read    func(text string) (any, error)
	units   []string // value: words of its units, to suggest one of them
	words   []string // value: words that are allowed
	pattern string   // value: a regular expression of the whole text; read knows better
	span    span     // value: its bounds
	fields  []field  // object
	item    *shape   // map, list: what each item is
	key     string   // list: the field that names an item; empty when items have no names
	short   string   // list: an item may be a single value, which is then this field of it; object: so may the object
	least   int      // list: how many items there must be
	length  int      // list: how many items there must be, no more and no less; 0 for any number
	parts   []part   // value: a mapping may stand here instead, with these keys
}

// part is a key of a mapping that stands for several fields of the object around it.
type part struct{ key, field string }

// orMapping lets a mapping stand in place of a value: pairs of its keys and of the fields
// that they are.
func (sh *shape) orMapping(pairs ...string) *shape {
	var keys []string
	for i := 0; i < len(pairs); i += 2 {
		sh.parts = append(sh.parts, part{pairs[i], pairs[i+1]})
		keys = append(keys, pairs[i])
	}
	sh.what += ", or a mapping with " + someOf(keys)
	return sh
}

// span is the bounds of a value, as one would write them; empty where there is
// none.
type span struct {
	low, high string
	above     bool   // low itself is not allowed
	step      string // only multiples of this
}

// field is a key of an object.
type field struct {
	name     string
	shape    *shape
	doc      string   // meaning, range, and what follows from it
	def      string   // default, as one would write it; empty when there is none or it is computed
	computed string   // how the default is computed
	source   string   // where the default comes from
	required bool     // must be given
	inherit  bool     // required: it may be given under defaults instead
	also     []string // what others call it, to suggest the right name
	value    any      // def, once it was read
}

func (sh *shape) isScalar() bool { return sh.form <= FormText }

// field returns the field of a name, or nil.
func (sh *shape) field(name string) *field {
	for i := range sh.fields {
		if sh.fields[i].name == name {
			return &sh.fields[i]
		}
	}
	return nil
}

// names lists the fields, the nearest to a misspelt one first.
func (sh *shape) names(word string) string {
	var all []string
	for _, f := range sh.fields {
		all = append(all, f.name)
	}
	return someOf(spelling.ByNearness(word, all))
}

// suggest says which field is meant by a misspelt one, or nothing.
func (sh *shape) suggest(word string) string {
	var all []string
	for _, f := range sh.fields {
		for _, w := range f.also {
			if spelling.Same(w, word) {
				return spelling.DidYouMean(f.name)
			}
		}
		all = append(all, f.name)
	}
	return spelling.DidYouMean(spelling.Nearest(word, all))
}

// language returns the shape of a scenario that chooses from tables.
func language(t tables) *shape {
	return object(
		field{name: "name", shape: scenarioName(), required: true,
			doc: "Name of the scenario: words of letters, digits, \"_\", \"-\" and \".\", joined by \"/\"."},
		field{name: "source", shape: text(), also: []string{"reference", "paper"},
			doc: "Where the scenario comes from: document and figure."},
		field{name: "description", shape: text(), also: []string{"summary", "comment"},
			doc: "What the scenario shows, in one line."},
		field{name: "model", shape: modelShape(), required: true,
			doc: "How long the fabric runs, and from which seed."},
		field{name: "wall", shape: wallShape(), also: []string{"real", "clock"},
			doc: "How model time follows the wall clock."},
		field{name: "defaults", shape: object(
			field{name: "link", shape: object(linkFields()...), also: []string{"links"}, doc: "What links have that do not say otherwise."},
			field{name: "switch", shape: object(switchFields(t)...), also: []string{"switches"}, doc: "What switches have that do not say otherwise."},
			field{name: "endpoint", shape: object(endpointFields()...), also: []string{"endpoints", "adapter"}, doc: "What endpoints have that do not say otherwise."},
			field{name: "flow", shape: object(flowFields(t)...), also: []string{"flows"}, doc: "What flows have that do not say otherwise."},
		), doc: "What links, switches, endpoints and flows have that do not say otherwise."},
		field{name: "switches", shape: &shape{form: FormMap, pattern: `^` + namePattern + `$`, what: "a mapping from the names of switches to what is special about each, such as {A: {}, B: {}}", item: object(switchFields(t)...)},
			doc: "The switches, by name, and what each has that differs from defaults.switch."},
		field{name: "endpoints", shape: &shape{form: FormList, least: 1, what: "a list of names and ranges of names, such as [\"A[1-10]\", BC]", key: "name", short: "name", item: object(append([]field{
			{name: "name", shape: names(), required: true, doc: "Name of the endpoint, or a range of names."},
		}, endpointFields()...)...)}, required: true, also: []string{"hosts", "nodes"},
			doc: "The endpoints, each a name or a range of names, or a mapping with what differs from defaults.endpoint."},
		field{name: "links", shape: &shape{form: FormList, least: 1, what: "a list of links, such as \"A[1-10] - A\" or {name: trunk, between: A - B}", key: "name", short: "between", item: object(append([]field{
			{name: "name", shape: linkName(), doc: "Name of the link, for events, metrics and --set. A link of a range has none.", computed: "what it joins, \"A - B\""},
			{name: "between", shape: jointShape(), required: true, also: []string{"endpoints", "nodes", "ends"}, doc: "The two machines that the link joins. A range on one side makes a link for each member; ranges of the same length on both sides go pairwise."},
		}, linkFields()...)...)}, required: true,
			doc: "The links, each a text \"X - Y\" or a mapping with what differs from defaults.link."},
		field{name: "flows", shape: &shape{form: FormList, least: 1, what: "a list of flows, such as {name: local, from: \"B[1-10]\", to: BC}", key: "name", item: object(append([]field{
			{name: "name", shape: flowName(), required: true, doc: "Name of the flow. A flow from or to a range becomes one flow for each member, with the member's name after a dot."},
			{name: "group", shape: flowName(), computed: "the flow's name", doc: "Group under which figures are added up."},
			{name: "from", shape: endpointPattern(), required: true, also: []string{"source", "src"}, doc: "The endpoint that sends, or a range of them."},
			{name: "to", shape: endpointPattern(), required: true, also: []string{"destination", "dst", "dest"}, doc: "The endpoint that receives, or a range of them. Ranges of the same length on both sides go pairwise."},
		}, flowFields(t)...)...)}, required: true,
			doc: "The flows: traffic from one endpoint to another, each with its own rate limiter."},
		field{name: "routing", shape: &shape{form: FormObject, short: "paths", what: "shortest, ecmp, or a mapping with paths and recompute", fields: []field{
			{name: "paths", shape: hinted(word("shortest", "ecmp"), map[string]string{"single": "shortest", "spf": "shortest", "equal-cost": "ecmp", "multipath": "ecmp"}), def: "shortest", also: []string{"mode"},
				doc: "Which of the shortest paths frames take. shortest: one for each destination, over the machine with the first name, and over parallel links the first. ecmp: any of them, by a hash of the flow (addresses and queue pair) and of each switch's part of the seed, so that all frames of a flow take the same one."},
			{name: "recompute", shape: timeout(), def: "never", also: []string{"convergence", "reconverge"},
				doc: "So long after a link has gone down or up, the switches have routes for the links as they were then. What waits in a switch for a link that is down goes by the new ones; what else is under way stays on its way, so that frames of a flow may overtake one another. never: frames wait for the link."},
		}}, doc: "Which of the shortest paths frames take, and whether they find others when a link goes down; routing: ecmp is short for routing: {paths: ecmp}."},
		field{name: "routes", shape: &shape{form: FormList, what: "a list of routes, such as {at: S, to: \"B[1-10]\", over: trunk}", item: object(
			field{name: "at", shape: machineName(), required: true, also: []string{"switch", "from"}, doc: "The switch that forwards."},
			field{name: "to", shape: endpointPattern(), required: true, also: []string{"destination", "dst", "dest"}, doc: "The endpoint that the frames go to, or a range of them."},
			field{name: "over", shape: linkRef(), required: true, also: []string{"via", "link", "by"}, doc: "Name of the link that they take from there; of one without a name, what it joins, \"A - B\"."},
		)},
			doc: "Where frames do not take the shortest path: at a switch, over which link to which endpoints."},
		field{name: "events", shape: eventsShape(),
			doc: "Changes of the fabric at given times: of a link its rate or state, of an endpoint its service rate or a pause storm."},
		field{name: "measure", shape: object(
			field{name: "window", shape: duration(1), def: "2ms", source: "HPL-2002-224, section III: \"a sliding time window of duration 2ms\"",
				doc: "Rates are means over a sliding window of this length, centred on the point in time. It holds at least one packet and is no longer than the run. In a run shorter than the default it is as long as the run."},
		), doc: "How results are taken."},
		field{name: "expect", shape: &shape{form: FormList, what: "a list of checks, such as {id: C1, metric: victim.utilisation, during: [42ms, 60ms], low: 0.7, high: 1}", key: "id", item: checkShape()}, also: []string{"checks", "assert", "claims"},
			doc: "Claims and the ranges in which they hold."},
		field{name: "short", shape: shortShape(), also: []string{"quick"},
			doc: "How a short run of the scenario (fabemu run --short) differs from it: for the wall clock, on which all of it would take too long."},
	)
}

func modelShape() *shape {
	return object(
		field{name: "duration", shape: duration(1), required: true, also: []string{"length", "time", "stop"},
			doc: "How long the fabric runs, in model time; above zero."},
		field{name: "seed", shape: natural(), def: "1", doc: "Seed of all random draws. The same seed gives the same run."},
		field{name: "framing", shape: word("paper", "wire"), def: "paper", source: "HPL-2002-224, Table I",
			doc: "Which length of a frame paces a line: paper counts 20 bytes of header for data and for an ACK and nothing for flow control; wire counts the bytes that are sent."},
	)
}

func wallShape() *shape {
	return object(
		field{name: "dilation", shape: count(1, 1<<31), def: "200", also: []string{"slowdown", "scale", "factor"},
			doc: "How many times slower than model time the wall clock runs; a whole factor of 1 or more."},
		field{name: "udp-port", shape: count(0, 65535), def: "0", also: []string{"port"},
			doc: "First UDP port of the fabric, two to a link; 0 lets the kernel choose."},
		field{name: "lateness", shape: duration(0), def: "0s", also: []string{"late"},
			doc: "By how much a frame of Ethernet may be overtaken, in model time, where machines run in processes of their own: the headroom has room for it, on the way of the data and on that of the PAUSE. In one process none is."},
		field{name: "socket-buffer", shape: size(4096 + 26 + 48), def: "128KiB", also: []string{"buffer", "rcvbuf"},
			doc: "Receive buffer to ask the kernel for, for each socket; at least one datagram of the largest packet (4096 + 26 bytes) with its trailer (48 bytes)."},
	)
}

func linkFields() []field {
	return []field{
		{name: "rate", shape: rate(), required: true, inherit: true, also: []string{"bandwidth", "speed", "capacity"},
			doc: "Rate of each direction; above zero."},
		{name: "propagation", shape: duration(1000), def: "1ns", also: []string{"delay", "latency"},
			doc: "Time on the way; at least 1ns, since no latency in a model is zero."},
		{name: "flow-control", shape: word("credit", "pause", "pfc", "none"), def: "credit",
			doc: "How a receiver keeps the sender from overrunning it: credit is InfiniBand's, absolute counters of 64-byte blocks. The others make the link one of Ethernet: pause stops everything (IEEE 802.3, annex 31B), pfc each priority by itself (IEEE 802.1Qbb), none nothing: a frame that has no room is dropped."},
		{name: "buffer", shape: buffer(), def: "4 packets", source: "HPL-2002-224, Table I", also: []string{"queue", "buffers"},
			doc: "Room of each receiver for data, in packets of the largest size that crosses the link, or in bytes; at least one packet, in blocks of 64 bytes of its size on the wire. ACKs have a lane and a room of their own. At most 2048 blocks (128 KiB) are granted in advance."},
		{name: "quanta", shape: count(1, 65535), def: "65535", also: []string{"pause-time"},
			doc: "pause, pfc: for how long a frame stops the peer, in units of 512 bit times of the link. It is repeated before that is over, and taken back when the low watermark is reached. At least 142, with framing: wire 143, so that there is time for the longest frame in between."},
		{name: "resend", shape: duration(1000), def: "262.144us", source: "IBTA Volume 1, 7.9.4: 65 536 symbol times, here of 4 ns (2.5 Gbaud)",
			doc: "Flow control packets are repeated at this interval at the latest, so that a lost one heals; at least 1ns."},
	}
}

func switchFields(t tables) []field {
	return append([]field{
		{name: "kind", shape: word("input-buffered", "output-queued"), def: "input-buffered", doc: "Where frames wait: at the port that they came in by, on links with credit; or in a memory that all ports share, in queues of their output, on links of Ethernet."},
		{name: "forwarding-delay", shape: duration(1000), def: "40ns", source: "HPL-2002-224, Table I", also: []string{"delay", "latency"},
			doc: "From the first bit in to the first bit out, at the least; with forwarding: store-and-forward from the last bit in. No less than the 20 bytes of the header take on any link of a switch that cuts through, and at least 1ns."},
		{name: "crossbar", shape: word("multi-output", "single-output"), def: "multi-output",
			doc: "Whether an input buffer may feed several outputs at once (multi-output, the model M1) or one (single-output, the model M2)."},
		{name: "bypass", shape: count(0, 1<<20), def: "4", source: "HPL-2002-224, Table I: \"max bypass: 4\"",
			doc: "How often younger frames may overtake one whose input is busy; counts with single-output only."},
		{name: "marking", shape: object(t.points.fields(NoScheme, "Whom the switch marks or notifies, and when")...), doc: "How the switch tells of congestion."},
	}, memoryFields()...)
}

// memoryFields are those of output-queued switches.
func memoryFields() []field {
	return []field{
		{name: "forwarding", shape: word("store-and-forward", "cut-through"), computed: "store-and-forward with output-queued, cut-through with input-buffered",
			doc: "When a frame may leave: when it has come whole, or when its header has. An input-buffered switch cuts through."},
		{name: "memory", shape: memory(), def: "300KB per port", also: []string{"buffer"},
			doc: "output-queued: room for frames, of the whole switch or for each of its ports."},
		{name: "sharing", shape: word("partitioned", "pooled"), def: "partitioned",
			doc: "output-queued: whether each input has an equal part of the memory to itself, or all take from one pool."},
		{name: "output-limit", shape: unlimited(size(1), "none"), def: "none",
			doc: "output-queued: what may wait for one output; a frame beyond is dropped. It holds for frames without flow control: with pfc those of priorities that are not lossless; with pause it is refused."},
		{name: "high", shape: unlimited(size(1), "auto"), def: "auto", also: []string{"high-watermark", "xoff"},
			doc: "output-queued: an input whose frames take this much stops its peer, with pfc for each priority by itself. auto is the part of an input, the whole memory over the number of ports, less the headroom; with pfc that is divided among the priorities that come in, that of notifications among them."},
		{name: "low", shape: unlimited(size(0), "auto"), def: "auto", also: []string{"low-watermark", "xon"},
			doc: "output-queued: at this much the peer may go on; below high. auto is two of the largest frames below high, and at least half of it."},
		{name: "headroom", shape: between("a factor such as 1", 0, 100), def: "1", source: "IEEE 802.1Qbb, annex O: what may still come after a PAUSE was due",
			doc: "output-queued: how much of the headroom that a lossless link needs must be there above high. At 1 a switch that could lose a frame is refused, with the arithmetic; less takes the risk, with a warning."},
		{name: "lossless", shape: &shape{form: FormList, what: "a list of priorities such as [3, 4]", item: count(0, 7)}, computed: "all",
			doc: "output-queued: with pfc, the priorities that are stopped; the others are dropped when there is no room."},
		{name: "ets", shape: &shape{form: FormList, what: "a list of priorities and weights such as [{priority: 3, weight: 70}, {priority: 0, weight: 30}]", item: object(
			field{name: "priority", shape: count(0, 7), required: true, also: []string{"class", "pcp"}, doc: "The priority that has a weight."},
			field{name: "weight", shape: count(1, 1000), required: true, also: []string{"share", "percent", "bandwidth"}, doc: "Its part of the line, as against the weights of the others that have something to send."},
		)}, also: []string{"weights", "scheduling", "wrr", "drr"}, source: "IEEE 802.1Q, clause 37 (802.1Qaz)", computed: "none: all priorities are strict",
			doc: "output-queued: weights of priorities at each output, enhanced transmission selection. Those that are listed share the line in bytes by deficit round robin, as far as they have something to send; the others are strict and go before them, the higher first. Endpoints send by strict priority."},
	}
}

// endpointFields are those of the adapter of an endpoint on Ethernet.
func endpointFields() []field {
	return []field{
		{name: "egress", shape: unlimited(size(1), "unlimited"), def: "unlimited", also: []string{"egress-buffer"},
			doc: "On Ethernet: room for packets that were offered and have not left yet, of all flows of the endpoint. What is offered beyond it is dropped at the endpoint and counted; greedy and paced flows and transfers wait for room instead. Flows to one destination share a queue, and the queues take turns."},
		{name: "ingress", shape: unlimited(size(1), "unlimited"), def: "300KB", also: []string{"buffer", "ingress-buffer"},
			doc: "On Ethernet: room for frames that have come and were not yet taken."},
		{name: "high", shape: unlimited(size(1), "auto"), def: "auto", also: []string{"high-watermark", "xoff"},
			doc: "On Ethernet: when this much of ingress is taken the endpoint stops its peer. auto is ingress less the headroom."},
		{name: "low", shape: unlimited(size(0), "auto"), def: "auto", also: []string{"low-watermark", "xon"},
			doc: "On Ethernet: at this much the peer may go on; below high. auto is two of the largest frames below high, and at least half of it."},
		{name: "service", shape: unlimitedRate(), def: "unlimited", also: []string{"service-rate", "rate"},
			doc: "How fast frames are taken out of ingress, on InfiniBand out of the receive buffer of the link, whose credit they hold until then; unlimited takes each as it comes."},
	}
}

// eventFields are those of a change of the fabric.
func eventsShape() *shape {
	return &shape{form: FormList, what: "a list of events, such as {at: 2s, link: trunk, rate: 0.5Gb/s}", item: object(eventFields()...)}
}

func eventFields() []field {
	return []field{
		{name: "at", shape: duration(0), required: true, doc: "Model time of the event, within the run."},
		{name: "link", shape: linkRef(), doc: "Name of the link that changes; of one without a name, what it joins, \"A - B\". With rate or state."},
		{name: "endpoint", shape: machineName(), also: []string{"node", "host"}, doc: "Name of the endpoint that changes. With service or pause-storm."},
		{name: "switch", shape: machineName(), doc: "Name of the switch that is restarted. With restart."},
		{name: "restart", shape: duration(1), also: []string{"outage"}, doc: "The switch loses all that is in it, and is away for so long, all its links down; then they begin anew. With --placement process its process is killed, and another one started."},
		{name: "rate", shape: rate(), also: []string{"bandwidth", "speed", "capacity"}, doc: "The link runs at this rate, in both directions, from its next frame on."},
		{name: "state", shape: word("down", "up"), doc: "The link goes down: what is on it and what is sent over it is lost; or up again, with its flow control begun anew: on Ethernet, what a full memory has no room for until its sender is stopped again is lost too."},
		{name: "service", shape: unlimitedRate(), also: []string{"service-rate"}, doc: "The endpoint takes frames in at this rate from now on."},
		{name: "pause-storm", shape: word("on", "off"), also: []string{"storm"}, doc: "The endpoint pauses its peer without end, whatever room it has; or stops to."},
	}
}

func flowFields(t tables) []field {
	return []field{
		{name: "start", shape: start(), def: "0s", also: []string{"begin"},
			doc: "When the flow starts; with a step, \"0us + 100us\", each further member of a range starts that much later. Before the end of the run."},
		{name: "stop", shape: stop(), def: "end", also: []string{"until"},
			doc: "When the flow stops, after its start; end is the end of the run."},
		{name: "jitter", shape: duration(0), computed: "half a packet's time on the sender's link",
			doc: "The start is delayed by a random part of this, drawn from the seed."},
		{name: "priority", shape: count(0, 7), def: "0", also: []string{"class", "pcp"},
			doc: "On Ethernet: the priority of its frames; a higher one goes first, and pfc stops each by itself."},
		{name: "traffic", shape: hinted(word("greedy", "paced", "constant", "bernoulli", "poisson", "bursts", "transfers"), map[string]string{"limited": "paced", "pareto": "bursts", "on-off": "bursts", "transfer": "transfers", "cbr": "constant"}), def: "greedy", source: "HPL-2002-224, section III: \"All flows are greedy\"",
			doc: "greedy sends whenever it may; paced does too, but never above its rate: of what it could not send it makes up for one packet. With the others packets arrive whether they can be sent or not, and wait; they arrive at equal distances (constant), in each slot of the line with the same probability (bernoulli), at exponential distances (poisson), or back to back in bursts of a Pareto distributed length, with silences between them (bursts). transfers are of a number of bytes each."},
		{name: "rate", shape: rate(), also: []string{"bandwidth", "speed"},
			doc: "What the flow offers in the mean, of paced at the most, on the line. All traffic needs it or load, but greedy, which has none, and transfers, which begin all at once without and as a Poisson process with it."},
		{name: "load", shape: load(), doc: "The rate as a part of that of the sender's link, above 0 and at most 1."},
		{name: "burst", shape: size(1), def: "64KB", doc: "bursts: mean length of a burst, on the line; at least a packet."},
		{name: "shape", shape: between("a number such as 1.5", traffic.MinShape, traffic.MaxShape), def: "1.5", doc: "bursts: shape of both Pareto distributions; the smaller, the longer the tail."},
		{name: "size", shape: size(1), def: "1MB", doc: "transfers: payload of each."},
		{name: "count", shape: count(1, 1<<31), computed: "1, or without end with a rate", doc: "transfers: how many there are."},
		{name: "spread", shape: word("none", "uniform"), def: "none",
			doc: "none: each member of a range is a flow with traffic of its own. uniform: what arrives at an endpoint goes to any one of the destinations, all equally likely; there is a flow from each of from to each of to, but to itself."},
		{name: "packet", shape: packet(), def: "2048B", source: "HPL-2002-224, Table I", also: []string{"payload", "mtu"},
			doc: "Payload of a packet; a multiple of 4 bytes from 4B to 4096B, on Ethernet any size from 12B to 9000B."},
		{name: "window", shape: window(), computed: "1, on Ethernet none", source: "HPL-2002-224, section IV: a window of one packet",
			doc: "Packets that may await their ACK; at least 1, and at most half of the 24-bit sequence numbers. On Ethernet there are no ACKs and no window."},
		{name: "timeout", shape: timeout(), def: "never", also: []string{"retransmit", "rto"},
			doc: "After so long without an ACK the oldest packet that awaits one is sent again, and all behind it; what comes out of turn is not taken. For fabrics that lose packets: a link goes down, a switch is restarted. With never what is lost there is missing, and a flow whose whole window is lost stands still. On InfiniBand only."},
		{name: "limiter", shape: word("ipd", "token-bucket").orMapping("kind", "limiter", "rate", "rate-limit", "depth", "depth"), def: "ipd",
			doc: "The rate limiter: ipd holds an inter-packet delay from start to start; token-bucket lets through what has come together at the rate, up to its depth. {kind: token-bucket, rate: 1Gb/s, depth: 3KB} says limiter, rate-limit and depth at once."},
		{name: "rate-limit", shape: unlimitedRate(), def: "unlimited", also: []string{"limit", "max-rate", "maximum-rate"},
			doc: "The highest rate of the rate limiter, on the line: with law: fixed its rate; under another law the one at which the flow starts and to which it recovers. unlimited is that of the sender's link."},
		{name: "depth", shape: size(1), def: "16KB", also: []string{"bucket"},
			doc: "token-bucket: what may leave at once after a silence, on the line; it holds a packet at the least."},
		{name: "control", shape: object(t.laws.fields("fixed", "The law by which the source changes its rate")...), doc: "How the source answers marks and notifications."},
	}
}

// spanShape is a time from and to.
func spanShape() *shape {
	return &shape{form: FormList, what: "the begin and the end, such as [42ms, 60ms]", length: 2, item: duration(0)}
}

func checkShape() *shape {
	return object(
		field{name: "id", shape: checkID(), required: true, doc: "Name of the check."},
		field{name: "source", shape: text(), doc: "Where the claim is made: section, figure or footnote.", computed: "the scenario's source, of a claim that is quoted or derived"},
		field{name: "claim", shape: text(), also: []string{"description"}, doc: "What is claimed, in words."},
		field{name: "metric", shape: metric(), required: true,
			doc: "What is measured: <object>.<quantity>, or a quotient of two. Objects are a direction of a link, trunk.A-B, a flow or a group of flows; quantities are utilisation and rate."},
		field{name: "during", shape: spanShape(), required: true,
			doc: "When it is measured: from and to, within the run."},
		field{name: "low", shape: number("a number such as 0.9"), required: true, also: []string{"min", "minimum"}, doc: "The least value that agrees with the claim."},
		field{name: "high", shape: number("a number such as 1.0"), required: true, also: []string{"max", "maximum"}, doc: "The greatest value that agrees with the claim."},
		field{name: "basis", shape: word(string(Quoted), string(Derived), string(Ours)), def: string(Ours),
			doc: "What the claim rests on: quoted, it has the words of its source, with \"...\" for what is left out; derived, it follows from what the source says, and from tells how; ours, it is an expectation of yours."},
		field{name: "from", shape: text(), doc: "The statement of the source that the claim follows from, and how; required with derived."},
		field{name: "expected", shape: word("holds", "differs"), def: "holds", also: []string{"outcome"},
			doc: "Whether the claim is known to come out: differs is for one that is known not to, with a reason."},
		field{name: "reason", shape: text(), also: []string{"because"}, doc: "Why the claim does not come out; required with differs."},
		field{name: "why", shape: text(), also: []string{"range", "rationale"}, doc: "Why low and high are what they are: what in the text or the figure supports them."},
	)
}

func object(fields ...field) *shape {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return &shape{form: FormObject, fields: fields, what: "a mapping with " + someOf(names)}
}

// Field is a place of the scenario language: a key of a mapping, what a mapping
// of names holds, or an item of a list. With its Fields it is a tree.
type Field struct {
	Path     string // "defaults.link.rate"; "*" stands for a name, "[]" for the items of a list; empty for the whole scenario
	Name     string // the last part of Path
	Form     Form
	Doc      string   // meaning, range, and what follows from it
	Wanted   string   // what may stand there: "a duration such as 100us"
	Default  string   // as one would write it; empty when there is none or it is computed
	Computed string   // how the default is computed; may be empty
	Source   string   // where the default comes from; may be empty
	Required bool     // must be given
	Inherits bool     // required, but it may be given under defaults instead
	Units    []string // the words of its units; none for a value without
	Words    []string // the words that are allowed; beside FormWord, in addition to other values
	Pattern  string   // FormValue: a regular expression of the whole text, which lets pass all that Load takes; FormMap: one of the names
	Low      string   // least value, as one would write it; empty without a bound
	High     string   // greatest value
	Above    bool     // the value must be above Low
	Step     string   // the value is a multiple of this; empty when it need not be
	Short    string   // FormList: an item may be a single value, which is then this field of it; FormObject: the object itself
	Least    int      // FormList: how many items there are at the least
	Most     int      // FormList: how many items there are at the most; 0 for any number
	Fields   []Field  // FormObject: its keys. FormMap, FormList: one, what each item is. FormWord: the keys of a mapping that may stand in its place, if any
}

// Language returns the scenario language, from the table that Load follows.
func Language() Field { return LanguageOf(BuiltIn()) }

// LanguageOf returns the language of scenarios that choose from other tables.
func LanguageOf(t Schemes) Field { return export("", field{shape: language(t.tables())}) }

// Fields returns every key of the language, in its order. Under defaults stand
// the fields of links, switches and flows once more.
func Fields() []Field {
	var out []Field
	var walk func(f Field)
	walk = func(f Field) {
		for _, sub := range f.Fields {
			if f.Form == FormObject {
				out = append(out, sub)
			}
			walk(sub)
		}
	}
	walk(Language())
	return out
}

// export returns what a field is, with all that is below it.
func export(path string, f field) Field {
	sh := f.shape
	out := Field{
		Path: path, Name: f.name, Form: sh.form, Doc: f.doc, Wanted: sh.what, Default: f.def, Computed: f.computed, Source: f.source,
		Required: f.required && !(f.inherit && strings.HasPrefix(path, "defaults.")), Inherits: f.inherit,
		Units: sh.units, Words: sh.words, Pattern: sh.pattern,
		Low: sh.span.low, High: sh.span.high, Above: sh.span.above, Step: sh.span.step,
		Short: sh.short, Least: max(sh.least, sh.length), Most: sh.length,
	}
	switch sh.form {
	case FormMap:
		out.Fields = []Field{export(path+".*", field{name: "*", shape: sh.item})}
	case FormList:
		out.Fields = []Field{export(path+"[]", field{name: "[]", shape: sh.item})}
	case FormObject:
		for _, sub := range sh.fields {
			x := export(join(path, sub.name), sub)
			for _, p := range sub.shape.parts {
				same := *sh.field(p.field)
				same.name = p.key
				x.Fields = append(x.Fields, export(join(x.Path, p.key), same))
			}
			out.Fields = append(out.Fields, x)
		}
	}
	return out
}
