package bench

import (
	"math"

	"fabemu/wire/unit"
)

// asked asks for a packet more often than needed: while it waits, and at its instant.
func (b *lab) asked() {
	t := b.trial(experimentRate)
	if t.drain(defaultSize) && t.wait(defaultSize) > 0 {
		at := t.now.Add(t.wait(defaultSize))
		t.now = at
		if t.Next(at, defaultSize) == at {
			if again := t.Next(at, defaultSize); again > at {
				b.found("an answer that permits a start counts the packet", "asked at %v for 1500 bytes it gives this instant, and asked again then, %v", at, again)
				return
			}
		}
	}
	rounded, bytes := unit.Duration(0), 0.0
	for _, x := range []struct {
		r unit.Rate
		n unit.Size
	}{{experimentRate, defaultSize}, {experimentRate, jumbo}, {2_300_000_003, defaultSize}} {
		r, n := x.r, x.n
		wait, plain, early := b.put(r, n)
		if wait == 0 || plain < 0 {
			continue // it never starts
		}
		_, half, early2 := b.put(r, n, 0.5)
		_, late, early3 := b.put(r, n, 0.75)
		w := wait.Seconds()
		if early || early2 || early3 {
			b.found("a packet is told to wait for longer than it has to", "asked for %d bytes at %v it gives an instant %s later, and asked again before this instant it lets them start: in %s %.0f bytes arrive, and %d may start at once",
				int64(n), r.InBits(), span(w), span(w), r.BytesPerSecond()*w, int64(b.trial(r).promised))
			return
		}
		share := func(d unit.Duration, of float64) bool { return near((d - plain).Seconds(), of*w, 0.05) }
		switch {
		case share(half, 0.5) && share(late, 0.75):
			b.found("a refusal consumes credit", "at %v %d bytes have to wait %s; asked again after half of this time they may start %v later, and after three quarters %v later",
				r.InBits(), int64(n), span(w), half, late)
			return
		case share(half, 1) && share(late, 1):
			b.found("a refusal counts the packet", "at %v %d bytes have to wait %s; asked again after half of this time they may start %v later, and after three quarters %v later",
				r.InBits(), int64(n), span(w), half, late)
			return
		}
		if most := max(plain, half, late); most.Seconds() < w/3 && most > rounded && r.BytesPerSecond()*most.Seconds() > bytes {
			rounded, bytes = most, r.BytesPerSecond()*most.Seconds()
		}
	}
	if rounded > 0 {
		b.found("a rounding or a coarse clock: asked again, the limiter computes another instant", "a packet that was asked for again before its instant, or at it, is put off by up to %v, in which %s bytes arrive",
			rounded, Plain(bytes, 3))
	}
}

// put asks for a packet without credit, again at parts of the time that it has to wait, and at the
// instant of the last answer. It returns this time, and how much later the packet may then start;
// below 0: it never starts. Early is true if it was let start long before.
func (b *lab) put(r unit.Rate, n unit.Size, again ...float64) (wait, later unit.Duration, early bool) {
	t := b.trial(r)
	if !t.drain(defaultSize) {
		return 0, 0, false
	}
	t.atOnce(defaultSize, t.beyond()) // where the packet that waited had to wait for more than itself
	wait = t.wait(n)
	began, due := t.now, t.now.Add(wait)
	next := due
	for _, part := range again {
		t.now = began.Add(unit.Duration(part * float64(wait)))
		if next = t.Next(t.now, n); next <= t.now {
			return wait, 0, wait > b.grain
		}
	}
	if next == unit.Never {
		return wait, -1, false
	}
	t.now = next
	if next = t.Next(t.now, n); len(again) == 0 && !t.start(n) {
		return wait, -1, false
	}
	return wait, next.Sub(due), false
}

