package bench

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fabemu/node"
	"fabemu/wire/unit"
)

// slack is the relative error that any limiter may have, as good clocks have.
const slack = 1e-4

// meter is a limiter that passes all calls on to another limiter, checks both sides of the contract
// of node.RateLimiter, and measures the starts. It uses only the instants in the calls, so that a
// late caller causes no fault.
//
// How much may start between two packets depends on the algorithm. A limiter with a bucket counts
// the bytes that come in at each rate. A limiter that keeps a delay between packets goes by the
// rate that is set when the delay ends. So where the rate changes in between, the upper limit is
// the greater of the two, and the lower limit follows from the lowest rate.
type meter struct {
	limiter node.RateLimiter
	line    unit.Rate
	each    func(Start) // receives each start; may be nil
	longest unit.Size   // longest packet
	burst   unit.Size   // declared burst of the limiter; 0: none is declared

	now     unit.Time // latest instant in a call
	gave    unit.Time // answer of the last Next
	promise unit.Time // earliest answer for the packet
	size    unit.Size // number of bytes in the last Next
	open    bool      // the last Next let a packet start
	kept    bool      // the rate has not changed since: the packet must be able to start at promise
	putOffs int       // how often the packet was put off at its promise
	broken  bool      // the contract was broken so that the rest of the case means nothing

	rate   unit.Rate
	lowest unit.Rate // lowest rate since there is a packet
	set    unit.Time // when the rate was set, or the last start
	came   float64   // bytes that came in at the set rates, from the last start until set
	last   unit.Time // last start; at first the beginning
	wants  unit.Time // since when a packet waits; unit.Never: the limiter was asked for none
	due    unit.Time // when the packet may start, by the last answer; unit.Never: unknown
	let    bool      // the packet may start
	change unit.Time // last change of the rate while the packet waits; unit.Never: none

	level  float64   // of a bucket that each start fills, and that empties at the rate
	over   float64   // the same since the rate was lowered
	lag    float64   // bytes by which the starts are behind the rate
	credit float64   // bytes that started without waiting since there was a packet again
	since  unit.Time // when there was a packet again
	counts bool      // credit is being counted

	wall *watch // measurements on the wall clock; nil: none

	phase  phase
	gap    unit.Duration // in a phase: the time since the start before at the set rate; else 0
	recent [around]Start

	out Report
}

// around is how many starts are shown with a fault: the start at fault, and the starts before it.
const around = 6

// phase is a time in which the rate stays and there is always a packet. It holds the instants of
// the latest starts, and the bytes that started before each.
type phase struct {
	starts int
	at     [1024]unit.Time
	bytes  [1024]float64
}

// windows are the lengths, in packets, over which rates are measured.
var windows = [...]int{10, 100, 1000}

// newMeter returns a meter of a limiter that was made with a rate. No packet is longer than
// longest.
func newMeter(l node.RateLimiter, r unit.Rate, longest unit.Size) *meter {
	m := &meter{limiter: l, line: r, longest: longest, rate: r, lowest: r, wants: unit.Never, change: unit.Never}
	if b, ok := l.(interface{ Burst() unit.Size }); ok {
		m.burst = b.Burst()
	}
	m.out = Report{Promised: m.promised(), Gaps: hdrhistogram.New(1, 100_000_000, 3)}
	for _, n := range windows {
		m.out.Windows = append(m.out.Windows, Window{Packets: n, Low: math.Inf(1), High: math.Inf(-1)})
	}
	return m
}

// promised returns how many bytes may start, or be withheld, in addition to the rate.
func (m *meter) promised() unit.Size {
	if m.burst > 0 {
		return max(m.burst, m.longest)
	}
	return 2 * m.longest
}

