package drive

import (
	"testing"

	"fabemu/wire/unit"
)

// A train in time waits for the frames that are due soon and leaves with the last of them; no frame
// leaves before its instant. One that is late with the loop behind waits until it is long: the
// later, the longer.
func TestWhenATrainLeaves(t *testing.T) {
	most := make([]int64, trainMost)
	for i := range most {
		most[i] = 100
	}
	many := most[:trainFull]
	for _, c := range []struct {
		about  string
		due    []int64
		now    int64
		behind bool
		want   int64
	}{
		{"no frame waits", nil, 500, false, int64(unit.Never)},
		{"one frame, before its time", []int64{1000}, 500, false, 1000},
		{"one frame, at its time", []int64{1000}, 1000, false, 1000},
		{"with the last that is due soon", []int64{1000, 1200, 1300, 1301}, 500, false, 1300},
		{"nothing more is due soon", []int64{1000, 5000}, 1000, false, 1000},
		{"behind, it still waits", []int64{1000}, 1000, true, 1300},
		{"late and behind, it gathers", []int64{100, 100}, 5000, true, 5000 + trainFull/4*eventCost},
		{"late, behind and full", many, 5000, true, 100},
		{"later, behind and full", many, 400_100, true, 400_100 + trainMost/4*eventCost},
		{"later, behind and as long as it can be", most, 400_100, true, 100},
		{"late, but events are in time", []int64{100, 100}, 5000, false, 100},
	} {
		r := &wallRun{sockets: &sockets{now: c.now, floor: 600, most: trainMost}, gather: 300}
		for i, at := range c.due {
			r.parcels = append(r.parcels, parcel{at: at})
			r.queue.push(r.parcels, int32(i))
		}
		if got := r.leaves(c.behind); got != c.want {
			t.Errorf("%s: the train leaves at %d, want %d", c.about, got, c.want)
		}
		// Where each link has its own trains, a loop that is as late gathers more.
		if r.most = apartMost * trainMost; c.behind && c.now >= 400_000 {
			full := min((c.now-100)/eventCost, apartMost*trainMost)
			if got := r.leaves(true); got != c.now+full/4*eventCost || !r.behind {
				t.Errorf("%s, apart: the trains leave at %d, want %d", c.about, got, c.now+full/4*eventCost)
			}
		}
	}
}
