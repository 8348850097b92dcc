package agenda

import "math/bits"

// Now is the set of things, by number, that are due at once and so have no instant: a bit for each.
// The first 64 are near.
type Now struct {
	low  uint64
	high *high // nil: there are no others
}

// high is the numbers from 64 on.
type high struct {
	words []uint64
	n     int // how many bits are set
}

// NewNow returns one for numbers below n, of which none is due.
func NewNow(n int) Now {
	if n <= 64 {
		return Now{}
	}
	return Now{high: &high{words: make([]uint64, (n-1)/64)}}
}

// Any reports whether one is due.
func (s *Now) Any() bool { return s.low != 0 || s.high != nil && s.high.n > 0 }

// Add makes a number due.
func (s *Now) Add(i int) {
	if i < 64 {
		s.low |= 1 << (uint(i) % 64)
	} else if !s.high.has(i) {
		s.high.flip(i, 1)
	}
}

// Remove removes a number, which is then not due.
func (s *Now) Remove(i int) {
	if i < 64 {
		s.low &^= 1 << (uint(i) % 64)
	} else if s.high.has(i) {
		s.high.flip(i, -1)
	}
}

func (h *high) has(i int) bool { return h.words[uint(i)/64-1]>>(uint(i)%64)&1 == 1 }

func (h *high) flip(i, n int) {
	h.words[uint(i)/64-1] ^= 1 << (uint(i) % 64)
	h.n += n
}

// First returns the lowest number that is due; there is Any.
func (s *Now) First() int {
	if s.low != 0 {
		return bits.TrailingZeros64(s.low)
	}
	i := 0
	for s.high.words[i] == 0 {
		i++
	}
	return 64 + i*64 + bits.TrailingZeros64(s.high.words[i])
}

// Clear makes none due.
func (s *Now) Clear() {
	s.low = 0
	if s.high != nil {
		clear(s.high.words)
		s.high.n = 0
	}
}
