package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fabemu/wire/unit"
)

// Report holds the measurements of a case. Bytes are counted on the link, and times are model time.
// Where several limiters share the line, it has the worst of each measure.
type Report struct {
	Case   string
	Starts int       // of packets
	Bytes  unit.Size // of them

	// Promised is how many bytes the limiter may let start at once in addition to its rate, or keep
	// back. Its method Burst() unit.Size returns it; without the method it is two packets.
	Promised unit.Size
	// Windows has the error of the rate over windows of several lengths, while the set rate stays
	// and there is always a packet.
	Windows []Window
	// Gaps has the times from start to start in thousandths of the time at the rate, under the
	// same conditions.
	Gaps *hdrhistogram.Histogram
	// Burst is the largest excess over the rate in any time, in bytes. The least possible one is
	// a packet.
	Burst unit.Size
	// Withheld is the largest deficit against the rate in any time with a packet, in bytes.
	Withheld unit.Size
	// Credit is the least number of bytes that start without waiting after a rest. A rest is a time
	// without a packet, long enough for all credit to come back. Rests is their number.
	Credit unit.Size
	Rests  int
	// Reaction is the longest time from a change of the rate until a waiting packet may start.
	Reaction unit.Duration
	// Lowered is true if the rate fell. Overshoot is the largest excess over the new rate since
	// then, in bytes.
	Lowered   bool
	Overshoot unit.Size
	// Fairness is Jain's index of the bytes that started under each limiter: 1 where all are equal.
	Fairness float64

	Real *Real // in real time; else nil

	Faults []Fault // measures that are out of their limits; a right limiter has none
}

// Window is the relative error of the rate over a number of packets.
type Window struct {
	Packets   int
	Low, High float64 // the least and the most; infinite where there was no such window
}

// Start is the start of a packet, and the rate that was set then.
type Start struct {
	At   unit.Time
	Size unit.Size
	Rate unit.Rate
}

// Criterion names a requirement on a limiter.
type Criterion string

// The criteria.
const (
	Contract  Criterion = "contract"   // the contract of node.RateLimiter, for the limiter and its caller
	RateError Criterion = "rate error" // Report.Windows
	Burst     Criterion = "burst"      // Report.Burst
	Withheld  Criterion = "withheld"   // Report.Withheld
	Credit    Criterion = "credit"     // Report.Credit
	Reaction  Criterion = "reaction"   // Report.Reaction
	Fairness  Criterion = "fairness"   // Report.Fairness
	RealTime  Criterion = "real time"  // Report.Real: in real time the gaps between packets are not those between the limiter's instants
	Late      Criterion = "late"       // Report.Real: packets start later in real time than under an ideal limiter
	Blocks    Criterion = "blocks"     // Report.Real: its calls take long
	Recovery  Criterion = "recovery"   // of loops: the rates do not come back
	Overshoot Criterion = "overshoot"  // of loops: the sources send more than there is room for
	Panic     Criterion = "panic"      // the limiter panicked
	Program   Criterion = "program"    // another program broke the protocol, or does not answer
)

// Fault is a measure that is out of its limit, at the instant of the largest error.
type Fault struct {
	Criterion Criterion `json:"criterion"`
	Rule      string    `json:"rule,omitempty"` // the rule of a contract or protocol that is broken, such as "later when asked again"
	At        unit.Time `json:"at_ps"`
	Text      string    `json:"text"` // the measured figure, and its limit
	Starts    []Start   `json:"-"`    // the last packets until then; for a RateError the packets with the largest error
	bad       float64   // the size of the error, for comparison with faults of the same criterion
}

// NewFault returns a fault at an instant, with the packets before it. Times in its text are in µs,
// rates in bits.
func NewFault(what Criterion, at unit.Time, starts []Start, format string, args ...any) Fault {
	return Fault{Criterion: what, At: at, Starts: starts, Text: sentence(format, args...)}
}

// sentence formats a sentence of a report, whose times are in µs and whose rates are in bits.
func sentence(format string, args ...any) string {
	for i, a := range args {
		switch t := a.(type) {
		case unit.Time:
			args[i] = unit.Text(t)
		case unit.Duration:
			args[i] = unit.Text(t)
		case unit.Rate:
			args[i] = t.InBits()
		}
	}
	return fmt.Sprintf(format, args...)
}

// String returns the fault and its packets, a line each.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(string(f.Criterion))
	if f.Rule != "" {
		b.WriteString(" (" + f.Rule + ")")
	}
	b.WriteString(sentence(": at %v %s", f.At, f.Text))
	if f.Criterion == RateError && len(f.Starts) > 0 {
		b.WriteString("; the worst stretch of them:")
	}
	if len(f.Starts) > 0 {
		fmt.Fprintf(&b, "\n%20s %7s %14s %16s %16s", "start", "bytes", "rate", "gap before", "at this rate")
	}
	for i, p := range f.Starts {
		gap, ideal := "", ""
		if i > 0 {
			gap = unit.Text(p.At.Sub(f.Starts[i-1].At))
			ideal = unit.Text(p.Rate.Serialise(f.Starts[i-1].Size))
		}
		fmt.Fprintf(&b, "\n%20s %7d %14v %16s %16s", unit.Text(p.At), p.Size, p.Rate.InBits(), gap, ideal)
	}
	return b.String()
}

// String returns the figures on a link.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d starts, burst %v of %v, withheld %v", r.Starts, r.Burst, r.Promised, r.Withheld)
	for _, w := range r.Windows {
		switch {
		case math.IsInf(w.High, 1) && !math.IsInf(w.Low, 0):
			fmt.Fprintf(&b, ", rate over %d packets %s %% and more: some of them start at once", w.Packets, Signed(100*w.Low, 3))
		case w.Low <= w.High:
			fmt.Fprintf(&b, ", rate over %d packets %s to %s %%", w.Packets, Signed(100*w.Low, 3), Signed(100*w.High, 3))
		}
	}
	if r.Rests > 0 {
		fmt.Fprintf(&b, ", after a rest %v at once", r.Credit)
	}
	if r.Reaction > 0 {
		fmt.Fprintf(&b, ", reaction %s", unit.Text(r.Reaction))
	}
	if r.Lowered {
		fmt.Fprintf(&b, ", overshoot %v", r.Overshoot)
	}
	if real := r.Real; real != nil {
		fmt.Fprintf(&b, "; in real time gaps %.3g times the gaps between its instants (ideal limiter: %.3g), 99 %% of the starts up to %v late (%v)",
			real.judged().Gap, real.Ideal.Gap, real.judged().LateP99, real.Ideal.LateP99)
		if !real.Judged() {
			b.WriteString("; not timed: this machine is too busy")
		}
	}
	return b.String()
}

// Plain prints a figure with a number of significant digits, and without an exponent.
func Plain(v float64, digits int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil || math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Signed prints a figure as Plain does, with a plus sign if it is above 0.
func Signed(v float64, digits int) string {
	if v > 0 {
		return "+" + Plain(v, digits)
	}
	return Plain(v, digits)
}

// Rename gives faults of a criterion the name of another one.
func (r *Report) Rename(from, to Criterion) {
	for i := range r.Faults {
		if r.Faults[i].Criterion == from {
			r.Faults[i].Criterion = to
		}
	}
}

// merge adds the report of another limiter of the case.
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

// add records a fault, unless there is a worse one of the same criterion.
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
