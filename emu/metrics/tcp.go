package metrics

import (
	"math"

	"fabemu/emu/fabric"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// The counters of a flow with TCP. RoCEv2 uses tcpRetransmits and tcpTimeouts, and has others in
// the places of some (disorder.go). They are behind the counters of all flows, in fabrics that have
// such flows.
const (
	tcpInOrder     = iota // bytes of payload that were delivered in order
	tcpRetransmits        // segments that were retransmitted
	tcpTimeouts           // how often the retransmission timer ran out
	tcpRefused            // segments or telemetry that an end did not take in
	tcpTrips              // round trips that were measured
	tcpTripTime           // their sum in picoseconds
	tcpWindow             // not a counter but a state: the congestion window in bytes
	tcpWindowHeld         // the window over time: bytes times 2^rateShift picoseconds
	tcpThreshold          // a state: the slow start threshold in bytes; 0: there is none yet
	tcpThresholdHeld
	tcpColumns
)

// ofTCP are these counters among the columns of a flow. With them a flow has 32 columns, as many as
// columns has bits: one more does not compile.
const ofTCP = (1<<tcpColumns - 1) << flowColumns

// streamCounts are the counts of flows with TCP or RoCEv2.
type streamCounts struct {
	ofStreams int // where their counters begin, in bins.now; 0: no flow has it
}

// begin makes the counters, if a flow has them, behind so many others, and returns how many there
// are with them.
func (c *streamCounts) begin(f *fabric.Fabric, columns int) int {
	for i := range f.Flows {
		if t := f.Flows[i].Transport; t.Streams() || t.Acks() {
			c.ofStreams = columns
			return columns + len(f.Flows)*tcpColumns
		}
	}
	return columns
}

// isStream reports whether a flow has TCP.
func (c *Collector) isStream(flow int) bool { return c.fabric.Flows[flow].Transport.Streams() }

// resends reports whether a flow sends lost packets again, on Ethernet: TCP, RoCEv2.
func (c *Collector) resends(flow int) bool {
	return c.isStream(flow) || c.fabric.Flows[flow].Transport.Acks()
}

// hasWindow reports whether a flow has a congestion window: TCP, or an algorithm with one.
func (c *Collector) hasWindow(flow int) bool {
	return c.isStream(flow) || c.resends(flow) && c.last(c.ofStreams+flow*tcpColumns+tcpWindowHeld) > 0
}

// tcp counts the reports of the ends of a flow with TCP.
func (c *Collector) tcp(i int, e *trace.Event) {
	now := c.now[c.ofStreams+i*tcpColumns:]
	c.lives[i].columns.begun |= ofTCP
	switch e.Kind {
	case trace.Window:
		c.lives[i].holdWindow(now, e.At)
		if now[tcpWindow] = e.A; c.isStream(i) {
			now[tcpThreshold] = max(e.B, 0)
		}
	case trace.RoundTrip:
		now[tcpTrips]++
		now[tcpTripTime] += e.A
	case trace.Retransmit:
		if trace.Reason(e.A) != trace.WindowProbe {
			now[tcpRetransmits] += max(e.B, 1)
		}
	case trace.Timeout:
		now[tcpTimeouts]++
		if !c.isStream(i) {
			now[tcpRetransmits] += e.A
		}
	case trace.Refuse:
		now[tcpRefused]++
		if f := &c.flows[i]; e.Bytes > 0 && !f.Again && int(e.Node) == c.fabric.Flows[i].Dst {
			f.Gone++
		}
	}
}

// settleStream settles a flow with TCP or RoCEv2.
func (x *life) settleStream(f *trace.Flow, now []int64, t unit.Time) {
	if f.InOrder != 0 {
		x.columns.begun |= 1 << (flowColumns + tcpInOrder)
		now[tcpInOrder] += f.InOrder
		f.InOrder = 0
	}
	x.holdWindow(now, t)
	if x.selective {
		now[flowWorst], x.worst = x.worst.number(), worst{}
	}
}

// holdWindow counts the window and the threshold of a flow up to t.
func (x *life) holdWindow(now []int64, t unit.Time) {
	now[tcpWindowHeld] += product(now[tcpWindow], t.Sub(x.windowed), rateShift)
	if !x.selective {
		now[tcpThresholdHeld] += product(now[tcpThreshold], t.Sub(x.windowed), rateShift)
	}
	x.windowed = t
}

// ofStreams is the growth of a counter of the flows with TCP, ofResenders of the flows with TCP or
// RoCEv2; not a number where there are none.
func ofStreams(column int) formula { return ofThose(column, (*Collector).isStream) }

func ofResenders(column int) formula { return ofThose(column, (*Collector).resends) }

func ofThose(column int, has func(c *Collector, flow int) bool) formula {
	return func(t taken) float64 {
		v, any := 0.0, false
		for _, i := range t.object.flows {
			if has(t.c, i) {
				any = true
				v += t.grown(t.c.ofStreams + i*tcpColumns + column)
			}
		}
		if !any {
			return math.NaN()
		}
		return v
	}
}

// windowOf is the mean of a state of such flows over the time.
func windowOf(column int, has func(c *Collector, flow int) bool) formula {
	return func(t taken) float64 {
		n := 0
		for _, i := range t.object.flows {
			if has(t.c, i) {
				n++
			}
		}
		return ratio(ofThose(column, has)(t)*(1<<rateShift), float64(n)*t.span())
	}
}

// synchrony is how far the congestion windows of the flows with TCP move as one.
func synchrony(t taken) float64 {
	var windows [][]float64 // of each flow, by bin
	var spans []float64
	for _, i := range t.object.flows {
		if !t.c.isStream(i) {
			continue
		}
		var of []float64
		spans = spans[:0]
		for v, span := range t.means(t.c.ofStreams + i*tcpColumns + tcpWindowHeld) {
			of, spans = append(of, v), append(spans, float64(span))
		}
		windows = append(windows, of)
	}
	return together(windows, spans)
}

// together returns the variance of the mean of some courses over the mean of their variances;
// their values each hold for a time.
func together(courses [][]float64, spans []float64) float64 {
	mean, each := make([]float64, len(spans)), make([]float64, len(courses))
	of := make([]float64, len(courses))
	for bin := range mean {
		for i, course := range courses {
			of[i] = course[bin]
		}
		mean[bin] = unit.Mean(of)
	}
	for i, course := range courses {
		each[i] = variance(course, spans)
	}
	return ratio(variance(mean, spans), unit.Mean(each))
}

// variance returns the variance of values that each hold for a time.
func variance(values, spans []float64) float64 {
	var sum, squares unit.Total
	time := unit.Sum(spans)
	for i, v := range values {
		sum.Add(v * spans[i])
	}
	mean := sum.Over(time)
	for i, v := range values {
		squares.Add((v - mean) * (v - mean) * spans[i])
	}
	return squares.Over(time)
}
