package bench

import (
	"math"
	"slices"
	"sort"

	"fabemu/wire/unit"
)

// experimentRate is that of most experiments: a packet takes 12 ms, much longer than the parts of
// any clock.
const experimentRate = 1_000_003 * unit.BitPerSecond

// several looks at several limiters: one must not depend on another.
func (b *lab) several() {
	one, two := b.trial(experimentRate), b.trial(experimentRate)
	first, second := one.atOnce(defaultSize, one.beyond()), two.atOnce(defaultSize, two.beyond())
	if first > second && second == 0 {
		b.found("limiters share their state", "of two new limiters the first lets %d bytes start at once, and the second, asked after it, %d", int64(first), int64(second))
		return
	}
	low, high := math.Inf(1), 0.0
	for range 4 {
		g := b.trial(experimentRate).gap(defaultSize, 20)
		low, high = math.Min(low, g), math.Max(high, g)
	}
	if high > 1.01*low {
		b.found("limiters differ from one another", "of four that have the rate %v one lets packets start each %s, and another each %s", experimentRate, span(low), span(high))
	}
}

// past looks for answers before the question.
func (b *lab) past() {
	t := b.trial(experimentRate)
	if !t.drain(defaultSize) {
		return
	}
	t.rests(10 * unit.Second)
	if at := t.Next(t.now, defaultSize); at < t.now {
		b.found("an answer is not moved to the instant of the question where it is over", "asked at %v after a rest of 10s, it gives %v", t.now, at)
	}
}

// unlimited looks for a limiter that lets far more start at once than it promises, or nothing at
// all.
func (b *lab) unlimited() {
	t := b.trial(experimentRate)
	n := t.atOnce(defaultSize, t.beyond())
	if n < t.beyond() {
		w := t.wait(defaultSize)
		t.rests(w)
		again := t.wait(defaultSize)
		switch {
		case t.start(defaultSize):
		case !b.trial(experimentRate).start(64):
			b.found("nothing starts", "at %v a packet of 64 bytes is put off again and again", experimentRate)
		case again > 0 && again < w/3:
			b.found("a rounding or a coarse clock: asked again, the limiter computes another instant", "at %v a packet that has to wait for %v is put off by %v at its instant, and so on: it never starts", experimentRate, w, again)
		}
		return
	}
	n += t.atOnce(jumbo, min(unit.Size(b.most)*jumbo, 2*unit.GB))
	if t.Next(t.now, jumbo) > t.now {
		b.found("the bucket is deeper than its promise", "a new limiter lets %d bytes start at once, and %d may", int64(n), int64(t.promised))
		return
	}
	b.found("nothing limits the starts", "a new limiter at %v lets %d bytes start at once, and more would start", experimentRate, int64(n))
}

// large looks for a length that never starts, at a low and at a high rate.
func (b *lab) large() {
	starts := func(n unit.Size) bool {
		return b.trial(experimentRate).start(n) || b.trial(gbps).start(n)
	}
	if starts(jumbo) || !starts(64) {
		return
	}
	longer := sort.Search(int(jumbo), func(n int) bool { return n > 64 && !starts(unit.Size(n)) })
	b.found("the bucket is smaller than the packet", "packets of up to %d bytes start, and longer ones never do: one of %d is put off again and again", longer-1, int64(jumbo))
}

// paced is a run of packets at a rate.
type paced struct {
	rate         unit.Rate
	starts       []unit.Time
	ideal        float64 // time of a packet at the rate
	first, rest  float64 // mean gap of the first packets, and of the rest
	promised     unit.Size
	outOfPromise bool
}

// whole returns how many packets start at whole multiples of a grain, or that far from the one
// before.
func (p *paced) whole(grain unit.Duration) (n int) {
	for i, at := range p.starts[1:] {
		if at%unit.Time(grain) == 0 || at.Sub(p.starts[i])%grain == 0 {
			n++
		}
	}
	return n
}

