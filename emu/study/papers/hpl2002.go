package papers

import (
	"strings"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The measurements of HPL-2002-224 that are algorithms.

// The groups of flows of the paper, in the order of its scenarios.
const (
	localFlows = iota
	remoteFlows
	victimFlow
	flowGroups
)

// census counts packets and marks at switch B of the paper's fabric from an instant on.
type census struct {
	node        int32
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
	n       float64
	waiting [flowGroups]float64 // sums
}

// The words for groups and for causes of marks.
var (
	censusGroups = map[string]int{"local": localFlows, "remote": remoteFlows, "victim": victimFlow}
	censusCauses = map[string]int{"full": 0, "threshold": 1}
)

// counted is a number of a run's census from an instant on.
func counted(r Run, from unit.Time, of func(*census) float64) Quantity {
	return Watch(r, func(f *fabric.Fabric) (trace.Sink, func() float64) {
		c := newCensus(f, from)
		return c, func() float64 { return of(c) }
	})
}

func newCensus(f *fabric.Fabric, from unit.Time) *census {
	c := &census{from: from}
	for _, w := range f.Wires {
		for k, end := range w.Ends {
			switch other := w.Ends[1-k]; {
			case f.Nodes[end.Node].Name != "B":
			case f.Nodes[other.Node].Name == "A":
				c.node, c.trunk = int32(end.Node), uint16(end.Port)
				c.room = int(w.Link.Buffer.Packets)
			case f.Nodes[other.Node].Name == "BC":
				c.root = uint16(end.Port)
			}
		}
	}
	for _, flow := range f.Flows {
		name, _, _ := strings.Cut(flow.Name, ".")
		c.group = append(c.group, censusGroups[name])
	}
	return c
}

// Record counts an event (trace.Sink).
func (c *census) Record(e *trace.Event) {
	i := int(e.Flow) - fabric.FirstQP
	if e.Node != c.node || e.Kind != trace.Trigger && (i < 0 || i >= len(c.group) || e.Lane != 0) {
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
}

// everybody is Jain's index of all flows that share the root link.
func everybody(r Run, from, to unit.Time) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		var flows []int
		for _, g := range x.Metrics.Fabric().Groups() {
			if g.Name != "victim" {
				flows = append(flows, g.Flows...)
			}
		}
		return x.Metrics.Jain(flows, from, to), nil
	})
}
