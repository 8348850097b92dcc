package bench

import (
	"runtime/debug"
	"slices"
	"sort"

	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Loop is a situation for reaction points. Sources send packets of 1500 bytes, each under a
// reaction point of its own. They share a bottleneck behind a queue, and the queue sends them
// feedback. A full queue holds the sources, as PAUSE does, so no packet is lost. Frames that
// reaction points send themselves are lost: probes are not answered.
type Loop struct {
	Name string
	Doc  string // its purpose, in one sentence

	Sources    int
	Bottleneck []Step        // rates of the bottleneck, from 0 on; the line of a source has loopLine
	Duration   unit.Duration // of model time
	Storm      []Span        // when congestion is reported at any length of the queue
	Idle       []Span        // when there is no packet; else there is always one
	Copies     int           // additional copies of each feedback
	Lost       uint64        // per cent of the feedback that are lost
	Shuffle    unit.Duration // random delay of feedback, up to this, so that feedback overtakes feedback
	Late       unit.Duration // Advance is called up to this long after a deadline
	Use        float64       // least utilisation of the bottleneck in the end, under any algorithm that is right
}

const (
	loopLine      = 10 * gbps
	loopDelay     = 10 * unit.Microsecond // delay of feedback
	loopRoom      = 300 * unit.KB         // size of the queue
	loopThreshold = 15 * unit.KB          // queue above which packets are marked
)

// Loops returns the situations for reaction points.
func Loops() []Loop {
	const long = 200 * unit.Millisecond
	const some, most = 0.05, 0.9 // with marks for a queue that is too long, some algorithms use no more than a quarter
	whole, half := []Step{{0, loopLine}}, []Step{{0, loopLine / 2}}
	storm := []Span{{20 * ms, 25 * ms}}
	return []Loop{
		{Name: "loop/free", Doc: "there is no congestion", Sources: 1, Bottleneck: whole,
			Duration: long / 4, Use: most},
		{Name: "loop/half", Doc: "the bottleneck has half the link rate", Sources: 1, Bottleneck: half,
			Duration: long, Use: some},
		{Name: "loop/many", Doc: "eight sources share the bottleneck", Sources: 8, Bottleneck: whole,
			Duration: 2 * long, Use: some},
		{Name: "loop/cut", Doc: "the bottleneck falls to a tenth and recovers", Sources: 2,
			Bottleneck: []Step{{0, loopLine}, {50 * ms, gbps}, {80 * ms, loopLine}}, Duration: long, Use: some},
		{Name: "loop/storm", Doc: "congestion is reported all the time for 5 ms, and then there is none", Sources: 1,
			Bottleneck: whole, Duration: 2 * long, Storm: storm, Use: most},
		{Name: "loop/repeated", Doc: "each feedback arrives three times", Sources: 2, Bottleneck: whole, Duration: long,
			Copies: 2, Use: some},
		{Name: "loop/lost", Doc: "two of three feedbacks are lost", Sources: 2, Bottleneck: whole, Duration: long,
			Lost: 66, Use: some},
		{Name: "loop/out of order", Doc: "feedback overtakes feedback", Sources: 2, Bottleneck: whole, Duration: long,
			Shuffle: 10 * loopDelay, Use: some},
		{Name: "loop/late", Doc: "deadlines are served up to 10 ms late", Sources: 1, Bottleneck: whole,
			Duration: 2 * long, Late: 10 * unit.Millisecond, Storm: storm, Use: most},
		{
			Name: "loop/hours", Doc: "a storm, then two hours without a packet", Sources: 1, Bottleneck: whole,
			Storm: storm,
			Idle:  []Span{{30 * ms, 2 * 3600 * s}}, Duration: 2*3600*unit.Second + 2*long, Use: most,
		},
	}
}

// NewReaction returns a new reaction point for a site.
type NewReaction func(site rp.Site) rp.Reaction

// LoopReport holds the measurements of a loop. Shares are measured in the end: the last quarter of
// the time, or 50 ms.
type LoopReport struct {
	Loop        string
	Starts      int     // of packets
	Feedback    int     // delivered frames of feedback
	Utilisation float64 // used share of the bottleneck
	Held        float64 // share of the time in which the full queue held the sources
	Fairness    float64 // Jain's index of the bytes that the sources sent
	// Reaction is the time from the first feedback of a storm until the rate falls, and
	// Recovery the time from the end of the storm until the rate is nine tenths of the link rate.
	// A negative one did not happen.
	Reaction, Recovery unit.Duration
	Lowest             unit.Rate // lowest rate of any source at any time

	Faults []Fault // measurements that are out of their limits; a right reaction point has none
}

// String returns the figures on a link.
func (r *LoopReport) String() string {
	s := sentence("%d starts, %d feedbacks, utilisation %.3f, held %.3f, fairness %.3f, lowest rate %v",
		r.Starts, r.Feedback, r.Utilisation, r.Held, r.Fairness, r.Lowest)
	if r.Reaction >= 0 {
		s += sentence(", reaction %v", r.Reaction)
	}
	if r.Recovery >= 0 {
		s += sentence(", recovery %v", r.Recovery)
	}
	return s
}

// The limits of a reaction point. A right one is far from them.
const (
	mostHeld  = 0.5 // share of the time
	leastFair = 0.5 // index of more than two sources
	mostDeaf  = 50  // reports of congestion in a storm before the rate falls
)

// MeasureReaction puts reaction points into a loop on the virtual clock. Points makes the
// congestion points whose notifications reach them. If points is nil, they receive ACKs, which echo
// the marks of a queue that is too long.
func MeasureReaction(new NewReaction, points func(cp.Site) (cp.Notifier, error), l Loop) (r *LoopReport,
	err error) {
	p := &loop{l: &l, random: unit.NewRandom(0, 2),
		out: LoopReport{Loop: l.Name, Lowest: loopLine, Reaction: -1, Recovery: -1}}
	if points != nil {
		site := cp.Site{Ports: 2, Address: 1, Random: unit.NewRandom(0, 1), Recorder: &trace.Recorder{}}
		if p.notifier, err = points(site); err != nil {
			return nil, err
		}
	}
	defer func() {
		if v := recover(); v != nil {
			p.fault(Panic, nil, "%v\n%s", v, debug.Stack())
			r = &p.out
		}
	}()
	p.sources = make([]looped, l.Sources)
	for i := range p.sources {
		s := &p.sources[i]
		s.number, s.wake, s.due = i, unit.Never, unit.Never
		s.reaction = new(rp.Site{Line: loopLine, Length: defaultSize, Random: unit.NewRandom(0, uint64(3+i))})
		s.rate = s.reaction.Rate()
		s.limiter = node.NewInterPacketDelay(s.rate)
		p.follow(s)
		p.ask(s)
	}
	for _, step := range l.Bottleneck {
		p.at(step.At, func() { p.step(step.Rate) })
	}
	p.run()
	p.judge()
	return &p.out, nil
}

// loop is a Loop at work.
type loop struct {
	l        *Loop
	notifier cp.Notifier
	random   *unit.Random
	now      unit.Time
	events   []event // to come, the next one last
	sources  []looped
	rate     unit.Rate // of the bottleneck
	free     unit.Time // when its queue is empty
	used     float64   // bytes that went into the queue in the end
	held     unit.Duration
	stormed  int       // feedbacks of the storm
	began    unit.Time // the first of them
	before   unit.Rate // the rate then
	out      LoopReport
}

// looped is a source in a loop.
type looped struct {
	number   int
	reaction rp.Reaction
	limiter  node.RateLimiter
	rate     unit.Rate
	wake     unit.Time // when the source asks its limiter
	due      unit.Time // deadline of its reaction point, as scheduled
	packets  uint32
	bytes    float64 // in the end
	recent   [around]Start
}

// event happens at an instant.
type event struct {
	at unit.Time
	do func()
}

// at adds an event. It comes after earlier events of the same instant.
func (p *loop) at(at unit.Time, do func()) {
	i := sort.Search(len(p.events), func(i int) bool { return p.events[i].at <= at })
	p.events = slices.Insert(p.events, i, event{at, do})
}

// run plays the loop to its end.
func (p *loop) run() {
	for last := len(p.events) - 1; last >= 0 && len(p.out.Faults) == 0; last = len(p.events) - 1 {
		e := p.events[last]
		p.events = p.events[:last]
		if e.at >= unit.Time(p.l.Duration) {
			return
		}
		p.now = e.at
		e.do()
	}
}

// measured returns the length of the end, in which shares are measured.
func (l *Loop) measured() unit.Duration { return min(l.Duration/4, 50*unit.Millisecond) }

// last reports whether the end has begun.
func (p *loop) last() bool { return p.now >= unit.Time(p.l.Duration-p.l.measured()) }

// storms reports whether congestion is reported at any length of the queue.
func (p *loop) storms() bool {
	return slices.ContainsFunc(p.l.Storm, func(s Span) bool { return s.From <= p.now && p.now < s.To })
}

// queue returns the length of the queue.
func (p *loop) queue() unit.Size {
	return unit.Size(p.rate.BytesPerSecond() * max(0, p.free.Sub(p.now).Seconds()))
}

// step changes the rate of the bottleneck. The queue then takes as much longer to empty.
func (p *loop) step(rate unit.Rate) {
	n := p.queue()
	p.rate = rate
	p.free = p.now.Add(p.rate.Serialise(n))
}

// ask asks the limiter of a source when its next packet may start.
func (p *loop) ask(s *looped) { p.wake(s, s.limiter.Next(p.now, defaultSize)) }

// wake lets a source try to start a packet at an instant, and not before.
func (p *loop) wake(s *looped, at unit.Time) {
	if s.wake = at; at != unit.Never {
		p.at(at, func() { p.start(s) })
	}
}

// start lets a packet of a source go, if the queue has room.
func (p *loop) start(s *looped) {
	if s.wake != p.now { // the rate has changed
		return
	}
	for _, idle := range p.l.Idle {
		if idle.From <= p.now && p.now < idle.To {
			p.wake(s, idle.To)
			return
		}
	}
	queue := p.queue()
	if room := loopRoom - defaultSize; queue > room {
		wait := max(p.rate.Serialise(queue-room), 1)
		if p.last() {
			p.held += min(wait, unit.Time(p.l.Duration).Sub(p.now)) / unit.Duration(len(p.sources))
		}
		p.wake(s, p.now.Add(wait))
		return
	}
	if t := s.limiter.Next(p.now, defaultSize); t > p.now { // the rate has changed while it was held
		p.ask(s)
		return
	}
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Src: wire.LID(s.number + 2), Dst: 1,
		QP: uint32(s.number + 1), PSN: s.packets, Payload: uint32(defaultSize - overhead())}
	if p.notifier == nil {
		f.Family = wire.InfiniBand
	}
	if s.reaction.Tag != nil {
		f = s.reaction.Tag(f)
	}
	s.packets++
	p.out.Starts++
	copy(s.recent[:], s.recent[1:])
	s.recent[around-1] = Start{At: p.now, Size: defaultSize, Rate: s.rate}
	s.limiter.Sent(p.now, defaultSize)
	s.reaction.Sent(p.now, defaultSize)
	p.free = max(p.free, p.now).Add(p.rate.Serialise(defaultSize))
	if p.last() {
		s.bytes += float64(defaultSize)
		p.used += float64(defaultSize)
	}
	p.answer(s, f, queue+defaultSize)
	p.follow(s)
	p.ask(s)
}

