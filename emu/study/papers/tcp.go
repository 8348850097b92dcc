package papers

import (
	"sync"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/study/papers/fluid"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// TCP over RED: the equations of Misra, Gong and Towsley for a run, and episodes of drops.

// loopOf returns the equations of a scenario.
func loopOf(r Run) fluid.TCP {
	s := must(r.open())
	red := s.Switches[0].Marking.Params.(cp.REDParams)
	packet, way, line := s.Flows[0].Packet, s.Links[0], s.Links[len(s.Links)-1]
	trip := 2 * (way.Propagation + line.Propagation)
	for _, n := range []unit.Size{packet, wire.TCPOverhead} { // there, and its ACK back
		trip += way.Rate.Serialise(n) + line.Rate.Serialise(n)
	}
	return fluid.TCP{
		Sources: len(s.Flows), Capacity: line.Rate.BytesPerSecond() / float64(packet), RTT: trip,
		Memory: float64(s.Switches[0].Memory.Total(0)) / float64(packet), Packet: packet, AckEvery: 1, RED: red,
	}
}

// tcpSolution is the solution of the equations of a run: the mean queue in packets, its period in
// seconds.
type tcpSolution struct {
	course       *fluid.TCPCourse
	mean, period float64
}

// solveTCP follows the equations of a run for 150 s, and takes figures of the second half.
func solveTCP(r Run) func() *tcpSolution {
	return sync.OnceValue(func() *tcpSolution {
		const half, step = 75 * unit.Second, unit.Millisecond
		course := must(loopOf(r).Solve(2*half, step))
		at, means := odeCurve(step, course.Queue[half/step:], 1)
		return &tcpSolution{course, course.Mean(course.Queue, half, 2*half), metrics.Period(means) * (at[1] - at[0]) * 1e-3}
	})
}

// tcpBoundary is the RTT in ms from which on the linear equations of a run are unstable.
func tcpBoundary(r Run) Quantity {
	return computed(func() float64 {
		c := loopOf(r)
		setRTT := func(c *fluid.TCP, v float64) { c.RTT = unit.Duration(v * float64(unit.Second)) }
		return must(c.Boundary(0.005, 1, setRTT)) * 1e3
	})
}

// hit is the share of the flows that lose a frame in an episode of drops, as the mean of the
// episodes that begin after 10 s. Between two there is half a second without a drop.
func hit(r Run) Quantity {
	return Watch(r, func(f *fabric.Fabric) (trace.Sink, func() float64) {
		e := &episodes{}
		return e, func() float64 {
			e.end()
			return e.flows / e.n / float64(len(f.Flows))
		}
	}).in(metrics.Share())
}

// episodes counts flows that lose something in episodes of drops (trace.Sink).
type episodes struct {
	last     unit.Time
	of       map[uint32]bool // the flows of this one
	n, flows float64
}

// Record counts a drop.
func (s *episodes) Record(e *trace.Event) {
	const from, apart = 10 * unit.Time(unit.Second), 500 * unit.Millisecond
	if e.Kind != trace.Drop {
		return
	}
	if e.At.Sub(s.last) > apart {
		s.end()
		if e.At >= from {
			s.of = map[uint32]bool{}
		}
	}
	s.last = e.At
	if s.of != nil {
		s.of[e.Flow] = true
	}
}

func (s *episodes) end() {
	if s.of != nil {
		s.n, s.flows, s.of = s.n+1, s.flows+float64(len(s.of)), nil
	}
}
