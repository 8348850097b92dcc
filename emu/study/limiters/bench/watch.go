package bench

import (
	"cmp"
	"slices"
	"time"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// overhead returns the length of a packet on the link without its payload.
func overhead() unit.Size {
	f := wire.Frame{Kind: wire.Data, Family: wire.Ethernet, Payload: 1000}
	return wire.PaperFraming.Length(&f) - 1000
}

// watch measures the calls and the starts of a meter on the wall clock. A nil watch measures
// nothing.
type watch struct {
	epoch  time.Time            // when model time is 0
	clock  func() time.Duration // since epoch; nil: the machine's clock
	apart  bool                 // the clock is stopped in calls
	away   time.Duration        // for which it was stopped
	spent  time.Duration        // in calls for the next packet
	calls  []time.Duration
	starts []departure
}

// departure is a start on the wall clock.
type departure struct {
	at   unit.Time // as passed to the limiter
	wall time.Duration
	gap  unit.Duration // expected time since the start before; 0: none is expected
}

// now returns the wall time.
func (w *watch) now() time.Duration {
	switch {
	case w == nil:
		return 0
	case w.clock == nil:
		return time.Since(w.epoch) - w.away
	}
	return w.clock() - w.away
}

// call records a call that has ended.
func (w *watch) call(began time.Duration) {
	if w == nil {
		return
	}
	took := w.now() - began
	w.spent += took
	if w.apart {
		w.away += took
	}
}

// start records a start.
func (w *watch) start(at unit.Time, wall time.Duration, gap unit.Duration) {
	if w == nil {
		return
	}
	w.calls = append(w.calls, w.spent)
	w.spent = 0
	w.starts = append(w.starts, departure{at, wall, gap})
}

// fewGaps are too few for a mean.
const fewGaps = 10

// kept returns how the starts kept to real time. Missing packets are as late as they would be now.
func (w *watch) kept(missing int) Starts {
	var gaps, asked []float64 // over the gap at the rate, and over the gap between the limiter's instants
	late := make([]time.Duration, len(w.starts))
	for i, d := range w.starts {
		due := wallOf(d.at)
		if i > 0 {
			before := w.starts[i-1]
			gap := (d.wall - before.wall).Seconds()
			if d.gap > 0 {
				gaps = append(gaps, gap/d.gap.Seconds())
			}
			if d.at > before.at {
				asked = append(asked, gap/d.at.Sub(before.at).Seconds())
			} else { // a burst: one packet after another
				due = before.wall
			}
		}
		late[i] = d.wall - due
	}
	if n := len(w.starts); n > 0 {
		late = append(late, slices.Repeat([]time.Duration{w.now() - wallOf(w.starts[n-1].at)}, missing)...)
	}
	s := Starts{Packets: len(w.starts), Late: median(late), LateP99: quantile(late, 0.99),
		Calls: median(w.calls), CallsP99: quantile(w.calls, 0.99),
		Shortest: quantile(gaps, 0.01), Longest: quantile(gaps, 0.99)}
	if n := len(asked); n >= fewGaps {
		slices.Sort(asked)
		for _, g := range asked[n/4 : n-n/4] {
			s.Gap += g / float64(n-n/4-n/4)
		}
	}
	return s
}

// wallOf returns the first nanosecond that is not before an instant.
func wallOf(t unit.Time) time.Duration { return time.Duration((int64(t) + 999) / 1000) }

// median returns the middle of some figures, or 0 without any.
func median[T cmp.Ordered](of []T) T { return quantile(of, 0.5) }

// quantile returns the figure below which a share of the figures is, or 0 without any. It sorts
// them.
func quantile[T cmp.Ordered](of []T, share float64) (figure T) {
	if len(of) > 0 {
		slices.Sort(of)
		figure = of[min(len(of)-1, int(share*float64(len(of))))]
	}
	return figure
}
