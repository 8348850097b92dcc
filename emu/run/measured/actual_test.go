package measured_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/run/measured"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

const us = unit.Microsecond

func at(d unit.Duration) unit.Time { return unit.Time(d) }

// hand is a clock that is set by hand.
type hand struct{ now unit.Time }

func (h *hand) Now() unit.Time { return h.now }

// notes is a limiter that notes how it is called, and what a node.RateLimiter can rely on.
type notes struct {
	node.RateLimiter
	t       *testing.T
	calls   []string
	last    unit.Time
	gave    unit.Time // by the last Next, for this many bytes
	size    unit.Size
	permits bool
}

func (n *notes) note(format string, now unit.Time, more ...any) {
	n.t.Helper()
	if now < n.last {
		n.t.Errorf("time goes back, from %v to %v", n.last, now)
	}
	n.last = now
	n.calls = append(n.calls, fmt.Sprintf(format, append([]any{now}, more...)...))
}

func (n *notes) Next(now unit.Time, size unit.Size) unit.Time {
	n.note("next %v", now)
	n.gave, n.size = n.RateLimiter.Next(now, size), size
	n.permits = n.gave == now
	return n.gave
}

func (n *notes) Sent(now unit.Time, size unit.Size) {
	n.note("sent %v", now)
	if !n.permits || now < n.gave || size > n.size {
		n.t.Errorf("%d bytes start at %v; the limiter gave %v for %d, and lets them start: %v", size, now, n.gave, n.size, n.permits)
	}
	n.permits = false
	n.RateLimiter.Sent(now, size)
}

func (n *notes) SetRate(now unit.Time, r unit.Rate) {
	n.note("rate %v", now)
	n.RateLimiter.SetRate(now, r)
}

// A packet of 1000 bytes takes 8 µs at this rate.
const rate = 1e9

func limited(t *testing.T) (*hand, *notes, node.RateLimiter) {
	clock := &hand{}
	l := &notes{RateLimiter: node.NewInterPacketDelay(rate), t: t}
	return clock, l, measured.New(clock, 1000).Pacing(measured.Key{QP: 1}, 8*us).Limiter(l)
}

// What the machine is late comes into the model as the instant of a start, and does not add up.
func TestAStartIsAtTheMeasuredInstant(t *testing.T) {
	clock, l, w := limited(t)
	for k := range unit.Duration(50) {
		due, late := at(8*us*k), us*(k%7)
		if got := w.Next(due-1, 1000); k > 0 && got != due {
			t.Fatalf("packet %d may start at %v, want %v", k, got, due)
		}
		clock.now = due.Add(late)
		start := w.Next(due, 1000)
		if start != clock.now {
			t.Fatalf("packet %d, asked at %v: %v, want the measured %v", k, due, start, clock.now)
		}
		clock.now += 3 // the loop comes to it
		if got := w.Next(start, 1000); got != start {
			t.Fatalf("packet %d is put off from %v to %v", k, start, got)
		}
		w.Sent(start, 1000)
	}
	for k := range unit.Duration(50) {
		if want := fmt.Sprintf("sent %v", at(8*us*k)); !slices.Contains(l.calls, want) {
			t.Fatalf("lateness adds up: no %q in %q", want, l.calls)
		}
	}
}

// What was let start starts, whatever comes in between; a larger packet is asked for again.
func TestWhatWasLetStandsAndWhatDoesNot(t *testing.T) {
	for _, c := range []struct {
		name    string
		between func(clock *hand, w node.RateLimiter)
		n       unit.Size
		start   unit.Duration // of the second packet, which was let at 8 µs and is to start at 10
		calls   []string      // of its limiter from then on
	}{
		{"nothing", func(*hand, node.RateLimiter) {}, 1000, 10 * us, []string{"sent 8us"}},
		{"the line keeps it", func(*hand, node.RateLimiter) {}, 1000, 11 * us, []string{"sent 11us"}},
		{"it is asked too early", func(_ *hand, w node.RateLimiter) { w.Next(at(9*us), 1000) }, 1000, 10 * us, []string{"sent 8us"}},
		{"no rate any more", func(_ *hand, w node.RateLimiter) { w.SetRate(at(9*us), 0) }, 1000, 10 * us, []string{"rate 10us", "sent 10us"}},
		{"another rate, later", func(h *hand, w node.RateLimiter) { h.now = at(12 * us); w.SetRate(at(9*us), rate/2) }, 1000, 10 * us,
			[]string{"rate 12us", "sent 12us"}},
		{"a smaller packet", func(*hand, node.RateLimiter) {}, 500, 10 * us, []string{"sent 8us"}},
		{"a larger one", func(*hand, node.RateLimiter) {}, 1200, 10 * us, []string{"next 10us", "sent 10us"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock, l, w := limited(t)
			w.Next(0, 1000)
			w.Sent(0, 1000)
			w.Next(0, 1000)
			clock.now = at(10 * us)
			if got := w.Next(at(8*us), 1000); got != at(10*us) {
				t.Fatalf("it may start at %v", got)
			}
			l.calls = nil
			c.between(clock, w)
			if got := w.Next(at(c.start), c.n); got != at(c.start) {
				t.Fatalf("at %v it is put off to %v", c.start, got)
			}
			w.Sent(at(c.start), c.n)
			if d := cmp.Diff(c.calls, l.calls); d != "" {
				t.Error(d)
			}
		})
	}
}

