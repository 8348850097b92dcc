package link

import "sync"

// PipeEnd is one end of a link in memory. All its methods may be called from any
// goroutine. It does not allocate once each of its buffers has held the longest
// datagram.
type PipeEnd struct{ in, out *ring }

// Pipe returns the two ends of a link in memory that holds up to n datagrams in
// each direction. Where a socket would lose the next one, it says ErrFull. It
// panics if n is not positive.
func Pipe(n int) (a, b *PipeEnd) {
	if n <= 0 {
		panic("link: a pipe without room")
	}
	ab, ba := &ring{slots: make([][]byte, n)}, &ring{slots: make([][]byte, n)}
	return &PipeEnd{in: ba, out: ab}, &PipeEnd{in: ab, out: ba}
}

// Send puts a copy of b into the pipe.
func (p *PipeEnd) Send(b []byte) error { return p.out.put(b) }

// Recv takes the next datagram out of the pipe.
func (p *PipeEnd) Recv(b []byte) (int, error) { return p.in.pop(b) }

// Close closes this end. What waits for it is lost; what it has sent is not.
func (p *PipeEnd) Close() error {
	p.in.close(&p.in.deaf)
	p.out.close(&p.out.mute)
	return nil
}

// ring is one direction of a pipe: a ring of buffers that are used again.
type ring struct {
	mu    sync.Mutex
	slots [][]byte
	first int  // the slot of the oldest datagram
	n     int  // how many datagrams wait
	mute  bool // the end that puts is closed
	deaf  bool // the end that takes is closed
}

func (r *ring) put(b []byte) error {
	if err := check(len(b)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mute:
		return ErrClosed
	case r.deaf:
		return ErrPeerClosed
	case r.n == len(r.slots):
		return ErrFull
	}
	slot := &r.slots[(r.first+r.n)%len(r.slots)]
	*slot = append((*slot)[:0], b...)
	r.n++
	return nil
}

func (r *ring) pop(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.deaf:
		return 0, ErrClosed
	case r.n == 0:
		return 0, nil
	}
	slot := r.slots[r.first]
	r.first = (r.first + 1) % len(r.slots)
	r.n--
	if len(slot) > len(b) {
		return 0, ErrTooLong
	}
	return copy(b, slot), nil
}

func (r *ring) close(side *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*side = true
}
