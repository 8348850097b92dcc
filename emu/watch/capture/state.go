package capture

import (
	"fmt"
	"strconv"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// state is the state that the events of the nodes have reported so far.
type state struct {
	all      []Port
	ports    map[[2]int32]int     // node and port: index of the port in the fabric
	buffers  map[[3]int32]int64   // node, port and lane: occupancy in blocks
	triggers map[[2]int32]trigger // node and port that sends: the last one
	inputs   map[[2]uint32]uint16 // node and flow: the port that its data came by last
}

// trigger is an instant at which congestion was detected.
type trigger struct {
	at      unit.Time
	reason  trace.Reason
	waiting int64
}

func newState(ports []Port) state {
	s := state{
		all: ports, ports: make(map[[2]int32]int), buffers: make(map[[3]int32]int64),
		triggers: make(map[[2]int32]trigger), inputs: make(map[[2]uint32]uint16),
	}
	for i, p := range ports {
		s.ports[[2]int32{int32(p.Node), int32(p.Port)}] = i
	}
	return s
}

// port returns the index in the fabric of a port of a node, or -1.
func (s *state) port(node int32, p uint16) int {
	if i, ok := s.ports[[2]int32{node, int32(p)}]; ok {
		return i
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
		s.buffers[[3]int32{e.Node, int32(e.Port), int32(e.Lane)}] = e.Occupancy()
		if kind, _, _ := trace.FrameOf(e.A); kind == wire.Data {
			s.inputs[[2]uint32{uint32(e.Node), e.Flow}] = e.Port
		}
	case trace.Release:
		s.buffers[[3]int32{e.Node, int32(e.Port), int32(e.Lane)}] = e.Occupancy()
	case trace.Trigger:
		s.triggers[[2]int32{e.Node, int32(e.Port)}] = trigger{e.At, e.Reason(), e.Waiting()}
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
	m := int32(p.Node)
	if t, ok := s.triggers[[2]int32{m, int32(p.Port)}]; ok {
		b = fmt.Appendf(b, ", triggered at %v by %v with %d waiting", t.at, t.reason, t.waiting)
	}
	if in, ok := s.inputs[[2]uint32{uint32(m), i.frame.QP}]; ok {
		b = fmt.Appendf(b, ", buffer of port %d %d %s",
			in, s.buffers[[3]int32{m, int32(in), int32(i.frame.Lane)}], s.unit(s.port(m, in)))
	}
	return b
}