// find records a fault with the last starts, if it is the first or the worst of its criterion. Else
// it returns nil.
func (m *meter) find(what Criterion, bad float64, at unit.Time, format string, args ...any) *Fault {
	i := slices.IndexFunc(m.out.Faults, func(f Fault) bool { return f.Criterion == what })
	if i < 0 {
		i = len(m.out.Faults)
		m.out.Faults = append(m.out.Faults, Fault{Criterion: what})
	} else if f := &m.out.Faults[i]; f.bad >= bad {
		return nil
	}
	f := &m.out.Faults[i]
	f.bad, f.At, f.Text = bad, at, sentence(format, args...)
	f.Starts = append(f.Starts[:0], m.recent[max(0, around-m.out.Starts):]...)
	return f
}

// violates records a breach of a rule of the contract.
func (m *meter) violates(rule string, bad float64, format string, args ...any) {
	if f := m.find(Contract, bad, m.now, format, args...); f != nil {
		f.Rule = rule
	}
}

// breaks records a breach of the contract after which the rest of the case means nothing.
func (m *meter) breaks(rule, format string, args ...any) {
	if !m.broken {
		m.broken = true
		m.violates(rule, math.Inf(1), format, args...)
	}
}

// advance checks that time does not run backwards.
func (m *meter) advance(call string, now unit.Time) {
	if now < m.now {
		m.breaks("time runs backwards", "%s is called at %v, after a call at %v: time runs backwards", call, now, m.now)
	}
	m.now = max(m.now, now)
}

// Next asks the limiter.
func (m *meter) Next(now unit.Time, n unit.Size) unit.Time {
	m.advance("Next", now)
	if m.wants == unit.Never {
		m.begins(now, n)
	}
	began := m.wall.now()
	t := m.limiter.Next(now, n)
	m.wall.call(began)
	m.answers(now, n, t)
	switch {
	case !m.open:
		m.rested(now)
		m.due = t
	case !m.let:
		m.permits(now, min(now, m.due))
	}
	return t
}

// mostPutOffs is how often a packet may be put off before the case ends.
const mostPutOffs = 100

// answers checks an answer against the answers before it for the same packet. It may be later than
// they were only before their instant, and earlier only by a rounding: half the time of the packet
// at the rate.
func (m *meter) answers(now unit.Time, n unit.Size, t unit.Time) {
	same := m.kept && n == m.size
	switch {
	case t < now:
		m.breaks("an instant before the question", "the limiter, asked at %v, gives %v, which is before", now, t)
	case !same:
		m.promise, m.putOffs = unit.Never, 0
	case now >= m.promise && t > now:
		m.violates("later when asked again", 1, "the limiter gave %v for %d bytes, and asked then, at %v, it gives a later instant, %v", m.promise, n, now, t)
		m.promise = unit.Never
		if m.putOffs++; m.putOffs == mostPutOffs {
			m.broken = true
		}
	case now < m.gave && m.gave != unit.Never && m.gave.Sub(t) > m.rate.Serialise(n)/2+unit.Nanosecond:
		m.violates("earlier when asked again", 1, "the limiter gave %v as the earliest instant for %d bytes, and asked before then, at %v, it gives an earlier one, %v", m.gave, n, now, t)
	}
	m.promise = min(m.promise, t)
	if !same || !m.open || t > now { // else it may start since gave
		m.gave = t
	}
	m.size, m.open, m.kept = n, t <= now, true
}

// begins records that there is a packet of n bytes.
func (m *meter) begins(now unit.Time, n unit.Size) {
	m.wants, m.due, m.lowest, m.change, m.let = now, unit.Never, m.rate, unit.Never, false
	idle := now.Sub(m.last)
	if m.out.Starts == 0 || idle <= m.rate.Serialise(n)/2 {
		return
	}
	m.phase.starts = 0
	m.counts = m.set == m.last && idle >= m.rate.Serialise(4*m.promised())
	m.credit, m.since = 0, now
}

// jumbo is the longest packet of any case.
const jumbo = 9000 * unit.Byte

