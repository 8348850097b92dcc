package port

import (
	"fmt"
	"testing"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// An exchange is two ports, a and b, joined by a link, with its own model time.
// A test queues frames at an end, says how far time goes, and reads what came; with
// -v the story is told line by line. After every step the credits are counted.
type exchange struct {
	t      *testing.T
	now    unit.Time
	a, b   *end
	flying []Transmission // in order of Due; from says whose
	from   []*end

	// fate says how often a frame arrives: 0 is lost, 2 is repeated. Nil: once.
	fate  func(from *end, tr *Transmission) int
	quiet bool
}

// An end is a port and what a node would have around it.
type end struct {
	name   string
	peer   *end
	port   *Port
	out    Outbox
	rec    trace.Recorder
	wait   [Lanes][]wire.Frame // to be sent
	came   [Lanes][]wire.Frame // all that was received
	stored [Lanes][]wire.Frame // of it, what is in the buffer
	hold   bool                // frees nothing
	events []trace.Event
	fcps   [Lanes]int // flow control packets started
}

// Record keeps an event.
func (e *end) Record(ev *trace.Event) { e.events = append(e.events, *ev) }

// count returns how many events are of kind k and, if it is not NoReason, reason r.
func (e *end) count(k trace.Kind, r trace.Reason) int {
	n := 0
	for _, ev := range e.events {
		if ev.Kind == k && (r == trace.NoReason || ev.A == int64(r)) {
			n++
		}
	}
	return n
}

// newExchange joins two ports that are made alike. Nothing has been sent yet.
func newExchange(t *testing.T, c Config) *exchange {
	x := &exchange{t: t, a: &end{name: "a"}, b: &end{name: "b"}}
	x.a.peer, x.b.peer = x.b, x.a
	for i, e := range []*end{x.a, x.b} {
		e.rec = trace.NewRecorder(i, e)
		e.port = New(0, c, &e.out, &e.rec)
	}
	return x
}

// paperLink is a link of HPL-2002-224: 1 GB/s, room for 4 packets.
func paperLink() Config {
	return Config{Rate: gigabyte, Propagation: ns, CutThrough: true, Room: 4 * packetBlocks, Resend: 262144 * ns}
}

// data returns packets of the paper, numbered from first.
func data(first, n int) []wire.Frame {
	var f []wire.Frame
	for i := range n {
		f = append(f, wire.Frame{Kind: wire.Data, Lane: DataLane, Src: 1, Dst: 2, QP: 7, PSN: uint32(first + i), Payload: 2048})
	}
	return f
}

// acks returns ACKs, numbered from first.
func acks(first, n int) []wire.Frame {
	var f []wire.Frame
	for i := range n {
		f = append(f, wire.Frame{Kind: wire.Ack, Lane: AckLane, Src: 2, Dst: 1, QP: 7, PSN: uint32(first + i)})
	}
	return f
}

// queue gives an end frames to send.
func (x *exchange) queue(e *end, frames []wire.Frame) {
	for _, f := range frames {
		e.wait[f.Lane] = append(e.wait[f.Lane], f)
	}
}

// free takes n frames out of the buffer of an end.
func (x *exchange) free(e *end, lane uint8, n int) {
	for range n {
		f := e.stored[lane][0]
		e.stored[lane] = e.stored[lane][1:]
		x.logf("%s frees %s", e.name, describe(&f))
		e.port.Free(x.now, &f)
	}
}

// run lets time go on by d.
func (x *exchange) run(d unit.Duration) {
	x.t.Helper()
	until := x.now.Add(d)
	x.act()
	for steps := 0; ; steps++ {
		if steps > 1_000_000 {
			x.t.Fatalf("%v: time does not go on", x.now)
		}
		next := min(x.a.deadline(x.now), x.b.deadline(x.now))
		if len(x.flying) > 0 {
			next = min(next, x.flying[0].Due)
		}
		if next > until {
			x.now = until
			return
		}
		x.now = next
		for len(x.flying) > 0 && x.flying[0].Due <= x.now {
			tr, to := x.flying[0], x.from[0].peer
			x.flying, x.from = x.flying[1:], x.from[1:]
			x.deliver(to, &tr)
			x.check()
		}
		x.act()
	}
}

// deadline returns when an end has something to do.
func (e *end) deadline(now unit.Time) unit.Time {
	next := e.port.Resend()
	if free := e.port.Transmitter().Free(); free > now && (e.port.OwesControl(now) || len(e.wait[DataLane]) > 0 || len(e.wait[AckLane]) > 0) {
		next = min(next, free)
	}
	return next
}

// act does at both ends what may be done now, and puts it on the link.
func (x *exchange) act() {
	x.t.Helper()
	for _, e := range []*end{x.a, x.b} {
		e.port.Control(x.now)
		for lane := Lanes - 1; lane >= 0; lane-- {
			for len(e.wait[lane]) > 0 && e.port.MaySend(x.now, &e.wait[lane][0], e.port.Framing().Length(&e.wait[lane][0])).Block == Open {
				f := e.wait[lane][0]
				e.wait[lane] = e.wait[lane][1:]
				e.port.Start(x.now, &f, e.port.Framing().Length(&f), Note{})
			}
		}
		for tr, ok := e.out.Poll(); ok; tr, ok = e.out.Poll() {
			copies := 1
			if x.fate != nil {
				copies = x.fate(e, tr)
			}
			if tr.Frame.Kind == wire.FlowControl {
				e.fcps[tr.Frame.Lane]++
			}
			x.logf("%s starts %s, due at %v%s", e.name, describe(&tr.Frame), tr.Due, [...]string{": LOST", "", ", twice"}[copies])
			for range copies {
				x.fly(e, *tr)
			}
		}
		x.check()
	}
}

// fly puts a transmission on the link, behind all that is due no later.
func (x *exchange) fly(from *end, tr Transmission) {
	i := len(x.flying)
	for i > 0 && x.flying[i-1].Due > tr.Due {
		i--
	}
	x.flying = append(x.flying[:i], append([]Transmission{tr}, x.flying[i:]...)...)
	x.from = append(x.from[:i], append([]*end{from}, x.from[i:]...)...)
}

// deliver hands a frame to an end.
func (x *exchange) deliver(e *end, tr *Transmission) {
	a := Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}
	f := &a.Frame
	if !e.port.Receive(x.now, &a) {
		return
	}
	e.came[f.Lane] = append(e.came[f.Lane], *f)
	e.stored[f.Lane] = append(e.stored[f.Lane], *f)
	x.logf("%s has %s", e.name, describe(f))
	if !e.hold {
		x.free(e, f.Lane, 1)
	}
}

