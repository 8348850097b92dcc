package perfetto

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields.
const (
	tracePacket = 1 // of Trace

	packetTimestamp  = 8 // of TracePacket
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetDescriptor = 60

	eventNotes    = 4 // of TrackEvent
	eventType     = 9
	eventName     = 10
	eventTrack    = 11
	eventCount    = 30
	eventFlow     = 47
	eventLastFlow = 48

	internedNames     = 2 // of InternedData
	internedNoteNames = 3
	internID          = 1 // of EventName and DebugAnnotationName
	internText        = 2

	noteName = 1 // of DebugAnnotation
	noteInt  = 4
	noteText = 6

	descriptorID      = 1 // of TrackDescriptor
	descriptorName    = 2
	descriptorProcess = 3
	descriptorParent  = 5
	descriptorCounter = 8

	processID   = 1 // of ProcessDescriptor
	processName = 6

	counterUnitName = 6 // of CounterDescriptor
)

// Values of TracePacket.sequence_flags.
const (
	stateCleared = 1 // names are interned again from here on
	stateNeeded  = 2
)

// sequence is the number of the one sequence of packets that a trace has. Names are interned
// in it.
const sequence = 1

// eventKind is TrackEvent.Type.
type eventKind uint64

const (
	sliceBegin eventKind = 1
	sliceEnd   eventKind = 2
	instant    eventKind = 3
	count      eventKind = 4
)

// note is a detail of an event: a number, or where Text is set a word.
type note struct {
	Key   string
	Value int64
	Text  string
}

// event is a TrackEvent. Zero values are left out.
type event struct {
	At       uint64 // nanoseconds
	Kind     eventKind
	Track    uint64
	Name     string
	Value    int64 // of a counter
	Flow     uint64
	LastFlow uint64 // the flow that ends here
	Notes    []note
}

// packets writes the packets of a trace. After an error it writes nothing.
type packets struct {
	w     *bufio.Writer
	err   error
	begun bool

	names, noteNames map[string]uint64 // interned
	// Messages being written, from the outside in.
	packet, body, inner, interned []byte
}

func newPackets(w io.Writer) *packets {
	return &packets{w: bufio.NewWriterSize(w, 1<<16), names: map[string]uint64{}, noteNames: map[string]uint64{}}
}

// Close writes the rest of the packets.
func (p *packets) Close() error {
	if err := p.w.Flush(); p.err == nil {
		p.err = err
	}
	return p.err
}

// Process declares a track that is a process, by its number from 1.
func (p *packets) Process(track uint64, name string) {
	process := appendText(appendUint(nil, processID, track), processName, name)
	p.declare(track, appendMessage(nil, descriptorProcess, process))
}

// Track declares a track for slices and instants.
func (p *packets) Track(track, parent uint64, name string) { p.declare(track, child(parent, name)) }

// Counter declares a track for a counter.
func (p *packets) Counter(track, parent uint64, name, unit string) {
	p.declare(track, appendMessage(child(parent, name), descriptorCounter, appendText(nil, counterUnitName, unit)))
}

// child returns the fields of a track that belongs to a process.
func child(parent uint64, name string) []byte {
	return appendUint(appendText(nil, descriptorName, name), descriptorParent, parent)
}

// declare writes the descriptor of a track: its number, and its other fields.
func (p *packets) declare(track uint64, fields []byte) {
	p.body = append(appendUint(p.body[:0], descriptorID, track), fields...)
	p.packet = appendMessage(p.head(p.packet[:0]), packetDescriptor, p.body)
	p.write()
}

// Event writes an event.
func (p *packets) Event(e *event) {
	p.interned = p.interned[:0]
	b := appendUint(p.body[:0], eventType, uint64(e.Kind))
	b = appendUint(b, eventTrack, e.Track)
	if e.Name != "" {
		b = appendUint(b, eventName, p.intern(p.names, internedNames, e.Name))
	}
	if e.Kind == count {
		b = appendUint(b, eventCount, uint64(e.Value))
	}
	if e.Flow != 0 {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventFlow, protowire.Fixed64Type), e.Flow)
	}
	if e.LastFlow != 0 {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventLastFlow, protowire.Fixed64Type), e.LastFlow)
	}
	for i := range e.Notes {
		n := &e.Notes[i]
		p.inner = appendUint(p.inner[:0], noteName, p.intern(p.noteNames, internedNoteNames, n.Key))
		if n.Text != "" {
			p.inner = appendText(p.inner, noteText, n.Text)
		} else {
			p.inner = appendUint(p.inner, noteInt, uint64(n.Value))
		}
		b = appendMessage(b, eventNotes, p.inner)
	}
	p.body = b

	p.packet = p.head(appendUint(p.packet[:0], packetTimestamp, e.At))
	if len(p.interned) > 0 {
		p.packet = appendMessage(p.packet, packetInterned, p.interned)
	}
	p.packet = appendMessage(p.packet, packetEvent, p.body)
	p.write()
}

// head appends the common fields of packets. The first packet begins the sequence in which names
// are interned.
func (p *packets) head(b []byte) []byte {
	flags := uint64(stateNeeded)
	if !p.begun {
		flags, p.begun = stateCleared|stateNeeded, true
	}
	return appendUint(appendUint(b, packetSequence, sequence), packetFlags, flags)
}

// intern returns the number of a name, and declares it in this packet where it is new.
func (p *packets) intern(known map[string]uint64, field protowire.Number, name string) uint64 {
	id, ok := known[name]
	if !ok {
		id = uint64(len(known) + 1)
		known[name] = id
		entry := appendText(appendUint(nil, internID, id), internText, name)
		p.interned = appendMessage(p.interned, field, entry)
	}
	return id
}

// write writes the packet as a field of the trace.
func (p *packets) write() {
	if p.err != nil {
		return
	}
	var head [16]byte
	b := protowire.AppendVarint(protowire.AppendTag(head[:0], tracePacket, protowire.BytesType), uint64(len(p.packet)))
	if _, p.err = p.w.Write(b); p.err == nil {
		_, p.err = p.w.Write(p.packet)
	}
}

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
