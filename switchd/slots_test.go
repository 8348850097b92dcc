package switchd

import (
	"slices"
	"testing"
)

// A list keeps its order when slots leave it at either end or within, and a slot that was freed is
// the next one taken.
func TestListsOfSlots(t *testing.T) {
	var s slots
	s.empty()
	q := fifo{none, none}
	list := func() (ids []int32) {
		for id := q.head; id != none; id = s.all[id].next {
			ids = append(ids, id)
		}
		return ids
	}
	want := func(what string, ids ...int32) {
		t.Helper()
		if got := list(); !slices.Equal(got, ids) {
			t.Errorf("%s: %v, want %v", what, got, ids)
		}
	}
	push := func() int32 {
		id, sl := s.take()
		s.push(&q, id, sl)
		return id
	}
	for range 5 {
		push()
	}
	want("five", 0, 1, 2, 3, 4)
	s.remove(&q, 1, 2, &s.all[2])
	s.give(2, &s.all[2])
	want("without the third", 0, 1, 3, 4)
	s.remove(&q, 3, 4, &s.all[4])
	want("without the last", 0, 1, 3)
	if id := push(); id != 2 {
		t.Errorf("slot %d was taken, want 2, which was freed", id)
	}
	want("and one more", 0, 1, 3, 2)
	s.remove(&q, none, 0, &s.all[0])
	if id, _ := s.pop(&q); id != 1 {
		t.Errorf("slot %d was the first, want 1", id)
	}
	for range 2 {
		s.pop(&q)
	}
	want("none")
	push()
	want("one again", 5)
}
