package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/measured"
	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// WallCases returns the cases for the wall clock. Each takes some tenths of a second, and the limiter paces a
// real source, over sockets.
func WallCases() []Case {
	const line, packet = gbps, 12 * us // that a packet takes
	duration := unit.Duration(150 * packet)
	return []Case{
		{Name: "wall/steady", Doc: "a rate that stays, and always a packet", Line: line, Duration: duration,
			Rates: []Step{{0, line}}},
		{
			Name: "wall/steps", Doc: "the rate falls and rises while packets wait", Line: line, Duration: duration,
			Rates: []Step{{0, line}, {30*packet + 5*us, line / 4}, {90*packet + 7*us, line / 2},
				{120*packet + 3*us, line}},
		},
		{
			Name: "wall/storm", Doc: "the rate changes many times within each packet; then the last one holds",
			Line: line, Duration: duration,
			Rates: storm(7, 200, 4*unit.Microsecond, line, line/2),
		},
		{
			Name: "wall/idle", Doc: "nothing to send for a time, and then always a packet", Line: line,
			Duration: duration, Rates: []Step{{0, line / 2}},
			Idle: []Span{{40 * packet, 80 * packet}},
		},
	}
}

// Wall compares a limiter on the wall clock with an ideal one, which keeps a delay between packets. Both
// are measured in turns, with more turns while the limiter does not look right. Other work on
// the computer makes all figures worse and none better. So the limiter has the best of each figure, and is
// judged by the median of the ideal one.
type Wall struct {
	Dilation       int64
	Ideal, Limiter Starts // their gaps, lateness and calls
}

// bestOf returns the best of each figure.
func bestOf(turns []Starts) Starts {
	b := turns[0]
	for _, s := range turns[1:] {
		b.Late, b.Calls = min(b.Late, s.Late), min(b.Calls, s.Calls)
		if b.Gap == 0 || s.Gap > 0 && s.Gap < b.Gap {
			b.Gap = s.Gap
		}
	}
	return b
}

// usual returns the median of each figure.
func usual(turns []Starts) Starts {
	var gap []float64
	var late, calls []time.Duration
	for _, s := range turns {
		late, calls = append(late, s.Late), append(calls, s.Calls)
		if s.Gap > 0 {
			gap = append(gap, s.Gap)
		}
	}
	return Starts{Gap: median(gap), Late: median(late), Calls: median(calls)}
}

// The pace of a right limiter is worse than the pace of an ideal one by no more than this.
const (
	mostGap   = 1.25 // of the gap of the ideal one
	mostCalls = 0.1  // of the time that a packet takes
)

const (
	wallPacket = 300 * time.Microsecond // that a packet takes at the rate of the line
	wallTurns  = 3
	mostTurns  = 12 // where the limiter does not look right after those
)

// ideal returns the limiter that others are compared with.
func ideal(line unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(line) }

// turns measures n subjects in turns, of which number 1 is the limiter on the bench. It returns the merged report of
// the limiter. Each round has another order, so that none has always run behind the same one.
func turns(n int, measure func(subject int) (*meter, error), good func() bool) (r *Report, err error) {
	for round := 1; ; round++ {
		for k := range n {
			subject := (round - 1 + k) % n
			m, err := measure(subject)
			switch {
			case err != nil:
				return nil, err
			case subject != 1:
			case r == nil:
				r = &m.out
			default:
				r.merge(&m.out)
			}
		}
		if ok := good(); round >= wallTurns && ok || round >= mostTurns {
			return r, nil
		}
	}
}

// MeasureWall puts a limiter into a case on the wall clock. New is called for each turn.
func MeasureWall(ctx context.Context, new New, c Case, each func(Start)) (*Report, error) {
	wall := &Wall{Dilation: max(1, int64(wallPacket)*1000/int64(c.Line.Serialise(c.longest())))}
	var of [2][]Starts
	r, err := turns(2, func(subject int) (*meter, error) {
		new, each := new, each
		if subject == 0 {
			new, each = ideal, nil
		}
		m, starts, err := c.turn(ctx, new, wall.Dilation, each)
		of[subject] = append(of[subject], starts)
		return m, err
	}, func() bool {
		wall.Ideal, wall.Limiter = usual(of[0]), bestOf(of[1])
		return len(wall.faults()) == 0
	})
	if err != nil {
		return nil, err
	}
	r.Case, r.Fairness, r.Wall = c.Name, 1, wall
	for _, f := range wall.faults() {
		r.add(f)
	}
	return r, nil
}

