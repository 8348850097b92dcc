package sets

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Place is a fabric as the rules of sets see it. Round trips are those of a packet of the largest
// size and its ACK, without queues.
type Place struct {
	Rate      unit.Rate     // the highest of the links of endpoints
	Trip      unit.Duration // the longest on a shortest path
	OneSwitch unit.Duration // the longest between two endpoints of one switch
	PerSwitch unit.Duration // what each further switch adds on the way of Trip
	Switches  int           // on that way
	Workload  bool          // flows of a workload do not know how many switches are on their paths
	Several   bool          // there are several shortest paths between some endpoints
	// Oversubscription is the rate of all links of endpoints over that of the links upwards from
	// the narrowest tier; at least 1.
	Oversubscription float64
}

// The bytes on an Ethernet line of a RoCEv2 packet beside its payload, with the telemetry of HPCC,
// and of an ACK. A packet of the usual framing is shorter, so that times are no shorter than they
// will be with any scheme.
const (
	packetOverhead = 180
	ackBytes       = wire.MinFrame + wire.LinkOverhead
)

// mostEdges is how many switches with endpoints a Place is measured from.
const mostEdges = 64

// Of measures the fabric of a scenario. It returns false if no path crosses a switch.
func Of(s *scenario.Scenario) (Place, bool) {
	packet := unit.Size(0)
	for i := range s.Flows {
		packet = max(packet, s.Flows[i].Packet)
	}
	for i := range s.Workloads {
		packet = max(packet, s.Workloads[i].Packet)
	}
	p := of(s, packet+packetOverhead, ackBytes)
	return p, p.Switches > 0
}

// Trip returns the longest round trip in the fabric of a scenario, of a packet and an ACK of these
// lengths on the link, without queues; 0: no path crosses a switch.
func Trip(s *scenario.Scenario, packet, ack unit.Size) unit.Duration { return of(s, packet, ack).Trip }

// of measures the fabric of a scenario with packets and ACKs of these lengths on the link.
func of(s *scenario.Scenario, packet, ack unit.Size) Place {
	m := newChart(s, packet, ack)
	p := Place{Workload: len(s.Workloads) > 0, Rate: m.rate, Oversubscription: m.oversubscription()}
	step := max(1, (len(m.edges)+mostEdges-2)/mostEdges)
	for i := 0; i < len(m.edges); i += step {
		m.from(&p, m.edges[i])
	}
	if n := len(m.edges); n > 0 {
		m.from(&p, m.edges[n-1])
	}
	if p.Switches > 1 {
		p.PerSwitch = (p.Trip - p.OneSwitch) / unit.Duration(p.Switches-1)
	}
	return p
}

// chart is a fabric for the measurement of round trips.
type chart struct {
	rate  unit.Rate
	delay []unit.Duration // of each switch, there and back
	near  []unit.Duration // of each switch, the round trip over the slowest link to an endpoint; 0: there is none
	ends  []int           // of each switch, its endpoints
	down  float64         // of all links of endpoints, in bits per second
	next  [][]line
	edges []int // switches with endpoints
}

// line is a link to a switch, with its round trip.
type line struct {
	to   int
	trip unit.Duration
	rate unit.Rate
}

func newChart(s *scenario.Scenario, packet, ack unit.Size) *chart {
	n := len(s.Switches)
	m := &chart{delay: make([]unit.Duration, n), near: make([]unit.Duration, n), ends: make([]int, n), next: make([][]line, n)}
	number := make(map[string]int, n)
	for i := range s.Switches {
		number[s.Switches[i].Name], m.delay[i] = i, 2*s.Switches[i].ForwardingDelay
	}
	for i := range s.Links {
		l := &s.Links[i]
		trip := 2*l.Propagation + l.Rate.Serialise(packet) + l.Rate.Serialise(ack)
		a, inA := number[l.A]
		b, inB := number[l.B]
		switch {
		case inA && inB:
			m.next[a], m.next[b] = append(m.next[a], line{b, trip, l.Rate}), append(m.next[b], line{a, trip, l.Rate})
		case inA || inB:
			at := a
			if inB {
				at = b
			}
			m.near[at], m.rate = max(m.near[at], trip), max(m.rate, l.Rate)
			m.ends[at]++
			m.down += float64(l.Rate)
		}
	}
	for i, trip := range m.near {
		if trip > 0 {
			m.edges = append(m.edges, i)
		}
	}
	return m
}

// from takes the round trips from the endpoints of a switch into a place.
func (m *chart) from(p *Place, edge int) {
	p.OneSwitch = max(p.OneSwitch, 2*m.near[edge]+m.delay[edge])
	switches, trip := make([]int, len(m.delay)), make([]unit.Duration, len(m.delay))
	several := make([]bool, len(m.delay))
	switches[edge], trip[edge] = 1, m.near[edge]+m.delay[edge]
	for queue := []int{edge}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if whole := trip[at] + m.near[at]; m.near[at] > 0 && (at != edge || m.ends[at] > 1) &&
			cmp.Or(cmp.Compare(whole, p.Trip), cmp.Compare(switches[at], p.Switches)) > 0 {
			p.Trip, p.Switches = whole, switches[at]
		}
		p.Several = p.Several || several[at] && m.ends[at] > 0
		for _, l := range m.next[at] {
			first := switches[l.to] == 0
			if first {
				switches[l.to] = switches[at] + 1
				queue = append(queue, l.to)
			}
			if switches[l.to] == switches[at]+1 {
				several[l.to] = several[l.to] || several[at] || !first
				trip[l.to] = max(trip[l.to], trip[at]+l.trip+m.delay[l.to])
			}
		}
	}
}

// oversubscription returns the Oversubscription of a Place. A tier is the switches at one distance
// from the nearest endpoint; their links upwards are those to switches that are no nearer.
func (m *chart) oversubscription() float64 {
	tier := make([]int, len(m.delay))
	queue := slices.Clone(m.edges)
	for _, at := range queue {
		tier[at] = 1
	}
	up := []float64{0, 0}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, l := range m.next[at] {
			if tier[l.to] == 0 {
				tier[l.to] = tier[at] + 1
				queue, up = append(queue, l.to), append(up, make([]float64, max(tier[l.to]+1-len(up), 0))...)
			}
			if tier[l.to] >= tier[at] {
				up[tier[at]] += float64(l.rate)
			}
		}
	}
	ratio := 1.0
	for _, rate := range up {
		if rate > 0 {
			ratio = max(ratio, m.down/rate)
		}
	}
	return ratio
}

// String describes the place: "100Gb/s and a round trip of 1.2us", the time in steps of 10 ns, as
// rules give it.
func (p Place) String() string {
	const step = 10 * unit.Nanosecond
	rate := p.Rate.String()
	if p.Rate%1e9 == 0 {
		rate = fmt.Sprintf("%dGb/s", p.Rate/1e9)
	}
	return fmt.Sprintf("%s and a round trip of %v", rate, (p.Trip+step-1)/step*step)
}

// quantities returns what rules may use.
func (p *Place) quantities() map[string]float64 {
	q := map[string]float64{
		param.LinkRate: p.Rate.BytesPerSecond(), param.RoundTrip: p.Trip.Seconds(),
		param.OneSwitch: p.OneSwitch.Seconds(), param.PerSwitch: p.PerSwitch.Seconds(),
	}
	if p.Workload {
		q[param.Switches] = float64(p.Switches)
	}
	return q
}
