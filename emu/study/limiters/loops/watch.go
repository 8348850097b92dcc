package loops

import (
	"fabemu/emu/scenario"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// mostDeaf is how many reports of congestion in a storm come at most before the rate falls. A right
// reaction point is far from it.
const mostDeaf = 50

// around is how many starts are shown with a fault.
const around = 6

// watched is a loop at work: its reaction points, and what is measured at them.
type watched struct {
	stop     func()    // ends the run
	feedback wire.Kind // the frames that count as feedback
	late     unit.Duration
	random   *unit.Random
	points   []*point
	storm    bench.Span
	end      unit.Time // when the end begins, in which shares are measured

	stormed int       // feedbacks of the storm
	began   unit.Time // the first of them
	before  unit.Rate // the rate then
	out     Report
}

// begins begins the run of a scenario: reaction points that were made to check it do not count.
func (w *watched) begins(s *scenario.Scenario) {
	w.points, w.storm, w.out.Lowest = nil, storm(s), 0
	for i := range s.Expect {
		w.end = unit.Time(s.Expect[i].During[0])
	}
}

// fault records a fault with the latest packets of the source.
func (w *watched) fault(what bench.Criterion, p *point, format string, args ...any) {
	var at unit.Time
	var starts []bench.Start
	if p != nil {
		at, starts = p.now, p.recent[max(0, around-p.starts):]
	}
	w.out.Faults = append(w.out.Faults, bench.NewFault(what, at, starts, format, args...))
}

// ends records a fault that ends the run, if it is the first: the rest of the run means nothing.
func (w *watched) ends(what bench.Criterion, p *point, format string, args ...any) {
	if len(w.out.Faults) == 0 {
		w.fault(what, p, format, args...)
		w.stop()
	}
}

// watch returns a reaction point that passes all calls on to another one.
func (w *watched) watch(r rp.Reaction, site rp.Site) rp.Reaction {
	p := &point{w: w, inner: r.Controller, line: site.Line, rate: r.Rate(), asked: unit.Never, due: unit.Never}
	p.schedule()
	if w.points = append(w.points, p); len(w.points) == 1 {
		w.out.Lowest = p.rate
	}
	r.Controller = p
	if a := r.Acknowledged; a != nil {
		r.Acknowledged = acknowledged{p, a}
	}
	return r
}

// point is a reaction point, checked and measured.
type point struct {
	w     *watched
	inner rp.Controller
	line  unit.Rate
	now   unit.Time // of the latest call
	rate  unit.Rate // after it
	asked unit.Time // the deadline of inner
	due   unit.Time // when it is served

	advanced unit.Time // the latest deadline that was served
	advances int       // how often Advance was called then

	starts int
	bytes  float64 // in the end
	recent [around]bench.Start
}

// Rate returns the rate.
func (p *point) Rate() unit.Rate { return p.inner.Rate() }

// Deadline returns when the deadline is served.
func (p *point) Deadline() unit.Time { return p.due }

// Sent passes a start on.
func (p *point) Sent(now unit.Time, n unit.Size) {
	copy(p.recent[:], p.recent[1:])
	p.recent[around-1] = bench.Start{At: now, Size: n, Rate: p.rate}
	p.starts++
	p.w.out.Starts++
	if now >= p.w.end {
		p.bytes += float64(n)
	}
	p.inner.Sent(now, n)
	p.follow(now)
}

// Feedback passes feedback on.
func (p *point) Feedback(now unit.Time, f wire.Frame) {
	w := p.w
	if f.Kind == w.feedback {
		w.out.Feedback++
		if s := w.storm; s.From <= now && now < s.To && (f.Kind != wire.Ack || f.BECN) {
			if w.stormed++; w.stormed == 1 {
				w.began, w.before = now, p.rate
			}
		}
	}
	p.inner.Feedback(now, f)
	p.follow(now)
	if w.out.Reaction < 0 && w.stormed >= mostDeaf {
		w.ends(bench.Reaction, p, "the rate is still %v after %d reports of congestion", p.rate, w.stormed)
	}
}

// mostAdvances is how often Advance is called at an instant at most: a deadline may stay until a
// frame of the reaction point has left, but not for ever.
const mostAdvances = 1000

// Advance passes a deadline on.
func (p *point) Advance(now unit.Time) {
	if now < p.due {
		return // it is served late
	}
	if now > p.advanced {
		p.advanced, p.advances = now, 0
	}
	if p.advances++; p.advances > mostAdvances {
		p.now = now
		p.w.ends(bench.Contract, p, "Advance is called at %v %d times, and Deadline is still %v", now, mostAdvances, p.asked)
		p.asked, p.due = p.inner.Deadline(), unit.Never
		return
	}
	p.inner.Advance(now)
	p.follow(now)
}

// schedule takes over the deadline, and serves it late where the loop says so.
func (p *point) schedule() {
	if d := p.inner.Deadline(); d != p.asked {
		if p.asked, p.due = d, d; d != unit.Never {
			p.due = d.Add(p.w.random.Span(p.w.late))
		}
	}
}

// follow checks the reaction point after a call, and takes over its deadline and its rate.
func (p *point) follow(now unit.Time) {
	w := p.w
	p.now = now
	if d := p.inner.Deadline(); d > now && w.random.Below(16) == 0 {
		before := p.inner.Rate()
		if p.inner.Advance(now); p.inner.Rate() != before {
			w.ends(bench.Contract, p, "Advance is called at %v, before its Deadline %v, and changes the rate from %v to %v",
				now, d, before, p.inner.Rate())
		}
	}
	p.schedule()
	r := p.inner.Rate()
	if r < 0 || r > p.line {
		w.ends(bench.Contract, p, "the rate is %v, on a link of %v", r, p.line)
	}
	if r == p.rate {
		return
	}
	if w.out.Reaction < 0 && w.stormed > 0 && r < w.before {
		w.out.Reaction = now.Sub(w.began)
	}
	if end := w.storm.To; end > 0 && w.out.Recovery < 0 && now >= end && r >= p.line/10*9 {
		w.out.Recovery = now.Sub(end)
	}
	p.rate = r
	w.out.Lowest = min(w.out.Lowest, r)
}

// acknowledged passes on what is about ACKs.
type acknowledged struct {
	*point
	rp.Acknowledged
}

// Acked passes an ACK on.
func (a acknowledged) Acked(now unit.Time, ack rp.Ack) {
	a.Acknowledged.Acked(now, ack)
	a.follow(now)
}

// Lost passes on that packets are sent again.
func (a acknowledged) Lost(now unit.Time) {
	a.Acknowledged.Lost(now)
	a.follow(now)
}
