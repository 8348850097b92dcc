package link

import "errors"

// Link is one end of a datagram path between two ports. Datagrams keep their
// boundaries and their order.
type Link interface {
	// Send sends b as one datagram: all of it, or none and an error. It never
	// blocks and keeps no reference to b. The error is ErrFull when there is no
	// room now, ErrTooLong when there never will be, ErrEmpty, ErrPeerClosed or
	// ErrClosed, or one of the host.
	Send(b []byte) error

	// Recv reads the next datagram into b and returns its length, or 0 and no
	// error when none waits. It never blocks. A datagram that is longer than b is
	// lost, and the error is ErrTooLong. Datagrams that the peer has sent before it closed
	// can still be read.
	Recv(b []byte) (int, error)

	// Close gives the end up. Closing twice does nothing. The peer may not notice
	// before it has sent twice, and over a veth pair not at all.
	Close() error
}

// MaxDatagram is the longest datagram, in bytes: the most that UDP can carry over IPv4
// (65535 less 20 bytes of IP header and 8 of UDP header).
const MaxDatagram = 65507

// The errors of links.
var (
	ErrFull       = errors.New("link: no room for another datagram")
	ErrTooLong    = errors.New("link: datagram too long")
	ErrEmpty      = errors.New("link: empty datagram")
	ErrClosed     = errors.New("link: this end is closed")
	ErrPeerClosed = errors.New("link: the other end is closed")

	// ErrUnreachable reports an ICMP message other than the one of a closed port.
	ErrUnreachable = errors.New("link: the other end cannot be reached")
)

// IsICMP reports whether an error of Send or Recv is the report of an ICMP message, which
// any process may have sent. It comes once, and Send has not sent anything.
func IsICMP(err error) bool {
	return errors.Is(err, ErrPeerClosed) || errors.Is(err, ErrUnreachable)
}

// check reports an error if n bytes cannot be a datagram.
func check(n int) error {
	switch {
	case n == 0:
		return ErrEmpty // for Recv it would be the same as nothing
	case n > MaxDatagram:
		return ErrTooLong
	}
	return nil
}
