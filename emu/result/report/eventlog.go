package report

import (
	"cmp"
	"encoding/binary"
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

// LogForm is the form of an event log.
type LogForm string

// The forms of event logs.
const (
	JSONLog   LogForm = "json"   // a JSON object a line
	BinaryLog LogForm = "binary" // an EventReader returns the same lines
)

// File returns the name of the file for a log of the form.
func (f LogForm) File() string {
	if f == BinaryLog {
		return EventsBinary
	}
	return EventsFile
}

// EventLog is a trace.Sink that writes the log of a run, in the order of (time, node, number in the
// node).
//
// A run in one process reports its events in the order of time, but the events of one instant in
// the order in which they were run, where a node may come twice. So only the events of the current
// instant are kept, sorted, and written when time moves on: memory is bounded by the events of one
// instant. An event of an earlier instant can then no longer be put in its place. It is an error,
// which Close returns.
//
// A line has time_ps, node, seq and event, always; port (the direction of the
// link that leaves there) where the event has one; then the content of the event,
// with the names of trace.Event's fields or the meaning of A and B.
//
// A binary log starts with the line "fabemu events 2", whose number is the version of the form.
// Blocks follow, each with a sum (blockWriter). Their contents, one after another, are the length
// of the names in 32 bits, low byte first, and the names of nodes, links and flows as JSON; then
// the events, as a trace.Packer writes them. A control word of 0 ends the log. Where it is missing,
// the run was killed or has failed. Version 1 has the same contents without blocks.
type EventLog struct {
	w     io.Writer
	names *names
	form  interface {
		Append(b []byte, e *trace.Event) []byte
	}
	end   []byte        // of the log
	at    unit.Time     // the current instant
	same  []trace.Event // of it
	mixed bool          // they have to be sorted
	text  []byte        // that waits to be written
	err   error

	chosen func(e *trace.Event) bool // nil: all events are
}

// NewEventLog returns a log of the nodes of f that is written to w. The zero value of the form is
// JSONLog.
func NewEventLog(w io.Writer, f *fabric.Fabric, form LogForm) *EventLog {
	l := &EventLog{w: w, names: namesOf(f), text: make([]byte, 0, room+room/4)}
	if form == BinaryLog {
		l.form, l.end, l.w = trace.NewPacker(len(f.Nodes)), make([]byte, 4), &blockWriter{w: w}
		names, _ := json.Marshal(l.names) // texts and numbers cannot fail
		l.text = append(binary.LittleEndian.AppendUint32(l.text, uint32(len(names))), names...)
	} else {
		l.form = newLines(l.names)
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
	switch n := len(l.same); {
	case e.At < l.at:
		l.err = fmt.Errorf("event log: event %d of %s at %v came after one at %v", e.Seq, l.names.node(e), e.At, l.at)
		return
	case e.At > l.at:
		l.flush()
		l.at = e.At
	case n > 0 && !follows(&l.same[n-1], e):
		l.mixed = true
	}
	l.same = append(l.same, *e)
}

// RecordAll takes events into the log. Most of them are all of their instant, and in order: they
// need not be kept.
func (l *EventLog) RecordAll(events []trace.Event) {
	for len(events) > 0 {
		n, first := 1, &events[0]
		for n < len(events) && events[n].At == first.At && follows(&events[n-1], &events[n]) {
			n++
		}
		if l.err == nil && l.chosen == nil && n < len(events) && events[n].At > first.At && first.At > l.at {
			l.flush()
			l.at = first.At
			l.write(events[:n])
		} else {
			for i := range n {
				l.Record(&events[i])
			}
		}
		events = events[n:]
	}
}

// follows reports whether b comes after a, of the same instant.
func follows(a, b *trace.Event) bool { return a.Node < b.Node || a.Node == b.Node && a.Seq < b.Seq }

// Close writes the rest. It returns the first error of the writer, or an error that names
// the event that is out of order. The log ends there.
func (l *EventLog) Close() error {
	l.flush()
	if l.err == nil {
		l.text = append(l.text, l.end...)
	}
	l.handOn()
	return l.err
}

// room is how many bytes wait before they are written, about.
const room = 1 << 17

// handOn hands the text that waits to the writer.
func (l *EventLog) handOn() {
	if _, err := l.w.Write(l.text); err != nil && l.err == nil {
		l.err = err
	}
	l.text = l.text[:0]
}

// flush writes the events of one instant.
func (l *EventLog) flush() {
	if l.mixed {
		slices.SortFunc(l.same, func(a, b trace.Event) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Seq, b.Seq)) })
		l.mixed = false
	}
	l.write(l.same)
	l.same = l.same[:0]
}

