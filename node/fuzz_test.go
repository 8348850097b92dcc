package node_test

import (
	"encoding/binary"
	"testing"

	"fabemu/node"
	"fabemu/node/traffic"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// script reads numbers from the bytes of a fuzzer; after the last of them all are
// zero.
type script []byte

func (s *script) next(n int) uint64 {
	var b [8]byte
	*s = (*s)[copy(b[:n], *s):]
	return binary.LittleEndian.Uint64(b[:])
}

func (s *script) byte() byte { return byte(s.next(1)) }

// frame returns any frame at all: every field has every value that its type can have.
func (s *script) frame() wire.Frame {
	flags := s.byte()
	f := wire.Frame{
		Kind: wire.Kind(s.byte() % 7), Family: wire.Family(flags >> 7), Last: flags&3 == 3, Lane: s.byte(), FECN: flags&1 != 0, BECN: flags&2 != 0,
		Src: wire.LID(s.next(2)), Dst: wire.LID(s.next(2)), QP: uint32(s.next(4)), PSN: uint32(s.next(4)),
		MSN: uint32(s.next(4)), Payload: uint32(s.next(4)), Extension: wire.ExtensionOf(wire.CreditExtension{Op: wire.Op(s.byte()), FCTBS: uint16(s.next(2)), FCCL: uint16(s.next(2))}),
	}
	// Most of the time some of it makes sense.
	if flags&4 != 0 {
		f.Dst = here
	}
	if flags&8 != 0 {
		f.Lane %= port.Lanes
	}
	if flags&16 != 0 {
		f.QP = []uint32{7, 8, 9, 100, 101}[f.QP%5]
	}
	if flags&32 != 0 {
		f.Payload %= wire.MaxPayload + 1
	}
	if flags&64 != 0 {
		f.Credit().Op %= 2
	}
	if f.Kind == wire.Data { // its Part is the number of a body, which only the driver gives
		f.Extension = wire.Extension{}
	}
	return f
}

// FuzzEndpoint: whatever the network sends, and however late the driver is, an
// endpoint does not panic, keeps the contract of nodes, never starts a frame on a
// busy link, and its reports fit together. (It panics by itself when it would send
// without credit.)
func FuzzEndpoint(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x02\x00\x02\x01\x00\xff\x10\x03\x07\x00\x03\x08\x01\x00\xff\x10\x04\x64\x00\x00\xff\xff"))
	f.Add([]byte("\x02\x00\x02\x01\x05\x7c\x02\x01\x00\x00\x00\x00\x07\x00\x00\x00\x00\xff\xff\x06\x09\x01\xff\xff"))
	f.Add([]byte("\x05\xff\x01\x80\xff\xff\x01\x00\xff\xff\x00\xff\xff\x00\xff\xff\x00\xff\xff\x00\xff\xff\x00\xff\xff\x01\x10\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 2000 {
			return
		}
		paced := node.Flow{
			QP: 8, Dst: 9, Payload: 1024, Transport: acked(4), Start: at(3 * us), Stop: at(700 * us), Traffic: constant(t, at(3*us), gigabyte/3, 1044),
			Limiter: node.NewInterPacketDelay(gigabyte), Reaction: algorithm(t, "aimd", gigabyte),
		}
		lipd := greedy(t, 7, gigabyte)
		lipd.Reaction = algorithm(t, "lipd", gigabyte)
		finite := greedy(t, 9, gigabyte)
		finite.Transport, finite.Limiter = acked(2), node.NewTokenBucket(gigabyte, 4000)
		finite.Traffic = generated(t, traffic.Config{Kind: traffic.Transfers, Rate: gigabyte / 4, Sizes: sizes(t, "1B:30 2048B:60 10000B:100"), Seed: 1})
		b := newBench(t, lipd, paced, finite)
		b.advance()
		room := [port.Lanes]int{4 * 33, port.AckRoom}
		psn := [2]uint32{}
		s := script(in)
		for len(s) > 0 {
			switch op := s.byte(); op % 8 {
			case 0: // time continues, each deadline met
				b.fuzzRun(b.now.Add(unit.Duration(s.next(2)) * ns))
			case 1: // time continues, and the driver is late
				b.now = b.now.Add(unit.Duration(s.next(2)) * ns)
				b.fuzzAdvance()
			case 2: // the peer tells its room as it should
				lane := s.byte() % port.Lanes
				b.credit[lane].Freed(b.credit[lane].Used())
				b.fuzzReceive(b.credit[lane].Packet(lane))
				b.fuzzAdvance()
			case 3: // a packet in order
				flow := uint32(s.byte()) % 2
				b.fuzzReceive(dataTo(100+flow, psn[flow], op&8 != 0))
				psn[flow]++
			case 4: // an ACK
				b.fuzzReceive(wire.Frame{Kind: wire.Ack, Lane: port.AckLane, Src: there, Dst: here, QP: 7 + uint32(s.byte())%3, BECN: op&8 != 0})
			case 5: // anything
				b.fuzzReceive(s.frame())
			case 6:
				rate := unit.Rate(1 + s.next(4))
				b.e.Apply(b.now, 0, []port.Change{port.LinkUp{}, port.RateChange{Rate: rate}, port.ServiceRate{Rate: rate}}[s.byte()%3])
				b.fuzzAdvance()
			case 7:
				b.fuzzAdvance()
			}
		}
		b.fuzzAdvance()
		for i, e := range b.events {
			if e.Seq != uint32(i) || e.Node != 5 || e.At > b.now || i > 0 && e.At < b.events[i-1].At || e.Kind.String() == "unknown" {
				t.Fatalf("event %d is %+v", i, e)
			}
			if (e.Kind == trace.Arrive || e.Kind == trace.Release) && (e.B < 0 || e.B > int64(room[e.Lane])) {
				t.Fatalf("%v: occupancy %d of lane %d, out of %d", e.At, e.B, e.Lane, room[e.Lane])
			}
		}
		for _, qp := range []uint32{7, 8, 9} {
			sum := unit.Duration(0)
			for _, d := range stalls(b, qp) {
				sum += d
			}
			if sum != unit.Duration(b.now) {
				t.Fatalf("flow %d: all causes hold for %v, of %v", qp, sum, b.now)
			}
		}
	})
}