// The limiter is handed a later instant than the one that it gave where it was handed one since.
func TestALaterInstantStays(t *testing.T) {
	clock, l, w := limited(t)
	w.Next(0, 1000)
	w.Sent(0, 1000)
	w.Next(0, 1000)
	clock.now = at(9 * us) // while the event is one of 7 µs
	w.SetRate(at(7*us), rate/4)
	clock.now = at(9*us) + 5
	if got := w.Next(at(7*us), 1000); got != at(32*us) {
		t.Errorf("at a quarter of the rate it may start at %v", got)
	}
	if want := "next 9us"; l.calls[len(l.calls)-1] != want {
		t.Errorf("%q, want %q", l.calls[len(l.calls)-1], want)
	}
	w.SetRate(at(10*us), 0)
	if got := w.Next(at(10*us), 1000); got != unit.Never {
		t.Errorf("at no rate: %v", got)
	}
}

// point is a reaction point that notes when it is called.
type point struct {
	calls []string
}

func (p *point) note(what string, now unit.Time) {
	p.calls = append(p.calls, fmt.Sprint(what, " ", now))
}
func (p *point) Sent(now unit.Time, _ unit.Size) { p.note("sent", now) }
func (p *point) Feedback(now unit.Time, _ wire.Frame) {
	p.note("feedback", now)
}
func (p *point) Advance(now unit.Time) { p.note("advance", now) }
func (p *point) Rate() unit.Rate       { return rate }
func (p *point) Deadline() unit.Time   { return 77 }

// rich is one that is all that a reaction point can be.
type rich struct{ point }

func (*rich) Target() unit.Rate           { return 5 }
func (*rich) Tag(f wire.Frame) wire.Frame { f.PSN = 9; return f }
func (*rich) Active() bool                { return true }
func (*rich) Join(uint32, any)            {}
func (*rich) Log() (int, bool)            { return 3, true }
func (p *rich) Send(now unit.Time) (wire.Frame, bool) {
	p.note("send", now)
	return wire.Frame{}, false
}
func (p *rich) Refuses(now unit.Time, _ wire.Frame) trace.Reason {
	p.note("refuses", now)
	return trace.NoReason
}

func (p *rich) reaction() rp.Reaction {
	return rp.Reaction{Controller: p, Target: p.Target, Tag: p.Tag, Active: p.Active, Join: p.Join, Log: p.Log, Send: p.Send, Refuses: p.Refuses}
}

// Reaction points are called at measured instants, and stay what they are.
func TestReactionPointsHaveTheMeasuredTime(t *testing.T) {
	clock := &hand{}
	inner := &rich{}
	c := measured.New(clock, 1000).Pacing(measured.Key{QP: 1}, us).Reaction(inner.reaction())
	if c.Target() != 5 || c.Tag(wire.Frame{}).PSN != 9 || !c.Active() || c.Join == nil || c.Log == nil || c.Deadline() != 77 {
		t.Errorf("%+v", c)
	}
	clock.now = at(3 * us)
	c.Refuses(at(us), wire.Frame{})
	clock.now = at(4 * us)
	c.Feedback(at(us), wire.Frame{})
	c.Send(at(us))
	c.Sent(at(2*us), 1000) // a start of the model, which lies behind what was measured
	c.Sent(at(6*us), 1000)
	clock.now = at(5 * us)
	c.Advance(at(7 * us))
	if d := cmp.Diff([]string{"refuses 3us", "feedback 4us", "send 4us", "sent 4us", "sent 6us", "advance 7us"}, inner.calls); d != "" {
		t.Error(d)
	}
	if x := measured.New(clock, 0).Pacing(measured.Key{}, us).Reaction(rp.Reaction{Controller: &point{}}); x.Target != nil || x.Tag != nil ||
		x.Active != nil || x.Join != nil || x.Log != nil || x.Send != nil || x.Refuses != nil || x.Inherit != nil || x.Acknowledged != nil {
		t.Errorf("one that is nothing else: %+v", x)
	}
	fixed := rp.NewFixed(rate)
	if got := measured.New(clock, 0).Pacing(measured.Key{}, us).Reaction(rp.Reaction{Controller: fixed}); got.Controller != rp.Controller(fixed) {
		t.Errorf("one that never does anything: %T", got.Controller)
	}
	if got := measured.New(clock, 0).Pacing(measured.Key{}, us).Reaction(rp.Reaction{}); got.Controller != nil {
		t.Errorf("none: %T", got.Controller)
	}
}

