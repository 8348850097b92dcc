package trace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/wire/trace"
)

// "Each sink has all events, in their order, but only once Flush was called."
func TestBatch(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 7, 8, 100} {
		var a, b log
		batch := trace.NewBatch(size, &a, nil, &b)
		x, y := trace.NewRecorder(1, batch), trace.NewRecorder(2, batch)
		var want log
		for i := range uint32(4) {
			x.Emit(trace.Event{PSN: i})
			y.Emit(trace.Event{PSN: i})
			want = append(want, trace.Event{Node: 1, Seq: i, PSN: i}, trace.Event{Node: 2, Seq: i, PSN: i})
			batch.Record(&trace.Event{Node: 9, Seq: 99, PSN: i}) // as it is
			want = append(want, trace.Event{Node: 9, Seq: 99, PSN: i})
			if wait := len(want) % max(size, 1); len(a) != len(want)-wait || len(b) != len(a) {
				t.Errorf("size %d: %d and %d of %d events were handed on, %d wait", size, len(a), len(b), len(want), wait)
			}
		}
		for range 2 { // the second time there is nothing
			batch.Flush()
			for _, got := range []log{a, b} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("size %d (-want +got):\n%s", size, diff)
				}
			}
		}
	}
}

// "Without any it returns nil, which is silence."
func TestBatchWithoutSinks(t *testing.T) {
	for _, b := range []*trace.Batch{trace.NewBatch(8), trace.NewBatch(8, nil, nil)} {
		if b != nil {
			t.Errorf("%v", b)
		}
		rec := trace.NewRecorder(1, b)
		rec.Emit(trace.Event{Kind: trace.Start})
		b.Flush()
	}
}

// "All to the first sink, then all to the next."
func TestBatchGoesSinkBySink(t *testing.T) {
	var order []string
	batch := trace.NewBatch(2, namer{"a", &order}, namer{"b", &order})
	for range 2 {
		batch.Record(&trace.Event{})
	}
	if diff := cmp.Diff([]string{"a", "a", "b", "b"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// namer writes its name down for each event.
type namer struct {
	name  string
	order *[]string
}

// Record writes the name down.
func (n namer) Record(*trace.Event) { *n.order = append(*n.order, n.name) }
