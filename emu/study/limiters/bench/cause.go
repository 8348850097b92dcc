package bench

import (
	"math"

	"fabemu/node"
	"fabemu/wire/unit"
)

// Cause is a probable cause of faults, in words.
type Cause struct {
	Text     string `json:"text"`     // such as "a refusal consumes credit"
	Evidence string `json:"evidence"` // the measured figures that speak for it
}

// Maker returns a maker of limiters for packets up to a length, and a function to call when the
// experiment with them is over. It reports whether they have worked: a program may have failed.
type Maker func(longest unit.Size) (new New, ended func() bool)

// Of returns the Maker of limiters that are part of this program.
func Of(new New) Maker {
	return func(unit.Size) (New, func() bool) { return new, func() bool { return true } }
}

// Causes looks for the causes of the faults of a limiter, by experiments with fresh limiters on the
// virtual clock. Each experiment is made for one mistake or a few. It plays a script whose outcome
// differs between the mistake and all limiters that are right, so a cause is only named where the
// limiter does what the mistake does. With most > 0 no experiment has many more packets than that.
func Causes(of Maker, most int) []Cause {
	if most <= 0 {
		most = 600_000
	}
	b := &lab{most: most}
	for _, e := range experiments() {
		if e.last && len(b.causes) > 0 {
			continue
		}
		found := len(b.causes)
		new, ended := of(e.longest)
		b.new, b.longest, b.doing = new, e.longest, ""
		b.try(e.run)
		if !ended() {
			b.causes = b.causes[:found]
		}
		if e.first && len(b.causes) > found {
			break
		}
	}
	return b.causes
}

// experiment looks for causes.
type experiment struct {
	run     func(*lab)
	longest unit.Size
	first   bool // what it finds leaves no sense in the experiments after it
	last    bool // only if the others have found nothing
}

func experiments() []experiment {
	return []experiment{
		{run: (*lab).several, longest: defaultSize, first: true},
		{run: (*lab).past, longest: defaultSize},
		{run: (*lab).unlimited, longest: defaultSize, first: true},
		{run: (*lab).large, longest: jumbo},
		{run: (*lab).grains, longest: defaultSize},
		{run: (*lab).lengths, longest: jumbo},
		{run: (*lab).rates, longest: defaultSize},
		{run: (*lab).asked, longest: jumbo},
		{run: (*lab).rests, longest: defaultSize},
		{run: (*lab).lateStarts, longest: defaultSize},
		{run: (*lab).takesOver, longest: defaultSize},
		{run: (*lab).shorter, longest: defaultSize},
		{run: (*lab).changes, longest: defaultSize},
		{run: (*lab).credits, longest: defaultSize},
		{run: (*lab).zero, longest: defaultSize},
		{run: (*lab).ages, longest: defaultSize},
		{run: (*lab).counts, longest: jumbo, last: true},
	}
}

// lab makes experiments.
type lab struct {
	new     New
	longest unit.Size
	most    int           // packets of an experiment
	doing   string        // what the limiter is made to do, should it panic
	grain   unit.Duration // of its gaps, where that is a cause
	deeper  bool          // too much starts after a rest
	endless bool          // credit grows without bound
	stale   bool          // it does not take over new rates
	causes  []Cause
}

// try runs an experiment. A panic ends it.
func (b *lab) try(run func(*lab)) {
	defer func() {
		if v := recover(); v != nil && b.doing != "" {
			b.found("it panics "+b.doing, "%v", v)
		}
	}()
	run(b)
}

// found records a cause.
func (b *lab) found(text, evidence string, args ...any) {
	b.causes = append(b.causes, Cause{text, sentence(evidence, args...)})
}

// trial is a limiter in an experiment, and its time.
type trial struct {
	node.RateLimiter
	now      unit.Time
	promised unit.Size
}

const trialLine = 40 * gbps

// trial returns a fresh limiter at a rate.
func (b *lab) trial(r unit.Rate) *trial { return b.on(trialLine, r) }

// on returns a fresh limiter at a rate of a link.
func (b *lab) on(line, r unit.Rate) *trial {
	l := b.new(line)
	t := &trial{RateLimiter: l, promised: newMeter(l, line, b.longest).promised()}
	t.SetRate(0, r)
	return t
}

// rests lets time pass.
func (t *trial) rests(d unit.Duration) { t.now = t.now.Add(d) }

// mostAnswers is how many answers a trial follows for one packet.
const mostAnswers = 20

// start starts a packet as early as the limiter permits. It is false if that is never.
func (t *trial) start(n unit.Size) bool {
	for range mostAnswers {
		at := t.Next(t.now, n)
		switch {
		case at <= t.now:
			t.Sent(t.now, n)
			return true
		case at == unit.Never:
			return false
		}
		t.now = at
	}
	return false
}

// atOnce starts packets until one has to wait, or about most bytes have started. It returns the
// bytes.
func (t *trial) atOnce(n, most unit.Size) (bytes unit.Size) {
	for bytes < most && t.Next(t.now, n) <= t.now {
		t.Sent(t.now, n)
		bytes += n
	}
	return bytes
}

// beyond is a number of bytes that no limiter may let start at once.
func (t *trial) beyond() unit.Size { return t.promised + 40*jumbo }

// drain starts packets at once, and then one that had to wait. There is no more credit then. It is
// false if none has to wait, or one waits for ever.
func (t *trial) drain(n unit.Size) bool {
	return t.atOnce(n, t.beyond()) < t.beyond() && t.start(n)
}

// gap returns the mean time from start to start of some packets, without credit; NaN if they do not
// start, or do not wait.
func (t *trial) gap(n unit.Size, packets int) float64 {
	if !t.drain(n) {
		return math.NaN()
	}
	began := t.now
	for range packets {
		if !t.start(n) {
			return math.NaN()
		}
	}
	return t.now.Sub(began).Seconds() / float64(packets)
}

// wait returns how long the next packet has to wait without credit; 0 if it does not, or for ever.
func (t *trial) wait(n unit.Size) unit.Duration {
	if at := t.Next(t.now, n); at > t.now && at != unit.Never {
		return at.Sub(t.now)
	}
	return 0
}

// near reports whether a figure differs from another by no more than a share of it.
func near(a, b, share float64) bool { return math.Abs(a-b) <= share*math.Abs(b) }

// span returns seconds as a duration of a report, to six digits.
func span(seconds float64) string {
	for _, u := range []struct {
		base float64
		word string
	}{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}} {
		if seconds >= u.base {
			return Plain(seconds/u.base, 6) + u.word
		}
	}
	return Plain(seconds*1e12, 6) + "ps"
}
