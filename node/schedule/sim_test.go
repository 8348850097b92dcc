package schedule_test

import (
	"cmp"
	"slices"
	"testing"

	"fabemu/node/schedule"
	"fabemu/wire/unit"
)

// job runs the ranks of a job over an idle fabric: each rank sends one message at a time, at
// rate, and a message comes latency later.
type job struct {
	ranks   []*schedule.Rank
	rate    unit.Rate
	latency func() unit.Duration

	now    unit.Time
	events []event // earliest first
	made   int
	free   []unit.Time // when the line of a rank is free
	bytes  []unit.Size // sent by each rank
	// handed, if set, is called when a rank hands out a message.
	handed func(from int, m schedule.Message)
}

type event struct {
	at       unit.Time
	sequence int
	to, from int
	tag      uint32
	sent     bool // the message of from is sent; otherwise it comes to to
	id       uint32
}

// newJob makes a job of programs. ended may be nil.
func newJob(rate unit.Rate, latency unit.Duration, window int, programs []schedule.Program,
	ended func(rank int, op schedule.Op, start, end unit.Time)) *job {
	j := &job{
		rate: rate, latency: func() unit.Duration { return latency },
		free: make([]unit.Time, len(programs)), bytes: make([]unit.Size, len(programs)),
	}
	for i, p := range programs {
		c := schedule.Config{Rank: i, Window: window}
		if ended != nil {
			c.Ended = func(op schedule.Op, start, end unit.Time) { ended(i, op, start, end) }
		}
		j.ranks = append(j.ranks, schedule.NewRank(p, c))
	}
	return j
}

func (j *job) add(e event) {
	e.sequence = j.made
	j.made++
	at, _ := slices.BinarySearchFunc(j.events, e, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.sequence, b.sequence))
	})
	j.events = slices.Insert(j.events, at, e)
}

// run carries the job on until nothing is left to happen, and returns that instant.
func (j *job) run() unit.Time {
	for i := range j.ranks {
		j.serve(i)
	}
	for {
		first, due := -1, unit.Never
		for i, r := range j.ranks {
			if d := r.Deadline(); d < due {
				first, due = i, d
			}
		}
		switch {
		case len(j.events) > 0 && j.events[0].at <= due:
			e := j.events[0]
			j.events = slices.Delete(j.events, 0, 1)
			j.now = e.at
			if e.sent {
				first = e.from
				j.ranks[first].Sent(j.now, e.id)
			} else {
				first = e.to
				j.ranks[first].Received(j.now, e.from, e.tag)
			}
		case first < 0:
			return j.now
		default:
			j.now = due
		}
		j.serve(first)
	}
}

// serve advances a rank and sends its messages.
func (j *job) serve(i int) {
	r := j.ranks[i]
	r.Advance(j.now)
	for m, ok := r.Message(); ok; m, ok = r.Message() {
		if j.handed != nil {
			j.handed(i, m)
		}
		j.bytes[i] += m.Size
		j.free[i] = max(j.free[i], j.now).Add(j.rate.Serialise(m.Size))
		j.add(event{at: j.free[i], from: i, sent: true, id: m.ID})
		j.add(event{at: j.free[i].Add(j.latency()), from: i, to: m.To, tag: m.Tag})
	}
}

// finished fails the test unless all ranks have come to their ends with nothing left over.
func (j *job) finished(t *testing.T) {
	t.Helper()
	for i, r := range j.ranks {
		if r.Err() != nil || !r.Done() || len(r.Waiting()) > 0 || len(r.Unclaimed()) > 0 {
			t.Fatalf("rank %d: done %v, %v; waits for %v; has not received %v", i, r.Done(), r.Err(), r.Waiting(), r.Unclaimed())
		}
	}
}
