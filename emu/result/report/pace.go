package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/run/pace"
	"fabemu/wire/unit"
)

// Pace is how well a run kept to its clock, as an observer on a link measures it: by the gaps
// between consecutive data frames, compared with the gaps of the model times the dilation. Where
// the machine does not run the program in time, the run clock is held, and continues with the gaps
// of the model. T is the wall time of the longest data frame of a link.
type Pace struct {
	Requested Number `json:"requested_dilation"`
	Achieved  Number `json:"achieved_dilation"` // wall time / model time, as a mean over the run
	Peak      Number `json:"peak_dilation"`     // the same in the slowest hundredth of the run

	Holds        int64       `json:"holds"`                   // how often the clock was held
	HeldUs       Number      `json:"held_us"`                 // for how long in all, in wall time
	LongestUs    Number      `json:"longest_hold_us"`         // the longest
	LongestT     Number      `json:"longest_hold_t"`          // the same in the shortest T
	LongestHolds []Hold      `json:"longest_holds,omitempty"` // the longest ten, of those longer than T
	Gaps         int64       `json:"gaps"`                    // that were measured
	OffShare     Number      `json:"gaps_off_share"`          // of them, those that differ from the model's by more than 5 % of T
	HeldShare    Number      `json:"gaps_held_share"`         // those in which the clock was held
	GapErrorT    Percentiles `json:"gap_error_t"`             // difference of the others from the model's, in T

	LatenessUs          Percentiles `json:"lateness_us"`           // how long after its due time on the run clock a data frame left
	LatenessPacketTimes Percentiles `json:"lateness_packet_times"` // the same in T
	LateShare           Number      `json:"late_share"`            // of data frames that left late: by more than 5 % of T
	FloorShare          Number      `json:"floor_share"`           // the same share for a loop that only waits
	Early               int64       `json:"early"`                 // frames that left before their due time
}

// Hold is a time for which the run clock was held.
type Hold struct {
	AtPs int64  `json:"at_ps"` // model time
	Us   Number `json:"us"`    // wall time
}

// noPace returns a Pace in which nothing is measured yet.
func noPace() Pace {
	n, none := Missing(), noPercentiles()
	return Pace{
		Requested: n, Achieved: n, Peak: n, HeldUs: n, LongestUs: n, LongestT: n, OffShare: n, HeldShare: n,
		GapErrorT: none, LatenessUs: none, LatenessPacketTimes: none, LateShare: n, FloorShare: n,
	}
}

// namedHolds is how many holds a result names.
const namedHolds = 10

// paceOf puts the measurements of a driver into a Pace, for a run of a model time at a dilation.
func paceOf(t *pace.Record, dilation int64, end unit.Time) Pace {
	p := noPace()
	p.Requested, p.Early = Number(dilation), t.Early
	p.Holds, p.Gaps = t.HoldCount, t.Gaps
	us := func(ns int64) Number { return Number(float64(ns) / 1e3) }
	p.HeldUs, p.LongestUs, p.LongestT = us(t.Held), us(t.HoldMost), Number(float64(t.HoldMostT)/1e3)
	longest := slices.Clone(t.Holds)
	slices.SortStableFunc(longest, func(a, b pace.Hold) int { return cmp.Compare(b.Wall, a.Wall) })
	for _, h := range longest[:min(len(longest), namedHolds)] {
		p.LongestHolds = append(p.LongestHolds, Hold{int64(h.At), us(h.Wall)})
	}
	p.OffShare, p.HeldShare = part(t.GapsOff, t.Gaps), part(t.GapsHeld, t.Gaps)
	if t.Data > 0 && t.Lateness.Histogram != nil {
		p.LatenessUs = percentiles(t.Lateness, 1e3)
		p.LatenessPacketTimes = percentiles(t.LatenessT, 1e3)
		p.GapErrorT = percentiles(t.GapError, 1e3)
	}
	p.LateShare, p.FloorShare = part(t.Late, t.Data), part(t.SpunLate, t.Spun)
	if t.Wall <= 0 || t.Reached <= 0 {
		return p
	}
	// A run whose clock is fixed may lag behind while it has much to do, and catch up while it has
	// nothing: it took at least the requested time and the median of the lateness of its frames.
	wanted, took := t.Reached.Seconds()*1e9*float64(dilation), float64(t.Wall)
	if p.LatenessUs.P50.Known() {
		took = max(took, wanted+1e3*float64(p.LatenessUs.P50))
	}
	p.Achieved = Number(float64(dilation) * took / wanted)
	p.Peak = max(p.Achieved, Number(float64(dilation)*(1+mostHeld(t.Moments, end/100)/(float64(dilation)*max(1, (end/100).Seconds()*1e9)))))
	return p
}

// mostHeld returns for how long the clock was held, in ns, in the stretch of this much model time
// in which that is most.
func mostHeld(moments []pace.Moment, stretch unit.Time) (most float64) {
	held, first := int64(0), 0
	for _, m := range moments {
		held += m.Held
		for ; moments[first].From <= m.From-stretch; first++ {
			held -= moments[first].Held
		}
		most = max(most, float64(held))
	}
	return most
}

