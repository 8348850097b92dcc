package reproduce

import (
	"math"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The groups of flows of the paper, in the order of its scenarios.
const (
	localFlows = iota
	remoteFlows
	victimFlow
	flowGroups
)

// census is what happened at switch B of the paper's fabric, packet by packet, from an
// instant on.
type census struct {
	machine     int32
	root, trunk uint16 // the port to BC, and the one from A
	room        int    // packets that its buffer has room for
	group       []int  // by flow
	from        unit.Time

	waiting  [flowGroups]int // packets for the root link that wait for it, now
	resident [flowGroups]int // packets in the buffer of trunk, now

	packets    [flowGroups]float64 // sent on the root link
	fills      float64             // a packet has filled the buffer of trunk
	withVictim float64             // of those, with a packet of the victim in it
	marks      [2][flowGroups]float64
	events     [2]moments // marking events for the root link: of a full buffer, of the threshold
}

// moments are marking events with the packets that waited then: those that are marked.
type moments struct {
	n           float64
	waiting     [flowGroups]float64 // sums
	least, most int                 // local packets
}

// counted is a number of a run's census from an instant on.
func counted(r Run, from unit.Time, of func(*census) float64) Quantity {
	return Watch(r, func(f *fabric.Fabric) (trace.Sink, func() float64) {
		c := newCensus(f, from)
		return c, func() float64 { return of(c) }
	})
}

func newCensus(f *fabric.Fabric, from unit.Time) *census {
	c := &census{from: from}
	for i := range c.events {
		c.events[i].least = math.MaxInt
	}
	for _, w := range f.Wires {
		for k, end := range w.Ends {
			switch other := w.Ends[1-k]; {
			case f.Machines[end.Machine].Name != "B":
			case f.Machines[other.Machine].Name == "A":
				c.machine, c.trunk = int32(end.Machine), uint16(end.Port)
				c.room = int(w.Link.Buffer.Packets)
			case f.Machines[other.Machine].Name == "BC":
				c.root = uint16(end.Port)
			}
		}
	}
	for _, flow := range f.Flows {
		name, _, _ := strings.Cut(flow.Name, ".")
		c.group = append(c.group, map[string]int{"local": localFlows, "remote": remoteFlows, "victim": victimFlow}[name])
	}
	return c
}

// Record counts an event (trace.Sink).
func (c *census) Record(e *trace.Event) {
	i := int(e.Flow) - fabric.FirstQP
	if e.Machine != c.machine || e.Kind != trace.Trigger && (i < 0 || i >= len(c.group) || e.Lane != 0) {
		return
	}
	counts := 0.0
	if e.At >= c.from {
		counts = 1
	}
	switch e.Kind {
	case trace.Arrive:
		c.arrive(c.group[i], e.Port, counts)
	case trace.Release:
		if e.Port == c.trunk {
			c.resident[c.group[i]]--
		}
	case trace.Start:
		if e.Port == c.root {
			c.waiting[c.group[i]]--
			c.packets[c.group[i]] += counts
		}
	case trace.Mark:
		if e.Port == c.root {
			c.marks[triggered(e)][c.group[i]] += counts
		}
	case trace.Trigger:
		if e.Port == c.root && counts > 0 {
			c.events[triggered(e)].add(&c.waiting)
		}
	}
}

// triggered says what a mark or a marking event comes from: 0 is a full buffer, 1 the
// threshold.
func triggered(e *trace.Event) int {
	if e.Reason() == trace.OverThreshold {
		return 1
	}
	return 0
}

func (c *census) arrive(group int, port uint16, counts float64) {
	if group != victimFlow {
		c.waiting[group]++
	}
	if port != c.trunk {
		return
	}
	c.resident[group]++
	if c.resident[localFlows]+c.resident[remoteFlows]+c.resident[victimFlow] == c.room {
		c.fills += counts
		if c.resident[victimFlow] > 0 {
			c.withVictim += counts
		}
	}
}

func (m *moments) add(waiting *[flowGroups]int) {
	m.n++
	for g, n := range waiting {
		m.waiting[g] += float64(n)
	}
	m.least, m.most = min(m.least, waiting[localFlows]), max(m.most, waiting[localFlows])
}

// perEvent is how many packets of a group a marking event finds waiting.
func perEvent(r Run, from unit.Time, why, group int) Quantity {
	return counted(r, from, func(c *census) float64 { return c.events[why].waiting[group] / c.events[why].n })
}

// preference is the share of a group's packets that is marked for a reason over that of
// another group.
func preference(r Run, from unit.Time, why, group, other int) Quantity {
	return counted(r, from, func(c *census) float64 {
		return c.marks[why][group] / c.packets[group] / (c.marks[why][other] / c.packets[other])
	})
}

// limited are the rows of section III about sources that limit themselves.
func limited() []Claim {
	const says = "If each remote flow did not attempt to transmit at the full link bandwidth and instead proactively reduced its rate to the rate determined by the bottleneck link, ... the buffers at switch B would not fill up and the victim flow would be able to utilize the available bandwidth at the inter-switch link"
	const why = "Ten flows at 1/20 of the link leave half of it. Five points around that."
	remotes := drawn("fig2").With("flows.remote.traffic=constant", "flows.remote.rate=50MB/s")
	all := remotes.With("flows.local.traffic=constant", "flows.local.rate=50MB/s")
	return []Claim{{Check: scenario.Check{
		ID: "IB-21a", Basis: scenario.Quoted, Source: "section III", Claim: says,
		Metric: "remote flows that offer 50 MB/s each: " + victim, Low: 0.45, High: 0.55, Why: why,
		Reason: "The local flows go on to take all that they can get. Served in the order of arrival, ten remote packets in twenty would need as many places in the queue as the local ones, and the buffer has four: it is full, the remote flows have four turns of fourteen (28.6 %), which is less than they offer, and nothing has changed. The sentence holds if the local flows limit themselves too (IB-21b).",
	}, Unit: Percent, Value: during(remotes, victim)}, {Check: scenario.Check{
		ID: "IB-21b", Basis: scenario.Derived, Source: "section III", Claim: "if all twenty flows reduce their rates to 1/20, the victim can use what is left of the inter-switch link",
		From:   `"the rate determined by the bottleneck link, i.e. 1/20 of the link bandwidth": a twentieth is the share of each of twenty flows, so that all have to keep to it.`,
		Metric: "all flows but the victim offer 50 MB/s each: " + victim, Low: 0.45, High: 0.55, Why: why,
	}, Unit: Percent, Value: during(all, victim)}}
}

// marks are the rows about which packets a marking event marks.
func marks() Figure {
	const settling = 4 * ms // all flows have started
	a, b := drawn("fig3a"), drawn("fig3b")
	large := func(threshold int) Run { return cell(12, threshold) }
	event := func(threshold, group int) Quantity { return perEvent(large(threshold), 100*ms, 1, group) }
	apart := func(threshold int) Quantity {
		return Combine(abs, Minus(event(threshold, localFlows), event(threshold, remoteFlows)))
	}
	var local []Quantity
	for _, r := range []Run{drawn("fig3c"), drawn("fig3d"), large(4), large(8)} {
		local = append(local, preference(r, settling, 1, localFlows, remoteFlows))
	}
	return Figure{
		Name: "marks", Source: "section IV", Title: "Whose packets are marked",
		Caption: "What marking events at switch B find, packet by packet, from 4 ms on (Fig. 4: from 100 ms on). An event marks the packets that wait for the root link at its moment. They are fewer in the end, since an event that comes before the last one's packets have left marks some of them again.",
		Claims: []Claim{{Check: scenario.Check{
			ID: "IB-20a", Basis: scenario.Quoted, Source: "section IV.A", Claim: "none of the packets of the local flows is marked since each local flow uses a different input buffer and the window limit prevents it from filling the buffer",
			Metric: "Fig. 3(a): local.marked, whole run", High: 0, Why: "None.",
		}, Unit: Percent, Value: Mean(a, "local.marked", 0, 100*ms)}, {Check: scenario.Check{
			ID: "IB-20b", Basis: scenario.Quoted, Source: "section IV.B", Claim: "In input-triggered marking, the number of packets of remote flows that are marked is approximately equal to the number of input buffer slots",
			Metric: "Fig. 3(b), 4 slots: remote packets that an event of a full buffer finds waiting",
			Low:    3, High: 4, Why: `Four slots, less one for what footnote 6 names: "a victim flow may be using one of the buffer slots or a packet in the buffer is being transmitted and cannot be marked anymore".`,
		}, Value: perEvent(b, settling, 0, remoteFlows)}, {Check: scenario.Check{
			ID: "IB-20c", Basis: scenario.Quoted, Source: "section IV.B", Claim: "In input-triggered marking, the number of packets of remote flows that are marked is approximately equal to the number of input buffer slots",
			Metric: "Fig. 3(b), 4 slots: remote packets that leave marked, for each event of a full buffer",
			Low:    3, High: 4, Why: "As for IB-20b.",
			Reason: `A buffer that is full becomes full again with the next packet that takes the slot of one that has left: such events come before the packets of the one before have left, and find most of them marked already. The paper says so itself: "causing counter cnt2 to be updated with the current value of counter cnt1 a second time before it reaches zero".`,
		}, Value: counted(b, settling, func(c *census) float64 { return c.marks[0][remoteFlows] / c.events[0].n })}, {Check: scenario.Check{
			ID: "IB-20d", Basis: scenario.Quoted, Source: "section IV.B", Claim: "the event that triggers packet marking (a full input buffer) is biased to preferentially mark remote flows",
			Metric: "Fig. 3(b): marked share of the remote packets over that of the local ones",
			Low:    1, High: none, Why: "More of the remote packets are marked. The text has no figure.",
		}, Value: preference(b, settling, 0, remoteFlows, localFlows)}, {Check: scenario.Check{
			ID: "IB-20e", Basis: scenario.Quoted, Source: "section IV.C", Claim: "Output-triggered marking events tend to preferentially mark local flows",
			Metric: "marked share of the local packets over that of the remote ones, by the threshold alone: lowest of Fig. 3(c) and (d), and of 12 packets with threshold 4 and 8",
			Low:    1, High: none, Why: "More of the local packets are marked. The text has no figure.",
		}, Value: Lowest(local...)}, {Check: scenario.Check{
			ID: "IB-20f", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "the number of local packets marked in an output-triggered marking event is increased for larger thresholds",
			Metric: "12 packets: local packets that an event of the threshold finds waiting, threshold 8 less 4",
			Low:    positive, High: none, Why: "The text has no figure.",
		}, Value: Minus(event(8, localFlows), event(4, localFlows))}, {Check: scenario.Check{
			ID: "IB-20g", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "while the number of remote packets marked is not",
			Metric: "12 packets: remote packets that an event of the threshold finds waiting, threshold 8 less 4",
			High:   0, Why: "Not increased.",
			Reason: "With the higher threshold more packets of both kinds wait, and of the remote ones even more are added. They come one after another, but the queue that they join is longer. Without the victim, or with no threshold at switch A, both kinds grow alike.",
		}, Value: Minus(event(8, remoteFlows), event(4, remoteFlows))}, {Check: scenario.Check{
			ID: "IB-20h", Basis: scenario.Quoted, Source: "section IV.C, on Fig. 4(b)", Claim: "This reduces the difference between the number of marked packets from local and remote flows",
			Metric: "12 packets: difference between local and remote packets that an event of the threshold finds waiting, threshold 8 less 16",
			Low:    positive, High: none, Why: "Reduced. The text has no figure.",
			Reason: "At both thresholds as many remote packets wait as local ones, within a tenth: there is hardly a difference to reduce, and twice as many packets have a somewhat larger one.",
		}, Value: Minus(apart(8), apart(16))}},
	}
}
