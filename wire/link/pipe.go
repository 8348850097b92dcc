package link

import "sync"

// PipeEnd is one end of a link in memory. Send, Recv and Close may be called from any
// goroutine. It does not allocate once each of its buffers has held the longest
// datagram. As a Batch it puts a train into the pipe at once.
type PipeEnd struct {
	in, out *ring
	queue
}

// Pipe returns the two ends of a link in memory that holds up to n datagrams in
// each direction. Where a socket would lose the next one, it returns ErrFull. It
// panics if n is not positive.
func Pipe(n int) (a, b *PipeEnd) {
	if n <= 0 {
		panic("link: a pipe without room")
	}
	ab, ba := &ring{slots: make([][]byte, n)}, &ring{slots: make([][]byte, n)}
	return &PipeEnd{in: ba, out: ab}, &PipeEnd{in: ab, out: ba}
}

// Send puts a copy of b into the pipe.
func (p *PipeEnd) Send(b []byte) error {
	if err := check(len(b)); err != nil {
		return err
	}
	one := [1][]byte{b}
	_, err := p.out.put(one[:])
	return err
}

// Put adds b to the datagrams that Flush puts into the pipe, and keeps it until then.
func (p *PipeEnd) Put(b []byte) error { return p.put(b, check(len(b))) }

// Flush puts copies of the datagrams that were put into the pipe, as many as there is room for.
func (p *PipeEnd) Flush() (left int, err error) { return p.flush(p.out.put) }

// Recv takes the next datagram out of the pipe.
func (p *PipeEnd) Recv(b []byte) (int, error) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	d, err := p.in.oldest()
	defer p.in.release()
	if len(d) > len(b) {
		return 0, ErrTooLong
	}
	return copy(b, d), err
}

// Next takes the next datagram out of the pipe.
func (p *PipeEnd) Next() ([]byte, error) {
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	return p.in.oldest()
}

// Close closes this end. Datagrams that wait for it are lost; datagrams that it has sent are not.
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
	taken bool // the oldest is the reader's, until it takes the next
	mute  bool // the end that puts is closed
	deaf  bool // the end that takes is closed
}

// put puts copies of datagrams into the pipe, and returns how many it had room for.
func (r *ring) put(datagrams [][]byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mute:
		return 0, ErrClosed
	case r.deaf:
		return 0, ErrPeerClosed
	case r.n == len(r.slots):
		return 0, ErrFull
	}
	for n < len(datagrams) && r.n < len(r.slots) {
		slot := &r.slots[(r.first+r.n)%len(r.slots)]
		*slot = append((*slot)[:0], datagrams[n]...)
		r.n++
		n++
	}
	return n, nil
}

// oldest takes the oldest datagram; nil where none waits. Its slot is not used again before
// release.
func (r *ring) oldest() ([]byte, error) {
	if r.deaf {
		return nil, ErrClosed
	}
	r.release()
	if r.taken = r.n > 0; !r.taken {
		return nil, nil
	}
	return r.slots[r.first], nil
}

// release gives back the slot of the datagram that was taken last.
func (r *ring) release() {
	if r.taken {
		r.first = (r.first + 1) % len(r.slots)
		r.n--
		r.taken = false
	}
}

func (r *ring) close(side *bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*side = true
}
