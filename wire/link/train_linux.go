package link

import (
	"encoding/binary"
	"errors"

	"fabemu/wire/unit"
)

// Train is one end of a link that carries many datagrams in one packet. One call of the system
// sends the packet, and one call reads it at the other end. A call costs as much as some fifty
// thousand bytes.
//
// A datagram that leaves by itself is a packet as it is. A packet of several has the layout of
// Split and ends in a zero byte, so the last byte of a datagram must not be zero. On a veth pair an
// Ethernet header with EtherType is in front of it, whatever its datagrams are.
type Train struct {
	packets
	queue
	most   int                // datagrams of a packet, at most
	front  int                // bytes in front of the first datagram
	packet []byte             // the last one that was sent
	table  [2 * maxTrain]byte // the lengths of its datagrams

	buf     []byte // UDP and Unix: the last packet that came
	rest    []byte // of the last packet: the datagrams that Next has not returned
	lengths []byte // their lengths
	foreign uint64
}

// packets is an end of a link below trains.
type packets interface {
	File                                   // Send sends a datagram, as a packet
	takes(b []byte) error                  // reports whether b can be a datagram
	leaveAs(packet []byte) error           // sends a train, behind the bytes that front has returned
	come(buf []byte) (b []byte, err error) // returns the next packet, which may be in buf, without these bytes
	shut() bool
	Stamper
	Granted() unit.Size
	Lost() (uint32, error)
	Foreign() uint64
}

// maxTrain is how many datagrams a packet has at most.
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
	a, b = pairOf(x, y, mtu-x.headers())
	return a, b, nil
}

// pairOf makes trains of the ends of a link without headers of ours, in packets of at most so many
// bytes.
func pairOf(x, y packets, room int) (a, b *Train) {
	room = min(room, MaxDatagram)
	a, b = newTrain(x, nil, room), newTrain(y, nil, room)
	a.buf, b.buf = make([]byte, 1<<16), make([]byte, 1<<16)
	return a, b
}

// VethTrain makes an end of a veth pair, which was opened for trains, one that sends them. The
// other end must be one, too.
func VethTrain(v *Veth) *Train { return newTrain(v, v.header[:], v.train) }

// newTrain makes an end of a link one for trains: packets of at most this many bytes, with some in
// front.
func newTrain(p packets, front []byte, room int) *Train {
	t := &Train{packets: p, most: maxTrain, front: len(front), packet: make([]byte, len(front), max(room, len(front)))}
	copy(t.packet, front)
	return t
}

// Room returns how many bytes a packet with several datagrams has at most. If that is less than two
// datagrams and six bytes take, each leaves in its own packet.
func (t *Train) Room() int { return cap(t.packet) - t.front }

// Put adds b to the datagrams that Flush sends, and keeps it until then.
func (t *Train) Put(b []byte) error { return t.put(b, t.takes(b)) }

// takes reports whether b can be a datagram of a train.
func (t *Train) takes(b []byte) error {
	if err := t.packets.takes(b); err != nil {
		return err
	}
	if b[len(b)-1] == 0 {
		return ErrTail
	}
	if t.shut() {
		return ErrClosed
	}
	return nil
}

// Flush sends the oldest datagrams, as one train.
func (t *Train) Flush() (left int, err error) { return t.flush(t.leave) }

// leave sends the oldest of the waiting datagrams, as many as a packet can have.
func (t *Train) leave(waiting [][]byte) (n int, err error) {
	if n = t.pack(waiting); n > 1 {
		err = t.leaveAs(t.packet)
	} else {
		err = t.packets.Send(waiting[0])
	}
	switch {
	case err == nil:
		t.most = min(2*t.most, maxTrain)
	case errors.Is(err, ErrFull) && n > 1:
		t.most = n / 2 // the send buffer may be too small for all of them, even when it is empty
	}
	return n, err
}

// pack makes a packet of the oldest of the waiting datagrams, and returns how many it has. It makes
// none of one.
func (t *Train) pack(waiting [][]byte) (n int) {
	t.packet = t.packet[:t.front]
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
	return t.packets.Send(b)
}

// Next returns the next datagram.
func (t *Train) Next() ([]byte, error) {
	for t.shut() || len(t.lengths) == 0 {
		b, err := t.come(t.buf)
		if len(b) == 0 {
			return nil, err
		}
		if b[len(b)-1] != 0 {
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
func (t *Train) Foreign() uint64 { return t.foreign + t.packets.Foreign() }