// limits are the upper bounds of a level.
type limits struct {
	level    Level
	dilation Number // achieved, of the requested one
	hold     Number // the longest hold, in T
	off      Number // share of the gaps that are off
	gap      Number // error of 99 % of the gaps in which the clock was not held, in T
	p99      Number // lateness of departures, in T
	latest   Number // lateness of the latest, in T
	clocks   Number // error of a host's clock, in T
	delay    Number // real programs: by how much longer 99 % of the packets take, in ms
	rate     Number // real programs: share by which a rate over a second is off

	startsMean, startsP99, startsLatest Number // actual timing: lateness of starts, in T
}

// noLimit is a limit that nothing exceeds.
const noLimit = Number(math.MaxFloat64)

// limitsOf returns the limits of each level that a run on the wall clock can earn, the best
// level first. docs/guide/trust.md gives the reason for each. A level forbids nothing
// that a better one allows, so exact implies faithful.
func limitsOf() []limits {
	return []limits{
		{
			level: Exact, dilation: 1.05, hold: 10, off: 0.05, gap: 0.25, p99: 0.25, latest: 10, clocks: 0.05, delay: 0.1, rate: 0.001,
			startsMean: 0.01, startsP99: 0.25, startsLatest: 10,
		},
		{
			level: Faithful, dilation: noLimit, hold: noLimit, off: 0.5, gap: 1, p99: 1, latest: 100, clocks: 0.05, delay: 1, rate: 0.02,
			startsMean: 0.04, startsP99: 1, startsLatest: 100,
		},
		{
			level: OrderOnly, dilation: noLimit, hold: noLimit, off: noLimit, gap: noLimit, p99: noLimit, latest: noLimit, clocks: noLimit, delay: noLimit, rate: noLimit,
			startsMean: 0.04, startsP99: 1, startsLatest: 100,
		},
	}
}

// NotExact reports whether the gaps of a run are off too often for the level exact.
func NotExact(off Number) bool { return off > limitsOf()[0].off }

// keeps reports whether a figure keeps a limit. A figure that is missing keeps none.
func keeps(n, limit Number) bool { return limit == noLimit || n <= limit }

// paced reports whether the pace of a run keeps the limits. A run without gaps has none that are
// off.
func (l *limits) paced(p *Pace) bool {
	gaps := p.Gaps == 0 || keeps(p.OffShare, l.off) && (p.HeldShare == 1 || keeps(p.GapErrorT.P99, l.gap))
	return keeps(p.Achieved/p.Requested, l.dilation) && keeps(p.LongestT, l.hold) && gaps &&
		keeps(p.LatenessPacketTimes.P99, l.p99) && keeps(p.LatenessPacketTimes.Max, l.latest)
}

// slow reports whether the machine did not sustain the requested dilation.
func (p *Pace) slow() bool { return p.Achieved > limitsOf()[0].dilation*p.Requested }

// words describes the pace: the reasons why it is not exact, if there are any.
func (p *Pace) words() string {
	exact := &limitsOf()[0]
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if !p.Achieved.Known() {
		add("the dilation that was achieved was not measured")
	} else if p.slow() {
		add("this machine achieved a dilation of %s (requested: %s)", p.Achieved.Short(), p.Requested.Short())
	}
	if p.Holds > 0 && (p.slow() || p.LongestT > exact.hold || p.OffShare > exact.off) {
		add("its clock was held %s, for %s ms in total, at most %s ms at a time",
			times(p.Holds), (p.HeldUs / 1e3).Short(), (p.LongestUs / 1e3).Short())
	}
	switch {
	case p.Gaps == 0:
	case !p.OffShare.Known():
		add("the gaps between frames were not measured")
	case p.OffShare > exact.off:
		add("%s of the gaps between frames were off by more than 5 %% of a packet time", p.OffShare.Percent())
	}
	switch e := p.GapErrorT.P99; {
	case p.Gaps == 0 || p.HeldShare == 1:
	case !e.Known():
		add("by how much gaps between frames were off was not measured")
	case e > exact.gap:
		add("one gap in a hundred was off by more than %s packet times", e.Short())
	}
	switch l := &p.LatenessPacketTimes; {
	case !l.P99.Known() || !l.Max.Known():
		add("the lateness of frames was not measured")
	case l.P99 > exact.p99:
		add("one frame in a hundred left more than %s packet times late", l.P99.Short())
	case l.Max > exact.latest:
		add("the latest frame left %s packet times late", l.Max.Short())
	}
	if len(words) == 0 {
		return fmt.Sprintf("the gaps between frames are those of the model, %s of them to 5 %% of a packet time, at a dilation of %s",
			(1 - p.OffShare).Percent(), p.Achieved.Short())
	}
	return strings.Join(words, ", ")
}

// PaceOf returns how a wall run kept to its clock over model time, as series of the kind "pace":
// the share of data frames that left more than 5 % of T late, by how much the latest of them was,
// and for how long the clock was held. t may be nil.
func PaceOf(t *pace.Record) []metrics.Series {
	if t == nil || len(t.Moments) == 0 {
		return nil
	}
	list := []metrics.Series{
		{Kind: "pace", Name: "late-share"}, {Kind: "pace", Name: "latest-us"}, {Kind: "pace", Name: "held-us"},
	}
	for _, m := range t.Moments {
		for i, v := range []float64{float64(m.Late) / float64(m.Data), float64(m.Worst) / 1e3, float64(m.Held) / 1e3} {
			list[i].Times, list[i].Values = append(list[i].Times, m.From), append(list[i].Values, v)
		}
	}
	return list
}