// faults compares the pace of the limiter with the pace of the ideal one.
func (w *Wall) faults() (faults []Fault) {
	ideal, of := w.Ideal, w.Limiter
	if most := mostGap * ideal.Gap; ideal.Gap > 0 && of.Gap > most {
		faults = append(faults, Fault{Criterion: RealTime, Text: fmt.Sprintf(
			"in real time packets start %.3g times as far apart as at the rate, want %.3g at most: it is %.3g with an ideal limiter on this computer now",
			of.Gap, most, ideal.Gap)})
	}
	if most := time.Duration(mostCalls*float64(wallPacket)) + ideal.Calls; of.Calls > most {
		faults = append(faults, Fault{Criterion: Blocks, Text: fmt.Sprintf(
			"the calls for a packet take %v, want %v at most: it is %v with an ideal limiter on this computer now; a limiter gives an instant and does not wait for it",
			of.Calls, most, ideal.Calls)})
	}
	return faults
}

// turn runs the case once.
func (c *Case) turn(ctx context.Context, new New, dilation int64, each func(Start)) (*meter, Starts, error) {
	m := newMeter(new(c.Line), c.Line, c.longest())
	w := &watch{epoch: time.Now(), dilation: dilation}
	m.wall, m.each = w, each
	began, err := c.pace(ctx, m, dilation)
	if err != nil {
		return nil, Starts{}, err
	}
	m.ends(max(m.now, unit.Time(c.Duration)))
	w.offset = began.Sub(w.epoch)
	return m, w.kept(0), nil
}

// pace lets a limiter pace the source of an endpoint, over sockets and in measured time. It returns the begin
// of model time. A context that is done ends the run early, without an error.
func (c *Case) pace(ctx context.Context, l node.RateLimiter, dilation int64) (began time.Time, err error) {
	defer errs.Into(&err)
	const qp, source, sink = 1, 1, 2
	rate := 4 * c.Line
	packet := rate.Serialise(c.longest())
	clock := &drive.Measured{}
	pacing := measured.New(clock, 0).Pacing(measured.Key{QP: qp}, packet)
	f := node.Flow{Family: wire.Ethernet, Transport: node.Datagrams{}, QP: qp, Dst: sink,
		Payload: uint32(c.longest() - overhead()), Stop: unit.Never,
		Limiter: pacing.Limiter(l), Controller: pacing.Controller(&script{rates: c.Rates, rate: c.Line})}
	if c.Idle != nil {
		f.Bodies = &bodies{c: c}
	}
	p := port.Config{Rate: rate, Propagation: unit.Nanosecond, Framing: wire.PaperFraming, FlowControl: port.NoFlowControl}
	out := new(port.Outbox)
	a, err := node.New(node.Config{Index: 0, Outbox: out, LID: source, Port: p, Flows: []node.Flow{f}}, nil)
	if err != nil {
		return began, err
	}
	b, err := node.New(node.Config{Index: 1, Outbox: out, LID: sink, Port: p,
		Sinks: []node.Sink{{QP: qp, Source: source, Transport: node.Datagrams{}}}}, nil)
	if err != nil {
		return began, err
	}
	in, over, err := link.TrainPair(link.UDPOptions{})
	if err != nil {
		return began, err
	}
	defer in.Close()
	defer over.Close()
	defer host.HoldGC()()
	wall := drive.Wall{Dilation: dilation, Trunk: &[2]link.Batch{in, over}, Measured: clock,
		Longest: []unit.Duration{packet}, Epoch: func() { began = time.Now() }}
	_, err = wall.Run(ctx, &drive.Fabric{
		Machines: []drive.Machine{a, b}, Wires: [][2]port.End{{{Machine: 0}, {Machine: 1}}}, End: unit.Time(c.Duration),
		Run: rand.Uint32(), Secret: wire.Secret{rand.Uint64(), rand.Uint64()}, Bodies: &out.Bodies,
	})
	if ctx.Err() != nil {
		err = nil
	}
	return began, err
}

// overhead returns the length of a packet on the line without its payload.
func overhead() unit.Size {
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 1000}
	return wire.PaperFraming.Length(&f) - 1000
}