// shorter starts shorter packets than the limiter was asked for, and changes the rate between
// answer and start.
func (b *lab) shorter() {
	const short, packets = 300, 20
	t := b.trial(experimentRate)
	if !t.drain(defaultSize) {
		return
	}
	var began unit.Time
	for i := range 2*packets + 1 {
		for range mostAnswers {
			if t.Next(t.now, defaultSize) <= t.now {
				break
			}
			t.now = t.Next(t.now, defaultSize)
		}
		t.Sent(t.now, short)
		if i == packets { // the first ones used up what was left
			began = t.now
		}
	}
	right := b.trial(experimentRate).gap(short, packets)
	if gap, whole := t.now.Sub(began).Seconds()/packets, b.trial(experimentRate).gap(defaultSize, packets); near(gap, whole, 0.02) && !near(right, whole, 0.5) {
		b.found("a packet counts as the length that was asked for", "asked for 1500 bytes, of which 300 start, it lets packets start each %s; 300 bytes that were asked for take %s", span(gap), span(right))
	}
	if b.stale {
		return
	}
	for _, r := range []unit.Rate{experimentRate * 4, experimentRate / 4} {
		if t = b.trial(experimentRate); !t.drain(defaultSize) {
			return
		}
		w := t.wait(defaultSize)
		t.now = t.now.Add(w)
		if w == 0 || t.Next(t.now, defaultSize) > t.now {
			return
		}
		t.SetRate(t.now, r)
		t.Sent(t.now, defaultSize)
		if next := t.wait(defaultSize); !near(next.Seconds(), w.Seconds(), 0.01) {
			return
		}
	}
	b.found("the delay after a packet has the rate of the last question", "where the rate changes after the answer and before the start, the next packet waits as long as at the old rate, both for a higher and for a lower one")
}

// rests looks at how much starts at once after rests.
func (b *lab) rests() {
	const line, r = 200_000_006, 100_000_003
	t := b.on(line, r)
	new := t.atOnce(defaultSize, t.beyond())
	promise := t.promised
	m := newMeter(t.RateLimiter, line, b.longest)
	m.rate = r
	least := unit.Size(math.Ceil(m.least()))
	if !t.start(defaultSize) {
		return
	}
	fill := unit.Rate(r).Serialise(promise)
	all := []unit.Duration{2 * fill, 10 * fill, 100 * unit.Second, 7200 * unit.Second, 20 * 86400 * unit.Second}
	var after []unit.Size
	for _, rest := range all {
		t.rests(rest)
		after = append(after, t.atOnce(defaultSize, t.beyond()))
		if !t.drain(defaultSize) {
			all = all[:len(after)]
			break
		}
	}
	most := promise + 1
	over := func(i int) bool { return i < len(after) && after[i] > most }
	bad, lacks := -1, -1
	for i := range after {
		if over(i) && bad < 0 {
			bad = i
		}
		if after[i] < least && lacks < 0 {
			lacks = i
		}
	}
	evidence := sentence("on a new limiter %d bytes start at once", int64(new))
	for i, n := range after {
		evidence += sentence(", after a rest of %s %d", span(all[i].Seconds()), int64(n))
	}
	evidence += sentence("; it may let %d start", int64(promise))
	b.deeper = bad >= 0
	grows := over(1) && after[1] > after[0]+after[0]/2
	switch {
	case grows && (over(2) || len(after) <= 2):
		b.endless = true
		b.found("credit grows without bound", "%s", evidence)
	case grows:
		b.found("a short rest is made up for at once", "%s", evidence)
	case over(0) || over(1):
		b.found("after a rest the bucket is deeper than its promise", "%s", evidence)
	case bad >= 0:
		b.found("the limit of the credit fails after a long rest: a number overflows, or has too few digits", "%s", evidence)
	case lacks >= 2:
		b.found("the credit of a long rest overflows", "%s", evidence)
	case lacks >= 0 && new >= least:
		b.found("credit is lost in a rest", "%s", evidence)
	case lacks >= 0:
		b.found("the bucket is smaller than its promise", "%s", evidence)
	}
}

// lateStarts lets packets start later than they may.
func (b *lab) lateStarts() {
	const r = 100_000_007
	t := b.trial(r)
	if b.endless || !t.drain(defaultSize) {
		return
	}
	w := t.wait(defaultSize)
	late := unit.Rate(r).Serialise(2*t.promised) + 5*w
	t.rests(w)
	if w == 0 || t.Next(t.now, defaultSize) > t.now {
		return
	}
	t.rests(late)
	t.Sent(t.now, defaultSize)
	if n := defaultSize + t.atOnce(defaultSize, t.beyond()); n > t.promised+defaultSize {
		b.found("what a late start has missed is made up for at once", "a packet starts %s after its instant, and with it %d bytes at once; %d may", span(late.Seconds()), int64(n), int64(t.promised))
		return
	}
	if t = b.trial(r); b.deeper || !t.drain(defaultSize) {
		return
	}
	for range 2 {
		t.rests(unit.Rate(r).Serialise(4 * t.promised))
		if t.Next(t.now, defaultSize) > t.now {
			return
		}
	}
	t.Sent(t.now, defaultSize)
	if n := defaultSize + t.atOnce(defaultSize, t.beyond()); n > t.promised+1 {
		b.found("the clock of the bucket stands still while it is full", "asked after a rest, and with a start a rest later, %d bytes start at once, and %d may", int64(n), int64(t.promised))
	}
}

