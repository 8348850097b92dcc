package process

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"fabemu/emu/run/drive"
	"fabemu/emu/run/measured"
	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// kind is the kind of a message. On the socket a message is its kind, the length of
// its content in four bytes, and the content.
type kind byte

// The messages.
const (
	hello   kind = 'h' // part: who it is, and that it is ready (JSON of greeting)
	begin   kind = 'b' // conductor: the epoch (8 bytes), the secret of the run (16), whether the board is used (1), and for how long the clock has been held (8)
	events  kind = 'e' // part: how far it is, its counts of late frames and gaps, and events
	waits   kind = 'w' // part: the frames that wait in its nodes at an instant of the watch (JSON of deadlock.Waits)
	alive   kind = 'a' // part: it is alive; sent if nothing else was
	state   kind = 'r' // part: how far it is (a report, lookahead.Coordinator)
	promise kind = 'm' // conductor: how far it may go (a promise, lookahead.Coordinator)
	hold    kind = 'k' // both, without a board: how long the run clock has been held (8 bytes: ns)
	ended   kind = 'x' // part: it has reached the end of the run
	count   kind = 'c' // conductor: all parts have; count the datagrams
	ask     kind = 't' // conductor: asks for the clock (8 bytes: its own)
	answer  kind = 's' // part: the same, and its own clock at the arrival of the question and at its answer (24 bytes)
	done    kind = 'd' // part: its measurements (JSON of Report)
	finish  kind = 'f' // conductor: nothing else can happen; finish
	quit    kind = 'q' // conductor: end now
)

// The messages by which a host and the conductor open the links between hosts, before hello.
const (
	share kind = 'w' // conductor: the share of this host (JSON of work)
	bound kind = 'l' // host: the addresses of its ends of links to others (JSON of []End)
	peers kind = 'p' // conductor: the addresses of the other ends (JSON of []End)
)

// beginSize is the length of the content of begin in bytes.
const beginSize = 33

// newSecret draws the secret of a run.
func newSecret() (s wire.Secret) {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return wire.Secret{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// maxMessage is the longest message that is accepted.
const maxMessage = 64 << 20

// greeting is the content of hello.
type greeting struct {
	Fabemu string
	Part   string
	Run    uint32
	PID    int

	Boardless string `json:",omitempty"` // why it cannot use the board of the run
}

// Report holds the measurements of a part.
type Report struct {
	Timing     *pace.Record
	Traffic    []drive.Traffic
	Actual     *measured.Time `json:",omitempty"` // actual timing: the readings of its clock
	CPUSeconds float64        // processor time since model time 0
	Missed     int64          // frames at the end that were left out
	Err        string         // why it ended early; empty if it did not
	Signalled  bool           // a signal ended it, not the conductor

	Warnings []string
}

// headSize is the size of the kind and the length of a message.
const headSize = 1 + 4

func newMessage(k kind, payload []byte) []byte {
	return seal(k, append(make([]byte, headSize, headSize+len(payload)), payload...))
}

// seal writes the head of a message in front of its content.
func seal(k kind, b []byte) []byte {
	b[0] = byte(k)
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-headSize))
	return b
}

// write writes one message.
func write(w io.Writer, k kind, payload []byte) error {
	_, err := w.Write(newMessage(k, payload))
	return err
}

// writeJSON writes a message whose content is JSON.
func writeJSON(w io.Writer, k kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return write(w, k, b)
}

// read reads one message. Its content takes the memory of spare if it fits.
func read(r *bufio.Reader, spare []byte) (kind, []byte, error) {
	head, err := r.Peek(headSize)
	if err != nil {
		if len(head) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	k, n := kind(head[0]), int(binary.BigEndian.Uint32(head[1:]))
	if n > maxMessage {
		return 0, nil, fmt.Errorf("a message of %d bytes: not one of ours", n)
	}
	r.Discard(headSize) // they are in its buffer
	payload := slices.Grow(spare[:0], n)[:n]
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return k, payload, nil
}

// stamp is the number of bytes in front of the events in a message.
const stamp = 4 * 8

// appendStamp begins the content of an events message.
func appendStamp(b []byte, now unit.Time, c pace.Counts) []byte {
	for _, v := range []int64{int64(now), c.Late, c.Gaps, c.Off} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// entrySize is the size of an event with its place in bytes.
const entrySize = 4 + trace.EventSize

// appendEntry appends an event at a place.
func appendEntry(b []byte, p trace.Place, e *trace.Event) []byte {
	return e.Append(binary.BigEndian.AppendUint32(b, uint32(p)))
}

// parseEvents reads the content of an events message, given the number of ports of each node and
// the number of wires of the fabric, and appends the events to a list.
func parseEvents(list []entry, b []byte, ports []int, wires int) (now unit.Time, c pace.Counts, _ []entry, err error) {
	if len(b) < stamp {
		return 0, c, nil, fmt.Errorf("events in %d bytes: cut off", len(b))
	}
	field := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	now, c = unit.Time(field(0)), pace.Counts{Late: field(1), Gaps: field(2), Off: field(3)}
	for b = b[stamp:]; len(b) > 0; {
		if len(b) < entrySize {
			return 0, c, nil, fmt.Errorf("events that end with %d bytes: cut off", len(b))
		}
		if b[4+18] == aFrame { // the kind of an event
			f, rest, err := parseFrame(b, wires)
			if err != nil {
				return 0, c, nil, err
			}
			list, b = append(list, f), rest
			continue
		}
		e, err := trace.ParseEvent(b[4:])
		switch {
		case err != nil:
			return 0, c, nil, err
		case e.At < 0:
			return 0, c, nil, fmt.Errorf("an event at %v", e.At)
		case e.Node < 0 || int(e.Node) >= len(ports):
			return 0, c, nil, fmt.Errorf("an event of node %d; there are %d", e.Node, len(ports))
		case int(e.Port) >= ports[e.Node]:
			return 0, c, nil, fmt.Errorf("an event at port %d of node %d, which has %d", e.Port, e.Node, ports[e.Node])
		}
		list = append(list, entry{place: trace.Place(binary.BigEndian.Uint32(b)), Event: e})
		b = b[entrySize:]
	}
	return now, c, list, nil
}

// parseReport reads the content of a done message, given the number of wires of the fabric.
func parseReport(b []byte, wires int) (*Report, error) {
	r := &Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	if t := r.Timing; t != nil && (t.Worst < -1 || t.Worst >= wires) {
		return nil, fmt.Errorf("wire %d; there are %d", t.Worst, wires)
	}
	if !(r.CPUSeconds >= 0) {
		return nil, fmt.Errorf("%v seconds of processor time", r.CPUSeconds)
	}
	return r, nil
}