// answer makes the feedback about a packet that has joined the queue.
func (p *loop) answer(s *looped, f wire.Frame, queue unit.Size) {
	if p.notifier == nil {
		p.feedback(s, p.free.Add(loopDelay), wire.Frame{Kind: wire.Ack, Family: wire.InfiniBand, QP: f.QP, PSN: f.PSN,
			BECN: queue > loopThreshold || p.storms()})
		return
	}
	if p.storms() {
		queue = loopRoom
	}
	q := cp.Queue{Input: 1, Bytes: queue, Rate: p.rate}
	if feedback, ok := p.notifier.Enqueue(p.now, &f, q); ok {
		p.feedback(s, p.now.Add(loopDelay), feedback)
	}
	p.notifier.Dequeue(p.now, &f, q)
}

// feedback sends feedback to a source, unless it is lost, and its copies.
func (p *loop) feedback(s *looped, at unit.Time, f wire.Frame) {
	if p.random.Below(100) < p.l.Lost {
		return
	}
	for range 1 + p.l.Copies {
		p.at(at.Add(p.random.Span(p.l.Shuffle)), func() { p.receive(s, f) })
	}
}

// receive hands a source its feedback.
func (p *loop) receive(s *looped, f wire.Frame) {
	p.out.Feedback++
	if p.storms() && (p.notifier != nil || f.BECN) {
		if p.stormed++; p.stormed == 1 {
			p.began, p.before = p.now, s.reaction.Rate()
		}
	}
	s.reaction.Feedback(p.now, f)
	p.follow(s)
	if p.out.Reaction < 0 && p.stormed >= mostDeaf {
		p.fault(Reaction, s, "the rate is still %v after %d reports of congestion", s.rate, p.stormed)
	}
}

