package capture

import (
	"fmt"
	"strconv"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// state is the state that the events of the nodes have reported so far. It belongs to the driver's
// goroutine, but for all and ports, which stay as they are.
type state struct {
	all      []Port
	ports    [][]int32            // by node and port: index of the port in the fabric; -1: there is none
	buffers  [][lanes]int64       // by that index and lane: occupancy in blocks
	triggers map[[2]int32]trigger // node and port that sends: the last one
	inputs   map[[2]uint32]uint16 // node and flow: the port that its data came by last
}

// lanes are those of InfiniBand; Ethernet has fewer priorities.
const lanes = 16

// trigger is an instant at which congestion was detected.
type trigger struct {
	at      unit.Time
	reason  trace.Reason
	waiting int64
}

func newState(ports []Port) state {
	s := state{
		all: ports, buffers: make([][lanes]int64, len(ports)),
		triggers: make(map[[2]int32]trigger), inputs: make(map[[2]uint32]uint16),
	}
	for i, p := range ports {
		for len(s.ports) <= p.Node {
			s.ports = append(s.ports, nil)
		}
		for len(s.ports[p.Node]) <= int(p.Port) {
			s.ports[p.Node] = append(s.ports[p.Node], -1)
		}
		s.ports[p.Node][p.Port] = int32(i)
	}
	return s
}

// port returns the index in the fabric of a port of a node, or -1.
func (s *state) port(node int32, p uint16) int {
	if uint32(node) < uint32(len(s.ports)) && int(p) < len(s.ports[node]) {
		return int(s.ports[node][p])
	}
	return -1
}

// unit returns the unit of the occupancy of a port's buffers.
func (s *state) unit(port int) string {
	if port >= 0 && s.all[port].Ethernet {
		return "bytes"
	}
	return "blocks"
}

func (s *state) update(e *trace.Event) {
	switch e.Kind {
	case trace.Arrive:
		s.hold(e)
		if kind, _, _ := trace.FrameOf(e.A); kind == wire.Data {
			s.inputs[[2]uint32{uint32(e.Node), e.Flow}] = e.Port
		}
	case trace.Release:
		s.hold(e)
	case trace.Trigger:
		s.triggers[[2]int32{e.Node, int32(e.Port)}] = trigger{e.At, e.Reason(), e.Waiting()}
	}
}

// hold records the occupancy that an event states.
func (s *state) hold(e *trace.Event) {
	if p := s.port(e.Node, e.Port); p >= 0 {
		s.buffers[p][e.Lane%lanes] = e.Occupancy()
	}
}

// describe appends the facts about a frame that was sent which its bytes do not hold.
func (s *state) describe(b []byte, i *item, wall bool) []byte {
	sep := func() {
		if len(b) > 0 {
			b = append(b, "; "...)
		}
	}
	if i.note.Reason != 0 {
		b = s.appendMark(b, i)
	}
	if i.note.Credit >= 0 && !i.frame.Kind.Control() {
		sep()
		b = append(strconv.AppendInt(append(b, "credit "...), int64(i.note.Credit), 10), " blocks"...)
	}
	if sequence, ok := i.retry.Sequence(); ok {
		sep()
		b = strconv.AppendInt(append(b, "retry "...), int64(sequence), 10)
	}
	if wall {
		sep()
		b = append(strconv.AppendFloat(append(b, "late "...), float64(i.late)/1e3, 'f', 1, 64), "us"...)
	}
	return b
}

// appendMark appends why a frame was marked.
func (s *state) appendMark(b []byte, i *item) []byte {
	b = fmt.Appendf(b, "marked: %v, %d waiting (cnt1)", trace.Reason(i.note.Reason), i.note.Waiting)
	p := &s.all[i.path]
	if t := &i.mark.trigger; i.mark.triggered {
		b = fmt.Appendf(b, ", triggered at %v by %v with %d waiting", t.at, t.reason, t.waiting)
	}
	if in := i.mark.input; i.mark.came {
		b = fmt.Appendf(b, ", buffer of port %d %d %s", in, i.mark.holds, s.unit(s.port(int32(p.Node), in)))
	}
	return b
}

// mark is the state in which a frame was marked: the last trigger of its output, and its input.
type mark struct {
	trigger         trigger
	triggered, came bool
	input           uint16
	holds           int64 // the input's occupancy
}

// mark returns it for a frame that was sent by a port.
func (s *state) mark(path int, f *wire.Frame) (m mark) {
	p := &s.all[path]
	m.trigger, m.triggered = s.triggers[[2]int32{int32(p.Node), int32(p.Port)}]
	m.input, m.came = s.inputs[[2]uint32{uint32(p.Node), f.QP}]
	if at := s.port(int32(p.Node), m.input); m.came && at >= 0 {
		m.holds = s.buffers[at][f.Lane%lanes]
	}
	return m
}
