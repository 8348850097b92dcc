package pace

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordGoesThroughJSON(t *testing.T) {
	a := New()
	a.Data, a.Late, a.Worst, a.Hops, a.Reached, a.Wall = 10, 2, 3, 20, 500, 1000
	a.Refused[1] = 4
	a.Moments = []Moment{{From: 0, Data: 1}, {From: 20, Data: 2, Worst: 7}}
	for v := int64(0); v < 100_000_000_000; v += 1 + v/7 {
		a.Lateness.RecordValues(v, 1+v%3)
	}
	a.LatenessT.RecordValue(77)
	a.GapError.RecordValue(5)
	a.Held, a.HoldCount, a.Holds = 30, 2, []Hold{{At: 20, Wall: 25}}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	got := New()
	if err := json.Unmarshal(b, got); err != nil {
		t.Fatal(err)
	}
	for _, h := range [][2]Histogram{{got.Lateness, a.Lateness}, {got.LatenessT, a.LatenessT}, {got.GapError, a.GapError}} {
		if !h[0].Equals(h[1].Histogram) {
			t.Errorf("a histogram of %d values up to %d, want %d up to %d", h[0].TotalCount(), h[0].Max(), h[1].TotalCount(), h[1].Max())
		}
	}
	for _, x := range []*Record{a, got} {
		x.Lateness, x.LatenessT, x.GapError = Histogram{}, Histogram{}, Histogram{} // compared above; they have no public parts
	}
	if diff := cmp.Diff(a, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecordMerge(t *testing.T) {
	a, b := New(), New()
	a.Reached, a.Wall, a.Late, a.Worst = 100, 7, 1, 5
	b.Reached, b.Wall, b.Late, b.Worst = 90, 9, 3, 2
	a.Moments = []Moment{{From: 0, Data: 1}, {From: 40, Data: 2}}
	b.Moments = []Moment{{From: 0, Data: 10, Worst: 4}, {From: 20, Data: 5}}
	a.Lateness.RecordValue(10)
	b.Lateness.RecordValue(1000)
	a.Gaps, a.GapsOff, a.Held, a.HoldMost, a.Holds = 10, 1, 50, 20, []Hold{{At: 30, Wall: 20}}
	b.Gaps, b.GapsOff, b.Held, b.HoldMost, b.Holds = 20, 2, 60, 30, []Hold{{At: 10, Wall: 30}}
	a.Merge(b)
	if a.Reached != 90 || a.Wall != 9 || a.Late != 4 || a.Worst != 2 || a.Lateness.TotalCount() != 2 {
		t.Errorf("%+v", a)
	}
	if a.Gaps != 30 || a.GapsOff != 3 || a.Held != 60 || a.HoldMost != 30 || len(a.Holds) != 2 || a.Holds[0].At != 10 {
		t.Errorf("the clock is one for all parts: %+v", a)
	}
	want := []Moment{{From: 0, Data: 11, Worst: 4}, {From: 20, Data: 5}, {From: 40, Data: 2}}
	if diff := cmp.Diff(want, a.Moments); diff != "" {
		t.Error(diff)
	}
}
