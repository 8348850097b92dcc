//go:build timing

package schedule_test

import (
	"fmt"
	"strings"
	"testing"

	"fabemu/node/schedule"
	"fabemu/wire/unit"
)

// Nothing is allocated for a message, or an operation, once a rank has had as many open before:
// a ring, exchanges in pairs, all at once, and a GOAL file that is read as it goes.
func TestAllocsOfAMessage(t *testing.T) {
	const rounds = 20000
	var goal strings.Builder
	goal.WriteString("num_ranks 2\n")
	for r := range 2 {
		fmt.Fprintf(&goal, "rank %d {\na0: calc 5\n", r)
		for i := range rounds {
			fmt.Fprintf(&goal, "s%d: send 8b to %d tag %d\ns%d requires a%d\nr%d: recv 8b from %d tag %d\n",
				i, 1-r, i, i, i, i, 1-r, i)
			fmt.Fprintf(&goal, "a%d: calc 5\na%d requires r%d\nr%d irequires s%d\n", i+1, i+1, i, i, i)
		}
		goal.WriteString("}\n")
	}
	shift := schedule.Collective{Kind: schedule.AllToAll, Algorithm: schedule.Shift, Ranks: 5, Size: 1000, Repeat: rounds}
	for name, all := range map[string][]schedule.Program{
		"ring":     programs(schedule.Collective{Kind: schedule.AllReduce, Ranks: 5, Size: 1000, Repeat: rounds}),
		"pairwise": programs(schedule.Collective{Kind: schedule.AllToAll, Ranks: 4, Size: 1000, Repeat: rounds}),
		"shift":    programs(shift),
		"goal":     goalPrograms(t, goal.String()),
	} {
		var ranks []*schedule.Rank
		messages := 0
		for i, p := range all {
			c := schedule.Config{Rank: i, Ended: func(schedule.Op, unit.Time, unit.Time) {}}
			ranks = append(ranks, schedule.NewRank(p, c))
		}
		now := unit.Time(0)
		step := func() {
			for i, r := range ranks {
				r.Advance(now)
				for m, ok := r.Message(); ok; m, ok = r.Message() {
					messages++
					ranks[m.To].Received(now, i, m.Tag)
					r.Sent(now, m.ID)
				}
			}
			now = now.Add(5 * unit.Nanosecond)
		}
		for range 1000 {
			step()
		}
		messages = 0
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s: a step allocates %v times", name, n)
		}
		if messages < 1000 {
			t.Errorf("%s: %d messages in a thousand steps: the test does not test", name, messages)
		}
		for _, r := range ranks {
			if r.Err() != nil || r.Done() {
				t.Errorf("%s: done %v, error %v", name, r.Done(), r.Err())
			}
		}
	}
}
