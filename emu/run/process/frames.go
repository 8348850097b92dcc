package process

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// In one process a drive.Tap sees each frame. A part sends these frames to the conductor among its
// events, and the conductor shows them to the Tap of its fabric in the order of the run.

// frameWords name the frames at a port that File.Frames can select. Bit 1 of an index means flow
// control, bit 0 frames that the port receives.
var frameWords = [4]string{"data-sent", "data-received", "control-sent", "control-received"}

// framesOf returns the frames that a part is to send to the conductor.
func (p *Plan) framesOf(x part) (all map[string][]int) {
	if p.Records == nil {
		return nil
	}
	all = map[string][]int{}
	for i, word := range frameWords {
		for _, m := range x.nodes {
			for _, at := range p.Fabric.Nodes[m].Ports {
				if k := 2*at.Wire + at.End; p.Records(k, i >= 2, i%2 == 1) {
					all[word] = append(all[word], k)
				}
			}
		}
	}
	return all
}

// wanted selects the frames that a part sends to the conductor: by port, a bit for each of
// frameWords.
type wanted []uint8

// readFrames reads File.Frames, in a fabric with this many wires; nil: no frames are sent.
func readFrames(all map[string][]int, wires int) (t wanted, err error) {
	for word, ports := range all {
		i := slices.Index(frameWords[:], word)
		if i < 0 {
			return nil, fmt.Errorf("there are no frames of kind %q; there are %v", word, frameWords)
		}
		for _, k := range ports {
			if k < 0 || k >= 2*wires {
				return nil, fmt.Errorf("frames of port %d are requested; there are %d ports", k, 2*wires)
			}
			if t == nil {
				t = make(wanted, 2*wires)
			}
			t[k] |= 1 << i
		}
	}
	return t, nil
}

// entry is an event as a part sends it: an event of a node, or a frame on a link. At is the instant
// of the event at its node, and place its place among the events of that instant.
type entry struct {
	place trace.Place
	trace.Event
	frame *frame // nil: the Event is an event of a node
}

// key returns the place of an entry in the order of the run.
func (e *entry) key() trace.Key { return trace.Key{At: e.At, Place: e.place} }

// frame is a frame that was sent or handed over.
type frame struct {
	path            int
	received        bool
	missed          int64 // frames of the part before this one that were left out
	now             unit.Time
	wall, late      int64
	head, tail, due unit.Time
	length          unit.Size
	note            port.Note // sent
	preamble        wire.Preamble
	wire.Frame
	body wire.Body
}

// aFrame takes the place of the kind of an event where a frame follows.
const aFrame = 0xFF

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// frameSize is the size of a frame's description in bytes, without the frame itself.
const frameSize = 92

// appendFrame appends a frame at a place, with its body.
func appendFrame(b []byte, k trace.Key, f *frame) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(k.Place))
	b = binary.BigEndian.AppendUint64(b, uint64(k.At))
	b = binary.BigEndian.AppendUint32(b, uint32(f.path))
	b = binary.BigEndian.AppendUint32(b, uint32(min(f.missed, 1<<32-1)))
	b = binary.BigEndian.AppendUint16(b, f.note.Waiting)
	b = append(b, aFrame, f.note.Reason)
	b = binary.BigEndian.AppendUint32(b, uint32(f.note.Credit))
	b = append(b, flag(f.received), byte(f.Delimiter()))
	b = binary.BigEndian.AppendUint16(b, uint16(f.WireSize()))
	for _, v := range []int64{f.wall, f.late, int64(f.now), int64(f.head), int64(f.tail), int64(f.due), int64(f.length)} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(f.preamble))
	return f.AppendBody(b, f.body)
}

