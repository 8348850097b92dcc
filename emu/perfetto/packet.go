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
	stateCleared = 1 // names are interned anew from here on
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

// note is something that an event tells: a number, or where Text is set a word.
type note struct {
	Key   string
	Value int64
	Text  string
}

// event is a TrackEvent. What is zero is left out.
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

// Close writes what is still in memory.
func (p *packets) Close() error {
	if err := p.w.Flush(); p.err == nil {
		p.err = err
	}
	return p.err
}

// Process declares a track that is a process, by its number from 1.
func (p *packets) Process(track uint64, name string) {
	p.inner = appendUint(p.inner[:0], processID, track)
	p.inner = appendText(p.inner, processName, name)
	p.body = appendUint(p.body[:0], descriptorID, track)
	p.body = appendMessage(p.body, descriptorProcess, p.inner)
	p.descriptor()
}

// Track declares a track for slices and instants.
func (p *packets) Track(track, parent uint64, name string) {
	p.child(track, parent, name)
	p.descriptor()
}

// Counter declares a track for a counter.
func (p *packets) Counter(track, parent uint64, name, unit string) {
	p.child(track, parent, name)
	p.inner = appendText(p.inner[:0], counterUnitName, unit)
	p.body = appendMessage(p.body, descriptorCounter, p.inner)
	p.descriptor()
}

func (p *packets) child(track, parent uint64, name string) {
	p.body = appendUint(p.body[:0], descriptorID, track)
	p.body = appendText(p.body, descriptorName, name)
	p.body = appendUint(p.body, descriptorParent, parent)
}

func (p *packets) descriptor() {
	p.packet = p.head(p.packet[:0])
	p.packet = appendMessage(p.packet, packetDescriptor, p.body)
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

// head appends what each packet has. The first one begins what names are interned in.
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
