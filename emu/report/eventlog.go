package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// EventLog is a trace.Sink that writes the log of a run, one JSON object a line,
// in the order of (time, machine, number in the machine).
//
// A run in one process reports its events in the order of time, but those of one
// instant in the order in which they were run, where a machine may come twice.
// So only the events of the current instant are kept, sorted, and written when
// time moves on: memory is bounded by what happens in one instant. An event of
// an earlier instant cannot be put in its place any more; it is an error, which
// Close returns.
//
// A line has time_ps, machine, seq and event, always; port (the direction of the
// link that leaves there) where the event has one; then what the event says,
// with the names of trace.Event's fields or the meaning of A and B.
//
// Where machines are told the measured time (actual timing), time_ps is when the machine
// was told. The start of a frame then has two more fields, at the end of its line, in
// picoseconds of model time: start_ps, since when the frame has the line, by which starts
// on a line are at least its duration apart; and left_ps, when it really left by the wall
// clock over the dilation. Comparable takes them off.
type EventLog struct {
	w     *bufio.Writer
	names *names
	flows map[uint32]string // by queue pair
	same  []logged          // of the instant that is current
	line  []byte
	err   error
}

// logged is an event that waits to be written.
type logged struct {
	trace.Event
	start, left unit.Time // of a frame's start: what Left has told, if left is not 0
}

// startField is the first of the fields that only actual timing has.
const startField = `start_ps`

// Comparable returns a line of an event log without the fields that are measured.
func Comparable(line string) string {
	if before, _, found := strings.Cut(line, `,"`+startField+`":`); found {
		return before + "}" + line[len(strings.TrimRight(line, "\n")):]
	}
	return line
}

// NewEventLog returns a log of the machines of f that is written to w.
func NewEventLog(w io.Writer, f *fabric.Fabric) *EventLog {
	l := &EventLog{w: bufio.NewWriterSize(w, 1<<16), names: namesOf(f), flows: make(map[uint32]string)}
	for i := range f.Flows {
		l.flows[f.Flows[i].QP] = f.Flows[i].Name
	}
	return l
}

// Record takes e into the log.
func (l *EventLog) Record(e *trace.Event) {
	if l.err != nil {
		return
	}
	if len(l.same) > 0 && e.At != l.same[0].At {
		if e.At < l.same[0].At {
			l.err = fmt.Errorf("event log: event %d of %s at %v came after one at %v", e.Seq, l.names.machine(e), e.At, l.same[0].At)
			return
		}
		l.flush()
	}
	l.same = append(l.same, logged{Event: *e})
}

// Left tells of the next frame that leaves a machine by a port, after its start was
// recorded and before an event of a later instant is: since when it has the line, and
// when it really left.
func (l *EventLog) Left(machine int, p port.ID, start, left unit.Time) {
	for i := range l.same {
		e := &l.same[i]
		if e.Kind == trace.Start && int(e.Machine) == machine && e.Port == uint16(p) && e.left == 0 {
			e.start, e.left = start, max(left, 1)
			return
		}
	}
}

// Close writes what is left. It returns the first error of the writer, or says
// which event came out of order; the log ends there.
func (l *EventLog) Close() error {
	l.flush()
	if err := l.w.Flush(); l.err == nil {
		l.err = err
	}
	return l.err
}

// flush writes the events of one instant.
func (l *EventLog) flush() {
	slices.SortFunc(l.same, func(a, b logged) int {
		if a.Machine != b.Machine {
			return int(a.Machine) - int(b.Machine)
		}
		return int(int64(a.Seq) - int64(b.Seq))
	})
	for i := range l.same {
		l.line = l.append(l.line[:0], &l.same[i])
		if _, err := l.w.Write(l.line); err != nil && l.err == nil {
			l.err = err
		}
	}
	l.same = l.same[:0]
}