// pace lets packets start without a rest.
func (b *lab) pace(r unit.Rate) (p paced, ok bool) {
	all := min(1000, b.most/8)
	first := all / 5
	t := b.trial(r)
	if !t.drain(defaultSize) {
		return p, false
	}
	p = paced{rate: r, starts: []unit.Time{t.now}, ideal: r.Serialise(defaultSize).Seconds(), promised: t.promised}
	m := newMeter(t.RateLimiter, r, b.longest)
	t.RateLimiter = m
	for range all {
		if !t.start(defaultSize) {
			return p, false
		}
		p.starts = append(p.starts, t.now)
	}
	p.first = p.starts[first].Sub(p.starts[0]).Seconds() / float64(first)
	p.rest = p.starts[all].Sub(p.starts[first]).Seconds() / float64(all-first)
	p.outOfPromise = len(m.out.Faults) > 0
	return p, true
}

// grains looks for gaps in whole units of time, at all rates.
func (b *lab) grains() {
	var runs []paced
	for _, r := range []unit.Rate{913_003, 1_234_567, 38_900_003, 45_600_003, 1_700_000_003, 2_300_000_003, 29_000_000_003, 37_000_000_003} {
		if p, ok := b.pace(r); ok {
			runs = append(runs, p)
		}
	}
	for _, g := range []struct {
		grain unit.Duration
		name  string
	}{{10 * unit.Millisecond, "10 ms"}, {4 * unit.Millisecond, "4 ms"}, {unit.Millisecond, "milliseconds"}, {100 * unit.Microsecond, "100 µs"},
		{10 * unit.Microsecond, "10 µs"}, {unit.Microsecond, "microseconds"}, {unit.Nanosecond, "nanoseconds"}} {
		if slices.ContainsFunc(runs, func(p paced) bool { return p.whole(g.grain)*100 < 95*(len(p.starts)-1) }) {
			continue
		}
		for i := range runs {
			if p := &runs[i]; b.coarse(p, g.grain, g.name) {
				b.grain = g.grain
				return
			}
		}
	}
}

// coarse reports whether a limiter whose gaps are whole multiples of a grain is wrong for that
// reason.
func (b *lab) coarse(p *paced, grain unit.Duration, name string) bool {
	tick := p.rate.BytesPerSecond() * grain.Seconds()
	off := p.rest - p.ideal
	down := math.Floor(p.ideal/grain.Seconds()) * grain.Seconds()
	switch {
	case math.Abs(off) > slack*p.ideal && near(p.first-p.ideal, off, 0.3) && (near(p.rest, down, slack) || near(p.rest, down+grain.Seconds(), slack)):
		way := "down"
		if off > 0 {
			way = "up"
		}
		b.found("gaps are rounded "+way+" to whole "+name, "at %v the mean gap is %s, and %s at the rate; at this and all other rates the gaps, or the instants, are whole %s",
			p.rate.InBits(), span(p.rest), span(p.ideal), name)
	case p.outOfPromise && tick > float64(p.promised)/2:
		b.found("a clock of "+name+" is too coarse", "at all rates packets start at whole %s, in one of which %.0f bytes arrive at %v, and %d may start at once",
			name, tick, p.rate.InBits(), int64(p.promised))
	default:
		return false
	}
	return true
}

