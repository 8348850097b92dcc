package bench

import (
	"fmt"
	"runtime/debug"
	"slices"

	"fabemu/node"
	"fabemu/wire/unit"
)

// New returns a new limiter at the rate of a link.
type New func(line unit.Rate) node.RateLimiter

// Measure puts limiters into a case on the virtual clock. If each is not nil, it receives every
// start. A panic of a limiter is a fault.
func Measure(new New, c Case, each func(Start)) (r *Report) {
	p := play{c: &c, longest: c.Longest()}
	defer func() {
		if v := recover(); v != nil {
			r = p.report()
			r.add(Fault{Criterion: Panic, Text: fmt.Sprintf("%v\n%s", v, debug.Stack()), At: p.now})
		}
	}()
	for range max(c.Limiters, 1) {
		m := newMeter(new(c.Line), c.Line, p.longest)
		m.each = each
		p.sources = append(p.sources, source{meter: m})
	}
	p.run()
	return p.report()
}

// play is a case at work: sources, each with a limiter, share one line.
type play struct {
	c       *Case
	longest unit.Size
	now     unit.Time
	sources []source
	queue   []*source // whose packets wait for the link
	free    unit.Time // when the link is idle again
	steps   int       // how many steps of the rate were done
	idle    int       // how many spans of Idle are over
	held    int       // how many spans of Held have begun
}

// source has packets for a limiter. It calls the limiter as a source of package node does in
// measured time.
type source struct {
	*meter
	wake    unit.Time // when it asks its limiter again
	limited unit.Time // the limiter's last answer, until which a packet waits; 0: no packet waits
	ready   unit.Time // since when its packet is in the queue
	queued  bool
	asked   unit.Time // the latest instant that was passed to the limiter
	packets int       // how many it has sent
	again   int       // how many times it asks again before limited
}

// run plays the case to its end.
func (p *play) run() {
	end := unit.Time(p.c.Duration)
	for {
		next := unit.Never
		if p.steps < len(p.c.Rates) {
			next = p.c.Rates[p.steps].At
		}
		if len(p.queue) > 0 {
			next = min(next, p.free)
		}
		for i := range p.sources {
			if s := &p.sources[i]; !s.queued {
				next = min(next, s.wake)
			}
		}
		if next >= end || p.hopeless() {
			for i := range p.sources {
				p.sources[i].ends(min(end, max(p.now, next)))
			}
			return
		}
		p.now = max(p.now, next)
		p.step()
	}
}

// hopeless reports whether a limiter has broken the contract, so that even the advance of time is
// in doubt, or lets so much start that the case would not end.
func (p *play) hopeless() bool {
	for i := range p.sources {
		if s := &p.sources[i]; s.broken || s.level > 1000*float64(s.promised()) {
			return true
		}
	}
	return false
}

// step sets rates, asks limiters and starts packets that are due.
func (p *play) step() {
	for ; p.steps < len(p.c.Rates) && p.c.Rates[p.steps].At <= p.now; p.steps++ {
		for i := range p.sources {
			s := &p.sources[i]
			s.asked, s.limited = max(s.asked, p.now), 0
			s.SetRate(s.asked, p.c.Rates[p.steps].Rate)
			s.wake = min(s.wake, p.now)
			if !s.queued && s.wants != unit.Never {
				s.wake = p.now
			}
		}
	}
	for i := range p.sources {
		if s := &p.sources[i]; !s.queued && s.wake <= p.now {
			p.ask(s)
		}
	}
	for p.held < len(p.c.Held) && p.c.Held[p.held].From <= p.now {
		p.free = max(p.free, p.c.Held[p.held].To)
		p.held++
	}
	for len(p.queue) > 0 && p.free <= p.now {
		s := p.queue[0]
		p.queue = p.queue[:copy(p.queue, p.queue[1:])]
		at := max(s.ready, p.free, s.asked)
		s.asked, s.queued = at, false
		if p.asksAgain(s) {
			if t := s.Next(at, p.asksFor(s)); t > at { // a fault, which the meter has recorded
				s.limited, s.wake = t, t
				continue
			}
		}
		n := p.size(s)
		s.Sent(at, n)
		s.packets++
		p.free = at.Add(p.c.Line.Serialise(n))
		p.ask(s)
	}
}

// size returns the length of the next packet of a source.
func (p *play) size(s *source) unit.Size {
	if p.c.Sizes == nil {
		return defaultSize
	}
	return p.c.Sizes[s.packets%len(p.c.Sizes)]
}

// ask asks the limiter of a source whether its packet may start, if it has one.
func (p *play) ask(s *source) {
	if s.wants == unit.Never { // a packet that is there already waits for the limiter also in idle spans
		for p.idle < len(p.c.Idle) && p.c.Idle[p.idle].To <= p.now {
			p.idle++
		}
		if p.idle < len(p.c.Idle) && p.c.Idle[p.idle].From <= p.now {
			s.wake = p.c.Idle[p.idle].To
			return
		}
	}
	n := p.asksFor(s)
	at := p.now
	if s.limited > 0 {
		at = min(at, s.limited) // the packet is due since then, however late the caller is
	}
	for {
		s.asked = max(s.asked, at)
		at = s.asked
		t := s.Next(at, n)
		switch {
		case t > p.now:
			p.wait(s, at, t)
			return
		case t <= at:
			s.limited, s.ready, s.queued = 0, at, true
			p.queue = append(p.queue, s)
			return
		}
		at = t
	}
}

// wait lets the packet of a source wait for the limiter's answer at an instant. The packet may
// start at the earliest of the answers, whatever the limiter answers in between.
func (p *play) wait(s *source, at, answer unit.Time) {
	if s.limited == 0 || at >= s.limited {
		if s.again = 0; s.limited == 0 && p.asksAgain(s) && answer != unit.Never {
			s.again = p.c.Again
		}
		s.limited = answer
	}
	s.limited = min(s.limited, answer)
	s.wake = s.limited
	if s.again > 0 {
		s.again--
		s.wake = p.now.Add(max(1, s.limited.Sub(p.now)/2))
	}
}

// asksAgain reports whether a source asks again for its packet. It does so for half of them, in no
// order that a burst of some packets could follow.
func (p *play) asksAgain(s *source) bool {
	return p.c.Again > 0 && uint32(s.packets)*2654435761>>31 == 1
}

// asksFor returns the length for which a source asks its limiter.
func (p *play) asksFor(s *source) unit.Size {
	if p.c.Unknown {
		return p.longest
	}
	return p.size(s)
}

// report returns the merged reports of the limiters so far.
func (p *play) report() *Report {
	if len(p.sources) == 0 {
		return &Report{Case: p.c.Name}
	}
	r := &p.sources[0].out
	bytes := []float64{float64(r.Bytes)}
	for i := range p.sources[1:] {
		o := &p.sources[1+i].out
		bytes = append(bytes, float64(o.Bytes))
		r.merge(o)
	}
	r.Case, r.Fairness = p.c.Name, jain(bytes)
	if r.Fairness < fair {
		r.add(Fault{Criterion: Fairness, At: p.now,
			Text: fmt.Sprintf("Jain's index of %d limiters is %.3f, want at least %v", len(p.sources), r.Fairness, fair)})
	}
	return r
}

// jain returns Jain's index of bytes; 1 if there are none.
func jain(bytes []float64) float64 {
	if slices.Max(bytes) == 0 {
		return 1
	}
	return unit.Jain(bytes)
}

// fair is the least index of limiters that have one rate.
const fair = 0.999
