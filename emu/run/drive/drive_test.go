package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/run/pace"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// player is a node that sends a frame by each of its ports at given instants and
// writes down what it is told.
type player struct {
	name  string
	story *[]string
	ports int
	at    []unit.Time // when to send
	out   []port.Transmission
	stuck bool // its deadline never passes
}

func (p *player) tell(format string, args ...any) {
	*p.story = append(*p.story, p.name+" "+fmt.Sprintf(format, args...))
}

func (p *player) Receive(now unit.Time, id port.ID, a *port.Arrival) {
	p.tell("%v: port %d: %d", now, id, a.Frame.PSN)
}

func (p *player) Advance(now unit.Time) {
	p.tell("%v: advance", now)
	for !p.stuck && len(p.at) > 0 && p.at[0] <= now {
		p.at = p.at[1:]
		for id := range p.ports {
			p.out = append(p.out, port.Transmission{
				Port: port.ID(id), Start: now, Due: now.Add(unit.Nanosecond), Length: 20,
				Frame: wire.Frame{Kind: wire.Data, Src: 1, Dst: 2, PSN: uint32(now)},
			})
		}
	}
}

func (p *player) Apply(now unit.Time, _ port.ID, change port.Change) {
	switch c := change.(type) {
	case port.Offer:
		p.tell("%v: offer", now)
	case port.RateChange:
		p.tell("%v: rate %v", now, c.Rate)
	}
}

func (p *player) Poll() (*port.Transmission, bool) {
	if len(p.out) == 0 {
		return nil, false
	}
	t := &p.out[0]
	p.out = p.out[1:]
	return t, true
}

func (p *player) Deadline() unit.Time {
	if len(p.at) == 0 {
		return unit.Never
	}
	return p.at[0]
}

// star is a fabric of three senders, a and b with a deadline at 0, at 1 and at 2 ns,
// and a receiver in their midst that has a deadline at 1 ns too.
func star() (*Setup, *[]string) {
	story := &[]string{}
	times := func(ns ...int) (list []unit.Time) {
		for _, n := range ns {
			list = append(list, unit.Time(n)*unit.Time(unit.Nanosecond))
		}
		return list
	}
	f := &Setup{
		Nodes: []Node{
			&player{name: "a", story: story, ports: 1, at: times(0, 1)},
			&player{name: "middle", story: story, at: times(1)},
			&player{name: "b", story: story, ports: 1, at: times(0)},
		},
		Wires:   [][2]port.End{{{Node: 2}, {Node: 1}}, {{Node: 0}, {Node: 1, Port: 1}}},
		Changes: []Change{{At: unit.Time(unit.Nanosecond), Node: 1, Makes: port.RateChange{Rate: 8}}},
		End:     unit.Time(10 * unit.Nanosecond),
		Run:     7,
	}
	return f, story
}

// By time; then arrivals, changes, deadlines; then by node; then by port.
var starStory = []string{
	"a 0s: advance", "b 0s: advance",
	"middle 1ns: port 0: 0", "middle 1ns: port 1: 0", "middle 1ns: rate 1B/s",
	"a 1ns: advance", "middle 1ns: advance",
	"middle 2ns: port 1: 1000",
}

