package link

import (
	"encoding/binary"
	"errors"
)

// Train is one end of a UDP link that carries many datagrams in one packet. One call of the system sends
// the packet, and one call reads it at the other end. A call costs as much as some fifty thousand bytes.
//
// A datagram that leaves by itself is a packet as it is. A packet of several has the layout of Split and ends in a
// zero byte, so the last byte of a datagram must not be zero.
type Train struct {
	*UDP
	queue
	most   int                // datagrams of a packet, at the most
	packet []byte             // the last one that was sent
	table  [2 * maxTrain]byte // the lengths of its datagrams

	buf     []byte // the last packet that came
	rest    []byte // of buf: the datagrams that Next has not returned
	lengths []byte // of buf: their lengths
	foreign uint64
}

// maxTrain is how many datagrams a packet has at the most.
const maxTrain = 64

// TrainPair returns the two ends of a UDP link on the loopback interface, as UDPPair
// does, for trains.
func TrainPair(opts UDPOptions) (a, b *Train, err error) {
	x, y, err := UDPPair(opts)
	if err != nil {
		return nil, nil, err
	}
	mtu, err := x.mtu()
	if err != nil {
		return nil, nil, errors.Join(err, x.Close(), y.Close())
	}
	room := min(mtu-x.headers(), MaxDatagram)
	return newTrain(x, room), newTrain(y, room), nil
}

// newTrain makes an end of a UDP link one for trains of so many bytes at the most.
func newTrain(u *UDP, room int) *Train {
	return &Train{UDP: u, most: maxTrain, packet: make([]byte, 0, room), buf: make([]byte, 1<<16)}
}

// Put adds b to the datagrams that Flush sends, and keeps it until then.
func (t *Train) Put(b []byte) error { return t.put(b, t.takes(b)) }

// takes reports whether b can be a datagram of a train.
func (t *Train) takes(b []byte) error {
	if err := check(len(b)); err != nil {
		return err
	}
	if b[len(b)-1] == 0 {
		return ErrTail
	}
	if t.fd < 0 {
		return ErrClosed
	}
	return nil
}

// Flush sends the oldest datagrams, as one train.
func (t *Train) Flush() (left int, err error) { return t.flush(t.leave) }

// leave sends the oldest of the waiting datagrams, as many as a packet can have.
func (t *Train) leave(waiting [][]byte) (n int, err error) {
	packet := waiting[0]
	if n = t.pack(waiting); n > 1 {
		packet = t.packet
	}
	switch err = t.UDP.Send(packet); {
	case err == nil:
		t.most = min(2*t.most, maxTrain)
	case errors.Is(err, ErrFull) && n > 1:
		t.most = n / 2 // the send buffer may be too small for all of them, even when it is empty
	}
	return n, err
}

// pack makes a packet of the oldest of the waiting datagrams, and returns how many it has. It makes none of one.
func (t *Train) pack(waiting [][]byte) (n int) {
	t.packet = t.packet[:0]
	for most := min(t.most, len(waiting)); most > 1 && n < most; n++ {
		b := waiting[n]
		if len(t.packet)+len(b)+2*n+4 > cap(t.packet) {
			break
		}
		t.packet = append(t.packet, b...)
		binary.BigEndian.PutUint16(t.table[2*n:], uint16(len(b)))
	}
	if n > 1 {
		t.packet = append(append(t.packet, t.table[:2*n]...), byte(n), 0)
	}
	return max(n, 1)
}

// Send sends b as one datagram.
func (t *Train) Send(b []byte) error {
	if err := t.takes(b); err != nil {
		return err
	}
	return t.UDP.Send(b)
}

// Next returns the next datagram.
func (t *Train) Next() ([]byte, error) {
	for t.fd < 0 || len(t.lengths) == 0 {
		n, err := t.receive(t.buf)
		if n == 0 {
			return nil, err
		}
		b := t.buf[:n:n]
		if b[n-1] != 0 {
			return b, nil
		}
		front := 0
		if front, t.lengths = Split(b); front == 0 && len(t.lengths) > 0 {
			t.rest = b
			break
		}
		t.lengths = nil
		t.foreign++
	}
	n := int(binary.BigEndian.Uint16(t.lengths))
	b := t.rest[:n:n]
	t.rest, t.lengths = t.rest[n:], t.lengths[2:]
	return b, nil
}

// Recv reads the next datagram into b.
func (t *Train) Recv(b []byte) (int, error) { return copied(b, t) }

// Foreign returns how many packets came that were neither a datagram nor a train.
func (t *Train) Foreign() uint64 { return t.foreign }
