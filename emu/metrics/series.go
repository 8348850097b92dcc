package metrics

import (
	"fabemu/emu/fabric"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Series is a figure over model time. UnitOf says what it is counted in.
type Series struct {
	Kind   string // what of whom: "link.rate", "flow.limit", "buffer.occupancy", ...
	Name   string // of the link's direction, the group, the flow
	Times  []unit.Time
	Values []float64 // NaN where undefined
}

// Kinds of series. Rates, utilisations and stalls exist for links, groups and
// flows.
const (
	LinkRate         = "link.rate"
	LinkUtilisation  = "link.utilisation"
	GroupRate        = "group.rate"
	GroupUtilisation = "group.utilisation"
	FlowRate         = "flow.rate"
	FlowUtilisation  = "flow.utilisation"
	FlowLimit        = "flow.limit"
	FlowTarget       = "flow.target"
	FlowFb           = "flow.fb"
	BufferOccupancy  = "buffer.occupancy"
	LinkQueue        = "link.queue"
	LinkStalled      = "link.stalled." // and the cause
	FlowStalled      = "flow.stalled." // and the cause
)

// Series returns how the figures went. Rates and utilisations are means over
// the scenario's window, centred on each point, and cut where it would leave the
// run; a point stands at each regular edge. Occupancies (by the link that fills
// the buffer) and stalls are means over each bin, stamped with its begin; only
// causes that occurred are there. The limit of a flow is what its source's
// limiter allows at the instant, in bytes per second; its target the rate that its
// reaction point wants back. Queues, targets and feedback are there where there were
// any.
//
// Links are those that some flow crosses, in the direction of its data.
func (c *Collector) Series() []Series {
	var all []Series
	points := c.points()
	windowed := func(kind string, x object, of formula) {
		all = append(all, c.windowed(kind, points, &figure{object: x, formula: of}))
	}
	last := c.row(c.cur)
	used := DataLinks(c.fabric)
	for _, h := range used {
		x := object{name: c.fabric.LinkName(h), hop: h}
		windowed(LinkRate, x, linkRate)
		windowed(LinkUtilisation, x, linkUtilisation)
	}
	for _, g := range Groups(c.fabric) {
		windowed(GroupRate, flowsObject(c.fabric, g.Name, g.Flows), flowRate)
		windowed(GroupUtilisation, flowsObject(c.fabric, g.Name, g.Flows), flowUtilisation)
	}
	for i := range c.fabric.Flows {
		x := flowsObject(c.fabric, c.fabric.Flows[i].Name, []int{i})
		windowed(FlowRate, x, flowRate)
		windowed(FlowUtilisation, x, flowUtilisation)
		all = append(all, c.state(FlowLimit, i, flowLimit))
		if at := c.ofFlows + i*flowColumns; last[at+flowTarget] > 0 {
			all = append(all, c.state(FlowTarget, i, flowTarget))
			windowed(FlowFb, x, meanFeedback)
		}
	}
	for _, h := range used {
		name := c.fabric.LinkName(h)
		all = append(all, c.binned(BufferOccupancy, name, c.in(h)+inOccupancy))
		if column := c.out(h) + outQueue; InBytes(c.fabric, h.Wire) && last[column] > 0 {
			s := c.binned(LinkQueue, name, column)
			for k := range s.Values {
				s.Values[k] *= 1 << queueShift
			}
			all = append(all, s)
		}
		for b := port.LineBusy; b < port.Blocks; b++ {
			if column := c.out(h) + outStall + int(b); c.row(c.cur)[column] > 0 {
				all = append(all, c.binned(LinkStalled+b.String(), name, column))
			}
		}
	}
	for i := range c.fabric.Flows {
		for b := port.LineBusy; b < port.Blocks; b++ {
			if column := c.ofFlows + i*flowColumns + flowStall + int(b); c.row(c.cur)[column] > 0 {
				all = append(all, c.binned(FlowStalled+b.String(), c.fabric.Flows[i].Name, column))
			}
		}
	}
	return all
}

// DataLinks returns the directions of wires that the data of some flow crosses,
// in the order of the wires.
func DataLinks(f *fabric.Fabric) []fabric.Hop {
	var hops []fabric.Hop
	carries := make([][2]bool, len(f.Wires))
	for i := range f.Flows {
		for _, hops := range append([][]fabric.Hop{f.Flows[i].Hops}, f.Flows[i].Later...) {
			for _, h := range hops {
				carries[h.Wire][h.From] = true
			}
		}
	}
	for w := range carries {
		for from, yes := range carries[w] {
			if yes {
				hops = append(hops, fabric.Hop{Wire: w, From: from})
			}
		}
	}
	return hops
}

// points returns the regular edges that the run has reached.
func (c *Collector) points() []unit.Time {
	var times []unit.Time
	for i := int64(0); ; i++ {
		t := unit.Time(unit.Duration(i).Scale(int64(c.scenario.Measure.Window), c.perWindow))
		if t > c.End() {
			return times
		}
		times = append(times, t)
	}
}

// windowed takes a figure over the window around each point.
func (c *Collector) windowed(kind string, points []unit.Time, g *figure) Series {
	s := Series{Kind: kind, Name: g.object.name, Times: points, Values: make([]float64, len(points))}
	half := c.perWindow / 2
	for i := range points {
		from := points[max(0, int64(i)-half)]
		to := c.End()
		if k := int64(i) + half; k < int64(len(points)) {
			to = points[k]
		}
		s.Values[i] = c.figure(g, from, to)
	}
	return s
}

// binned takes the mean of a counter of time over each bin.
func (c *Collector) binned(kind, name string, column int) Series {
	s := Series{Kind: kind, Name: name, Times: c.edges[:c.cur], Values: make([]float64, c.cur)}
	for k := range c.cur {
		s.Values[k] = float64(c.row(k + 1)[column]-c.row(k)[column]) / float64(c.edges[k+1]-c.edges[k])
	}
	return s
}

// state reads a rate of a flow's reaction point at each edge.
func (c *Collector) state(kind string, flow, column int) Series {
	s := Series{Kind: kind, Name: c.fabric.Flows[flow].Name, Times: c.edges[:c.cur+1], Values: make([]float64, c.cur+1)}
	for k := range s.Values {
		s.Values[k] = unit.Rate(c.row(k)[c.ofFlows+flow*flowColumns+column]).BytesPerSecond()
	}
	return s
}
