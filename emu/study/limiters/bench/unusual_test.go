package bench_test

import (
	"math"

	"fabemu/wire/unit"
)

// queueing is a leaky bucket as a queue: a packet starts when the packets before it have leaked
// out.
type queueing struct {
	due  amount
	rate unit.Rate
	last unit.Time
}

// wheel puts packets into slots of a timing wheel. Their schedule is exact, and they start with the
// next slot.
type wheel struct {
	schedule keeperOnSchedule
	slot     unit.Duration
	line     unit.Rate
}

// keeperOnSchedule keeps the instant at which the next packet is due, which a late start does not
// move.
type keeperOnSchedule struct {
	rate unit.Rate
	due  unit.Time // of the next packet
	last unit.Time // when the last packet was due
	size unit.Size
}

func (l *wheel) Next(now unit.Time, _ unit.Size) unit.Time {
	s := unit.Time(l.slot)
	if l.schedule.due > unit.Never-s {
		return unit.Never
	}
	if l.schedule.due <= now-now%s {
		return now
	}
	return max(now, (l.schedule.due+s-1)/s*s)
}
func (l *wheel) Sent(now unit.Time, n unit.Size) {
	k := &l.schedule
	k.last, k.size = max(k.due, now.Add(-l.slot)), n // no more than a slot is made up for
	k.due = k.last.Add(k.rate.Serialise(n))
}
func (l *wheel) SetRate(_ unit.Time, r unit.Rate) {
	k := &l.schedule
	if k.rate = r; k.size > 0 {
		k.due = k.last.Add(r.Serialise(k.size))
	}
}
func (l *wheel) Burst() unit.Size {
	return unit.Size(l.line.BytesPerSecond()*2*l.slot.Seconds()) + 9000
}

// floats is a token bucket in floating point, with a clock in nanoseconds and answers that are
// rounded up.
type floats struct{ rate, level, depth, last float64 }

func (l *floats) at(now unit.Time) float64 {
	return math.Min(l.depth, l.level+l.rate*(float64(now)/1e3-l.last)/8e9)
}
func (l *floats) Next(now unit.Time, n unit.Size) unit.Time {
	short := math.Min(float64(n), l.depth) - l.at(now)
	switch {
	case short <= 1e-3:
		return now
	case l.rate == 0:
		return unit.Never
	}
	t := math.Ceil(float64(now)/1e3 + short*8e9/l.rate)
	if t > math.MaxInt64/4e3 {
		return unit.Never
	}
	return max(now, 1000*unit.Time(t))
}
func (l *floats) Sent(now unit.Time, n unit.Size) {
	l.level, l.last = l.at(now)-float64(n), float64(now)/1e3
}
func (l *floats) SetRate(now unit.Time, r unit.Rate) {
	l.level, l.last, l.rate = l.at(now), float64(now)/1e3, float64(r)
}
func (l *floats) Burst() unit.Size { return unit.Size(l.depth) + 1 }

// two has two token buckets: one for the mean, and one for the peak, at twice the rate.
type two struct{ mean, peak *pail }

func (l *two) Next(now unit.Time, n unit.Size) unit.Time {
	return max(l.mean.Next(now, n), l.peak.Next(now, n))
}
func (l *two) Sent(now unit.Time, n unit.Size)    { l.mean.Sent(now, n); l.peak.Sent(now, n) }
func (l *two) SetRate(now unit.Time, r unit.Rate) { l.mean.SetRate(now, r); l.peak.SetRate(now, 2*r) }
func (l *two) Burst() unit.Size                   { return l.mean.Burst() }

func (l *queueing) fill(now unit.Time) {
	l.due.Sub(l.due, during(l.rate, now.Sub(l.last)))
	if l.last = now; l.due.Sign() < 0 {
		l.due.SetInt64(0)
	}
}
func (l *queueing) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.fill(now); l.due.Sign() == 0 && l.rate > 0 {
		return now
	}
	return after(now, l.due, l.rate, 1)
}
func (l *queueing) Sent(now unit.Time, n unit.Size)    { l.fill(now); l.due.Add(l.due, of(n)) }
func (l *queueing) SetRate(now unit.Time, r unit.Rate) { l.fill(now); l.rate = r }

// carrying keeps the fraction of a nanosecond of each delay for the next one.
type carrying struct {
	rate unit.Rate
	last unit.Time
	size unit.Size
	rest unit.Duration
}

func (l *carrying) exact() unit.Time { return l.last.Add(l.rate.Serialise(l.size) - l.rest) }
func (l *carrying) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.size == 0 {
		return now
	}
	t := l.exact()
	if t > unit.Never-1000 {
		return unit.Never
	}
	return max(now, (t+999)/1000*1000)
}
func (l *carrying) Sent(now unit.Time, n unit.Size) {
	rest := unit.Duration(0)
	if d := now.Sub(l.exact()); l.size > 0 && d < unit.Nanosecond {
		rest = max(0, d)
	}
	l.last, l.size, l.rest = now, n, rest
}
func (l *carrying) SetRate(_ unit.Time, r unit.Rate) { l.rate = r }