// advance advances a reaction point whose deadline has come.
func (p *loop) advance(s *looped) {
	if s.due > p.now {
		return
	}
	for n := 0; s.reaction.Deadline() <= p.now; n++ {
		if n == 1000 {
			p.fault(Contract, s, "Advance is called at %v 1000 times, and Deadline is still %v",
				p.now, s.reaction.Deadline())
			return
		}
		s.reaction.Advance(p.now)
		p.send(s)
	}
	s.due = unit.Never
	p.follow(s)
}

// send takes the frames that a reaction point sends itself. They are lost.
func (p *loop) send(s *looped) {
	for ok := s.reaction.Send != nil; ok; {
		_, ok = s.reaction.Send(p.now)
	}
}

// follow takes over the deadline and the rate of a source's reaction point.
func (p *loop) follow(s *looped) {
	p.send(s)
	if d := s.reaction.Deadline(); d > p.now && p.random.Below(16) == 0 {
		before := s.reaction.Rate()
		if s.reaction.Advance(p.now); s.reaction.Rate() != before {
			p.fault(Contract, s, "Advance is called at %v, before its Deadline %v, and changes the rate from %v to %v",
				p.now, d, before, s.reaction.Rate())
		}
	}
	if d := s.reaction.Deadline(); d < s.due || s.due <= p.now && d != unit.Never {
		s.due = max(d, p.now)
		p.at(s.due.Add(p.random.Span(p.l.Late)), func() { p.advance(s) })
	}
	r := s.reaction.Rate()
	switch {
	case r < 0 || r > loopLine:
		p.fault(Contract, s, "the rate is %v, on a link of %v", r, loopLine)
	case r == s.rate:
		return
	}
	if p.out.Reaction < 0 && p.stormed > 0 && r < p.before {
		p.out.Reaction = p.now.Sub(p.began)
	}
	if n := len(p.l.Storm); n > 0 && p.out.Recovery < 0 && p.now >= p.l.Storm[n-1].To && r >= loopLine/10*9 {
		p.out.Recovery = p.now.Sub(p.l.Storm[n-1].To)
	}
	s.rate = r
	p.out.Lowest = min(p.out.Lowest, r)
	s.limiter.SetRate(p.now, r)
	p.ask(s)
}

