package switchd_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fabemu/switchd"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const (
	ns     = unit.Time(unit.Nanosecond)
	gbyte  = 8e9 * unit.BitPerSecond // 1 GB/s: one byte in 1 ns
	packet = 33                      // blocks of a frame of 2048 bytes
	t1     = 2068 * ns               // how long that frame takes the line, by the paper's framing
	roomy  = 2048                    // blocks: as much as a peer can offer
)

// config describes a switch of n ports. LID p+1 lives at port p.
func config(n int) switchd.Config {
	c := switchd.Config{
		Delay: 40 * unit.Nanosecond, Bypass: 4, Packet: packet,
		Routes: []switchd.Routes{{To: []port.ID{switchd.NoRoute}}},
	}
	for p := range n {
		c.Ports = append(c.Ports, port.Config{
			Rate: gbyte, Propagation: unit.Nanosecond, Room: 4 * packet, Resend: unit.Second,
		})
		c.Routes[0].To = append(c.Routes[0].To, port.ID(p))
	}
	return c
}

// data returns a data frame of 2048 bytes that is for an output. The flow's name
// is what the tests tell frames by.
func data(flow uint32, output int) wire.Frame {
	return wire.Frame{Kind: wire.Data, Lane: port.DataLane, Dst: wire.LID(output + 1), QP: flow, Payload: 2048}
}

func ack(flow uint32, output int) wire.Frame {
	return wire.Frame{Kind: wire.Ack, Lane: port.AckLane, Dst: wire.LID(output + 1), QP: flow}
}

// A rig drives a switch among model peers, in the total order of events, and
// holds it to the contract of nodes at each call.
type rig struct {
	tb    testing.TB
	sw    *switchd.Switch
	ports []port.Config
	peers []peer
	now   unit.Time

	coming []coming                 // frames in flight to the switch, in their order
	sent   []port.Transmission      // frames that it has sent, flow control packets too
	events []trace.Event            // what it has reported
	leave  func(*port.Transmission) // called with each frame that leaves
	number int
}

// coming is a frame in flight.
type coming struct {
	due     unit.Time
	port    int
	number  int
	arrival port.Arrival
	grant   func(*wire.Frame) // for flow control packets of the rig: fills in the counters
}

// peer is what is known at the other end of a port, counted without help of
// package port: blocks since the beginning.
type peer struct {
	mine   [port.Lanes]laneCredit // what the switch may send
	theirs [port.Lanes]laneCredit // what the peer may send
	handed [port.Lanes]int        // what of it has come
	busy   unit.Time              // its own line
	free   unit.Time              // the switch's line, towards it
	due    unit.Time              // of the last frame towards it
	closed bool                   // it gives no credit by itself
}

// laneCredit is the credit of one direction of a lane.
type laneCredit struct{ sent, limit int }

// newRig returns a rig whose peers offer all the room there is, at once, unless
// their ports are among the closed ones.
func newRig(tb testing.TB, c switchd.Config, closed ...int) *rig {
	tb.Helper()
	r := &rig{tb: tb, ports: c.Ports, peers: make([]peer, len(c.Ports)), leave: func(*port.Transmission) {}}
	sw, err := switchd.New(c, r)
	if err != nil {
		tb.Fatal(err)
	}
	r.sw = sw
	for p := range r.peers {
		r.peers[p].closed = slices.Contains(closed, p)
		if !r.peers[p].closed {
			r.grant(0, p, port.DataLane, roomy)
			r.grant(0, p, port.AckLane, roomy)
		}
	}
	return r
}

// Record keeps an event (trace.Sink).
func (r *rig) Record(e *trace.Event) { r.events = append(r.events, *e) }

// send puts a frame on the link towards port p; its first bit leaves the peer at t.
func (r *rig) send(t unit.Time, p int, f wire.Frame) {
	r.tb.Helper()
	if t < r.peers[p].busy {
		r.tb.Fatalf("the peer of port %d sends until %v, not yet at %v", p, r.peers[p].busy, t)
	}
	n := wire.PaperFraming.Length(&f)
	d := r.ports[p].Rate.Serialise(n)
	r.peers[p].busy = t.Add(d)
	read := min(d, r.ports[p].Rate.Serialise(wire.HeaderSize))
	r.peers[p].theirs[f.Lane].sent += f.Blocks()
	r.hand(t.Add(read).Add(r.ports[p].Propagation), p, port.Arrival{Frame: f, Head: t, Tail: t.Add(d), Length: n})
}

// grant lets a peer offer more blocks, in a flow control packet that comes at t.
func (r *rig) grant(t unit.Time, p, lane, blocks int) {
	r.queue(coming{due: t, port: p, arrival: port.Arrival{Frame: wire.Frame{Kind: wire.FlowControl, Lane: uint8(lane)}, Head: t, Tail: t}, grant: func(f *wire.Frame) {
		mine := &r.peers[p].mine[lane]
		mine.limit += blocks
		f.Credit().FCTBS, f.Credit().FCCL = uint16(r.peers[p].handed[lane]%4096), uint16(mine.limit%4096)
	}})
}

// hand hands a frame over at its due time.
func (r *rig) hand(due unit.Time, p int, a port.Arrival) {
	r.queue(coming{due: due, port: p, arrival: a})
}

// queue puts a frame in its place: by due time, port, and order of the calls.
func (r *rig) queue(c coming) {
	r.number++
	c.number = r.number
	at, _ := slices.BinarySearchFunc(r.coming, c, func(x, y coming) int {
		return cmp.Or(cmp.Compare(x.due, y.due), cmp.Compare(x.port, y.port), cmp.Compare(x.number, y.number))
	})
	r.coming = slices.Insert(r.coming, at, c)
}

