package tcp

// span is a part of the stream: the positions from left up to right, which is behind it.
type span struct {
	left, right uint64
	stamp       uint64 // Receiver: when it last grew, as it counts
}

// spans are parts of the stream that do not touch, in their order. The memory of a slice that
// has shrunk is used again.
type spans []span

// add joins a part to the spans, and returns the index of the one that has it.
func (s *spans) add(x span) int {
	all := *s
	i := 0
	for i < len(all) && all[i].right < x.left {
		i++
	}
	k := i
	for ; k < len(all) && all[k].left <= x.right; k++ {
		x.left, x.right = min(x.left, all[k].left), max(x.right, all[k].right)
	}
	if k == i {
		all = append(all, span{})
		copy(all[i+1:], all[i:])
	} else {
		all = append(all[:i+1], all[k:]...)
	}
	all[i] = x
	*s = all
	return i
}

// cut forgets all below a position.
func (s *spans) cut(below uint64) {
	all := *s
	k := 0
	for k < len(all) && all[k].right <= below {
		k++
	}
	n := copy(all, all[k:])
	*s = all[:n]
	if n > 0 {
		all[0].left = max(all[0].left, below)
	}
}

// holds reports whether a part is there as a whole.
func (s spans) holds(x span) bool {
	for i := range s {
		if s[i].left <= x.left && x.right <= s[i].right {
			return true
		}
	}
	return false
}

// marks are positions in the stream, in their order: where transfers end. The memory of those
// that are over is used again.
type marks struct {
	all  []uint64
	from int
}

func (m *marks) left() []uint64 { return m.all[m.from:] }

// push adds a position behind all others.
func (m *marks) push(at uint64) {
	if m.from > 0 && len(m.all) == cap(m.all) {
		m.all = m.all[:copy(m.all, m.left())]
		m.from = 0
	}
	m.all = append(m.all, at)
}

// insert adds a position in its place, unless it is there.
func (m *marks) insert(at uint64) {
	m.push(at)
	rest := m.left()
	for i := len(rest) - 1; i > 0 && rest[i-1] >= rest[i]; i-- {
		if rest[i-1] == rest[i] {
			m.all = append(m.all[:m.from+i-1], rest[i:]...)
			return
		}
		rest[i-1], rest[i] = rest[i], rest[i-1]
	}
}

// pop takes the first position, if it is not above one.
func (m *marks) pop(upTo uint64) (at uint64, ok bool) {
	rest := m.left()
	if len(rest) == 0 || rest[0] > upTo {
		return 0, false
	}
	if m.from++; m.from == len(m.all) {
		m.all, m.from = m.all[:0], 0
	}
	return rest[0], true
}

// next returns the first position above one; the largest number if there is none.
func (m *marks) next(above uint64) uint64 {
	for _, at := range m.left() {
		if at > above {
			return at
		}
	}
	return endless
}

// endless is behind every position of a stream.
const endless = 1<<64 - 1
