package reproduce

import (
	"math"
	"strings"

	"fabemu/emu/fabric"
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

// census counts packets and marks at switch B of the paper's fabric from an instant on.
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

// triggered returns the cause of a mark or of a marking event: 0 is a full buffer, 1 the
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

// preference is the marked share of a group's packets over the marked share of another group's, for one
// reason of marks.
func preference(r Run, from unit.Time, why, group, other int) Quantity {
	return counted(r, from, func(c *census) float64 {
		return c.marks[why][group] / c.packets[group] / (c.marks[why][other] / c.packets[other])
	})
}

// limited makes the claims of section III about sources that limit themselves.
func limited(f *Figure) {
	remotes := drawn("fig2").With("flows.remote.traffic=constant", "flows.remote.rate=50MB/s")
	all := remotes.With("flows.local.traffic=constant", "flows.local.rate=50MB/s")
	f.claim("IB-21a", during(remotes, victim))
	f.claim("IB-21b", during(all, victim))
}

// marks are the rows about which packets a marking event marks.
func marks(f *Figure) {
	const settling = 4 * ms // all flows have started
	a, b := drawn("fig3a"), drawn("fig3b")
	large := func(threshold int) Run { return cell(12, threshold) }
	event := func(threshold, group int) Quantity { return perEvent(large(threshold), 100*ms, 1, group) }
	apart := func(threshold int) Quantity {
		return Spread(event(threshold, localFlows), event(threshold, remoteFlows))
	}
	var local []Quantity
	for _, r := range []Run{drawn("fig3c"), drawn("fig3d"), large(4), large(8)} {
		local = append(local, preference(r, settling, 1, localFlows, remoteFlows))
	}
	f.claim("IB-20a", Mean(a, "local.marked", 0, 100*ms))
	f.claim("IB-20b", perEvent(b, settling, 0, remoteFlows))
	f.claim("IB-20c", counted(b, settling, func(c *census) float64 { return c.marks[0][remoteFlows] / c.events[0].n }))
	f.claim("IB-20d", preference(b, settling, 0, remoteFlows, localFlows))
	f.claim("IB-20e", Lowest(local...))
	f.claim("IB-20f", Minus(event(8, localFlows), event(4, localFlows)))
	f.claim("IB-20g", Minus(event(8, remoteFlows), event(4, remoteFlows)))
	f.claim("IB-20h", Minus(apart(8), apart(16)))
}