// lengths looks at how many bytes packets of several lengths count as.
func (b *lab) lengths() {
	const r = 23_457 * unit.BitPerSecond // the longest wait is 3 s
	sizes := []unit.Size{20, 64, 300, 700, 1500, jumbo}
	var counts []float64
	for _, n := range sizes {
		t := b.trial(r)
		t.atOnce(defaultSize, t.beyond())
		g := t.gap(n, 12)
		if math.IsNaN(g) {
			return
		}
		counts = append(counts, g*r.BytesPerSecond())
	}
	fits := func(want func(n float64) float64) bool {
		for i, n := range sizes {
			if w := want(float64(n)); math.Abs(counts[i]-w) > 0.001*w+0.5+r.BytesPerSecond()*b.grain.Seconds() {
				return false
			}
		}
		return true
	}
	evidence := func() string {
		text := "at " + r.InBits()
		for i, n := range sizes {
			text += sentence(", %d bytes take the time of %s", int64(n), Plain(counts[i], 5))
		}
		return text
	}
	last := len(sizes) - 1
	factor, more := counts[last]/float64(sizes[last]), math.Round(counts[last]-float64(sizes[last]))
	switch {
	case fits(func(n float64) float64 { return n }): // right
	case fits(func(n float64) float64 { return factor * n }):
		if g := b.trial(experimentRate).gap(defaultSize, 20); !near(g*experimentRate.BytesPerSecond(), factor*float64(defaultSize), 0.003) {
			return // it depends on the rate
		}
		b.found(factorText(factor), "%s", evidence())
	case fits(func(n float64) float64 { return math.Max(1, n+more) }):
		kind := "more"
		if more < 0 {
			kind = "fewer"
		}
		b.found(sentence("each packet counts as %.0f bytes %s, as with another header", math.Abs(more), kind), "%s", evidence())
	case fits(func(n float64) float64 { return math.Max(n, math.Round(counts[0])) }):
		b.found(sentence("packets count as %.0f bytes at least", counts[0]), "%s", evidence())
	case fits(func(n float64) float64 { return math.Min(n, math.Round(counts[last])) }):
		b.found(sentence("packets count as %.0f bytes at most", counts[last]), "%s", evidence())
	default:
		for _, cell := range []float64{32, 48, 64, 128, 256, 512} {
			if fits(func(n float64) float64 { return math.Ceil(n/cell) * cell }) {
				b.found(sentence("packets count as whole parts of %.0f bytes", cell), "%s", evidence())
				return
			}
		}
	}
}

// factorText names a factor by which all packets count.
func factorText(f float64) string {
	const same = 0.003
	switch {
	case near(f, 8, same):
		return "bits and bytes are confused: packets start at an eighth of the rate"
	case near(f, 1.0/8, same):
		return "bits and bytes are confused: packets start at 8 times the rate"
	case near(f, 2, same):
		return "each packet counts twice: packets start at half the rate"
	case near(f, 0.5, same):
		return "half of each packet counts: packets start at twice the rate"
	}
	for power, word := 1, "thousand"; power <= 3; power, word = power+1, map[int]string{1: "million", 2: "billion"}[power] {
		k, kibi := math.Pow(1000, float64(power)), math.Pow(1.024, float64(power))
		switch {
		case near(f, k, same) || near(f, 1/k, same):
			return "a unit is off by a factor of a " + word
		case near(f, kibi, same/10) || near(f, 1/kibi, same/10):
			return "1024 is taken for 1000: packets start at " + Plain(1/f, 4) + " times the rate"
		}
	}
	return "a constant factor: packets start at " + Plain(1/f, 4) + " times the rate"
}

