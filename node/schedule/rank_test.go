package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/node/schedule"
	"fabemu/wire/unit"
)

// one returns the rank of a program that is the body of a section of rank 0, of four ranks.
func one(t *testing.T, body string, c schedule.Config) *schedule.Rank {
	t.Helper()
	text := "num_ranks 4\nrank 0 {\n" + body + "\n}\nrank 1 {\n}\nrank 2 {\n}\nrank 3 {\n}"
	return schedule.NewRank(goalPrograms(t, text)[0], c)
}

// story records the ends of operations: "line 3 at 8000 ps".
func story(lines *[]string) func(schedule.Op, unit.Time, unit.Time) {
	return func(op schedule.Op, start, end unit.Time) {
		*lines = append(*lines, fmt.Sprintf("line %d: %d to %d", op.Line, start, end))
	}
}

// Messages match receives by peer and tag, whichever comes first; of one peer and one tag in
// their order.
func TestMatching(t *testing.T) {
	var got []string
	r := one(t, `go: recv 1b from 1 tag 9
		a: recv 1b from 1 tag 5
		b: recv 1b from 1 tag 6
		c: recv 1b from 1 tag 5
		d: recv 1b from 2 tag 5
		a requires go; b requires go; c requires go; d requires go`, schedule.Config{Ended: story(&got)})
	r.Advance(0)
	r.Received(10, 2, 5) // d, before it begins
	r.Received(11, 1, 6) // b, before it begins
	r.Received(12, 3, 5) // no receive
	if w := r.Waiting(); len(w) != 1 || w[0].Tag != 9 {
		t.Errorf("waits for %v, want the first receive", w)
	}
	r.Received(20, 1, 9)
	r.Received(30, 1, 5) // a
	if w := fmt.Sprint(r.Waiting()); w != "[receive of tag 5 from rank 1 (line 6)]" {
		t.Errorf("waits for %s", w)
	}
	if r.Done() {
		t.Error("done before the last receive")
	}
	r.Received(40, 1, 5) // c
	want := []string{"line 3: 0 to 20", "line 5: 20 to 20", "line 7: 20 to 20", "line 4: 20 to 30", "line 6: 20 to 40"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !r.Done() || r.Err() != nil {
		t.Errorf("done %v, error %v", r.Done(), r.Err())
	}
	if u := fmt.Sprint(r.Unclaimed()); u != "[receive of tag 5 from rank 3]" {
		t.Errorf("unclaimed: %s", u)
	}
}

// The calcs of one processor run one after another, those of several side by side. A rank that
// is advanced late computes as if it had been in time.
func TestProcessors(t *testing.T) {
	const body = `a: calc 10
		b: calc 20
		c: calc 5 cpu 1
		d: calc 7 cpu 1
		e: calc 1
		d requires b
		e irequires b; m: send 1b to 1; m requires d`
	want := []string{
		"line 5: 0 to 5000", "line 3: 0 to 10000", "line 4: 10000 to 30000",
		"line 7: 30000 to 31000", "line 6: 30000 to 37000",
	}
	for _, late := range []bool{false, true} {
		var got []string
		r := one(t, body, schedule.Config{Ended: story(&got)})
		r.Advance(0)
		if late {
			r.Advance(100_000)
		}
		for range 10 {
			if d := r.Deadline(); d != unit.Never {
				r.Advance(d - 1) // a call that comes too early does nothing
				r.Advance(d)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("late %v: %q, want %q", late, got, want)
		}
		m, ok := r.Message()
		if _, more := r.Message(); !ok || more || m.To != 1 || m.Size != 1 {
			t.Errorf("late %v: message %+v, %v", late, m, ok)
		}
		if r.Done() {
			t.Error("done before the message is sent")
		}
		r.Sent(100_000, m.ID)
		if !r.Done() {
			t.Errorf("late %v: not done, waits for %v", late, r.Waiting())
		}
	}
}

// A calc is over at its end, also where the rank was not advanced before a message came.
func TestReceivedLate(t *testing.T) {
	var got []string
	const body = "a: calc 10\nb: recv 1b from 1\nc: calc 5\nc requires b\nd: calc 0\nd requires b; e: calc 0 cpu 1"
	r := one(t, body, schedule.Config{Ended: story(&got)})
	r.Received(0, 2, 7) // it does not begin the program
	if r.Deadline() != unit.Never {
		t.Error("the program has begun before the first Advance")
	}
	r.Advance(0)
	r.Received(50_000, 1, 0)
	r.Advance(r.Deadline())
	r.Advance(unit.Never)
	want := []string{
		"line 8: 0 to 0", "line 3: 0 to 10000", "line 4: 0 to 50000",
		"line 5: 50000 to 55000", "line 7: 55000 to 55000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A receive without a send, and a send without a receive: the run ends, and the ranks report
// who waits for whom.
func TestNobodySends(t *testing.T) {
	j := newJob(gigabit, delay, 0, goalPrograms(t, `num_ranks 4
rank 0 { send 8b to 1 tag 7 }
rank 1 { calc 5 }
rank 2 { calc 5 }
rank 3 { l: recv 8b from 2 tag 5; m: send 8b to 0; m requires l }`), nil)
	j.run()
	r := j.ranks[3]
	if w := fmt.Sprint(r.Waiting()); w != "[receive of tag 5 from rank 2 (line 5)]" || r.Done() || r.Err() != nil {
		t.Errorf("rank 3 waits for %s; done %v, error %v", w, r.Done(), r.Err())
	}
	if u := fmt.Sprint(j.ranks[1].Unclaimed()); u != "[receive of tag 7 from rank 0]" || !j.ranks[1].Done() {
		t.Errorf("rank 1 lacks %s; done %v", u, j.ranks[1].Done())
	}
}

func TestRankRefuses(t *testing.T) {
	receives := strings.Repeat("recv 1b from 1\n", 20)
	for _, tc := range []struct{ about, body, want string }{
		{"too many operations at once", receives,
			"rank 7: 16 operations are open when the receive of tag 0 from rank 1 (line 19) is read: " +
				"the program needs a larger window"},
		{"a cycle", "z: calc 0\na: calc 1\nb: calc 1\na requires b\nb requires a\na requires z",
			"rank 7: the calc of 1ns (line 4) requires itself, through other operations"},
		{"dependencies", dense(14),
			"rank 7: 128 dependencies are open when the calc of 1ns (line 136) gets one more: " +
				"the program needs a larger window"},
	} {
		r := one(t, tc.body, schedule.Config{Rank: 7, Window: 16})
		r.Advance(0)
		if r.Err() == nil || r.Err().Error() != tc.want {
			t.Errorf("%s: error %v, want %s", tc.about, r.Err(), tc.want)
		}
		if _, ok := r.Message(); ok || r.Deadline() != unit.Never || r.Done() {
			t.Errorf("%s: a rank with an error goes on", tc.about)
		}
		r.Advance(5)
		r.Received(5, 1, 1)
		r.Sent(5, 1)
	}
	r := one(t, "calc 5", schedule.Config{Rank: 7, Window: 2})
	for range 3 {
		r.Received(0, 3, 8)
	}
	want := "rank 7: 3 messages arrived without a receive, the last one with tag 8 from rank 3: the window holds no more"
	if r.Err() == nil || r.Err().Error() != want {
		t.Errorf("error %v, want %s", r.Err(), want)
	}
}

// dense is n receives, and calcs that require each of them.
func dense(n int) string {
	var b strings.Builder
	b.WriteString("x: recv 1b from 1\n")
	for i := range n {
		fmt.Fprintf(&b, "c%d: calc 1\nc%d requires x\n", i, i)
		for k := range i {
			fmt.Fprintf(&b, "c%d requires c%d\nc%d irequires c%d\n", i, k, i, k)
		}
	}
	b.WriteString("recv 1b from 2\n") // it may begin at once, so that all is read
	return b.String()
}

// A message that is not in flight is a mistake of the caller.
func TestSentOfNothing(t *testing.T) {
	for _, id := range []uint32{0, 1, 2, 99} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Sent of message %d does not panic", id)
				}
			}()
			r := one(t, "calc 5; send 1b to 1", schedule.Config{})
			r.Advance(0) // the message was not taken
			r.Sent(0, id)
		}()
	}
}

// A window of a few operations is enough for a long chain: nothing is read that cannot begin soon.
func TestLongChain(t *testing.T) {
	var b strings.Builder
	b.WriteString("num_ranks 1\nrank 0 {\nl0: calc 1\n")
	const length = 20000
	for i := 1; i < length; i++ {
		fmt.Fprintf(&b, "l%d: calc 1\nl%d requires l%d\nl%d requires l0\n", i, i, i-1, i)
	}
	b.WriteString("}\n")
	j := newJob(gigabit, delay, 4, goalPrograms(t, b.String()), nil)
	if got, want := j.run(), unit.Time(length*unit.Nanosecond); got != want {
		t.Errorf("%d calcs of 1 ns end at %v, want %v", length, got, want)
	}
	j.finished(t)
}
