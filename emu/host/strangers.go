package host

import (
	"net"
	"slices"
	"sync"
)

// Strangers are connections of which nothing good is known, such as those that have not yet made a
// request that is admitted. Their number is limited: a new one takes the place of the oldest, so
// that idle connections keep no other out.
type Strangers struct {
	most int

	mu  sync.Mutex
	all []net.Conn // the oldest first
}

// NewStrangers returns room for a number of connections, at least one.
func NewStrangers(most int) *Strangers { return &Strangers{most: most} }

// Add adds a connection as the newest. If there is no room it closes the oldest.
func (s *Strangers) Add(c net.Conn) {
	s.mu.Lock()
	var oldest net.Conn
	if len(s.all) == s.most {
		oldest = s.all[0] // before Delete, which moves the others there
		s.all = slices.Delete(s.all, 0, 1)
	}
	s.all = append(s.all, c)
	s.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
}

// Remove takes a connection out that was admitted, or has ended. It returns false for one that Add
// has closed.
func (s *Strangers) Remove(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := slices.Index(s.all, c)
	if k >= 0 {
		s.all = slices.Delete(s.all, k, k+1)
	}
	return k >= 0
}