// fuzzReceive, fuzzAdvance and fuzzRun are those of the bench for a peer that lies:
// what the endpoint may send is not checked against the peer's room.
func (b *bench) fuzzReceive(f wire.Frame) {
	b.e.Receive(b.now, 0, &port.Arrival{Frame: f, Head: b.now, Tail: b.now, Length: wire.PaperFraming.Length(&f)})
	b.fuzzPoll()
	if d := b.e.Deadline(); d > b.now && !b.ends() {
		b.t.Fatalf("%v: after Receive the deadline is %v", b.now, d)
	}
}

func (b *bench) fuzzAdvance() {
	for range 2 {
		events, deadline := len(b.events), b.e.Deadline()
		b.e.Advance(b.now)
		polled := b.fuzzPoll()
		if b.e.Deadline() <= b.now {
			b.t.Fatalf("%v: after Advance the deadline is %v", b.now, b.e.Deadline())
		}
		if deadline > b.now && (len(b.events) != events || polled > 0 || b.e.Deadline() != deadline) {
			b.t.Fatalf("%v: Advance came before the deadline %v and did something", b.now, deadline)
		}
	}
}

func (b *bench) fuzzRun(t unit.Time) {
	for b.e.Deadline() <= t {
		b.now = max(b.now, b.e.Deadline())
		b.fuzzAdvance()
	}
	b.now = t
}

func (b *bench) fuzzPoll() (n int) {
	for tr, ok := b.e.Poll(); ok; tr, ok = b.e.Poll() {
		if tr.Start > b.now || tr.Start < b.free || tr.Due <= tr.Start {
			b.t.Fatalf("%v: %v starts at %v and is due at %v, and the line is idle from %v", b.now, tr.Frame.Kind, tr.Start, tr.Due, b.free)
		}
		b.free = tr.Start.Add(tr.Duration)
		n++
	}
	return n
}
