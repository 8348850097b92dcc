package pace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Merge adds to t the measurements of another part of the same run at the same time.
// The wall time is the longest of all parts, and the model time reached is the
// shortest.
func (t *Record) Merge(o *Record) {
	if o.Late > t.Late {
		t.Worst = o.Worst
	}
	sums := o.sums()
	for i, n := range t.sums() {
		*n += *sums[i]
	}
	for i, n := range o.Refused {
		t.Refused[i] += n
	}
	t.Reached = min(t.Reached, o.Reached)
	t.Wall = max(t.Wall, o.Wall)
	t.Lateness.Merge(o.Lateness.Histogram)
	t.LatenessT.Merge(o.LatenessT.Histogram)
	t.Latest = max(t.Latest, o.Latest)
	t.Held = max(t.Held, o.Held)
	t.GapError.Merge(o.GapError.Histogram)
	t.HoldMost, t.HoldMostT = max(t.HoldMost, o.HoldMost), max(t.HoldMostT, o.HoldMostT)
	t.Holds = append(t.Holds, o.Holds...)
	slices.SortStableFunc(t.Holds, func(a, b Hold) int { return cmp.Compare(a.At, b.At) })
	t.Holds = t.Holds[:min(len(t.Holds), MaxHolds)]
	t.Faults = append(t.Faults, o.Faults...)
	t.Faults = t.Faults[:min(len(t.Faults), MaxFaults)]
	t.mergeMoments(o.Moments)
}

// sums returns the counters that add up over the parts of a run.
func (t *Record) sums() []*int64 {
	return []*int64{
		&t.Hops, &t.Data, &t.Late, &t.LateT, &t.Early,
		&t.Gaps, &t.GapsOff, &t.GapsHeld, &t.HoldCount,
		&t.Spun, &t.SpunLate, &t.Slept,
		&t.Sent, &t.Received, &t.Trains, &t.Full, &t.Lost, &t.Changed, &t.Reordered, &t.Foreign, &t.TooLong, &t.Unreachable,
		&t.Reports, &t.Promises, &t.Waited, &t.Events,
	}
}

// mergeMoments adds moments up; a part in which nothing happened for a while has
// none for it.
func (t *Record) mergeMoments(others []Moment) {
	for _, o := range others {
		i, found := slices.BinarySearchFunc(t.Moments, o, func(a, b Moment) int { return cmp.Compare(a.From, b.From) })
		if !found {
			t.Moments = slices.Insert(t.Moments, i, o)
			continue
		}
		m := &t.Moments[i]
		m.Data += o.Data
		m.Late += o.Late
		m.Worst = max(m.Worst, o.Worst)
		m.Held += o.Held
	}
}

// UnmarshalJSON reads t into the histograms of a new Record.
func (t *Record) UnmarshalJSON(b []byte) error {
	type plain Record // has no methods
	*t = *New()
	return json.Unmarshal(b, (*plain)(t))
}

// Histogram is a histogram that travels as JSON.
type Histogram struct{ *hdrhistogram.Histogram }

// NewHistogram returns an empty histogram of values up to most, with three digits.
func NewHistogram(most int64) Histogram { return Histogram{hdrhistogram.New(1, most, 3)} }

// MarshalJSON writes the values of h, each with its count, for the process that merges it.
func (h Histogram) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			b = fmt.Appendf(b, "%d,%d,", bar.From, bar.Count)
		}
	}
	return append(bytes.TrimSuffix(b, []byte{','}), ']'), nil
}

// UnmarshalJSON adds the output of MarshalJSON to h, which NewHistogram has made. It leaves out
// what h cannot hold.
func (h *Histogram) UnmarshalJSON(b []byte) error {
	var counts []int64
	if err := json.Unmarshal(b, &counts); err != nil {
		return err
	}
	for ; len(counts) > 1; counts = counts[2:] {
		_ = h.RecordValues(counts[0], counts[1])
	}
	return nil
}
