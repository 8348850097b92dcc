package host

import (
	"net"
	"testing"
)

// closing is a connection that records that it was closed.
type closing struct {
	net.Conn
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// A new connection closes the oldest, and no other; one that was admitted is left alone.
func TestTheOldestStrangerGivesWay(t *testing.T) {
	s := NewStrangers(3)
	var all [8]closing
	for i := range all {
		s.Add(&all[i])
		if i == 4 && !s.Remove(&all[3]) {
			t.Error("a connection that is there is not taken out")
		}
	}
	for i := range all {
		if want := i < 3 || i == 4; all[i].closed != want {
			t.Errorf("connection %d is closed: %v, want %v", i, all[i].closed, want)
		}
	}
	if s.Remove(&all[0]) {
		t.Error("a connection that was closed is taken out")
	}
}
