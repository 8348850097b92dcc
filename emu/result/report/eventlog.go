package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
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
	w     io.Writer
	names *names
	nodes []texts           // by node; the last are those of one that the fabric does not have
	flows map[uint32][]byte // by queue pair: its part of a line
	kinds []form            // by kind of event
	same  []trace.Event     // of the current instant
	lines []byte            // that wait to be written
	begin []byte            // of the lines of an instant
	err   error

	chosen func(e *trace.Event) bool // nil: all events are
}

// texts are the parts of a line that depend on the node, or on one of its ports.
type texts struct {
	node  []byte
	ports []struct{ name, occupancy []byte }
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
	l := &EventLog{w: w, names: namesOf(f), flows: make(map[uint32][]byte), lines: make([]byte, 0, room+room/4)}
	for i := range f.Nodes {
		x := texts{node: append(appendJSON(keyOf("machine"), f.Nodes[i].Name), keyOf("seq")...)}
		for k, p := range f.Nodes[i].Ports {
			occupancy := blocksKey
			if metrics.InBytes(f, p.Wire) {
				occupancy = bytesKey
			}
			x.ports = append(x.ports, struct{ name, occupancy []byte }{appendJSON(keyOf("port"), l.names.ports[i][k]), occupancy})
		}
		l.nodes = append(l.nodes, x)
	}
	for i := range f.Flows {
		l.flows[f.Flows[i].QP] = appendJSON(keyOf("flow"), f.Flows[i].Name)
	}
	l.nodes = append(l.nodes, texts{[]byte(`,"machine":"","seq":`), []struct{ name, occupancy []byte }{{[]byte(`,"port":""`), blocksKey}}})
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
	l.write()
	return l.err
}

// room is how many bytes wait before they are written, about.
const room = 1 << 17

// write writes the lines that wait.
func (l *EventLog) write() {
	if _, err := l.w.Write(l.lines); err != nil && l.err == nil {
		l.err = err
	}
	l.lines = l.lines[:0]
}

// flush writes the events of one instant.
func (l *EventLog) flush() {
	if len(l.same) == 0 {
		return
	}
	slices.SortFunc(l.same, func(a, b trace.Event) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Seq, b.Seq))
	})
	begin := strconv.AppendInt(append(l.begin[:0], `{"time_ps":`...), int64(l.same[0].At), 10)
	for i := range l.same {
		l.lines = l.append(append(l.lines, begin...), &l.same[i])
	}
	l.begin, l.same = begin, l.same[:0]
	if len(l.lines) >= room {
		l.write()
	}
}

// append writes e as the rest of a line that has its time, with the fields of trace.Kind.Fields.
func (l *EventLog) append(b []byte, e *trace.Event) []byte {
	kind := &l.kinds[0]
	if int(e.Kind) < len(l.kinds) {
		kind = &l.kinds[e.Kind]
	}
	unknown := &l.nodes[len(l.nodes)-1]
	node, port := unknown, &unknown.ports[0]
	if uint32(e.Node) < uint32(len(l.nodes)) {
		node = &l.nodes[e.Node]
	}
	if int(e.Port) < len(node.ports) {
		port = &node.ports[e.Port]
	}
	b = strconv.AppendInt(append(b, node.node...), int64(e.Seq), 10)
	b = append(b, kind.event...)
	if e.HasPort() {
		b = append(b, port.name...)
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
			key = port.occupancy
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
			b = quote(b, wire.Kind(v).String())
		case trace.Why:
			b = quote(b, trace.Reason(v).String())
		case trace.Cause:
			b = quote(b, block(v))
		case trace.Rate:
			b = quote(b, unit.Rate(v).String())
		case trace.Statistic:
			b = quote(b, retry.Counter(v).String())
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

// quote writes a plain word.
func quote(b []byte, s string) []byte { return append(append(append(b, '"'), s...), '"') }

// appendJSON writes s as a JSON string. Names in scenarios are mostly plain.
func appendJSON(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return quote(b, s)
	}
	quoted, _ := json.Marshal(s) // a string cannot fail
	return append(b, quoted...)
}