func TestEventsComeInOneTotalOrder(t *testing.T) {
	for name, run := range map[string]func(*Setup) error{
		"virtual": func(f *Setup) error { _, err := Virtual{}.Run(context.Background(), f); return err },
		"values":  func(f *Setup) error { _, err := Virtual{SkipCodec: true}.Run(context.Background(), f); return err },
		"wall": func(f *Setup) error {
			timing, err := pipes(f, 1000).Run(context.Background(), f)
			if err == nil && (timing.Hops != 3 || timing.Lost != 0 || timing.Early != 0) {
				return fmt.Errorf("%d hops, %d lost, %d early", timing.Hops, timing.Lost, timing.Early)
			}
			return err
		},
	} {
		f, story := star()
		if err := run(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A deadline that is alone at its instant may be served with the arrival before it:
		// the order is the same.
		if diff := cmp.Diff(starStory, *story); diff != "" {
			t.Errorf("%s: the order is another (-want +got):\n%s", name, diff)
		}
	}
}

// between is a visitor that notes when it was there, and how much had happened by then.
type between struct {
	story *[]string
	seen  map[unit.Time]int
}

func (*between) Wanted() bool     { return true }
func (b *between) Visit(v *Visit) { b.seen[v.Now] = len(*b.story) }

// A visit is between two instants: all that happens before its Now has happened, and nothing else.
func TestVisitsAreBetweenInstants(t *testing.T) {
	const senders, rounds = 1000, 20
	story := &[]string{}
	f := &Setup{End: unit.Time(100 * unit.Nanosecond)}
	for i := range senders {
		from := &player{story: story, ports: 1}
		for n := range rounds {
			from.at = append(from.at, unit.Time(n)*unit.Time(2*unit.Nanosecond))
		}
		f.Nodes = append(f.Nodes, from)
		f.Wires = append(f.Wires, [2]port.End{{Node: i}, {Node: senders, Port: port.ID(i)}})
	}
	f.Nodes = append(f.Nodes, &player{story: story})
	see := &between{story, map[unit.Time]int{}}
	f.Visitor = see
	if _, err := (Virtual{}).Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	for now, told := range see.seen { // of round n all send at 2n ns, and all frames come 1 ns later
		if want := senders * min(int(now.Add(unit.Nanosecond-1)/unit.Time(unit.Nanosecond)), 2*rounds); told != want {
			t.Errorf("before %v %d things have happened, want %d", now, told, want)
		}
	}
	if len(see.seen) < 5 {
		t.Errorf("there were visits at %d instants", len(see.seen))
	}
}

// pipes returns a wall driver with links through memory.
func pipes(f *Setup, dilation int64) *Wall {
	w := &Wall{Dilation: dilation}
	for range f.Wires {
		a, b := link.Pipe(16)
		w.Links = append(w.Links, [2]link.Link{a, b})
		w.Longest = append(w.Longest, 2*unit.Microsecond)
	}
	return w
}

func TestDriversRefuse(t *testing.T) {
	virtual := func(f *Setup) error { _, err := Virtual{}.Run(context.Background(), f); return err }
	for _, test := range []struct {
		name string
		want string
		run  func(f *Setup) error
	}{
		{"a machine that does not get on", "makes no progress", func(f *Setup) error {
			f.Nodes[0].(*player).stuck = true
			return virtual(f)
		}},
		{"a port that is joined twice", "joined twice", func(f *Setup) error {
			f.Wires[1][0] = f.Wires[0][0]
			return virtual(f)
		}},
		{"a wire that ends nowhere", "there are 3", func(f *Setup) error {
			f.Wires[0][0].Node = 9
			return virtual(f)
		}},
		{"a run that is too long for its agenda", "too long for 3 nodes and 2 wires", func(f *Setup) error {
			f.End = unit.Never - 1
			return virtual(f)
		}},
		{"no dilation", "at least 1", func(f *Setup) error {
			_, err := pipes(f, 0).Run(context.Background(), f)
			return err
		}},
		{"a wire without a link", "1 links for 2 wires", func(f *Setup) error {
			w := pipes(f, 1)
			w.Links = w.Links[:1]
			_, err := w.Run(context.Background(), f)
			return err
		}},
		{"a link that fails", "wire 0, from node 2 to 1", func(f *Setup) error {
			w := pipes(f, 1)
			w.Links[0][1].Close()
			_, err := w.Run(context.Background(), f)
			return err
		}},
	} {
		f, _ := star()
		if err := test.run(f); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
}

// A run that is told to stop stops, and says how far it was.
func TestRunsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f, _ := star()
	if _, err := (Virtual{}).Run(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("virtual: %v", err)
	}
	f, _ = star()
	f.End = unit.Time(unit.Second)
	timing, err := pipes(f, 1000).Run(ctx, f)
	if !errors.Is(err, context.Canceled) || timing == nil || timing.Reached >= f.End {
		t.Errorf("wall: %v, %+v", err, timing)
	}
}

// onlooker is a visitor that keeps the counts of its visits.
type onlooker struct{ seen []pace.Record }

func (*onlooker) Wanted() bool     { return true }
func (o *onlooker) Visit(v *Visit) { o.seen = append(o.seen, *v.Timing) }

// Whoever looks at a run sees as much time in holds as holds.
func TestAVisitorSeesForHowLongTheClockWasHeld(t *testing.T) {
	f, _ := star()
	see, now, calls := &onlooker{}, int64(0), 0
	f.Visitor = see
	w := pipes(f, 1_000_000) // 10 ms
	for i := range w.Longest {
		w.Longest[i] = unit.Nanosecond // 1 ms: the bound
	}
	w.Clock = func() int64 {
		now += 1000
		if calls++; calls == 500 { // before the last event
			now += 1e9
		}
		return now
	}
	if _, err := w.Run(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	last := see.seen[len(see.seen)-1]
	if last.HoldCount == 0 || last.Held < last.HoldMost || last.HoldMost < 9e8 {
		t.Errorf("%d holds, the longest of %d ns, for %d ns in all", last.HoldCount, last.HoldMost, last.Held)
	}
}

// The wall time of a model time is exact to the nanosecond, below it and far above.
func TestDilate(t *testing.T) {
	for _, test := range []struct {
		t        unit.Time
		dilation int64
		want     int64
	}{
		{0, 200, 0},
		{unit.Time(2068 * unit.Nanosecond), 200, 413_600},
		{1, 200, 0},
		{5, 200, 1},
		{999, 1000, 999},
		{unit.Time(100 * unit.Second), 100_000, 10_000_000_000_000_000},
	} {
		if got := Dilate(test.t, test.dilation); got != test.want {
			t.Errorf("Dilate(%d ps, %d) is %d ns, want %d", int64(test.t), test.dilation, got, test.want)
		}
	}
}

// decoded returns the content of a datagram.
func decoded(f *Setup, b []byte) (t wire.Trailer, a port.Arrival, body wire.Body, err error) {
	err = f.decode(b, &t, &a, &body)
	return t, a, body, err
}

// A datagram from the network is never trusted: it is of this path and right to the
// last bit, or it is refused.
func FuzzDecode(f *testing.F) {
	p := &path{number: 5}
	run := &Setup{Run: 11, Secret: wire.Secret{12, 13}}
	good := run.encode(nil, &port.Transmission{Frame: wire.Frame{Kind: wire.Ack, Src: 1, Dst: 2}, Start: 3, Duration: 4, Due: 7, Length: 20}, wire.Body{}, p, 9, 7)
	f.Add(good)
	f.Add(run.encode(nil, &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Payload: 64}, Length: 84}, wire.Body{}, p, 0, 0))
	f.Add(run.encode(nil, &port.Transmission{Frame: wire.Frame{Kind: wire.FlowControl, Extension: wire.ExtensionOf(wire.CreditExtension{FCCL: 132})}}, wire.Body{}, &path{number: 6}, 0, 0))
	f.Add(run.encode(nil, &port.Transmission{Frame: wire.Frame{Kind: wire.Data, Payload: 8}, Length: 28}, wire.Body{Type: 0x0800, Bytes: []byte{1, 2, 3}}, p, 0, 0))
	f.Add([]byte("hello"))
	guest := slices.Clone(good) // the same bytes as the frame of a guest, which is not read
	guest[len(guest)-4] = byte(wire.GuestFrame)
	f.Add(guest)
	if x, a, _, err := decoded(run, good); err != nil || x.Seq != 9 || x.Port != 5 || a.Head != 3 || a.Tail != 7 {
		f.Fatalf("%+v, %+v, %v", x, a, err)
	}
	for _, other := range []*Setup{{Run: 11}, {Run: 11, Secret: wire.Secret{12, 12}}, {Run: 12, Secret: run.Secret}} {
		if _, _, _, err := decoded(other, good); !errors.Is(err, errForeign) {
			f.Errorf("a datagram of another run: %v", err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, a, body, err := decoded(run, b)
		var bad *wire.ParseError
		if err != nil {
			if !errors.As(err, &bad) && !errors.Is(err, errForeign) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		if x.Delimiter == wire.GuestFrame {
			if a.Frame != (wire.Frame{}) || body.Type != 0 {
				t.Errorf("%x is of a guest, but read as %+v with %+v", b, a.Frame, body)
			}
			return
		}
		again := run.encode(nil, &port.Transmission{Frame: a.Frame, Start: a.Head, Duration: a.Tail.Sub(a.Head), Due: 0, Length: a.Length}, body, p, x.Seq, 0)
		n := len(again) - wire.TrailerSize
		if len(again) != len(b) || string(again[:n]) != string(b[:n]) {
			t.Errorf("%x is read, but written as %x", b, again)
		}
	})
}

// distant is a player whose frames are long in flight.
type distant struct{ player }

func (d *distant) Poll() (*port.Transmission, bool) {
	t, ok := d.player.Poll()
	if ok {
		t.Due = t.Start.Add(100 * unit.Microsecond)
	}
	return t, ok
}

// On a long link many frames are in flight. A loop that never has time reads them all the
// same, before the socket overflows.
func TestManyFramesUnderWay(t *testing.T) {
	story := &[]string{}
	from := &distant{player{story: story, ports: 1}}
	for i := range 300 {
		from.at = append(from.at, unit.Time(i)*unit.Time(unit.Nanosecond))
	}
	f := &Setup{
		Nodes: []Node{from, &player{story: story}}, Wires: [][2]port.End{{{Node: 0}, {Node: 1}}},
		End: unit.Time(200 * unit.Microsecond),
	}
	a, b := link.Pipe(64)
	clock := int64(0)
	w := &Wall{Dilation: 1, Links: [][2]link.Link{{a, b}}, Longest: []unit.Duration{unit.Microsecond}, Clock: func() int64 { clock += 1e6; return clock }}
	timing, err := w.Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if timing.Lost != 0 || timing.Received != 300 {
		t.Errorf("%d datagrams of 300 were read, %d lost", timing.Received, timing.Lost)
	}
}
