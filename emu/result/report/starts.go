package report

import (
	"fmt"

	"fabemu/emu/run/measured"
	"fabemu/emu/run/pace"
)

// Starts measures a run under actual timing: by how much packets started later than their rate
// limiters let them, in model time. Their further lateness on the wall clock is
// part of the Pace.
type Starts struct {
	Packets             int64       `json:"packets"`
	LatenessUs          Percentiles `json:"lateness_us"`           // in wall time
	LatenessPacketTimes Percentiles `json:"lateness_packet_times"` // the same in T
	MeanPacketTimes     Number      `json:"mean_packet_times"`     // the mean of that
	LateShare           Number      `json:"late_share"`            // of packets that started late: by more than 5 % of T
}

// StartsOf puts the measurements of limiters at a dilation into the terms of the verdict; nil
// without actual timing.
func StartsOf(t *measured.Time, dilation int64) *Starts {
	if t == nil {
		return nil
	}
	from, none := t.Starts, noPercentiles()
	s := &Starts{Packets: from.Count, LatenessUs: none, LatenessPacketTimes: none, MeanPacketTimes: Missing(), LateShare: Missing()}
	if from.Count > 0 {
		s.LatenessUs = percentiles(from.Lateness, 1e6/float64(dilation))
		s.LatenessPacketTimes = percentiles(from.LatenessT, 1e3)
		s.MeanPacketTimes = Number(from.LatenessT.Mean() / 1e3)
		s.LateShare = part(from.Late, from.Count)
	}
	return s
}

func percentiles(h pace.Histogram, unit float64) Percentiles {
	n := func(q float64) Number { return Number(float64(h.ValueAtQuantile(q)) / unit) }
	return Percentiles{P50: n(50), P95: n(95), P98: n(98), P99: n(99), P99_9: n(99.9), Max: n(100)}
}

// started reports whether the starts of a run keep the limits. Where packets start late the model
// has another course: that bounds all levels.
func (l *limits) started(s *Starts) bool {
	return s == nil || s.Packets == 0 || s.MeanPacketTimes <= l.startsMean && s.LatenessPacketTimes.P99 <= l.startsP99 && s.LatenessPacketTimes.Max <= l.startsLatest
}

// words describes how late starts were.
func (s *Starts) words() string {
	if s == nil || s.Packets == 0 {
		return ""
	}
	return fmt.Sprintf(", packets started %s of a packet time after their limiters let them in the mean, one in a hundred %s packet times or more, the latest %s",
		s.MeanPacketTimes.Percent(), s.LatenessPacketTimes.P99.Short(), s.LatenessPacketTimes.Max.Short())
}
