package switchd_test

import (
	"math/bits"
	"slices"
	"testing"

	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

const (
	tenGig = 10e9 * unit.BitPerSecond
	t1500  = 1200 * ns // a frame of 1500 bytes at 10 Gb/s, by the paper's framing
	mtu    = 1500
	flight = 100 * unit.Nanosecond
)

// outputQueued describes a switch of n ports, LID p+1 at port p, with PAUSE.
func outputQueued(n int) switchd.OutputQueuedConfig {
	c := switchd.OutputQueuedConfig{
		Routes: []switchd.Routes{{To: []port.ID{switchd.NoRoute}}}, Delay: 40 * unit.Nanosecond,
		Memory: unit.Size(n) * 30000, High: 20000, Low: 16000,
	}
	for p := range n {
		c.Ports = append(c.Ports, port.Config{Rate: tenGig, Propagation: flight, FlowControl: port.PauseFrames, Station: 0xAA})
		c.Routes[0].To = append(c.Routes[0].To, port.ID(p))
	}
	return c
}

// ether returns a frame of 1500 bytes for the station at a port.
func ether(flow uint32, to int, lane uint8) wire.Frame {
	return wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Lane: lane, Dst: wire.LID(to + 1), QP: flow, Payload: mtu}
}

// A plant is a switch among stations that send as fast as their line and PAUSE allow,
// and take in all that comes.
type plant struct {
	tb       testing.TB
	sw       *switchd.OutputQueued
	stations []*station
	coming   []crossing // in the order of their due times
	now      unit.Time
	events   []trace.Event // of the switch
	broken   []trace.Event // violations, of all
	dropped  int           // frames, by all
}

// crossing is a frame in flight.
type crossing struct {
	due      unit.Time
	station  int
	toSwitch bool
	arrival  port.Arrival
}

// station is what is at the other end of a port of the switch.
type station struct {
	port    *port.Port
	out     port.Outbox
	rec     trace.Recorder
	waiting [port.Priorities][]wire.Frame
	sent    map[uint32]int // by flow
	came    []arrived
	told    []uint16 // quanta of the PAUSE frames that it was told
	stopped int      // how often PFC frames have stopped a priority
}

// arrived is a data frame that a station has taken in, whole.
type arrived struct {
	at    unit.Time
	frame wire.Frame
}

func newPlant(tb testing.TB, c switchd.OutputQueuedConfig) *plant {
	tb.Helper()
	p := &plant{tb: tb}
	sw, err := switchd.NewOutputQueued(c, p)
	if err != nil {
		tb.Fatal(err)
	}
	p.sw = sw
	for i, pc := range c.Ports {
		s := &station{sent: make(map[uint32]int), rec: trace.NewRecorder(i, violations{p})}
		pc.Station, pc.CutThrough = wire.LID(i+1), c.CutThrough
		s.port = port.New(0, pc, &s.out, &s.rec)
		p.stations = append(p.stations, s)
	}
	return p
}

// Record keeps what the switch reports.
func (p *plant) Record(e *trace.Event) {
	p.events = append(p.events, *e)
	violations{p}.Record(e)
}

// violations keeps broken promises, and counts drops.
type violations struct{ p *plant }

func (v violations) Record(e *trace.Event) {
	switch e.Kind {
	case trace.Violation:
		v.p.broken = append(v.p.broken, *e)
	case trace.Drop:
		v.p.dropped++
	}
}

// offer gives a station frames to send, numbered in its flow.
func (p *plant) offer(at int, f wire.Frame, n int) {
	s := p.stations[at]
	f.Src = wire.LID(at + 1)
	for range n {
		f.PSN = uint32(s.sent[f.QP])
		s.sent[f.QP]++
		s.waiting[f.Lane] = append(s.waiting[f.Lane], f)
	}
}

// serve lets a station send, and returns when it has to be asked again.
func (p *plant) serve(i int) (again unit.Time) {
	s := p.stations[i]
	again = min(s.port.Control(p.now), s.port.Resend())
	for lane := port.Priorities - 1; lane >= 0; lane-- {
		if len(s.waiting[lane]) == 0 {
			continue
		}
		a := s.port.MaySend(p.now, &s.waiting[lane][0], s.port.Framing().Length(&s.waiting[lane][0]))
		if a.Block == port.Open {
			s.port.Start(p.now, &s.waiting[lane][0], s.port.Framing().Length(&s.waiting[lane][0]), port.Note{})
			s.waiting[lane] = s.waiting[lane][1:]
			a.Until = s.port.Transmitter().Free()
		}
		again = min(again, a.Until)
	}
	for {
		tr, ok := s.out.Poll()
		if !ok {
			return again
		}
		p.cross(i, true, tr)
	}
}

