package scenario

import (
	"fmt"

	"fabemu/emu/topo/paths"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// QCNMarking is the parameters of the congestion points of a switch with marking
// scheme qcn; without it all are zero.
type QCNMarking struct {
	Qeq        unit.Size // the length that a queue should have
	Weight     int       // w = 2^Weight weighs the growth of the queue
	SampleBase unit.Size // bytes between samples when nothing is wrong
	Jitter     int       // per cent by which that varies
	Octets     int       // of the sampled frame that go back
	Priority   uint8     // of notifications
	Sampling   string    // "table", as the standard, or "linear", as the talk
	Lost       int       // per cent of the notifications that are lost
}

// QCNControl is the parameters of the reaction point of a flow with law qcn; without
// it all are zero.
type QCNControl struct {
	Version        string        // "standard" or "talk": how hyper-active increase counts
	Timer          unit.Duration // a cycle of the timer; 0: basic QCN, which has none
	ByteReset      unit.Size     // a cycle of the byte counter
	Threshold      int           // cycles of fast recovery
	ActiveIncrease unit.Rate
	HyperIncrease  unit.Rate
	Gd             int       // a notification takes Fb/2^Gd off the rate
	MinDecrease    int       // but leaves this percentage of it
	MinRate        unit.Rate // the lowest rate
	Jitter         int       // per cent by which cycles vary
	Shared         bool      // one rate limiter for all such flows of an endpoint
	CNTag          bool      // frames carry a CN-TAG
}

const (
	mibOf  = "IEEE 802.1Qau, IEEE8021-CN-MIB, default of "
	talkOf = "the talk \"QCN: Quantized Congestion Notification\""
)

// qcnMarkingFields are those of marking with scheme qcn.
func qcnMarkingFields() []field {
	return []field{
		{name: "qeq", shape: size(100), def: "26000B", source: mibOf + "cpQueueSizeSetPoint",
			doc: "qcn: the length that a queue should have; at least 100B, and less than the memory. A queue that is longer, or grows, makes the switch notify sources."},
		{name: "weight", shape: count(-10, 10), def: "1", source: mibOf + "cpFeedbackWeight",
			doc: "qcn: the growth of the queue since the last sample counts 2^weight times."},
		{name: "sample-base", shape: size(10000), def: "150KB", source: mibOf + "cpMinSampleBase",
			doc: "qcn: bytes between two samples of a queue when nothing is wrong; at the worst an eighth of it, which must be a frame at the least."},
		{name: "jitter", shape: count(0, 99), def: "15", source: "IEEE 802.1Qau: intervals vary by 15 %",
			doc: "qcn: the interval between samples varies by so many per cent up or down."},
		{name: "octets", shape: count(0, wire.MaxOctets), def: "0", source: mibOf + "cpMinHeaderOctets",
			doc: "qcn: how much of the sampled frame a notification carries back, from its EtherType on: 14 to 64, which name its flow, or 0. With 0 the flow is named by its CN-TAG; without one the shared limiter of the source is meant."},
		{name: "priority", shape: count(0, 7), def: "6", also: []string{"cnm-priority"},
			doc: "qcn: priority of notifications."},
		{name: "sampling", shape: word("table", "linear"), def: "table",
			doc: "qcn: which frames are sampled. table: one after so many bytes, by the table of the standard; linear: each with a probability that grows with the feedback in a line from 1 % to 10 %, as " + talkOf + " has it."},
		{name: "lost", shape: count(0, 100), def: "0",
			doc: "qcn: for experiments, so many per cent of the notifications are lost, at random."},
	}
}

// qcnControlFields are those of control with law qcn.
func qcnControlFields() []field {
	return []field{
		{name: "version", shape: word("standard", "talk"), def: "standard",
			doc: "qcn: how hyper-active increase counts. standard: by the smaller number of cycles by which byte counter and timer are past fast recovery; talk: by events since it began, as " + talkOf + " has it."},
		{name: "timer", shape: noneOr(duration(1)), def: "15ms", source: mibOf + "rpgTimeReset; the talk has 10 ms",
			doc: "qcn: a cycle of the timer in fast recovery; none is basic QCN, which has a byte counter only."},
		{name: "byte-reset", shape: size(1), def: "150KB", source: mibOf + "rpgByteReset",
			doc: "qcn: a cycle of the byte counter in fast recovery."},
		{name: "threshold", shape: count(1, 1<<20), def: "5", source: mibOf + "rpgThreshold",
			doc: "qcn: cycles of fast recovery, of byte counter and timer alike; those after it are half as long."},
		{name: "active-increase", shape: rate(), def: "5Mb/s", source: mibOf + "rpgAiRate",
			doc: "qcn: what each cycle adds to the target rate in active increase."},
		{name: "hyper-increase", shape: rate(), def: "50Mb/s", source: mibOf + "rpgHaiRate",
			doc: "qcn: what each cycle adds in hyper-active increase, times their number."},
		{name: "gd", shape: count(0, 30), def: "7", source: mibOf + "rpgGd",
			doc: "qcn: a notification takes Fb/2^gd off the rate, Fb being 1 to 63."},
		{name: "min-decrease", shape: count(0, 100), def: "50", source: mibOf + "rpgMinDecFac",
			doc: "qcn: a notification leaves this percentage of the rate at the least."},
		{name: "min-rate", shape: rate(), def: "5Mb/s", source: mibOf + "rpgMinRate",
			doc: "qcn: the lowest rate; no more than that of the sender's link."},
		{name: "jitter", shape: count(0, 99), computed: "15, with version: talk 0", source: "IEEE 802.1Qau: cycles vary by 15 %; the talk has none",
			doc: "qcn: cycles of byte counter and timer vary by so many per cent up or down."},
		{name: "shared", shape: flag(), def: "false", source: "the talk: \"Can work with a single rate limiter\"",
			doc: "qcn: one rate limiter for all flows of the endpoint that say so and were notified; otherwise each has its own."},
		{name: "cn-tag", shape: flag(), def: "false",
			doc: "qcn: frames carry a CN-TAG, which names their flow and comes back in notifications."},
	}
}

// noneOr is a duration, or none for zero.
func noneOr(sh *shape) *shape {
	read := sh.read
	sh.what += ", or none"
	sh.words = []string{"none"}
	sh.pattern = `^none$|` + sh.pattern
	sh.read = func(s string) (any, error) {
		if s == "none" {
			return unit.Duration(0), nil
		}
		return read(s)
	}
	return sh
}

// qcnMarking returns the parameters of congestion points.
func qcnMarking(m view) QCNMarking {
	if get[string](m, "scheme") != "qcn" {
		return QCNMarking{}
	}
	return QCNMarking{
		Qeq:        get[unit.Size](m, "qeq"),
		Weight:     int(get[int64](m, "weight")),
		SampleBase: get[unit.Size](m, "sample-base"),
		Jitter:     int(get[int64](m, "jitter")),
		Octets:     int(get[int64](m, "octets")),
		Priority:   uint8(get[int64](m, "priority")),
		Sampling:   get[string](m, "sampling"),
		Lost:       int(get[int64](m, "lost")),
	}
}

// qcnControl returns the parameters of a reaction point.
func qcnControl(c view) QCNControl {
	if get[string](c, "law") != "qcn" {
		return QCNControl{}
	}
	out := QCNControl{
		Version:        get[string](c, "version"),
		Timer:          get[unit.Duration](c, "timer"),
		ByteReset:      get[unit.Size](c, "byte-reset"),
		Threshold:      int(get[int64](c, "threshold")),
		ActiveIncrease: get[unit.Rate](c, "active-increase"),
		HyperIncrease:  get[unit.Rate](c, "hyper-increase"),
		Gd:             int(get[int64](c, "gd")),
		MinDecrease:    int(get[int64](c, "min-decrease")),
		MinRate:        get[unit.Rate](c, "min-rate"),
		Jitter:         15,
		Shared:         get[bool](c, "shared"),
		CNTag:          get[bool](c, "cn-tag"),
	}
	if out.Version == "talk" {
		out.Jitter = 0
	}
	if given, n := c.at("jitter"); n != nil {
		out.Jitter = int(given.(int64))
	}
	return out
}

// String prints what follows the scheme in a file.
func (q QCNMarking) String() string {
	return fmt.Sprintf("qeq: %v, weight: %d, sample-base: %v, jitter: %d, octets: %d, priority: %d, sampling: %s, lost: %d",
		q.Qeq, q.Weight, q.SampleBase, q.Jitter, q.Octets, q.Priority, q.Sampling, q.Lost)
}

// String prints what follows the law in a file.
func (q QCNControl) String() string {
	timer := "none"
	if q.Timer > 0 {
		timer = q.Timer.String()
	}
	return fmt.Sprintf("version: %s, timer: %s, byte-reset: %v, threshold: %d, active-increase: %v, hyper-increase: %v, gd: %d, min-decrease: %d, min-rate: %v, jitter: %d, shared: %t, cn-tag: %t",
		q.Version, timer, q.ByteReset, q.Threshold, q.ActiveIncrease, q.HyperIncrease, q.Gd, q.MinDecrease, q.MinRate, q.Jitter, q.Shared, q.CNTag)
}

// checkQCN refuses congestion points that could never notify, or not the sources that
// they should, and reaction points without a range.
func (r *resolver) checkQCN() {
	told := map[*node]bool{}
	say := func(v view, fallback *machine, name, format string, args ...any) {
		at, path := fallback.at, fallback.path
		_, n := v.at(name)
		if n == nil {
			_, n = v.at("scheme")
		}
		if n != nil {
			if told[n] || n.bad {
				return
			}
			told[n] = true
			at, path = n.at, n.path
		}
		r.add(at, path, format, args...)
	}
	for i := range r.s.Switches {
		s := &r.s.Switches[i]
		if s.Marking.Scheme != "qcn" {
			continue
		}
		m := r.machines[s.Name]
		v, q := m.view.sub("marking"), s.Marking.QCN
		if s.Kind == "input-buffered" {
			say(v, m, "scheme", "qcn looks at the queues of outputs, which the input-buffered switch %s does not have: make it output-queued", s.Name)
			continue
		}
		room, what := s.Memory.Total(len(m.links)), "its memory"
		if s.OutputLimit > 0 && s.OutputLimit < room {
			room, what = s.OutputLimit, "its output-limit"
		}
		if q.Qeq >= room {
			say(v, m, "qeq", "Qeq is %v, and no queue of switch %s can be longer than %s, %v: nobody would be notified", q.Qeq, s.Name, what, room)
		}
		if q.Octets > 0 && q.Octets < wholeHead {
			say(v, m, "octets", "%d octets of a frame do not hold the number of its flow: %d to %d do, or 0", q.Octets, wholeHead, wire.MaxOctets)
		}
		least := q.SampleBase * 123 / 1000 * unit.Size(100-q.Jitter) / 100
		if longest := r.longest(); least < longest {
			say(v, m, "sample-base", "the shortest interval between samples is %v, an eighth of sample-base less the jitter, and a frame is %v long: every frame would be sampled", least, longest)
		}
	}
	r.checkReactions()
}

// wholeHead is how many octets of a frame name its flow.
const wholeHead = 14

// longest returns the length of the longest frame.
func (r *resolver) longest() unit.Size {
	longest := unit.Size(0)
	for i := range r.s.Flows {
		longest = max(longest, r.length(r.s.Flows[i].Packet, wire.Ethernet))
	}
	return longest
}

// checkReactions looks at the flows with law qcn and at the switches on their way.
func (r *resolver) checkReactions() {
	item, defaults := r.language.field("flows").shape.item, r.root.get("defaults").get("flow")
	told := map[string]bool{}
	for i := range r.s.Flows {
		f, of := &r.s.Flows[i], r.flows[i]
		if f.Control.Law != "qcn" {
			continue
		}
		c := view{shape: item, chain: []*node{of.node, defaults}}.sub("control")
		at := func(name string) (place, string) {
			if _, n := c.at(name); n != nil {
				return n.at, n.path
			}
			if _, n := c.at("law"); n != nil {
				return n.at, n.path
			}
			return of.node.at, of.node.path
		}
		refuse := func(name, format string, args ...any) {
			where, path := at(name)
			text := fmt.Sprintf(format, args...)
			if key := fmt.Sprint(path, where.line, where.column, name); !told[key] {
				told[key] = true
				r.add(where, path, "%s", text)
			}
		}
		if r.family(f.From) != wire.Ethernet {
			refuse("law", "qcn is told of congestion by notifications, which InfiniBand does not have: flow %s starts on a link with credit", f.Name)
			continue
		}
		for _, l := range r.machines[f.From].links {
			if line := r.s.Links[l].Rate; f.Control.QCN.MinRate > line {
				refuse("min-rate", "the lowest rate of flow %s, %v, is above that of its line, %v", f.Name, f.Control.QCN.MinRate, line)
			}
		}
		if !r.lost {
			r.checkNotified(r.key(i), f, refuse)
		}
	}
}

// checkNotified refuses a flow that a congestion point on its way could not notify:
// there is no way back, or a notification would not say that it is meant.
func (r *resolver) checkNotified(k Key, f *Flow, refuse func(name, format string, args ...any)) {
	r.ways.Visit(k, func(_ int, step paths.Step) {
		at := step.To
		if at >= len(r.s.Switches) || r.s.Switches[at].Marking.Scheme != "qcn" {
			return
		}
		s := &r.s.Switches[at]
		if q := f.Control.QCN; s.Marking.QCN.Octets == 0 && !q.CNTag && !q.Shared {
			refuse("law", "the notifications of switch %s do not name a flow, and flow %s has a limiter of its own: give the marking octets: 14 or more, or the flow cn-tag or shared", s.Name, f.Name)
		}
		for _, qp := range []uint32{k.QP, 0} { // with few octets there is none in a notification
			if _, err := r.ways.Visit(Key{Src: at, Dst: k.Src, QP: qp}, func(int, paths.Step) {}); err != nil {
				_, scheme := r.machines[s.Name].view.sub("marking").at("scheme")
				r.add(scheme.at, scheme.path, "switch %s cannot notify %s, where flow %s comes from: its frames to there never arrive, since the routes lead them round", s.Name, f.From, f.Name)
				return
			}
		}
	})
}
