package bench

import (
	"fabemu/wire/unit"
)

// Cause is a probable cause of faults, in words.
type Cause struct {
	Text     string `json:"text"`     // such as "gaps are whole microseconds"
	Evidence string `json:"evidence"` // the measured figures that speak for it
}

// grains are the units in which limiters round, the coarsest first.
var grains = [...]struct {
	d    unit.Duration
	unit string
	text string
}{
	{unit.Millisecond, "milliseconds", "a millisecond clock: gaps are whole milliseconds"},
	{unit.Microsecond, "microseconds", "gaps are whole microseconds: a microsecond clock, or a delay that is rounded to one"},
	{unit.Nanosecond, "nanoseconds", "rounding below one nanosecond: gaps are whole nanoseconds"},
}

// signs are the measurements that point to a cause.
type signs struct {
	gaps     [len(grains)]grained // of packets that waited for the limiter
	delays   grained              // put-offs, by whole milliseconds or not
	shifts   int                  // packets that were put off at the instant that they were given
	asked    int                  // how many of them the caller had asked for again before that instant
	longest  unit.Duration        // the longest put-off
	rate     unit.Rate            // at it
	pause    unit.Duration        // without a start, after which the most bytes started without waiting
	credit   float64              // those bytes, beyond the rate
	promised unit.Size            // how many may
}

// grained counts durations that are whole multiples of a grain, where no whole multiple is wanted.
type grained struct {
	of, whole   int
	gap, wanted unit.Duration // an example
	rate        unit.Rate
}

// fewSigns are too few durations for a cause.
const fewSigns = 50

// gap records a gap between packets, where another one is wanted. Where the link has moved the
// packet before, the instant is whole and not the gap.
func (s *signs) gap(now unit.Time, gap, wanted unit.Duration, r unit.Rate) {
	for i, g := range grains {
		if x := &s.gaps[i]; wanted%g.d != 0 {
			whole := gap%g.d == 0
			if x.of++; whole || now%unit.Time(g.d) == 0 {
				if x.whole++; whole && gap > x.gap {
					x.gap, x.wanted, x.rate = gap, wanted, r
				}
			}
		}
	}
}

// putOff records that a packet was put off at the instant that it was given.
func (s *signs) putOff(by unit.Duration, r unit.Rate, asked bool) {
	s.shifts++
	if asked {
		s.asked++
	}
	if s.delays.of++; by%unit.Millisecond == 0 {
		s.delays.whole++
	}
	if by > s.longest {
		s.longest, s.rate = by, r
	}
}

// merge adds the signs of another limiter of the case.
func (s *signs) merge(o *signs) {
	for i := range s.gaps {
		s.gaps[i].merge(o.gaps[i])
	}
	s.delays.merge(o.delays)
	s.shifts, s.asked = s.shifts+o.shifts, s.asked+o.asked
	if o.longest > s.longest {
		s.longest, s.rate = o.longest, o.rate
	}
	if o.credit > s.credit {
		s.pause, s.credit, s.promised = o.pause, o.credit, o.promised
	}
}

func (g *grained) merge(o grained) {
	of, whole := g.of+o.of, g.whole+o.whole
	if o.gap > g.gap {
		*g = o
	}
	g.of, g.whole = of, whole
}

// most reports whether nine of ten durations are whole, and enough for a cause: the line moves some
// starts.
func (g *grained) most() bool { return g.of >= fewSigns && g.whole*10 >= g.of*9 }

// Causes returns the probable causes of the faults of a limiter in some cases. It takes the
// measurements in only the cases with a fault: a limiter with a coarse clock is right where it
// keeps its promise.
func Causes(cases []*Report) (all []Cause) {
	var s signs
	for _, r := range cases {
		if len(r.Faults) > 0 {
			s.merge(&r.signs)
		}
	}
	add := func(text, evidence string, args ...any) {
		all = append(all, Cause{text, sentence(evidence, args...)})
	}
	for i, g := range s.gaps {
		if g.most() {
			add(grains[i].text, "%d of %d gaps, or the instants at their ends, are whole %s, such as %v at %v, where the gap at the rate is %v",
				g.whole, g.of, grains[i].unit, g.gap, g.rate, g.wanted)
			break
		}
	}
	if s.credit > 0 {
		add("credit grows without bound", "after %v without a start %.0f bytes more start at once than the rate lets through, and %d may",
			s.pause, s.credit, int64(s.promised))
	}
	switch {
	case s.shifts == 0:
	case s.asked == s.shifts:
		add("a refusal consumes credit", "packets that could not start at the instant that they were given: %d, all of them packets that the limiter had been asked for again before it", s.shifts)
	case s.delays.most():
		add("a millisecond clock", "packets that could not start at the instant that they were given: %d; they were put off by whole milliseconds", s.shifts)
	default:
		add("a rounding or a coarse clock: the limiter computes another instant when it is asked again",
			"packets that could not start at the instant that they were given: %d; they were delayed by up to %v, in which %s bytes arrive at %v",
			s.shifts, s.longest, Plain(s.rate.BytesPerSecond()*s.longest.Seconds(), 3), s.rate)
	}
	return all
}
