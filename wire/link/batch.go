package link

import (
	"encoding/binary"
	"errors"
)

// Batch is one end of a path that takes many datagrams at once: a train. Order and
// boundaries are kept.
//
// Put, Flush, Send and Counts may be called by one goroutine while another calls Next or
// Recv. Send does not look at datagrams that wait for Flush.
type Batch interface {
	Link

	// Put adds b to the train that the next Flush sends, behind those that wait. It sends
	// nothing. The end may keep b until Flush has sent it: the caller does not change b
	// before. The error is ErrTooLong, ErrEmpty, ErrTail, ErrClosed or one of the kind of link.
	Put(b []byte) error

	// Flush sends the oldest datagrams, as many as one call of the system takes, and
	// returns how many datagrams wait still: the last that were put. It never blocks. It
	// sends some or returns an error: ErrFull when there is no room now, an ICMP message
	// (IsICMP), or another as of Send. The rest is sent by the next calls, in order.
	Flush() (left int, err error)

	// Next returns the next datagram, or nil and no error when none waits. The bytes
	// are the end's: they hold until the next call of Next or Recv. It never blocks.
	Next() ([]byte, error)

	// Counts returns the numbers of calls and datagrams that the end has sent so far.
	Counts() Counts
}

// Counts are the work of a Batch since it was made.
type Counts struct {
	Datagrams uint64 // sent
	Trains    uint64 // calls of the system that sent them
	Full      uint64 // calls of Flush that found no room
}

// Stamper is an end of a link whose kernel can date the datagrams that come.
type Stamper interface {
	// StampArrivals asks the kernel for that. Those that came before may have no date.
	StampArrivals() error

	// Stamp returns when the kernel had the datagram that Next or Recv returned last, in ns since
	// 1970 on CLOCK_REALTIME: what a capture at this end has. It is 0 where that is not known.
	Stamp() int64
}

// StamperOf returns l as a Stamper, or nil where its kernel has no dates. It may be the Batch of
// another link.
func StamperOf(l Link) Stamper {
	if s, ok := l.(*single); ok {
		l = s.Link
	}
	s, _ := l.(Stamper)
	return s
}

// ErrTail reports that a datagram of a train ends in a zero byte.
var ErrTail = errors.New("link: the last byte of a datagram of a train is zero")

// Split finds the datagrams of a packet of UDP in which a Train has put several. They follow one
// another, then come the length of each in two bytes, then their number in one byte, then a zero.
// The lengths are big-endian. Split returns where the first datagram begins, which is 0 if nothing
// is in front, and the lengths; none if b is not such a packet.
func Split(b []byte) (begin int, lengths []byte) {
	if len(b) < 2 || b[len(b)-1] != 0 {
		return 0, nil
	}
	begin = len(b) - 2 - 2*int(b[len(b)-2])
	if begin < 0 {
		return 0, nil
	}
	lengths = b[begin : len(b)-2]
	for i := 0; i < len(lengths); i += 2 {
		n := int(binary.BigEndian.Uint16(lengths[i:]))
		if begin -= n; n == 0 || begin < 0 {
			return 0, nil
		}
	}
	return begin, lengths
}

// queue is the datagrams that wait for Flush.
type queue struct {
	all    [][]byte
	first  int // the oldest that waits
	counts Counts
}

// Counts returns the numbers of calls and datagrams so far.
func (q *queue) Counts() Counts { return q.counts }

// put adds a datagram unless it cannot be one: err is the reason.
func (q *queue) put(b []byte, err error) error {
	if err != nil {
		return err
	}
	if len(q.all) == cap(q.all) {
		q.shift()
	}
	q.all = append(q.all, b)
	return nil
}

// shift takes away the datagrams that have been sent.
func (q *queue) shift() {
	n := copy(q.all, q.all[q.first:])
	clear(q.all[n:]) // they are the caller's again
	q.all, q.first = q.all[:n], 0
}

// flush has send take the oldest waiting datagrams, if any. send returns how many it has sent with
// one call of the system.
func (q *queue) flush(send func(waiting [][]byte) (int, error)) (left int, err error) {
	if q.first < len(q.all) {
		n, err := send(q.all[q.first:])
		if err != nil {
			if errors.Is(err, ErrFull) {
				q.counts.Full++
			}
			return len(q.all) - q.first, err
		}
		q.first += n
		q.counts.Datagrams += uint64(n)
		q.counts.Trains++
	}
	if q.first == len(q.all) {
		q.shift()
	}
	return len(q.all) - q.first, nil
}

// copied implements Recv for a Batch: it takes the datagram that Next returns and copies it into b.
func copied(b []byte, from Batch) (int, error) {
	d, err := from.Next()
	if len(d) > len(b) {
		return 0, ErrTooLong
	}
	return copy(b, d), err
}

// Batched returns a Batch of any link: the link itself if it is one, and otherwise one
// that sends and receives datagram by datagram, of at most this many bytes.
func Batched(l Link, longest int) Batch {
	if b, ok := l.(Batch); ok {
		return b
	}
	return &single{Link: l, in: make([]byte, longest)}
}

// single is a link that takes one datagram at a time.
type single struct {
	Link
	queue
	in []byte
}

// Put adds b to the datagrams that Flush sends.
func (s *single) Put(b []byte) error { return s.put(b, check(len(b))) }

// Flush sends the datagram that has waited longest.
func (s *single) Flush() (left int, err error) { return s.flush(s.one) }

func (s *single) one(waiting [][]byte) (int, error) {
	if err := s.Link.Send(waiting[0]); err != nil {
		return 0, err
	}
	return 1, nil
}

// Next reads the next datagram.
func (s *single) Next() ([]byte, error) {
	n, err := s.Recv(s.in)
	if n == 0 || err != nil {
		return nil, err
	}
	return s.in[:n], nil
}
