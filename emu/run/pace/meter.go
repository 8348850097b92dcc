package pace

import "fabemu/wire/unit"

// Meter counts departures and stalls of a run into its Timing, for one loop.
type Meter struct {
	*Record
	length unit.Time // of a moment
	next   unit.Time // when the next moment begins
}

// NewMeter returns the meter of a run with an end, and an empty Timing.
func NewMeter(end unit.Time) Meter { return Meter{New(), max(1, end/Moments), end / Moments} }

// Depart counts a data frame that starts at a model time and leaves late, in ns. T is in ns too. It
// reports whether the frame is late by more than 5 % of T.
func (m *Meter) Depart(start unit.Time, late, t int64) bool {
	if start >= m.next {
		from := start / m.length * m.length
		m.next = from + m.length
		m.Moments = append(m.Moments, Moment{From: from})
	}
	moment := &m.Moments[len(m.Moments)-1]
	m.Data++
	moment.Data++
	moment.Worst = max(moment.Worst, late)
	late = max(late, 0)
	m.Lateness.RecordValue(late)
	inT := late * 1000 / t
	m.LatenessT.RecordValue(inT)
	m.Latest = max(m.Latest, inT)
	if late <= t/20 {
		return false
	}
	m.Late++
	moment.Late++
	if late > t {
		m.LateT++
	}
	return true
}

// Stall counts a gap in which the loop did not run, in ns, at a model time. T is the shortest T.
func (m *Meter) Stall(at unit.Time, gap, t int64) {
	m.StallCount++
	m.Stalled += gap
	if gap > t {
		m.StalledMost += gap
	}
	m.Moments[len(m.Moments)-1].Stalled += gap
	if len(m.Stalls) < MaxStalls {
		m.Stalls = append(m.Stalls, Stall{At: at, Wall: gap})
	}
}