func (l *EventLog) write(events []trace.Event) {
	for i := range events {
		l.text = l.form.Append(l.text, &events[i])
	}
	if len(l.text) >= room {
		l.handOn()
	}
}

// lines writes events as lines of JSON.
type lines struct {
	nodes []texts           // by node; the last are those of one that the fabric does not have
	flows map[uint32][]byte // by queue pair: its part of a line
	kinds []form            // by kind of event
	at    unit.Time         // of the last line,
	begin []byte            // which begins with this
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

// keyOf returns the text of a line before the value of a field.
func keyOf(key string) []byte { return []byte(`,"` + key + `":`) }

// The keys of an occupancy: on InfiniBand buffers are counted in blocks of credit, on
// Ethernet in bytes.
var blocksKey, bytesKey = keyOf("occupancy_blocks"), keyOf("occupancy_bytes")

func newLines(n *names) *lines {
	l := &lines{flows: make(map[uint32][]byte, len(n.Flows)), at: -1}
	for i := range n.Nodes {
		x := texts{node: append(appendJSON(keyOf("node"), n.Nodes[i].Name), keyOf("seq")...)}
		for _, p := range n.Nodes[i].Ports {
			occupancy := blocksKey
			if p.Bytes {
				occupancy = bytesKey
			}
			x.ports = append(x.ports, struct{ name, occupancy []byte }{appendJSON(keyOf("port"), p.Link), occupancy})
		}
		l.nodes = append(l.nodes, x)
	}
	for qp, name := range n.Flows {
		l.flows[qp] = appendJSON(keyOf("flow"), name)
	}
	l.nodes = append(l.nodes, texts{[]byte(`,"node":"","seq":`), []struct{ name, occupancy []byte }{{[]byte(`,"port":""`), blocksKey}}})
	for _, k := range append([]trace.Kind{0}, trace.Kinds()...) {
		t := form{event: appendJSON(keyOf("event"), k.String()), fields: k.Fields()}
		for _, f := range t.fields {
			t.keys = append(t.keys, keyOf(f.Key))
		}
		l.kinds = append(l.kinds, t)
	}
	return l
}

// Append writes e as a line, with the fields of trace.Kind.Fields.
func (l *lines) Append(b []byte, e *trace.Event) []byte {
	if e.At != l.at {
		l.at, l.begin = e.At, strconv.AppendInt(append(l.begin[:0], `{"time_ps":`...), int64(e.At), 10)
	}
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
	b = strconv.AppendInt(append(append(b, l.begin...), node.node...), int64(e.Seq), 10)
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
		default:
			b = quote(b, Word(f.Form, v))
		}
	}
	return append(b, '}', '\n')
}

// Word returns the word for a value of a field of an event; empty: it is a number.
func Word(form trace.Form, v int64) string {
	switch form {
	case trace.FrameKind:
		return wire.Kind(v).String()
	case trace.Why:
		return trace.Reason(v).String()
	case trace.Cause:
		if v < 0 || v >= port.Blocks {
			return "unknown"
		}
		return port.Block(v).String()
	case trace.Rate:
		return unit.Rate(v).String()
	case trace.Statistic:
		return retry.Counter(v).String()
	}
	return ""
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
