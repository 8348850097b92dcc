package node

// queue is a first-in first-out queue that does not allocate once it has reached
// its size.
type queue[T any] struct {
	ring []T
	head int
	n    int
}

func (q *queue[T]) len() int    { return q.n }
func (q *queue[T]) empty() bool { return q.n == 0 }

// at returns the i-th element from the front.
func (q *queue[T]) at(i int) *T { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *queue[T]) front() *T { return q.at(0) }

func (q *queue[T]) push(v T) { *q.add() = v }

// add makes a place behind the last element, and returns it; the element that was there before
// still is.
func (q *queue[T]) add() *T {
	if q.n == len(q.ring) {
		q.grow()
	}
	q.n++
	return q.at(q.n - 1)
}

func (q *queue[T]) grow() {
	grown := make([]T, max(8, 2*len(q.ring)))
	for i := range q.n {
		grown[i] = *q.at(i)
	}
	q.ring, q.head = grown, 0
}

func (q *queue[T]) pop() {
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if q.n == 0 {
		q.head = 0 // most queues are short: memory that was used last is near
	}
}

// chain is a queue of sources, each of which points to the one behind it: a source is in one at
// most.
type chain struct{ first, last *source }

func (c *chain) empty() bool { return c.first == nil }

func (c *chain) push(s *source) {
	if c.first == nil {
		c.first = s
	} else {
		c.last.behind = s
	}
	c.last = s
}

// pop takes the first out; there is one.
func (c *chain) pop() *source {
	s := c.first
	c.first, s.behind = s.behind, nil
	return s
}

// table finds the place of a queue pair: a slice over the range of numbers that
// are in use here.
type table struct {
	base  uint32  // the lowest number
	n     uint32  // how many from there to the highest
	place []int32 // by number - base, -1 where there is none; nil where each is at its number - base
}

func newTable(pairs []uint32) table {
	if len(pairs) == 0 {
		return table{}
	}
	low, high, inRow := pairs[0], pairs[0], true
	for i, p := range pairs {
		low, high = min(low, p), max(high, p)
		inRow = inRow && p == pairs[0]+uint32(i)
	}
	t := table{base: low, n: high - low + 1}
	if inRow {
		return t
	}
	t.place = make([]int32, t.n)
	for i := range t.place {
		t.place[i] = -1
	}
	for i, p := range pairs {
		t.place[p-low] = int32(i)
	}
	return t
}

func (t *table) find(qp uint32) (int, bool) {
	i := qp - t.base
	switch {
	case i >= t.n:
		return 0, false
	case t.place == nil:
		return int(i), true
	case t.place[i] < 0:
		return 0, false
	}
	return int(t.place[i]), true
}