// parseFrame reads a frame of appendFrame from the front of b, in a fabric with this many wires,
// and returns the rest.
func parseFrame(b []byte, wires int) (x entry, rest []byte, err error) {
	if len(b) < frameSize {
		return x, nil, fmt.Errorf("a frame in %d bytes: cut off", len(b))
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[32+8*i:])) }
	f := &frame{
		path: int(binary.BigEndian.Uint32(b[12:])), missed: int64(binary.BigEndian.Uint32(b[16:])),
		received: b[28] == 1, wall: number(0), late: number(1), now: unit.Time(number(2)),
		head: unit.Time(number(3)), tail: unit.Time(number(4)), due: unit.Time(number(5)), length: unit.Size(number(6)),
		note:     port.Note{Reason: b[23], Waiting: binary.BigEndian.Uint16(b[20:]), Credit: int32(binary.BigEndian.Uint32(b[24:]))},
		preamble: wire.Preamble(binary.BigEndian.Uint32(b[88:])),
	}
	at := unit.Time(binary.BigEndian.Uint64(b[4:]))
	switch size := int(binary.BigEndian.Uint16(b[30:])); {
	case f.path >= 2*wires:
		return x, nil, fmt.Errorf("a frame on path %d; there are %d", f.path, 2*wires)
	case at < 0 || f.now < 0 || f.head < 0 || f.tail < f.head || f.due < 0 || f.length < 0 || b[28] > 1:
		return x, nil, fmt.Errorf("a frame at %v, from %v to %v", at, f.head, f.tail)
	case len(b) < frameSize+size:
		return x, nil, fmt.Errorf("a frame of %d bytes in %d: cut off", size, len(b)-frameSize)
	default:
		f.Frame, f.body, err = wire.ParseBody(wire.Delimiter(b[29]), b[frameSize:frameSize+size])
		if err != nil {
			return x, nil, fmt.Errorf("a frame: %w", err)
		}
		f.body.Bytes = slices.Clone(f.body.Bytes) // the memory of b is reused
		return entry{trace.Place(binary.BigEndian.Uint32(b)), trace.Event{At: at}, f}, b[frameSize+size:], nil
	}
}

// Sent reports to the conductor a frame that has left.
func (p *Part) Sent(path int, t *port.Transmission, body wire.Body, now unit.Time, wall, late int64) {
	if p.sends(path, &t.Frame, false) {
		p.sendFrame(&frame{
			path: path, Frame: t.Frame, body: body, now: now, wall: wall, late: late,
			head: t.Start, tail: t.Start.Add(t.Duration), due: t.Due, length: t.Length, note: t.Note, preamble: t.Preamble,
		})
	}
}

// Received reports to the conductor a frame that is passed to its node.
func (p *Part) Received(path int, a *port.Arrival, body wire.Body, now unit.Time, wall int64) {
	if p.sends(path^1, &a.Frame, true) {
		p.sendFrame(&frame{
			path: path, received: true, Frame: a.Frame, body: body, now: now, wall: wall,
			head: a.Head, tail: a.Tail, length: a.Length, preamble: a.Preamble,
		})
	}
}

func (p *Part) sends(port int, f *wire.Frame, received bool) bool {
	return p.frames[port]>>(flag(f.Kind.Control())<<1|flag(received))&1 != 0
}

// sendFrame sends a frame to the conductor. If the conductor is far behind, the frame is left out
// and counted, so that there is room for events and the nodes need not wait.
func (p *Part) sendFrame(f *frame) {
	if len(p.out) > cap(p.out)/2 {
		p.missed++
		return
	}
	f.missed, p.missed = p.missed, 0
	p.batch = appendFrame(p.batch, p.key, f)
	p.filled()
}

// show shows a frame to the tap of the fabric.
func (r *conductor) show(f *frame) {
	r.missed(f.missed)
	tap := r.fabric.Tap
	if tap == nil {
		return
	}
	if f.received {
		a := port.Arrival{Frame: f.Frame, Head: f.head, Tail: f.tail, Length: f.length, Preamble: f.preamble}
		tap.Received(f.path, &a, f.body, f.now, f.wall)
		return
	}
	t := port.Transmission{
		Port: r.fabric.Wires[f.path/2][f.path%2].Port, Frame: f.Frame, Preamble: f.preamble,
		Start: f.head, Duration: f.tail.Sub(f.head), Due: f.due, Length: f.length, Note: f.note,
	}
	tap.Sent(f.path, &t, f.body, f.now, f.wall, f.late)
}