// cross puts a frame in flight.
func (p *plant) cross(station int, toSwitch bool, tr *port.Transmission) {
	c := crossing{tr.Due, station, toSwitch, port.Arrival{Frame: tr.Frame, Head: tr.Start, Tail: tr.Start.Add(tr.Duration), Length: tr.Length}}
	at := len(p.coming)
	for at > 0 && p.coming[at-1].due > c.due {
		at--
	}
	p.coming = slices.Insert(p.coming, at, c)
}

// run lets time pass until t.
func (p *plant) run(t unit.Time) {
	p.tb.Helper()
	for {
		next := p.sw.Deadline()
		for i := range p.stations {
			next = min(next, max(p.serve(i), p.now+1))
		}
		if len(p.coming) > 0 {
			next = min(next, p.coming[0].due)
		}
		if next > t {
			p.now = t
			return
		}
		p.now = max(p.now, next)
		for len(p.coming) > 0 && p.coming[0].due <= p.now {
			c := p.coming[0]
			p.coming = p.coming[1:]
			s := p.stations[c.station]
			if c.toSwitch {
				p.sw.Receive(p.now, port.ID(c.station), &c.arrival)
			} else if c.arrival.Frame.Kind == wire.Pause {
				s.told = append(s.told, c.arrival.Frame.Pause().Quanta)
				s.port.Receive(p.now, &c.arrival)
			} else if c.arrival.Frame.Kind == wire.PriorityPause {
				s.stopped += bits.OnesCount8(c.arrival.Frame.Pause().Stopped)
				s.port.Receive(p.now, &c.arrival)
			} else if s.port.Receive(p.now, &c.arrival) {
				s.came = append(s.came, arrived{p.now, c.arrival.Frame})
			}
		}
		if p.sw.Deadline() <= p.now {
			p.sw.Advance(p.now)
			if d := p.sw.Deadline(); d <= p.now {
				p.tb.Fatalf("at %v: the deadline after Advance is %v", p.now, d)
			}
		}
		for {
			tr, ok := p.sw.Poll()
			if !ok {
				break
			}
			p.cross(int(tr.Port), false, tr)
		}
	}
}

// inOrder checks that each flow has come in order at a station, and returns how many
// frames of each.
func (p *plant) inOrder(at int) map[uint32]int {
	p.tb.Helper()
	next := make(map[uint32]int)
	for _, a := range p.stations[at].came {
		if int(a.frame.PSN) < next[a.frame.QP] {
			p.tb.Errorf("flow %d: frame %d came after frame %d", a.frame.QP, a.frame.PSN, next[a.frame.QP]-1)
		}
		next[a.frame.QP] = int(a.frame.PSN) + 1
	}
	count := make(map[uint32]int)
	for _, a := range p.stations[at].came {
		count[a.frame.QP]++
	}
	return count
}

// count returns how many events of a kind there were, with a reason if it has one.
func (p *plant) count(k trace.Kind, why ...trace.Reason) (n int) {
	for _, e := range p.events {
		if e.Kind == k && (len(why) == 0 || trace.Reason(e.A) == why[0]) {
			n++
		}
	}
	return n
}

// whole checks that nothing was dropped and no promise broken.
func (p *plant) whole() {
	p.tb.Helper()
	if n := p.count(trace.Drop); n > 0 {
		p.tb.Errorf("%d frames were dropped", n)
	}
	for _, e := range p.broken {
		p.tb.Errorf("at %v, port %d: %v", e.At, e.Port, trace.Reason(e.A))
	}
}

// conserved counts for itself what each input has of the memory, frames of 1500 bytes,
// and checks that the switch has told the same, that no input had more than there is,
// and that in the end all of it is free.
func (p *plant) conserved(c *switchd.OutputQueuedConfig) {
	p.tb.Helper()
	type charge struct {
		input uint16
		class uint8
	}
	taken, part := make(map[charge]int64), make(map[uint16]int64)
	room := int64(c.Memory)
	if !c.Pooled {
		room /= int64(len(c.Ports))
	}
	for _, e := range p.events {
		change := int64(mtu)
		switch kind, _, _ := trace.FrameOf(e.A); {
		case e.Kind == trace.Release:
			change = -mtu
		case e.Kind != trace.Arrive || kind != wire.Data:
			continue
		}
		who, where := charge{input: e.Port}, e.Port
		if c.Ports[0].FlowControl == port.PriorityPauseFrames {
			who.class = e.Lane
		}
		if c.Pooled {
			where = 0
		}
		taken[who] += change
		part[where] += change
		if taken[who] != e.B || part[where] > room || taken[who] < 0 {
			p.tb.Fatalf("at %v: input %d has %d bytes, and says %d; %d of %d are taken", e.At, e.Port, taken[who], e.B, part[where], room)
		}
	}
	for where, bytes := range part {
		if bytes != 0 {
			p.tb.Errorf("in the end %d bytes of part %d are taken", bytes, where)
		}
	}
}