// changeRate is the rate that is changed: a packet takes 3 ms.
const changeRate = 4 * experimentRate

// outcome of a change of the rate while a packet waits.
type outcome struct {
	wait   float64   // how long the packet still has to wait, in packets at the new rate
	atOnce unit.Size // bytes that start without waiting
	same   bool      // the packet keeps its instant
	never  bool
}

// change sets a rate when a packet has waited for a quarter of its time, and before that asks once
// more or not.
func (b *lab) change(to unit.Rate, ask bool) (o outcome, ok bool) {
	const from = changeRate
	t := b.trial(from)
	if !t.drain(defaultSize) {
		return o, false
	}
	w := t.wait(defaultSize)
	due := t.now.Add(w)
	if t.now = t.now.Add(w / 4); w == 0 {
		return o, false
	}
	if ask {
		t.Next(t.now, defaultSize)
	}
	t.SetRate(t.now, to)
	o.atOnce = t.atOnce(defaultSize, t.beyond())
	at := t.Next(t.now, defaultSize)
	o.never = at == unit.Never
	o.same = o.atOnce == 0 && near(at.Sub(t.now).Seconds(), due.Sub(t.now).Seconds(), 0.01)
	o.wait = at.Sub(t.now).Seconds() / (w.Seconds() * float64(from) / float64(to))
	return o, true
}

// changes looks at what a change of the rate does to a packet that waits.
func (b *lab) changes() {
	const old = changeRate
	if b.stale || b.grain > old.Serialise(defaultSize)/50 {
		return
	}
	up, ok := b.change(4*old, false)
	down, ok2 := b.change(old/4, false)
	repeated, ok3 := b.change(old, false)
	if !ok || !ok2 || !ok3 {
		return
	}
	all := func(test func(o outcome) bool) (names string, some bool) {
		for _, x := range []struct {
			name string
			o    outcome
		}{{"a higher rate", up}, {"a lower rate", down}, {"the same rate", repeated}} {
			if test(x.o) {
				if some {
					names += ", "
				}
				names, some = names+x.name, true
			}
		}
		return names, some
	}
	const began = "a packet has waited for a quarter of its time: "
	if of, ok := all(func(o outcome) bool { return o.never }); ok {
		b.found("after a change of the rate nothing starts", began+"it never starts after %s", of)
		return
	}
	if up.same && down.same {
		b.found("a packet that waits keeps the instant of the old rate", began+"after a four times higher and a four times lower rate it starts at the instant that the old rate gave")
		return
	}
	full := func(o outcome) bool { return o.atOnce >= 2*defaultSize }
	if of, ok := all(full); ok {
		n := max(up.atOnce, down.atOnce, repeated.atOnce)
		text := "the bucket is full again after a change of the rate"
		if full(repeated) && !full(up) && !full(down) {
			text = "the bucket is full again when the same rate is set"
		}
		b.found(text, began+"set then, %s lets %d bytes start at once", of, int64(n))
		return
	}
	if down.atOnce > 0 || repeated.atOnce > 0 {
		of, _ := all(func(o outcome) bool { return o.atOnce > 0 })
		b.found("a change of the rate lets a packet start at once", began+"set then, %s lets %d bytes start at once", of, int64(max(down.atOnce, repeated.atOnce)))
		return
	}
	lost := func(o outcome) bool { return o.atOnce == 0 && near(o.wait, 1, 0.02) }
	of, ok := all(lost)
	if !ok {
		return
	}
	to := unit.Rate(4 * old) // the change whose loss is the clearest
	switch {
	case lost(up):
	case lost(repeated):
		to = old
	default:
		to = old / 4
	}
	text := "credit is forgotten at a change of the rate: all that came since the last call"
	asked, ok := b.change(to, true)
	if ok && lost(asked) {
		text = "the wait of a packet begins again at a change of the rate"
		switch kept, deep := b.keeps(to); {
		case deep && kept > 0:
			text = "credit is forgotten at a change of the rate: all that came since the last start"
		case deep:
			text = "the bucket is empty after a change of the rate"
		}
	}
	bytes := "asked again just before the change, it waits for " + Plain(asked.wait, 3) + " packets"
	b.found(text, began+"set then, %s lets it wait for a whole packet at the new rate (%s, %s, %s for a higher, a lower and the same one); %s",
		of, Plain(up.wait, 3), Plain(down.wait, 3), Plain(repeated.wait, 3), bytes)
}