// append writes e as a line.
func (l *EventLog) append(b []byte, entry *logged) []byte {
	e := &entry.Event
	number := func(key string, v int64) {
		b = append(append(append(b, `,"`...), key...), `":`...)
		b = strconv.AppendInt(b, v, 10)
	}
	text := func(key, v string) {
		b = append(append(append(b, `,"`...), key...), `":`...)
		b = appendJSON(b, v)
	}
	frame := func() {
		kind, fecn, becn := trace.FrameOf(e.A)
		text("frame", kind.String())
		number("lane", int64(e.Lane))
		number("bytes", int64(e.Bytes))
		if e.Flow != 0 {
			number("psn", int64(e.PSN))
		}
		if fecn {
			b = append(b, `,"fecn":true`...)
		}
		if becn {
			b = append(b, `,"becn":true`...)
		}
	}
	b = append(b, `{"time_ps":`...)
	b = strconv.AppendInt(b, int64(e.At), 10)
	text("machine", l.names.machine(e))
	number("seq", int64(e.Seq))
	text("event", e.Kind.String())
	if hasPort(e) {
		text("port", l.names.port(e))
	}
	if e.Flow != 0 {
		if name, known := l.flows[e.Flow]; known {
			text("flow", name)
		} else {
			number("qp", int64(e.Flow))
		}
	}
	switch e.Kind {
	case trace.Start:
		frame()
		if e.B >= 0 {
			number("credit_blocks", e.B)
		}
		if entry.left != 0 {
			number(startField, int64(entry.start))
			number("left_ps", int64(entry.left))
		}
	case trace.Arrive:
		frame()
		switch kind, _, _ := trace.FrameOf(e.A); {
		case kind == wire.PriorityPause:
			classes, stopped := trace.ClassesOf(e.PSN)
			number("classes", int64(classes))
			number("stopped", int64(stopped))
			number("quanta", e.B)
		case kind == wire.Pause:
			number("quanta", e.B)
		default:
			number(l.names.occupancy(e), e.B)
		}
	case trace.Deliver:
		frame()
	case trace.Release:
		number("lane", int64(e.Lane))
		number(l.names.occupancy(e), e.B)
	case trace.Trigger, trace.Mark:
		text("reason", reason(e.A))
		number("waiting", e.B)
		if e.Kind == trace.Mark {
			number("psn", int64(e.PSN))
		}
	case trace.Feedback:
		_, fecn, becn := trace.FrameOf(e.A)
		number("psn", int64(e.PSN))
		if fecn {
			b = append(b, `,"fecn":true`...)
		}
		b = append(b, `,"becn":`...)
		b = strconv.AppendBool(b, becn)
		if e.B > 0 { // the limiter tells its rate
			text("rate", unit.Rate(e.B).String())
		}
	case trace.Limit:
		text("rate", unit.Rate(e.A).String())
		text("target", unit.Rate(e.B).String())
	case trace.Notify:
		number("psn", int64(e.PSN))
		number("fb", e.A)
		number("qoffset", e.B>>16)
		number("qdelta", int64(int16(e.B)))
	case trace.Message:
		number("psn", int64(e.PSN))
		b = strconv.AppendUint(append(b, `,"value":`...), uint64(e.A), 10)
	case trace.Stall:
		number("lane", int64(e.Lane))
		text("cause", block(e.A))
		text("before", block(e.B))
	case trace.Drop, trace.Violation:
		text("reason", reason(e.A))
		number("lane", int64(e.Lane))
		number("bytes", int64(e.Bytes))
		number("psn", int64(e.PSN))
		number("figure", e.B)
	case trace.TransferStart:
		number("psn", int64(e.PSN))
		number("arrived_ps", e.A)
		number("bytes", e.B)
	case trace.TransferEnd:
		number("psn", int64(e.PSN))
		number("missing", e.A)
		number("bytes", e.B)
	case trace.FlowStart, trace.FlowStop:
	default:
		number("a", e.A)
		number("b", e.B)
	}
	return append(b, '}', '\n')
}

// hasPort reports whether the port of an event means something: what happens to
// a flow at its source, or to a machine, has none.
func hasPort(e *trace.Event) bool {
	switch e.Kind {
	case trace.Feedback, trace.Limit, trace.FlowStart, trace.FlowStop, trace.TransferStart, trace.TransferEnd:
		return false
	case trace.Stall:
		return e.Flow == 0
	}
	return true
}

func block(a int64) string {
	if a < 0 || a >= port.Blocks {
		return "unknown"
	}
	return port.Block(a).String()
}

// appendJSON writes s as a JSON string. Names in scenarios are mostly plain.
func appendJSON(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, _ := json.Marshal(s) // a string cannot fail
	return append(b, quoted...)
}
