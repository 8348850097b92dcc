package metrics

// rows keeps the counters of a run at each edge. Most of them never count anything: a row
// holds those that had by then, in the order in which they began to, and the others are 0.
type rows struct {
	all   [][]int64
	place []int32 // by counter: its place in a row, and one more; 0: it has none
	used  []int32 // the counters that have a place, in their order
	idle  []span  // the others; some of them may have got a place by change
	room  []int64 // for rows to come
}

// span is counters side by side: from <= i < to.
type span struct{ from, to int32 }

// newRows returns the rows of so many counters, of which there is none yet.
func newRows(counters int) rows {
	return rows{place: make([]int32, counters), idle: []span{{0, int32(counters)}}}
}

// slab is how many counters room is made for at a time.
const slab = 1 << 13

// add keeps the counters at the next edge.
func (r *rows) add(now []int64) {
	if r.begins(now) {
		r.idle = r.idle[:0]
		for i, v := range now {
			if r.place[i] == 0 && v != 0 {
				r.give(i)
			} else if n := len(r.idle); r.place[i] == 0 && n > 0 && int(r.idle[n-1].to) == i {
				r.idle[n-1].to++
			} else if r.place[i] == 0 {
				r.idle = append(r.idle, span{int32(i), int32(i) + 1})
			}
		}
	}
	n := len(r.used)
	if len(r.room) < n {
		r.room = make([]int64, max(n, slab))
	}
	row := r.room[:n:n]
	r.room = r.room[n:]
	for k, i := range r.used {
		row[k] = now[i]
	}
	r.all = append(r.all, row)
}

// begins reports whether an idle counter counts.
func (r *rows) begins(now []int64) bool {
	some := int64(0)
	for _, s := range r.idle {
		idle := now[s.from:s.to]
		for ; len(idle) >= 8; idle = idle[8:] {
			eight := (*[8]int64)(idle)
			some |= eight[0] | eight[1] | eight[2] | eight[3] | eight[4] | eight[5] | eight[6] | eight[7]
		}
		for _, v := range idle {
			some |= v
		}
	}
	return some != 0
}

// give gives a counter a place in the rows from now on.
func (r *rows) give(column int) {
	r.used = append(r.used, int32(column))
	r.place[column] = int32(len(r.used))
}

// at returns a counter at edge k.
func (r *rows) at(k, column int) int64 {
	if i := int(r.place[column]) - 1; uint(i) < uint(len(r.all[k])) {
		return r.all[k][i]
	}
	return 0
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
	i := int(r.place[column]) - 1
	if missing := i + 1 - len(r.all[k]); missing > 0 {
		r.all[k] = append(r.all[k], make([]int64, missing)...)
	}
	return &r.all[k][i]
}

// last returns a counter at the last edge.
func (c *Collector) last(column int) int64 { return c.rows.at(c.cur, column) }