// least returns how many bytes must start at once after a rest: a packet at least. The promised
// burst is the most that may start. It is not the least, because a limiter promises it for packets
// of any length and for the rate of the link: GCRA lets its tolerance and one packet start, some
// buckets are as deep as their rate is high, and a limiter with a coarse clock adds the bytes of a
// tick.
func (m *meter) least() float64 {
	if m.rate > m.line/10*9 { // the line itself is hardly faster
		return 1
	}
	burst := float64(m.burst) * m.rate.BytesPerSecond() / m.line.BytesPerSecond()
	return max(min(burst/2, burst-float64(jumbo)), 1)
}

// rested judges the credit after a rest, as soon as a packet has to wait again.
func (m *meter) rested(now unit.Time) {
	if !m.counts {
		return
	}
	m.counts = false
	least := m.least()
	m.credit -= m.rate.BytesPerSecond() * m.last.Sub(min(m.since, m.last)).Seconds()
	if m.out.Rests++; m.out.Rests == 1 || unit.Size(m.credit) < m.out.Credit {
		m.out.Credit = unit.Size(m.credit)
	}
	if m.credit < least {
		m.find(Credit, least-m.credit, now,
			"after a rest %.0f bytes start at once, want at least %.0f", m.credit, least)
	}
}

// permits records that the packet may start. The limiter could have been asked for it at an instant
// before.
func (m *meter) permits(now, due unit.Time) {
	m.let = true
	if now.Sub(due) > m.rate.Serialise(m.longest) { // there was no packet for a time
		m.phase.starts = 0
	}
	m.lag += m.lowest.BytesPerSecond() * max(0, due.Sub(max(m.wants, m.last)).Seconds()) * (1 - slack)
	m.out.Withheld = max(m.out.Withheld, unit.Size(m.lag))
	if most := m.promised(); m.lag > float64(most)+1 {
		m.find(Withheld, m.lag, now,
			"%.0f bytes fewer have started than the rate permits, want at most %d", m.lag, int64(most))
	}
	if m.change == unit.Never || m.rate == 0 {
		return
	}
	delay := now.Sub(m.change)
	m.out.Reaction = max(m.out.Reaction, delay)
	if most := m.rate.Serialise(m.promised()); delay > most+unit.Nanosecond {
		m.find(Reaction, delay.Seconds()/most.Seconds(), now,
			"a packet that waits as the rate becomes %v may start %v later, want at most %v", m.rate, delay, most)
	}
}

// Sent passes a start on.
func (m *meter) Sent(now unit.Time, n unit.Size) {
	m.advance("Sent", now)
	if !m.open {
		m.breaks("a start that was not permitted", "%d bytes start at %v, and the limiter has not let them", n, now)
	} else if now < m.gave {
		m.breaks("a start that was not permitted", "%d bytes start at %v, and the limiter gave %v", n, now, m.gave)
	}
	m.gap = 0
	m.starts(now, n)
	m.open, m.kept = false, false
	began := m.wall.now()
	m.limiter.Sent(now, n)
	m.wall.call(began)
	m.wall.start(now, began, m.gap)
}

// starts measures a start.
func (m *meter) starts(now unit.Time, n unit.Size) {
	size := float64(n)
	copy(m.recent[:], m.recent[1:])
	start := Start{At: now, Size: n, Rate: m.rate}
	m.recent[around-1] = start
	m.out.Starts++
	m.out.Bytes += n
	if m.each != nil {
		m.each(start)
	}
	span := now.Sub(m.last)
	came := max(m.came+m.rate.BytesPerSecond()*now.Sub(m.set).Seconds(),
		m.rate.BytesPerSecond()*span.Seconds()) * (1 + slack)
	m.level = max(0, m.level-came) + size
	m.over = max(0, m.over-came) + size
	m.out.Burst = max(m.out.Burst, unit.Size(m.level))
	if most := m.promised(); m.level > float64(most)+1 {
		m.find(Burst, m.level, now,
			"%.0f bytes more have started than the rate permits, want at most %d", m.level, int64(most))
	}
	if m.out.Lowered {
		m.out.Overshoot = max(m.out.Overshoot, unit.Size(m.over))
	}
	if now.Sub(m.gave) > m.rate.Serialise(m.longest) { // the line has held the packet
		m.phase.starts = 0
	}
	m.measure(now, size)
	m.lag = max(0, m.lag-size)
	m.credit += size
	m.last, m.set, m.came = now, now, 0
	m.wants, m.change = unit.Never, unit.Never
}

