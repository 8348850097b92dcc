package switchd_test

import (
	"testing"

	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// FuzzSwitch lets frames come at any time by any port. In polite runs the peers
// keep to the link and to the credit that they have been given, and give credit in
// turn; otherwise they do neither, and say what they like in flow control packets.
//
// The first two bytes choose the switch, each four after them are a step.
func FuzzSwitch(f *testing.F) {
	burst := []byte{}
	for i := range byte(60) {
		burst = append(burst, i%5, 4, i%7, i%3) // five inputs, one output
	}
	for kind := range byte(32) {
		f.Add(append([]byte{kind, 0x81}, burst...))
		f.Add(append([]byte{kind, 0xa1}, append(burst, 144, 0, 40, 9, 144, 1, 2, 9, 144, 0, 200, 20)...))
		f.Add(append([]byte{kind, 0x01}, append(burst, 204, 1, 99, 0, 154, 64, 3, 200, 200, 2, 0, 1)...))
	}
	f.Add([]byte{})
	f.Add([]byte{3, 0x81, 0, 0, 0, 0, 0, 1, 0, 255, 1, 0, 64, 3, 0, 9, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 2 {
			return
		}
		fuzz(t, script[0], script[1], script[2:min(len(script), 802)])
	})
}

const fuzzPorts = 5

// fuzzed is a run of FuzzSwitch: a rig, and what is expected of it.
type fuzzed struct {
	*rig
	polite  bool
	waiting map[line][]uint32 // accepted and not yet gone, in order
	psn     uint32
}

// line is a way through the switch on which order is kept.
type line struct {
	input, output int
	lane          uint8
}

func fuzz(t *testing.T, kind, mode byte, script []byte) {
	cfg := config(fuzzPorts)
	cfg.Single = kind&1 != 0
	cfg.Bypass = int(kind>>1&1) * 4
	cfg.CountSending = kind&4 != 0
	marks := cp.InputOutputParams{Threshold: 2, Exceeds: cp.AtLeast, InputParams: cp.InputParams{Full: cp.Full{SkipBlocked: kind&32 != 0, IdleExempt: cfg.Single}}}
	if kind&64 != 0 {
		marks.Exceeds = cp.MoreThan
	}
	cfg.Points = [4]cp.Maker{nil, points(cp.NaiveParams{Full: marks.Full}), points(marks.InputParams), points(marks)}[kind>>3&3]
	cfg.FullAt = int(kind>>7) * 2 * packet
	polite := mode&0x80 != 0
	for p := range cfg.Ports {
		cfg.Ports[p].Resend = 100 * unit.Microsecond
		cfg.Ports[p].Rate = gbyte << (int(mode) >> p & 1)
		cfg.Ports[p].CutThrough = p%2 == 1
		if mode&0x40 != 0 {
			cfg.Ports[p].Framing = wire.WireFraming
		}
	}
	closed := []int{} // these give credit in steps of the script
	switch {
	case !polite:
		closed = []int{0, 1, 2, 3, 4}
	case mode&0x20 != 0:
		closed = []int{3, 4}
	}
	r := &fuzzed{rig: newRig(t, cfg, closed...), polite: polite, waiting: map[line][]uint32{}}
	r.leave = r.gone
	if !polite {
		r.uncounted()
	}
	r.run(1000 * ns)

	for ; len(script) >= 4; script = script[4:] {
		r.step(script[0], script[1], script[2], script[3])
		r.taken()
	}
	// In the end all senders obey, and all that waits leaves.
	r.run(r.now)
	for _, p := range closed {
		for lane := range r.peers[p].mine {
			r.peers[p].mine[lane].limit = r.peers[p].mine[lane].sent
			r.grant(r.now, p, lane, roomy)
		}
	}
	r.run(r.now + 2000*t1)
	r.taken()
	for l, psns := range r.waiting {
		if len(psns) > 0 {
			t.Errorf("%v: %d frames have not left", l, len(psns))
		}
	}
	r.conserved()
}

// step is one of: time passes; a frame comes; a peer says something about credit;
// a rate changes.
func (r *fuzzed) step(what, where, size, gap byte) {
	p := int(what) % fuzzPorts
	r.run(r.now + unit.Time(gap)*unit.Time(gap)*ns) // 0 to 65 µs
	switch {
	case !r.polite && what >= 200: // late, early, again: whatever
		head := r.now - unit.Time(size)*30*ns
		r.offer(p, where, size, head, r.now)
	case !r.polite && what >= 150:
		r.hand(r.now, p, port.Arrival{Frame: wire.Frame{Kind: wire.FlowControl, Lane: where % 3, Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.Op(where >> 6), FCTBS: uint16(size) << 4, FCCL: uint16(gap) << 4})}})
		r.run(r.now)
	case what >= 145:
		r.sw.Apply(r.now, port.ID(p), port.RateChange{Rate: gbyte * unit.Rate(1+where%4) / 2})
	case what >= 140:
		mine := &r.peers[p].mine[where%port.Lanes]
		if mine.limit-mine.sent+int(size) <= roomy && r.peers[p].closed && r.polite {
			r.grant(r.now, p, int(where%port.Lanes), int(size))
		}
	default:
		head := max(r.now, r.peers[p].busy)
		r.offer(p, where, size, head, head.Add(20*unit.Nanosecond).Add(r.ports[p].Propagation))
	}
}