// check counts the credits: what a sender has left, what is in flight, what is in
// the receiver's buffer, and what was freed and not yet told, are together never
// more than the buffer.
func (x *exchange) check() {
	x.t.Helper()
	for _, to := range []*end{x.a, x.b} {
		for lane := range to.port.VirtualLanes().all {
			s, r := &to.peer.port.VirtualLanes().all[lane], &to.port.VirtualLanes().all[lane]
			flying := 0
			for i := range x.flying {
				if f := &x.flying[i].Frame; x.from[i] == to.peer && int(f.Lane) == lane {
					flying += f.Blocks()
				}
			}
			if sum := s.Left() + flying + r.Used() + int(r.fresh); sum > r.Room() {
				x.t.Fatalf("%v: lane %d towards %s: %d left + %d on their way + %d stored + %d freed and not told are %d blocks, in a buffer of %d",
					x.now, lane, to.name, s.Left(), flying, r.Used(), r.fresh, sum, r.Room())
			}
		}
	}
}

// atRest checks that no credit has leaked: all of it is with the sender, in the
// buffer, or freed and soon to be told.
func (x *exchange) atRest() {
	x.t.Helper()
	for _, to := range []*end{x.a, x.b} {
		for lane := range to.port.VirtualLanes().all {
			s, r := &to.peer.port.VirtualLanes().all[lane], &to.port.VirtualLanes().all[lane]
			if sum, want := s.Left()+r.Used()+int(r.fresh), min(r.Room(), maxAdvertised); sum != want {
				x.t.Errorf("%v: lane %d towards %s: %d left + %d stored + %d freed and not told are %d blocks, want all %d",
					x.now, lane, to.name, s.Left(), r.Used(), r.fresh, sum, want)
			}
		}
	}
}

func (x *exchange) logf(format string, args ...any) {
	x.t.Helper()
	if !x.quiet {
		x.t.Logf("%12v %s", x.now, fmt.Sprintf(format, args...))
	}
}

// describe names a frame in the words of the specification.
func describe(f *wire.Frame) string {
	switch f.Kind {
	case wire.FlowControl:
		op := "FCP"
		if f.Credit().Op == wire.OpInit {
			op = "FCP init"
		}
		return fmt.Sprintf("%s VL%d FCTBS=%d FCCL=%d", op, f.Lane, f.Credit().FCTBS, f.Credit().FCCL)
	default:
		return fmt.Sprintf("%v %d", f.Kind, f.PSN)
	}
}
