package bench

import (
	"fmt"
	"math"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fabemu/wire/unit"
)

// Report is what a case yields. Bytes are those on the line, times are model time. Where
// several limiters share the line it has the worst of each measure.
type Report struct {
	Case   string
	Starts int       // of packets
	Bytes  unit.Size // of them

	// Promised is how many bytes the limiter may let go at once beside its rate, or keep
	// back: what its method Burst() unit.Size says, if it has one; else two packets.
	Promised unit.Size
	// Windows are by how much the rate over windows of so many packets is off, while the rate
	// that is set stays and there is always a packet.
	Windows []Window
	// Gaps has the times from start to start in thousandths of what they would be at
	// the rate, under the same conditions.
	Gaps *hdrhistogram.Histogram
	// Burst is the largest: by how many bytes more starts in any time than the rate lets
	// through. One packet is the least that there is.
	Burst unit.Size
	// Withheld is by how many bytes less starts than the rate lets through, in any time in
	// which there is a packet.
	Withheld unit.Size
	// Credit is how many bytes start without waiting after a rest, a time without a packet in
	// which all credit comes back: the least after any of them. Rests is how many there were.
	Credit unit.Size
	Rests  int
	// Reaction is the longest time from a change of the rate until a packet that waits
	// meanwhile may start.
	Reaction unit.Duration
	// Lowered says that the rate fell, and Overshoot how many bytes more started since
	// then than the new rate lets through, at the most.
	Lowered   bool
	Overshoot unit.Size
	// Fairness is Jain's index of what started under each limiter: 1 where all are equal.
	Fairness float64

	Wall *Wall // how it kept to the wall clock in a fabric; nil: it was in none
	Real *Real // how it kept to real time; nil: the case is not in real time

	Faults []Fault // the measures that are out of their limits; a right limiter has none
}

// Window says by which share of it the rate over so many packets is off.
type Window struct {
	Packets   int
	Low, High float64 // the least and the most; infinite where there was no such window
}

// Start is a packet that starts, and the rate that was set then.
type Start struct {
	At   unit.Time
	Size unit.Size
	Rate unit.Rate
}

// Criterion says what of a limiter is out of its limit.
type Criterion string

// The criteria.
const (
	Contract  Criterion = "contract"   // of node.RateLimiter: what it gives, and what it is told
	RateError Criterion = "rate error" // Report.Windows
	Burst     Criterion = "burst"      // Report.Burst
	Withheld  Criterion = "withheld"   // Report.Withheld
	Credit    Criterion = "credit"     // Report.Credit
	Reaction  Criterion = "reaction"   // Report.Reaction
	Fairness  Criterion = "fairness"   // Report.Fairness
	RealTime  Criterion = "real time"  // Report.Wall: less starts in real time than under an ideal limiter
	Late      Criterion = "late"       // Report.Real: packets start later in real time than under an ideal limiter
	Blocks    Criterion = "blocks"     // Report.Wall: its calls take long
	Recovery  Criterion = "recovery"   // LoopReport.Utilisation: the rates do not come back
	Overshoot Criterion = "overshoot"  // LoopReport.Held: more is sent than there is room for
	Panic     Criterion = "panic"      // the limiter has panicked
	Program   Criterion = "program"    // one in another language has done what it may not, or does not answer
)

// Fault is a measure that is out of its limit, where that is worst.
type Fault struct {
	Criterion Criterion
	Text      string // what was measured, and what is wanted
	At        unit.Time
	Starts    []Start // the last packets until then; of a RateError those that are the most off
	bad       float64 // how bad it is, among faults of the criterion
	say       func() string
}

// String returns the fault and its packets, a line each.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: at %v %s", f.Criterion, f.At, f.Text)
	if f.Criterion == RateError && len(f.Starts) > 0 {
		b.WriteString("; the worst stretch of them:")
	}
	if len(f.Starts) > 0 {
		fmt.Fprintf(&b, "\n%20s %7s %14s %16s %16s", "start", "bytes", "rate", "gap before", "at this rate")
	}
	for i, p := range f.Starts {
		gap, ideal := "", ""
		if i > 0 {
			gap = p.At.Sub(f.Starts[i-1].At).String()
			ideal = p.Rate.Serialise(f.Starts[i-1].Size).String()
		}
		fmt.Fprintf(&b, "\n%20v %7d %14v %16s %16s", p.At, p.Size, p.Rate, gap, ideal)
	}
	return b.String()
}

// String returns the figures on a line.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d starts, burst %v of %v, withheld %v", r.Starts, r.Burst, r.Promised, r.Withheld)
	for _, w := range r.Windows {
		if w.Low <= w.High {
			fmt.Fprintf(&b, ", rate over %d packets %+.3g to %+.3g %%", w.Packets, 100*w.Low, 100*w.High)
		}
	}
	if r.Rests > 0 {
		fmt.Fprintf(&b, ", after a rest %v at once", r.Credit)
	}
	if r.Reaction > 0 {
		fmt.Fprintf(&b, ", reaction %v", r.Reaction)
	}
	if r.Lowered {
		fmt.Fprintf(&b, ", overshoot %v", r.Overshoot)
	}
	if w := r.Wall; w != nil {
		fmt.Fprintf(&b,
			"; on the wall clock, dilation %d, gaps %.3g times those of the rate (ideal limiter: %.3g), starts %v late (%v), calls %v (%v)",
			w.Dilation, w.Limiter.Gap, w.Ideal.Gap, w.Limiter.Late, w.Ideal.Late, w.Limiter.Calls, w.Ideal.Calls)
	}
	if real := r.Real; real != nil {
		fmt.Fprintf(&b, "; in real time gaps %.3g times those of the rate (ideal limiter: %.3g), 99 %% of the starts up to %v late (%v)",
			real.judged().Gap, real.Ideal.Gap, real.judged().LateP99, real.Ideal.LateP99)
	}
	return b.String()
}

// merge takes in the report of another limiter of the case.
func (r *Report) merge(o *Report) {
	r.Starts, r.Bytes = r.Starts+o.Starts, r.Bytes+o.Bytes
	r.Burst, r.Withheld = max(r.Burst, o.Burst), max(r.Withheld, o.Withheld)
	r.Reaction, r.Overshoot = max(r.Reaction, o.Reaction), max(r.Overshoot, o.Overshoot)
	r.Lowered = r.Lowered || o.Lowered
	if r.Rests == 0 || o.Rests > 0 && o.Credit < r.Credit {
		r.Credit = o.Credit
	}
	r.Rests += o.Rests
	for i := range r.Windows {
		r.Windows[i].Low = math.Min(r.Windows[i].Low, o.Windows[i].Low)
		r.Windows[i].High = math.Max(r.Windows[i].High, o.Windows[i].High)
	}
	r.Gaps.Merge(o.Gaps)
	for _, f := range o.Faults {
		r.add(f)
	}
}

// add notes a fault, unless there is a worse one of its measure.
func (r *Report) add(f Fault) {
	for i := range r.Faults {
		if r.Faults[i].Criterion == f.Criterion {
			if r.Faults[i].bad < f.bad {
				r.Faults[i] = f
			}
			return
		}
	}
	r.Faults = append(r.Faults, f)
}