// uncounted lets the switch send what it likes: the peers tell it anything.
func (r *fuzzed) uncounted() {
	for p := range r.peers {
		for lane := range r.peers[p].mine {
			r.peers[p].mine[lane].limit = 1 << 40
		}
	}
}

// offer lets a frame come: polite peers look at their credit first.
func (r *fuzzed) offer(p int, where, size byte, head, due unit.Time) {
	output := int(where) % (fuzzPorts + 1) // the last is not there
	f := data(uint32(p)<<8|uint32(where), output)
	f.Payload = uint32(size) % 9 * 256
	if where >= 128 {
		f = ack(f.QP, output)
	}
	f.PSN = r.psn
	credit := &r.peers[p].theirs[f.Lane]
	if r.polite && credit.sent+f.Blocks() > credit.limit {
		return
	}
	r.psn++
	credit.sent += f.Blocks()
	n := r.ports[p].Framing.Length(&f)
	tail := head.Add(r.ports[p].Rate.Serialise(n))
	r.peers[p].busy = max(r.peers[p].busy, tail)
	r.hand(max(due, r.now), p, port.Arrival{Frame: f, Head: head, Tail: tail, Length: n})
}

// taken looks at what the switch has reported: what has been accepted, and how
// full the buffers are.
func (r *fuzzed) taken() {
	for _, e := range r.events {
		switch kind, _, _ := trace.FrameOf(e.A); {
		case e.Kind == trace.Violation && r.polite:
			r.tb.Fatalf("at %v: %v", e.At, trace.Reason(e.A))
		case e.Kind == trace.Arrive && e.Lane == port.DataLane && e.B > int64(r.ports[e.Port].Room),
			e.Kind == trace.Arrive && e.Lane == port.AckLane && e.B > port.AckRoom,
			e.Kind == trace.Release && e.B < 0:
			r.tb.Fatalf("at %v: %d blocks in the buffer of port %d", e.At, e.B, e.Port)
		case e.Kind == trace.Arrive && kind != wire.FlowControl:
			if output := int(e.Flow&0xff) % (fuzzPorts + 1); output < fuzzPorts {
				l := line{int(e.Flow >> 8), output, e.Lane}
				r.waiting[l] = append(r.waiting[l], e.PSN)
			}
		}
	}
	r.events = r.events[:0]
}

// gone looks at a frame that leaves: it is the oldest of its way.
func (r *fuzzed) gone(tr *port.Transmission) {
	if tr.Frame.Kind == wire.FlowControl {
		return
	}
	r.taken()
	l := line{int(tr.Frame.QP >> 8), int(tr.Port), tr.Frame.Lane}
	if ways := r.waiting[l]; len(ways) == 0 || ways[0] != tr.Frame.PSN {
		r.tb.Fatalf("port %d: frame %d of %v leaves; those that wait are %v", tr.Port, tr.Frame.PSN, l, ways)
	}
	r.waiting[l] = r.waiting[l][1:]
	if tr.Note.Waiting > 1000 || tr.Frame.Lane == port.AckLane && tr.Frame.FECN {
		r.tb.Fatalf("%+v", tr)
	}
}

// conserved looks whether all the room has been given back: the peers are told
// again by now.
func (r *fuzzed) conserved() {
	if !r.polite {
		return
	}
	for p := range r.peers {
		for lane, room := range [port.Lanes]int{port.DataLane: r.ports[p].Room, port.AckLane: port.AckRoom} {
			if a := r.peers[p].theirs[lane]; a.limit != a.sent+room {
				r.tb.Errorf("port %d, lane %d: %d blocks sent, %d allowed, and room for %d is free", p, lane, a.sent, a.limit, room)
			}
		}
	}
}
