package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"fabemu/emu/actual"
	"fabemu/emu/crash"
	"fabemu/emu/drive"
	"fabemu/emu/host"
	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/link"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// WallCases returns the cases for the wall clock, some tenths of a second of it each. The
// limiter paces a real source, over sockets.
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

// Wall is what is measured on the wall clock: of an ideal limiter, one that keeps a delay
// between packets, which shows what this computer is worth now; and of the limiter, in turns
// with it, more of them where it does not look right. What else goes on on the computer makes
// all figures worse and none better. So the limiter has the best of each, and is judged by
// what is usual of the ideal one.
type Wall struct {
	Dilation       int64
	Ideal, Limiter Pace
}

// Pace is how a source kept to the wall clock.
type Pace struct {
	Share float64       // what has started, of what the rates that were set let through
	Gap   float64       // the times between starts while a rate stays, over what they are at it: the mean of the middle half; 0: there were too few
	Late  time.Duration // by how much later than the limiter gave a packet started, the median
	Calls time.Duration // how long the calls for a packet took, the median
}

// bestOf returns the best of each figure.
func bestOf(paces []Pace) Pace {
	b := paces[0]
	for _, p := range paces[1:] {
		b.Share, b.Late, b.Calls = max(b.Share, p.Share), min(b.Late, p.Late), min(b.Calls, p.Calls)
		if b.Gap == 0 || p.Gap > 0 && p.Gap < b.Gap {
			b.Gap = p.Gap
		}
	}
	return b
}

// usual returns the median of each figure.
func usual(paces []Pace) (p Pace) {
	var share, gap []float64
	var late, calls []time.Duration
	for _, o := range paces {
		share, late, calls = append(share, o.Share), append(late, o.Late), append(calls, o.Calls)
		if o.Gap > 0 {
			gap = append(gap, o.Gap)
		}
	}
	return Pace{Share: median(share), Gap: median(gap), Late: median(late), Calls: median(calls)}
}

// A right limiter has by no more than this a worse pace than an ideal one.
const (
	mostGap   = 1.25 // of the gap of the ideal one
	mostCalls = 0.1  // of the time that a packet takes
)

const (
	wallPacket = 300 * time.Microsecond // that a packet takes at the rate of the line
	wallTurns  = 3
	mostTurns  = 12 // where the limiter does not look right after those
)

// MeasureWall puts a limiter into a case on the wall clock. New is called for each turn.
func MeasureWall(ctx context.Context, new New, c Case, each func(Start)) (*Report, error) {
	dilation := max(1, int64(wallPacket)*1000/int64(c.Line.Serialise(c.longest())))
	ideal := func(line unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(line) }
	makers := [2]New{ideal, new}
	var paces [2][]Pace
	var r *Report
	wall := &Wall{Dilation: dilation}
	for turn := 0; turn < wallTurns || turn < mostTurns && len(wall.faults()) > 0; turn++ {
		for k := range makers {
			who := (turn + k) % 2 // neither has always run before the other
			m, pace, err := c.turn(ctx, makers[who], dilation, each)
			if err != nil {
				return nil, err
			}
			paces[who] = append(paces[who], pace)
			switch {
			case who == 0:
			case r == nil:
				r = m.report()
			default:
				r.merge(m.report())
			}
		}
		wall.Ideal, wall.Limiter = usual(paces[0]), bestOf(paces[1])
	}
	r.Case, r.Fairness, r.Wall = c.Name, 1, wall
	for _, f := range wall.faults() {
		r.add(f)
	}
	return r, nil
}

// faults judges the pace of the limiter by that of the ideal one.
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
func (c *Case) turn(ctx context.Context, new New, dilation int64, each func(Start)) (*meter, Pace, error) {
	m := newMeter(new(c.Line), c.Line, c.longest())
	w := &watch{epoch: time.Now()}
	m.wall, m.each = w, each
	began, err := c.pace(ctx, m, dilation)
	if err != nil {
		return nil, Pace{}, err
	}
	end := unit.Time(c.Duration)
	m.ends(max(m.now, end))
	return m, Pace{
		Share: float64(m.out.Bytes) / c.Through(0, end),
		Gap:   w.gap(dilation),
		Late:  w.lateness(began, dilation),
		Calls: median(w.calls),
	}, nil
}

// pace has a limiter pace the source of an endpoint, over sockets and in measured time. It returns when
// model time began. A context that is done ends the run early, without an error.
func (c *Case) pace(ctx context.Context, l node.RateLimiter, dilation int64) (began time.Time, err error) {
	defer crash.Into(&err)
	const qp, source, sink = 1, 1, 2
	rate := 4 * c.Line
	packet := rate.Serialise(c.longest())
	clock := &drive.Measured{}
	pacing := actual.New(clock, 0).Pacing(actual.Key{QP: qp}, packet)
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

// overhead returns what a packet is longer by on the line than its payload.
func overhead() unit.Size {
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 1000}
	return wire.PaperFraming.Length(&f) - 1000
}

// watch is what a meter measures of the wall clock. It may be nil.
type watch struct {
	epoch  time.Time
	clock  func() time.Duration // since epoch; nil: that of the computer
	apart  bool                 // it stands still in calls
	away   time.Duration        // that it stood still
	spent  time.Duration        // in calls for the packet that is next
	calls  []time.Duration
	starts []departure
}

// departure is a start on the wall clock.
type departure struct {
	at   unit.Time // as the limiter was told
	wall time.Duration
	gap  unit.Duration // by which the start before it should be away; 0: by any
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

// call notes a call that has ended.
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

// start notes a start.
func (w *watch) start(at unit.Time, wall time.Duration, gap unit.Duration) {
	if w == nil {
		return
	}
	w.calls = append(w.calls, w.spent)
	w.spent = 0
	w.starts = append(w.starts, departure{at, wall, gap})
}

// fewGaps are too few to tell what is usual among them.
const fewGaps = 10

// gaps returns the times between starts while a rate stays, over what they are at it, by length.
func (w *watch) gaps(dilation int64) (gaps []float64) {
	for i, s := range w.starts {
		if s.gap > 0 && i > 0 {
			gaps = append(gaps, (s.wall-w.starts[i-1].wall).Seconds()/(s.gap.Seconds()*float64(dilation)))
		}
	}
	slices.Sort(gaps)
	return gaps
}

// gap returns Pace.Gap.
func (w *watch) gap(dilation int64) float64 {
	gaps := w.gaps(dilation)
	if len(gaps) < fewGaps {
		return 0
	}
	half := gaps[len(gaps)/4 : len(gaps)-len(gaps)/4]
	sum := 0.0
	for _, g := range half {
		sum += g
	}
	return sum / float64(len(half))
}

// lateness returns by how much the starts were later than the limiter was told.
func (w *watch) lateness(began time.Time, dilation int64) time.Duration {
	var late []time.Duration
	offset := began.Sub(w.epoch)
	for _, s := range w.starts {
		late = append(late, s.wall-offset-time.Duration(int64(s.at)/1000*dilation))
	}
	return median(late)
}

// median returns the middle of some figures, 0 of none.
func median[T cmp.Ordered](of []T) T { return quantile(of, 0.5) }

// quantile returns the figure that a share of some figures is below, 0 of none. It sorts them.
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

// bodies is a source that has a packet whenever the case has one.
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
