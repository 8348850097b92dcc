package pace

import "fabemu/wire/unit"

// Meter counts departures, gaps and holds of a run into its Record, for one loop.
type Meter struct {
	*Record
	length unit.Time // of a moment
	next   unit.Time // when the next moment begins
}

// NewMeter returns the meter of a run with an end, and an empty Record.
func NewMeter(end unit.Time) Meter { return Meter{New(), max(1, end/Moments), end / Moments} }

// Depart counts a data frame that starts at a model time and leaves late, in ns. T is in ns too. It
// reports whether the frame is late by more than 5 % of T.
func (m *Meter) Depart(start unit.Time, late, t int64) bool {
	if start >= m.next {
		from := start / m.length * m.length
		m.next = from + m.length
		m.Moments = append(m.Moments, Moment{From: from})
	}
	i := len(m.Moments) - 1
	for i > 0 && m.Moments[i].From > start { // the links report in turns
		i--
	}
	moment := &m.Moments[i]
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

// Gap counts a gap between two data frames of a link. By how much the second left later than the
// first, both on the run clock, is between least and most. held is for how long the clock was held
// between them, in ns as T is. It reports whether an observer may find the gap off by more than 5 %
// of T.
func (m *Meter) Gap(least, most, held, t int64) bool {
	m.Gaps++
	if held > 0 {
		m.GapsHeld++
	} else {
		m.GapError.RecordValue(max(-least, most) * 1000 / t)
	}
	if max(-least-held, most+held) <= t/20 {
		return false
	}
	m.GapsOff++
	return true
}

// Hold counts a time for which the clock was held, in ns, at a model time. T is the shortest T.
func (m *Meter) Hold(at unit.Time, ns, t int64) {
	m.HoldCount++
	m.HoldMost = max(m.HoldMost, ns)
	m.HoldMostT = max(m.HoldMostT, ns*1000/max(t, 1))
	m.Moments[len(m.Moments)-1].Held += ns
	if ns > t && len(m.Holds) < MaxHolds {
		m.Holds = append(m.Holds, Hold{At: at, Wall: ns})
	}
}