// watch measures the calls and the starts of a meter on the wall clock. A nil watch measures nothing.
type watch struct {
	epoch    time.Time
	offset   time.Duration        // from epoch to the begin of model time
	dilation int64                // wall time for each unit of model time
	clock    func() time.Duration // since epoch; nil: the computer's clock
	apart    bool                 // the clock stands still in calls
	away     time.Duration        // for which it stood still
	spent    time.Duration        // in calls for the next packet
	calls    []time.Duration
	starts   []departure
}

// departure is a start on the wall clock.
type departure struct {
	at   unit.Time // as passed to the limiter
	wall time.Duration
	gap  unit.Duration // expected time since the start before; 0: none is expected
}

// now returns the wall time.
func (w *watch) now() time.Duration {
	switch {
	case w == nil:
		return 0
	case w.clock == nil:
		return time.Since(w.epoch) - w.away
	}
	return w.clock() - w.away
}

// call records a call that has ended.
func (w *watch) call(began time.Duration) {
	if w == nil {
		return
	}
	took := w.now() - began
	w.spent += took
	if w.apart {
		w.away += took
	}
}

// start records a start.
func (w *watch) start(at unit.Time, wall time.Duration, gap unit.Duration) {
	if w == nil {
		return
	}
	w.calls = append(w.calls, w.spent)
	w.spent = 0
	w.starts = append(w.starts, departure{at, wall, gap})
}

// fewGaps are too few for a mean.
const fewGaps = 10

// kept returns how the starts kept to real time. Missing packets are as late as they would be now.
func (w *watch) kept(missing int) Starts {
	var gaps []float64
	late := make([]time.Duration, len(w.starts))
	due := func(d departure) time.Duration { return w.offset + wallOf(d.at)*time.Duration(w.dilation) }
	for i, d := range w.starts {
		late[i] = d.wall - due(d)
		if d.gap > 0 && i > 0 {
			gaps = append(gaps, (d.wall-w.starts[i-1].wall).Seconds()/(d.gap.Seconds()*float64(w.dilation)))
		}
	}
	if n := len(w.starts); n > 0 {
		late = append(late, slices.Repeat([]time.Duration{w.now() - due(w.starts[n-1])}, missing)...)
	}
	s := Starts{Packets: len(w.starts), Late: median(late), LateP99: quantile(late, 0.99),
		Calls: median(w.calls), CallsP99: quantile(w.calls, 0.99),
		Shortest: quantile(gaps, 0.01), Longest: quantile(gaps, 0.99)}
	if n := len(gaps); n >= fewGaps { // they are sorted
		for _, g := range gaps[n/4 : n-n/4] {
			s.Gap += g / float64(n-n/4-n/4)
		}
	}
	return s
}

// wallOf returns the first nanosecond that is not before an instant.
func wallOf(t unit.Time) time.Duration { return time.Duration((int64(t) + 999) / 1000) }

// median returns the middle of some figures, or 0 without any.
func median[T cmp.Ordered](of []T) T { return quantile(of, 0.5) }

// quantile returns the figure below which a share of the figures is, or 0 without any. It sorts them.
func quantile[T cmp.Ordered](of []T, share float64) (figure T) {
	if len(of) > 0 {
		slices.Sort(of)
		figure = of[min(len(of)-1, int(share*float64(len(of))))]
	}
	return figure
}

// script is a reaction point that sets the rates of a case at their instants.
type script struct {
	rates []Step
	rate  unit.Rate
}

func (*script) Sent(unit.Time, unit.Size)      {}
func (*script) Feedback(unit.Time, wire.Frame) {}

// Advance sets the next rate that is due.
func (s *script) Advance(now unit.Time) {
	for len(s.rates) > 0 && s.rates[0].At <= now {
		s.rate, s.rates = s.rates[0].Rate, s.rates[1:]
	}
}

// Rate returns the rate.
func (s *script) Rate() unit.Rate { return s.rate }

// Deadline returns when the next rate is due.
func (s *script) Deadline() unit.Time {
	if len(s.rates) == 0 {
		return unit.Never
	}
	return s.rates[0].At
}

// bodies is a source that has a packet outside the case's idle spans.
type bodies struct {
	c *Case
}

// Ready returns when there is a packet.
func (b *bodies) Ready(now unit.Time) unit.Time {
	for _, s := range b.c.Idle {
		if s.From <= now && now < s.To {
			return s.To
		}
	}
	return now
}

// Take returns a packet.
func (b *bodies) Take(_ unit.Time, room int) (wire.Body, bool) {
	return wire.Body{Type: 0x88b5, Bytes: make([]byte, room)}, true
}