// fault records a fault with the latest packets of the source.
func (p *loop) fault(what Criterion, s *looped, format string, args ...any) {
	f := Fault{Criterion: what, At: p.now, Text: sentence(format, args...)}
	if s != nil {
		f.Starts = s.recent[max(0, around-int(s.packets)):]
	}
	p.out.Faults = append(p.out.Faults, f)
}

func (p *loop) judge() {
	if p.out.Faults != nil {
		return
	}
	bytes := make([]float64, len(p.sources))
	for i := range p.sources {
		bytes[i] = p.sources[i].bytes
	}
	p.out.Fairness = jain(bytes)
	end := p.l.measured().Seconds()
	p.out.Utilisation, p.out.Held = p.used/(p.rate.BytesPerSecond()*end), p.held.Seconds()/end
	s := &p.sources[0]
	if u := p.out.Utilisation; u < p.l.Use {
		p.fault(Recovery, s, "in the end %.3f of the bottleneck is used, want at least %v", u, p.l.Use)
	}
	if h := p.out.Held; h > mostHeld {
		p.fault(Overshoot, s, "in %.3f of the end the queue is full and stops the sources, want at most %v",
			h, mostHeld)
	}
	if f := p.out.Fairness; len(p.sources) > 2 && f < leastFair {
		p.fault(Fairness, s, "Jain's index of the sources is %.3f, want at least %v", f, leastFair)
	}
}
