package limiters

import (
	"fmt"

	"fabemu/emu/base/document"
	"fabemu/emu/study/limiters/bench"
)

// realHeads are the heads of the table of the measurements in real time.
var realHeads = []string{"case", "who", "packets", "gap", "gaps", "late 50 %", "late 99 %", "calls 50 %", "calls 99 %"}

// realHeadsDoc explains them.
const realHeadsDoc = "In real time, at a dilation of 1. Gap: the time from start to start over the time between the limiter's instants, the mean of the middle half; gaps: over the time at the rate, 1 % and 99 % of all. " +
	"Late: from the instant that the limiter gave, or the start before at the same instant, until the kernel has the packet. Calls: of the limiter, for one packet. " +
	"Each is the best of several turns with the others. time.Sleep: an ideal limiter, whose source waits with it. Without its protocol: a limiter in another program, on a clock that stops during calls; this result is judged."

// realTable returns that table, or nil if nothing was measured in real time.
func (r *Result) realTable() *document.Table {
	t := tableOf("At a dilation of 1", realHeads)
	for i := range r.Cases {
		o := &r.Cases[i]
		if o.Real == nil {
			continue
		}
		add := func(name, who string, s *bench.Starts) {
			row := []string{name, who, fmt.Sprint(s.Packets), number(s.Gap, 3), realGaps(s)}
			for _, d := range []int64{int64(s.Late), int64(s.LateP99), int64(s.Calls), int64(s.CallsP99)} {
				row = append(row, durationText(1000*d))
			}
			t.Add(row...)
		}
		add(o.Case, "this one", &o.Real.Limiter)
		if o.Real.Apart != nil {
			add("", "without its protocol", o.Real.Apart)
		}
		add("", "an ideal one", &o.Real.Ideal)
		add("", "time.Sleep", &o.Real.Sleep)
	}
	if t.Rows == nil {
		return nil
	}
	return t
}

// realGaps returns the range of the gaps.
func realGaps(s *bench.Starts) string { return number(s.Shortest, 3) + ".." + number(s.Longest, 3) }