// rates looks at which rate packets of one length have at rates of all magnitudes.
func (b *lab) rates() {
	many := min(300, b.most/16)
	base := b.trial(experimentRate).gap(defaultSize, 20) * float64(experimentRate) // the bits of a packet, as the limiter counts
	if math.IsNaN(base) {
		return
	}
	all := []unit.Rate{1, 15, 1_999, 1_999_999, 45_600_003, 3_300_000_001, 20_000_000_001, 37_000_000_001}
	var gaps, actual []float64
	off := func(i int) bool {
		ideal := base / float64(all[i])
		return !near(gaps[i], ideal, 0.003+2*max(b.grain, unit.Microsecond).Seconds()/(ideal*float64(many)))
	}
	wrong := 0
	for i, r := range all {
		packets := 5
		if r > 1e9 {
			packets = many
		}
		t := b.trial(r)
		g := t.gap(defaultSize, packets)
		if math.IsNaN(g) {
			if t.Next(t.now, defaultSize) <= t.now { // credit that does not end says nothing about the rate
				return
			}
			g = math.Inf(1)
		}
		gaps, actual = append(gaps, g), append(actual, base/g)
		if off(i) {
			wrong++
		}
	}
	if wrong == 0 {
		return
	}
	fits := func(want func(r float64, i int) float64) bool {
		for i, r := range all {
			w := want(float64(r), i)
			share := 0.0005
			if r > gbps {
				share = 0.01
			}
			if w == 0 && actual[i] != 0 || w != 0 && !near(actual[i], w, share) {
				return false
			}
		}
		return true
	}
	i := len(all) - 1
	for !off(i) || actual[i] == 0 && wrong > 1 && i > 0 {
		i--
	}
	example := sentence("at %v packets of 1500 bytes start at the rate of %s b/s", all[i].InBits(), Plain(actual[i], 4))
	if fits(func(r float64, _ int) float64 { return math.Mod(r, 1<<32) }) {
		b.found("the rate is kept in 32 bits", "%s, and lower rates are right", example)
		return
	}
	for _, part := range []unit.Rate{8, 1000, 8000, 1e6, 8e6} {
		if fits(func(r float64, _ int) float64 { return math.Floor(r/float64(part)) * float64(part) }) {
			b.found("the rate is cut off to whole "+part.InBits(), "%s", example)
			return
		}
	}
	last := len(all) - 1
	least := gaps[last]
	if off(last) && near(gaps[last-1], least, 0.01) && fits(func(r float64, _ int) float64 { return math.Min(r, base/least) }) {
		b.found("no gap is shorter than "+span(least), "at %v and at %v packets start each %s, and lower rates are right", all[last-1].InBits(), all[last].InBits(), span(least))
		return
	}
	for _, tick := range []struct {
		d    float64
		name string
	}{{1e-12, "picoseconds"}, {1e-9, "nanoseconds"}, {1e-6, "microseconds"}} {
		for _, room := range []float64{1 << 31, 1 << 32} {
			most := room * tick.d
			if fits(func(r float64, _ int) float64 { return base / math.Mod(base/r, most) }) {
				b.found(sentence("a delay is kept in 32 bits of %s", tick.name), "%s: the gap is %s, and %s at the rate", example, span(gaps[i]), span(base/float64(all[i])))
				return
			}
			if fits(func(r float64, _ int) float64 { return base / math.Min(base/r, most) }) {
				b.found("no delay is longer than "+span(most), "%s: the gap is %s, and %s at the rate", example, span(gaps[i]), span(base/float64(all[i])))
				return
			}
		}
	}
}

// ages looks at a limiter that has worked for a time.
func (b *lab) ages() {
	const r, slow, packets = 100_000_003, 120, 100 // packets take 120 µs and 100 s
	after := func(age unit.Duration) float64 {
		t := b.trial(r)
		if !t.drain(defaultSize) {
			return math.NaN()
		}
		t.SetRate(t.now, slow) // time passes without a rest
		end := unit.Time(age)
		for steps := 0; t.now < end; steps++ {
			if steps == 1000 || !t.start(defaultSize) { // it does not keep to the rate
				t.now = end
			}
		}
		t.SetRate(t.now, r)
		t.start(defaultSize)
		began := t.now
		for range packets {
			if !t.start(defaultSize) {
				break
			}
		}
		return t.now.Sub(began).Seconds() / packets
	}
	young := after(unit.Millisecond)
	for _, age := range []unit.Duration{100 * unit.Second, 1000 * unit.Second, 7200 * unit.Second} {
		if old := after(age); young > 0 && !near(old, young, 0.1) {
			b.found("the time overflows, or has too few digits", "packets start each %s at %v in the beginning, and each %s after %v", span(young), unit.Rate(r).InBits(), span(old), age)
			return
		}
	}
}

// counts looks for a limit that ends after many bytes.
func (b *lab) counts() {
	if unit.Size(b.most)*jumbo < 600*unit.MB { // fewer bytes than 32 bits can count in bits
		return
	}
	t := b.trial(10 * gbps)
	if !t.drain(jumbo) {
		return
	}
	sent, free := 0.0, 0
	for range b.most {
		before := t.now
		if !t.start(jumbo) {
			b.found("a count of bytes or bits overflows", "after %s bytes without a rest nothing starts any more", Plain(sent, 4))
			return
		}
		if sent += float64(jumbo); t.now > before {
			free = 0
			continue
		}
		if free++; unit.Size(free)*jumbo > t.beyond() {
			b.found("a count of bytes or bits overflows", "after %s bytes without a rest packets do not wait any more", Plain(sent-float64(free)*float64(jumbo), 4))
			return
		}
	}
}
