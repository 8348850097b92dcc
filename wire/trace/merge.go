package trace

// Merge puts the entries of several queues into one order, that of their keys. Each queue is in
// this order; entries of one queue with equal keys keep theirs. Merge knows of each queue the key
// of its next entry, and tells which queue is next:
//
//	for q, ok := m.First(); ok; q, ok = m.First() {
//		... // take the next entry of queue q
//		m.Next(key) // or m.End(), if it was the last
//	}
//
// The zero value has no queues.
type Merge struct {
	heads []head // a heap
}

// head is a queue with the key of its next entry.
type head struct {
	Key
	queue int
}

// Add adds a queue whose next entry has the key k.
func (m *Merge) Add(queue int, k Key) {
	m.heads = append(m.heads, head{k, queue})
	for i := len(m.heads) - 1; i > 0; {
		above := (i - 1) / 2
		if !m.heads[i].before(&m.heads[above]) {
			return
		}
		m.heads[i], m.heads[above] = m.heads[above], m.heads[i]
		i = above
	}
}

// First returns the queue that has the next entry of all, and false if no queue has one.
func (m *Merge) First() (queue int, ok bool) {
	if len(m.heads) == 0 {
		return 0, false
	}
	return m.heads[0].queue, true
}

// Next says that the entry of the first queue was taken, and that its next has the key k.
func (m *Merge) Next(k Key) {
	m.heads[0].Key = k
	m.sift()
}

// End says that the entry of the first queue was taken, and was its last.
func (m *Merge) End() {
	last := len(m.heads) - 1
	m.heads[0], m.heads = m.heads[last], m.heads[:last]
	m.sift()
}

// sift puts the head of the heap into its place.
func (m *Merge) sift() {
	for i := 0; ; {
		first := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(m.heads); k++ {
			if m.heads[k].before(&m.heads[first]) {
				first = k
			}
		}
		if first == i {
			return
		}
		m.heads[i], m.heads[first] = m.heads[first], m.heads[i]
		i = first
	}
}

func (x *head) before(y *head) bool {
	return x.At < y.At || x.At == y.At && x.Place < y.Place
}