// measure adds a start to the phase.
func (m *meter) measure(now unit.Time, size float64) {
	p := &m.phase
	bytes := 0.0
	if p.starts > 0 {
		i := (p.starts - 1) % len(p.at)
		bytes = p.bytes[i] + float64(m.recent[around-2].Size)
		ideal := m.rate.Serialise(m.recent[around-2].Size)
		_ = m.out.Gaps.RecordValue(int64(1000 * now.Sub(p.at[i]).Seconds() / ideal.Seconds()))
		m.gap = ideal
	}
	i := p.starts % len(p.at)
	p.at[i], p.bytes[i] = now, bytes
	for k := range m.out.Windows {
		w := &m.out.Windows[k]
		if p.starts < w.Packets || m.rate == 0 {
			break
		}
		from := (p.starts - w.Packets) % len(p.at)
		through := bytes - p.bytes[from]
		due := m.rate.BytesPerSecond() * now.Sub(p.at[from]).Seconds()
		off := through/due - 1
		w.Low, w.High = min(w.Low, off), max(w.High, off)
		if most := slack + float64(m.promised()+1)/due; math.Abs(off) > most {
			f := m.find(RateError, math.Abs(off)/most, now,
				"over %d packets the rate is %s %% off, want at most %s %%", w.Packets, Signed(100*off, 3), Plain(100*most, 3))
			if f != nil {
				f.Starts = p.worst(f.Starts[:0], w.Packets, Start{Size: unit.Size(size), Rate: m.rate}, off > 0)
			}
		}
	}
	p.starts++
}

// worst appends the consecutive starts among the latest packets that are the most ahead of the
// rate, or the most behind it. The last start has the given size and rate.
func (p *phase) worst(rows []Start, packets int, last Start, ahead bool) []Start {
	in := func(k int) int { return k % len(p.at) }
	worst, most := 0, math.Inf(-1)
	for k := p.starts - packets; k+around-1 <= p.starts; k++ {
		i, j := in(k), in(k+around-1)
		off := p.bytes[j] - p.bytes[i] - last.Rate.BytesPerSecond()*p.at[j].Sub(p.at[i]).Seconds()
		if !ahead {
			off = -off
		}
		if off > most+1e-3 { // of equal stretches the first
			worst, most = k, off
		}
	}
	for k := worst; k < worst+around; k++ {
		s := Start{At: p.at[in(k)], Size: last.Size, Rate: last.Rate}
		if k < p.starts {
			s.Size = unit.Size(p.bytes[in(k+1)] - p.bytes[in(k)])
		}
		rows = append(rows, s)
	}
	return rows
}

// SetRate passes a rate on.
func (m *meter) SetRate(now unit.Time, r unit.Rate) {
	m.advance("SetRate", now)
	m.came += m.rate.BytesPerSecond() * now.Sub(m.set).Seconds()
	if r != m.rate {
		m.phase.starts = 0
		m.counts = false
		if m.wants != unit.Never && !m.let {
			m.change = now
		}
		if r < m.rate {
			m.over, m.out.Lowered = 0, true
		}
	}
	m.rate, m.set, m.kept = r, now, false
	if !m.let {
		m.lowest = min(m.lowest, r)
	}
	m.limiter.SetRate(now, r)
}

// ends judges a packet that still waits at the end.
func (m *meter) ends(now unit.Time) {
	if m.wants != unit.Never && !m.let && now >= m.wants {
		m.permits(now, now)
	}
}