// A limiter that says its rate does so through the wrapper, and others have none to say.
func TestTheRateIsPassedOn(t *testing.T) {
	_, _, w := limited(t)
	if _, ok := w.(interface{ Rate() unit.Rate }); ok {
		t.Error("it says a rate that the limiter does not say")
	}
	w = measured.New(&hand{}, 0).Pacing(measured.Key{}, us).Limiter(node.NewInterPacketDelay(rate))
	if r, ok := w.(interface{ Rate() unit.Rate }); !ok || r.Rate() != rate {
		t.Error("it does not say the rate of the limiter")
	}
}

// What a clock has shown is shown again, also when it was written and read meanwhile; where not all
// was recorded, that is said.
func TestRepeat(t *testing.T) {
	clock := &hand{}
	live := measured.New(clock, 1000)
	use := func(m *measured.Time, random *unit.Random) []string {
		l := &notes{RateLimiter: node.NewTokenBucket(rate, 2000), t: t}
		inner := &rich{}
		p := m.Pacing(measured.Key{QP: 7, Shared: true}, 8*us)
		w, c := p.Limiter(l), p.Reaction(inner.reaction())
		now := unit.Time(0)
		for k := range 200 {
			clock.now = max(clock.now, now).Add(random.Span(2 * us))
			if k%5 == 0 {
				c.Feedback(now, wire.Frame{})
				w.SetRate(now, unit.Rate(rate/(1+k%3)))
			}
			if next := w.Next(now, 1000); next > now {
				now = next
				continue
			}
			w.Sent(now, 1000)
		}
		return append(l.calls, inner.calls...)
	}
	want := use(live, unit.NewRandom(1, 1))
	b, err := json.Marshal(live)
	if err != nil {
		t.Fatal(err)
	}
	sent, parts := &measured.Time{}, measured.New(clock, 1000)
	if err := json.Unmarshal(b, sent); err != nil {
		t.Fatal(err)
	}
	parts.Add(sent)
	if parts.Starts.Count != live.Starts.Count || live.Starts.Count < 50 || parts.Starts.LatenessT.Max() != live.Starts.LatenessT.Max() {
		t.Errorf("%d starts, and %d where they were sent", live.Starts.Count, parts.Starts.Count)
	}
	for name, m := range map[string]*measured.Time{"here": live, "elsewhere": parts} {
		if !m.Whole() {
			t.Errorf("%s: not whole", name)
		}
		clock.now = at(9 * unit.Second) // it is not read
		if d := cmp.Diff(want, use(m.Repeat(), unit.NewRandom(2, 2))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	few := measured.New(clock, 3)
	use(few, unit.NewRandom(1, 1))
	parts.Add(nil)
	if few.Whole() || parts.Whole() {
		t.Error("what is not whole says that it is")
	}
}

// heard is a listener that notes the instants.
type heard struct{ calls []string }

func (h *heard) Told(now unit.Time, in rp.Input) {
	h.calls = append(h.calls, fmt.Sprint("told ", in.Kind, " ", now))
}
func (h *heard) Limits(now unit.Time, _ rp.Limits) {
	h.calls = append(h.calls, fmt.Sprint("limits ", now))
}

// A listener is notified with the instants that limiter and reaction point have.
func TestListenersHaveTheSameInstants(t *testing.T) {
	clock, h, l, inner := &hand{}, &heard{}, &notes{RateLimiter: node.NewInterPacketDelay(rate), t: t}, &point{}
	p := measured.New(clock, 1000).Pacing(measured.Key{}, us)
	told := func(now unit.Time) { inner.calls = append(inner.calls, fmt.Sprint("told ", now)) }
	w, c := p.Limiter(l), p.Reaction(rp.Reaction{Controller: inner, Trimmed: func(now unit.Time, _ rp.Trim) { told(now) },
		Expired: func(now unit.Time, _ unit.Size) { told(now) }, Demand: func(now unit.Time, _ unit.Size) { told(now) }})
	listen := p.Listener(h)
	clock.now = at(3 * us)
	listen.Told(at(us), rp.Input{Kind: rp.FrameInput})
	clock.now = at(4 * us)
	c.Feedback(at(us), wire.Frame{})
	w.SetRate(at(us), rate/2)
	clock.now = at(5 * us)
	listen.Limits(at(us), rp.Limits{})
	listen.Told(at(us), rp.Input{Kind: rp.TrimInput})
	clock.now = at(6 * us)
	c.Trimmed(at(us), rp.Trim{})
	listen.Told(at(us), rp.Input{Kind: rp.ExpiryInput})
	clock.now = at(7 * us)
	c.Expired(at(us), 0)
	listen.Told(at(us), rp.Input{Kind: rp.DemandInput})
	c.Demand(at(us), 0)
	if d := cmp.Diff([]string{"told 1 3us", "limits 4us", "told 4 5us", "told 5 6us", "told 7 1us"}, h.calls); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"feedback 3us", "told 5us", "told 6us", "told 6us"}, inner.calls); d != "" {
		t.Error(d)
	}
	if p.Listener(nil) != nil {
		t.Error("there is no listener")
	}
}
