package metrics

import (
	"fmt"
	"math/bits"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// rows keeps the counters of a run at each edge. Most of them never count anything: a row
// holds those that have begun to by then, in the order in which they did, and the others are 0.
type rows struct {
	all   [][]int64
	place []int32  // by counter: its place in a row, and one more; 0: it has none
	used  []uint32 // the counters that have a place, in their order
	room  []int64  // for rows to come
	lent  int      // others read so many rows, the first ones: a change of one is made in a copy
	list  bool     // others have the list of them, too
}

// bins are the counters of a run, and what they were at each edge.
type bins struct {
	lo, next  unit.Time // the bin that is being counted: lo <= At < next
	now       []int64   // the counters: ports, then flows, streams, workloads
	edges     []unit.Time
	cur       int // edges[cur] is lo
	rows      rows
	totals    []int64 // of a View of a run that runs: the counters at its instant, as a row; nil: they are those at the last edge
	perWindow int64
	longest   unit.Duration // a bin that ended so long ago has all of its frames
}

// columns are counters of a port or a flow, a bit for each: the counters that may have counted by
// now, and the counters that have a place in the rows.
type columns struct{ begun, known uint32 }

// news returns the counters that have no place in the rows yet, and notes that they get one.
func (x *columns) news() uint32 {
	fresh := x.begun &^ x.known
	x.known |= x.begun
	return fresh
}

// begin gives counters a place from now on, a bit for each from a first one on.
func (r *rows) begin(first int, which uint32) {
	for ; which != 0; which &= which - 1 {
		if i := first + bits.TrailingZeros32(which); r.place[i] == 0 {
			r.give(i)
		}
	}
}

// newRows returns the rows of so many counters, of which there is none yet.
func newRows(counters int) rows { return rows{place: make([]int32, counters)} }

// slab is how many counters room is made for at a time.
const slab = 1 << 13

// add keeps the counters at the next edge.
func (r *rows) add(now []int64) {
	used := r.used
	if len(r.room) < len(used) {
		r.room = make([]int64, max(len(used), slab))
	}
	row := r.room[:0:len(used)]
	r.room = r.room[len(used):]
	r.all = append(r.all, r.row(row, now))
}

// row appends the counters that have a place, in their order.
func (r *rows) row(to, now []int64) []int64 {
	for _, i := range r.used {
		to = append(to, now[i])
	}
	return to
}

// give gives a counter a place in the rows from now on.
func (r *rows) give(column int) {
	r.used = append(r.used, uint32(column))
	r.place[column] = int32(len(r.used))
}

// at returns a counter at edge k.
func (r *rows) at(k, column int) int64 {
	if i := int(r.place[column]) - 1; uint(i) < uint(len(r.all[k])) {
		return r.all[k][i]
	}
	return 0
}

// lend returns the first n rows, for others to read from now on. It takes no longer for more
// counters: the reader calls index.
func (r *rows) lend(n int) rows {
	r.lent, r.list = max(r.lent, n), true
	return rows{all: r.all[:n], used: r.used}
}

// index finds the places of so many counters in rows that were lent. It uses the memory of place if
// there is enough.
func (r *rows) index(place []int32, counters int) {
	if len(place) < counters {
		place = make([]int32, counters)
	}
	clear(place)
	for k, i := range r.used {
		place[i] = int32(k) + 1
	}
	r.place = place
}

// change adds to a counter at edge k.
func (r *rows) change(k, column int, by int64) {
	if by != 0 {
		*r.cell(k, column) += by
	}
}

// cell returns where a counter at edge k is written.
func (r *rows) cell(k, column int) *int64 {
	if r.place[column] == 0 {
		r.give(column)
	}
	if k < r.lent {
		if r.list {
			r.all, r.list = slices.Clone(r.all), false
		}
		r.all[k] = slices.Clone(r.all[k])
	}
	i := int(r.place[column]) - 1
	if missing := i + 1 - len(r.all[k]); missing > 0 {
		r.all[k] = append(r.all[k], make([]int64, missing)...)
	}
	return &r.all[k][i]
}

// last returns a counter as it is: at the last edge, or at the instant of a View.
func (c *bins) last(column int) int64 {
	if c.totals == nil {
		return c.rows.at(c.cur, column)
	}
	if i := c.rows.place[column]; i > 0 {
		return c.totals[i-1]
	}
	return 0
}

// How many figures the rows of a run may hold: 256 MiB of them, and some 40 MiB where
// wider bins will do. To write fresh memory at each edge costs large fabrics more
// than their frames do.
const (
	maxRows  = 32 << 20
	fineRows = 4_400_000
	// portWeight is the number of figures of a port by which the width of the bins is chosen. It is
	// not portColumns: one more column would make the bins of some runs wider, and so change their
	// percentiles.
	portWeight = 21
)

// binsPerWindow are the numbers of bins to a window that are tried, the finest
// first. They are even, so that half a window ends on an edge too.
var binsPerWindow = [...]int64{20, 10, 4, 2}

// edgesOf returns the edges of the time bins of s, from 0 to the end of the run
// in rising order, and how many of the regular ones make a window. stride is
// the number of counters that each edge keeps, weight the number by which the width is chosen.
func edgesOf(s *scenario.Scenario, stride, weight int) (edges []unit.Time, perWindow int64, err error) {
	end, window := unit.Time(s.Model.Duration), s.Measure.Window
	if end <= 0 {
		return nil, 0, fmt.Errorf("the run lasts %v: nothing can be measured", s.Model.Duration)
	}
	if window < unit.Duration(binsPerWindow[0]) {
		return nil, 0, fmt.Errorf("measure.window is %v: it must be at least %d ps", window, binsPerWindow[0])
	}
	for _, n := range binsPerWindow {
		perWindow = n
		if (int64(end)/int64(window)+2)*n*int64(weight) <= fineRows {
			break
		}
	}
	if (int64(end)/int64(window)+2)*perWindow*int64(stride) > maxRows {
		return nil, 0, fmt.Errorf("measure.window %v is too short for a run of %v with %d counters: widen the window", window, s.Model.Duration, stride)
	}
	for i := int64(0); ; i++ {
		t := unit.Time(unit.Duration(i).Scale(int64(window), perWindow))
		if t >= end {
			break
		}
		edges = append(edges, t)
	}
	edges = append(edges, end)
	for _, check := range s.Expect {
		for _, d := range check.During {
			if t := unit.Time(d); t > 0 && t < end {
				edges = append(edges, t)
			}
		}
	}
	slices.Sort(edges)
	return slices.Compact(edges), perWindow, nil
}
