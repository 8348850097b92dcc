package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fabemu/emu/fabric"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// EventLog is a trace.Sink that writes the log of a run, one JSON object a line,
// in the order of (time, node, number in the node).
//
// A run in one process reports its events in the order of time, but the events of one
// instant in the order in which they were run, where a node may come twice.
// So only the events of the current instant are kept, sorted, and written when
// time moves on: memory is bounded by the events of one instant. An event of
// an earlier instant cannot be put in its place any more. It is an error, which
// Close returns.
//
// A line has time_ps, node, seq and event, always; port (the direction of the
// link that leaves there) where the event has one; then the content of the event,
// with the names of trace.Event's fields or the meaning of A and B.
type EventLog struct {
	w     *bufio.Writer
	names *names
	flows map[uint32][]byte // by queue pair: its part of a link
	kinds []form            // by kind of event
	same  []trace.Event     // of the current instant
	line  []byte
	err   error

	chosen func(e *trace.Event) bool // nil: all events are
}

// form is the form of the lines for a kind of event: its fields, and the text before each value.
type form struct {
	event  []byte
	keys   [][]byte
	fields []trace.Field
}

// keyOf returns the text of a link before the value of a field.
func keyOf(key string) []byte { return []byte(`,"` + key + `":`) }

// NewEventLog returns a log of the nodes of f that is written to w.
func NewEventLog(w io.Writer, f *fabric.Fabric) *EventLog {
	l := &EventLog{w: bufio.NewWriterSize(w, 1<<16), names: namesOf(f), flows: make(map[uint32][]byte)}
	for i := range f.Flows {
		l.flows[f.Flows[i].QP] = appendJSON(keyOf("flow"), f.Flows[i].Name)
	}
	for _, k := range append([]trace.Kind{0}, trace.Kinds()...) {
		t := form{event: appendJSON(keyOf("event"), k.String()), fields: k.Fields()}
		for _, f := range t.fields {
			t.keys = append(t.keys, keyOf(f.Key))
		}
		l.kinds = append(l.kinds, t)
	}
	return l
}

// Choose restricts the log to the events of a choice. An error can be corrected by the user.
func (l *EventLog) Choose(c *Choice, f *fabric.Fabric) (err error) {
	if !c.All() {
		l.chosen, err = c.of(f)
	}
	return err
}

// Record takes e into the log.
func (l *EventLog) Record(e *trace.Event) {
	if l.err != nil || l.chosen != nil && !l.chosen(e) {
		return
	}
	if len(l.same) > 0 && e.At != l.same[0].At {
		if e.At < l.same[0].At {
			l.err = fmt.Errorf("event log: event %d of %s at %v came after one at %v",
				e.Seq, l.names.node(e), e.At, l.same[0].At)
			return
		}
		l.flush()
	}
	l.same = append(l.same, *e)
}

// Close writes the rest. It returns the first error of the writer, or an error that names
// the event that came out of order. The log ends there.
func (l *EventLog) Close() error {
	l.flush()
	if err := l.w.Flush(); l.err == nil {
		l.err = err
	}
	return l.err
}

// flush writes the events of one instant.
func (l *EventLog) flush() {
	slices.SortFunc(l.same, func(a, b trace.Event) int {
		if a.Node != b.Node {
			return int(a.Node) - int(b.Node)
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

// append writes e as a line, with the fields of trace.Kind.Fields.
func (l *EventLog) append(b []byte, e *trace.Event) []byte {
	kind := &l.kinds[0]
	if int(e.Kind) < len(l.kinds) {
		kind = &l.kinds[e.Kind]
	}
	b = strconv.AppendInt(append(b, `{"time_ps":`...), int64(e.At), 10)
	b = appendJSON(append(b, `,"machine":`...), l.names.node(e))
	b = strconv.AppendInt(append(b, `,"seq":`...), int64(e.Seq), 10)
	b = append(b, kind.event...)
	if e.HasPort() {
		b = appendJSON(append(b, `,"port":`...), l.names.port(e))
	}
	if e.Flow != 0 {
		if flow, known := l.flows[e.Flow]; known {
			b = append(b, flow...)
		} else {
			b = strconv.AppendInt(append(b, `,"qp":`...), int64(e.Flow), 10)
		}
	}
	for i := range kind.fields {
		f := &kind.fields[i]
		v, present := f.Of(e)
		if !present {
			continue
		}
		key := kind.keys[i]
		if f.Form == trace.Occupancy {
			key = l.names.occupancy(e)
		}
		b = append(b, key...)
		switch f.Form {
		case trace.Number, trace.Occupancy:
			b = strconv.AppendInt(b, v, 10)
		case trace.Unsigned:
			b = strconv.AppendUint(b, uint64(v), 10)
		case trace.Flag:
			b = strconv.AppendBool(b, v != 0)
		case trace.FrameKind:
			b = appendJSON(b, wire.Kind(v).String())
		case trace.Why:
			b = appendJSON(b, trace.Reason(v).String())
		case trace.Cause:
			b = appendJSON(b, block(v))
		case trace.Rate:
			b = appendJSON(b, unit.Rate(v).String())
		case trace.Statistic:
			b = appendJSON(b, retry.Counter(v).String())
		}
	}
	return append(b, '}', '\n')
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