// keeps returns how many bytes of a bucket start at once after a change of the rate, where more
// than a packet is in it. Deep is false if it never holds more than one.
func (b *lab) keeps(to unit.Rate) (bytes unit.Size, deep bool) {
	t := b.trial(changeRate)
	t.rests(changeRate.Serialise(4 * t.promised))
	if t.Next(t.now, defaultSize) > t.now {
		return 0, false
	}
	t.Sent(t.now, defaultSize)
	if t.Next(t.now, defaultSize) > t.now {
		return 0, false
	}
	t.SetRate(t.now, to)
	return t.atOnce(defaultSize, t.beyond()), true
}

// takesOver looks at whether a new rate is used at all.
func (b *lab) takesOver() {
	measure := func(to unit.Rate, n unit.Size) float64 {
		t := b.trial(changeRate)
		if !t.drain(defaultSize) {
			return math.NaN()
		}
		t.SetRate(t.now, to)
		if !t.start(defaultSize) {
			return math.NaN()
		}
		return t.gap(n, 20) * changeRate.BytesPerSecond() / float64(n) // 1 at the old rate
	}
	own := b.trial(changeRate).gap(defaultSize, 20) * changeRate.BytesPerSecond() / float64(defaultSize)
	kept := func(g float64) bool { return near(g, own, 0.02) }
	up, down := measure(4*changeRate, defaultSize), measure(changeRate/4, defaultSize)
	evidence := sentence("at a four times higher rate the gaps are %s times those of the old rate, and at a four times lower one %s times", Plain(up/own, 3), Plain(down/own, 3))
	b.stale = kept(up) || kept(down)
	switch {
	case kept(up) && kept(down):
		if other := measure(4*changeRate, 700); !kept(other) {
			b.found("a delay is kept for packets of the same length, whatever the rate", "%s; with packets of another length they are %s times", evidence, Plain(other/own, 3))
			return
		}
		b.found("a new rate is not taken over", "%s", evidence)
	case kept(up):
		b.found("only lower rates are taken over", "%s", evidence)
	case kept(down):
		b.found("only higher rates are taken over", "%s", evidence)
	}
}

// credits looks at what a change of the rate does to the credit of a bucket.
func (b *lab) credits() {
	left := func(to unit.Rate, keep unit.Size) (before, after unit.Size) {
		depth := b.trial(changeRate)
		depth.rests(changeRate.Serialise(4 * depth.promised))
		most := depth.atOnce(defaultSize, depth.beyond()) - keep
		t := b.trial(changeRate)
		t.rests(changeRate.Serialise(4 * t.promised))
		for before < most && t.Next(t.now, defaultSize) <= t.now {
			t.Sent(t.now, defaultSize)
			before += defaultSize
		}
		t.SetRate(t.now, to)
		return before, t.atOnce(defaultSize, t.beyond())
	}
	if b.deeper || b.stale {
		return
	}
	before, up := left(4*changeRate, defaultSize)
	_, down := left(changeRate/4, 2*defaultSize)
	_, same := left(changeRate, defaultSize)
	promised := b.trial(changeRate).promised
	if before > 0 && same <= defaultSize && up >= 2*defaultSize && before+up > promised+1 && down < 2*defaultSize {
		b.found("credit is kept as time, and so grows with the rate", "with 1500 bytes in the bucket a four times higher rate lets %d start at once, after %d before; %d may. With 3000 bytes a four times lower rate lets %d start",
			int64(up), int64(before), int64(promised), int64(down))
	}
}

// zero sets the rate to 0 for a time.
func (b *lab) zero() {
	b.doing = "at rate 0"
	t := b.trial(experimentRate)
	if !t.drain(defaultSize) {
		return
	}
	w := t.wait(defaultSize)
	t.rests(w / 4)
	t.SetRate(t.now, 0)
	if n := t.atOnce(defaultSize, t.beyond()); n > t.promised+1 {
		b.found("at rate 0 everything starts", "%d bytes start at once at rate 0", int64(n))
		return
	}
	began, starts := t.now, 0
	for t.now < began.Add(100*w) && t.start(defaultSize) {
		starts++
	}
	if t.now = began.Add(100 * w); starts > 20 && unit.Size(starts)*defaultSize > t.promised {
		b.found("at rate 0 packets start as before", "in %v, in which 100 packets start at the rate before, %d start at rate 0", 100*w, starts)
		return
	}
	if starts > 0 {
		return
	}
	t.SetRate(t.now, experimentRate)
	if at := t.Next(t.now, defaultSize); w > 0 && at.Sub(t.now) > 20*w {
		text := "it starts after " + span(at.Sub(t.now).Seconds())
		if at == unit.Never {
			text = "it never starts"
		}
		b.found("after rate 0 it does not continue", "a packet that waits as the rate becomes %v again has to wait for too long: %s", experimentRate, text)
	}
}
