package agenda

import "math/bits"

// Now is what is due at once, by number, and so has no instant: a bit for each.
type Now struct {
	words []uint64
	n     int // how many bits are set
}

// NewNow returns one for numbers below n, of which none is due.
func NewNow(n int) Now { return Now{words: make([]uint64, (n+63)/64)} }

// Any reports whether one is due.
func (s *Now) Any() bool { return s.n > 0 }

// Add makes a number due.
func (s *Now) Add(i int) {
	w, bit := &s.words[uint(i)/64], uint64(1)<<(uint(i)%64)
	if *w&bit == 0 {
		*w |= bit
		s.n++
	}
}

// Remove makes a number due no more.
func (s *Now) Remove(i int) {
	w, bit := &s.words[uint(i)/64], uint64(1)<<(uint(i)%64)
	if *w&bit != 0 {
		*w &^= bit
		s.n--
	}
}

// First returns the lowest number that is due; there is Any.
func (s *Now) First() int {
	i := 0
	for s.words[i] == 0 {
		i++
	}
	return i*64 + bits.TrailingZeros64(s.words[i])
}

// Clear makes none due.
func (s *Now) Clear() {
	clear(s.words)
	s.n = 0
}