// run lets time pass until t, which it includes.
func (r *rig) run(t unit.Time) {
	r.tb.Helper()
	for {
		deadline := r.sw.Deadline()
		switch {
		case len(r.coming) > 0 && r.coming[0].due <= min(deadline, t):
			c := r.coming[0]
			r.coming = r.coming[1:]
			r.now = max(r.now, c.due)
			if f := &c.arrival.Frame; c.grant != nil {
				c.grant(f)
			} else if f.Lane < port.Lanes {
				r.peers[c.port].handed[f.Lane] += f.Blocks()
			}
			r.sw.Receive(r.now, port.ID(c.port), &c.arrival)
			if tr, ok := r.sw.Poll(); ok {
				r.tb.Fatalf("at %v: Receive has sent %+v: it only takes in", r.now, tr)
			}
		case deadline <= t:
			r.now = max(r.now, deadline)
			r.advance()
		default:
			r.now = max(r.now, t)
			return
		}
	}
}

// advance calls Advance and holds the switch to the contract.
func (r *rig) advance() {
	r.tb.Helper()
	r.sw.Advance(r.now)
	for {
		tr, ok := r.sw.Poll()
		if !ok {
			break
		}
		r.took(tr)
	}
	deadline := r.sw.Deadline()
	if deadline <= r.now {
		r.tb.Fatalf("at %v: the deadline after Advance is %v", r.now, deadline)
	}
	events := len(r.events)
	r.sw.Advance(r.now)
	if tr, ok := r.sw.Poll(); ok || len(r.events) != events || r.sw.Deadline() != deadline {
		r.tb.Fatalf("at %v: Advance once more does something: %+v, %d events, deadline %v and then %v", r.now, tr, len(r.events)-events, deadline, r.sw.Deadline())
	}
}

// took looks at a frame that the switch has sent, as its peer.
func (r *rig) took(tr *port.Transmission) {
	r.tb.Helper()
	p := &r.peers[tr.Port]
	f := &tr.Frame
	switch {
	case tr.Start != r.now:
		r.tb.Fatalf("at %v: a frame that starts at %v", r.now, tr.Start)
	case tr.Start < p.free:
		r.tb.Fatalf("port %d: a frame starts at %v; the line is busy until %v", tr.Port, tr.Start, p.free)
	case tr.Due < p.due:
		r.tb.Fatalf("port %d: a frame is due at %v, the one before it at %v", tr.Port, tr.Due, p.due)
	}
	p.free, p.due = tr.Start.Add(tr.Duration), tr.Due
	r.sent = append(r.sent, *tr)
	defer r.leave(tr)
	mine, theirs := &p.mine[f.Lane], &p.theirs[f.Lane]
	if f.Kind == wire.FlowControl {
		theirs.limit += int(f.Credit().FCCL-uint16(theirs.limit%4096)) % 4096 // it never falls
		return
	}
	mine.sent += f.Blocks()
	if mine.sent > mine.limit {
		r.tb.Fatalf("port %d, lane %d: %d blocks sent, %d allowed", tr.Port, f.Lane, mine.sent, mine.limit)
	}
	if !p.closed { // as if it had read the frame at once
		r.grant(p.free.Add(2*r.ports[tr.Port].Propagation), int(tr.Port), int(f.Lane), f.Blocks())
	}
}

// left returns the frames that have left by a port, flow control packets apart:
// the flow of each and when it began, in ns.
func (r *rig) left(p int) string {
	var s []string
	for i := range r.sent {
		if tr := &r.sent[i]; int(tr.Port) == p && tr.Frame.Kind != wire.FlowControl {
			s = append(s, fmt.Sprintf("%d@%s", tr.Frame.QP, nanoseconds(tr.Start)))
		}
	}
	return strings.Join(s, " ")
}

// credits returns the flow control packets that have left by a port: the lane,
// when it began, when it is due, and how many blocks it allows in all.
func (r *rig) credits(p int) string {
	var s []string
	for i := range r.sent {
		if tr := &r.sent[i]; int(tr.Port) == p && tr.Frame.Kind == wire.FlowControl {
			s = append(s, fmt.Sprintf("vl%d@%s>%s:%d", tr.Frame.Lane, nanoseconds(tr.Start), nanoseconds(tr.Due), tr.Frame.Credit().FCCL))
		}
	}
	return strings.Join(s, " ")
}

// reported returns the events of a kind: when, port, and what A says.
func (r *rig) reported(k trace.Kind, word func(int64) string) string {
	var s []string
	for _, e := range r.events {
		if e.Kind == k {
			s = append(s, fmt.Sprintf("p%d@%s:%s", e.Port, nanoseconds(e.At), word(e.A)))
		}
	}
	return strings.Join(s, " ")
}

func reason(a int64) string { return trace.Reason(a).String() }
func block(a int64) string  { return port.Block(a).String() }

// noLoss fails the test if the switch has dropped anything or broken a promise.
func (r *rig) noLoss() {
	r.tb.Helper()
	for _, k := range []trace.Kind{trace.Violation, trace.Drop} {
		if got := r.reported(k, reason); got != "" {
			r.tb.Errorf("%v: %s", k, got)
		}
	}
}

func nanoseconds(t unit.Time) string {
	if t%ns == 0 {
		return fmt.Sprint(int64(t / ns))
	}
	return fmt.Sprintf("%.3f", float64(t)/float64(ns))
}

// want compares what a test is about with what it says.
func want(tb testing.TB, what, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// points makes the congestion points whose parameters are of a type.
func points(params any) cp.Maker {
	for _, p := range cp.Points() {
		if reflect.TypeOf(p.Params) == reflect.TypeOf(params) {
			return p.Maker(params, cp.Site{Address: 0xAA, Random: unit.NewRandom(1, 1)})
		}
	}
	panic("no such points")
}
