package link_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// Every kind of link, for the tests that all of them must pass. Each has room for
// 256 datagrams of 2122 bytes: a data packet of 2048 bytes and its trailer.
var kinds = []struct {
	name string
	pair func(t testing.TB) (a, b link.Link)
}{
	{"udp", func(t testing.TB) (link.Link, link.Link) {
		return udpPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	}},
	{"udp stamped", func(t testing.TB) (link.Link, link.Link) {
		a, b := udpPair(t, link.UDPOptions{Buffer: 4 * unit.MiB, Stamp: true})
		return stamped{a}, stamped{b}
	}},
	{"pipe", func(t testing.TB) (link.Link, link.Link) {
		a, b := link.Pipe(256)
		closeAtEnd(t, a, b)
		return a, b
	}},
}

// stamped is a UDP end that is read with RecvStamped, which must keep to the
// contract of Recv.
type stamped struct{ *link.UDP }

func (s stamped) Recv(b []byte) (int, error) {
	n, stamp, err := s.RecvStamped(b)
	if (n > 0) != (stamp > 0) {
		return n, fmt.Errorf("a datagram of %d bytes with the stamp %d", n, stamp)
	}
	return n, err
}

func udpPair(t testing.TB, opts link.UDPOptions) (a, b *link.UDP) {
	t.Helper()
	a, b, err := link.UDPPair(opts)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, a, b)
	return a, b
}

func closeAtEnd(t testing.TB, ends ...link.Link) {
	t.Cleanup(func() {
		for _, l := range ends {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// send sends or fails the test.
func send(t testing.TB, l link.Link, b []byte) {
	t.Helper()
	if err := l.Send(b); err != nil {
		t.Fatalf("Send of %d bytes: %v", len(b), err)
	}
}

// recv returns the next datagram. The kernel need not have delivered it when
// Send returns, so it is given a second.
func recv(t testing.TB, l link.Link, b []byte) []byte {
	t.Helper()
	for end := time.Now().Add(time.Second); ; {
		n, err := l.Recv(b)
		if err != nil {
			t.Fatalf("Recv: %v", err)
		}
		if n > 0 {
			return b[:n]
		}
		if time.Now().After(end) {
			t.Fatal("Recv: nothing came within a second")
		}
	}
}

// silent fails the test if anything comes soon.
func silent(t testing.TB, l link.Link) {
	t.Helper()
	b := make([]byte, link.MaxDatagram)
	for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
		if n, err := l.Recv(b); n != 0 || err != nil {
			t.Fatalf("Recv = %d, %v where nothing was sent", n, err)
		}
	}
}

// pattern returns n bytes that are not those of another n or salt.
func pattern(n, salt int) []byte {
	b := make([]byte, n)
	r := unit.NewRandom(uint64(n), uint64(salt))
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	return b
}

// each runs a test on every kind of link, in both directions.
func each(t *testing.T, test func(t *testing.T, from, to link.Link)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			test(t, a, b)
		})
		t.Run(k.name+" back", func(t *testing.T) {
			a, b := k.pair(t)
			test(t, b, a)
		})
	}
}

func TestNothingWaitsOnANewLink(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		silent(t, from)
		silent(t, to)
	})
}

func TestDatagramsOfAllSizesComeWhole(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		buf := make([]byte, link.MaxDatagram)
		for _, n := range []int{1, 2, 48, 54, 78, 1471, 1472, 1473, 2122, 4170, 9000, 65506, link.MaxDatagram} {
			want := pattern(n, 1)
			send(t, from, want)
			if got := recv(t, to, buf); !bytes.Equal(got, want) {
				t.Errorf("%d bytes came as %d, or with other content", n, len(got))
			}
		}
		silent(t, to)
		silent(t, from)
	})
}

func TestBurstComesInOrder(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		buf, out := make([]byte, link.MaxDatagram), make([]byte, 2122)
		for round := range 4 {
			for i := range 256 {
				binary.BigEndian.PutUint32(out, uint32(256*round+i))
				send(t, from, out)
			}
			for i := range 256 {
				got := recv(t, to, buf)
				if seq := binary.BigEndian.Uint32(got); len(got) != len(out) || seq != uint32(256*round+i) {
					t.Fatalf("datagram %d came as number %d with %d bytes", 256*round+i, seq, len(got))
				}
			}
		}
		silent(t, to)
	})
}

func TestSendKeepsNothingOfItsBuffer(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		b := []byte("first")
		send(t, from, b)
		copy(b, "other")
		if got := recv(t, to, make([]byte, 100)); string(got) != "first" {
			t.Errorf("got %q", got)
		}
	})
}

func TestImpossibleDatagramsAreRefused(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		if err := from.Send(nil); !errors.Is(err, link.ErrEmpty) {
			t.Errorf("no bytes: %v, want %v", err, link.ErrEmpty)
		}
		if err := from.Send(make([]byte, link.MaxDatagram+1)); !errors.Is(err, link.ErrTooLong) {
			t.Errorf("a byte too many: %v, want %v", err, link.ErrTooLong)
		}
		silent(t, to)
	})
}

func TestDatagramLongerThanTheBufferIsAnError(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		send(t, from, pattern(101, 1))
		send(t, from, pattern(100, 2))
		buf := make([]byte, 100)
		err := error(nil)
		for end := time.Now().Add(time.Second); err == nil && time.Now().Before(end); {
			var n int
			if n, err = to.Recv(buf); n != 0 {
				t.Fatalf("%d bytes of a longer datagram", n)
			}
		}
		if !errors.Is(err, link.ErrTooLong) {
			t.Errorf("got %v, want %v", err, link.ErrTooLong)
		}
		if got := recv(t, to, buf); !bytes.Equal(got, pattern(100, 2)) {
			t.Errorf("the next datagram came as %d bytes, or with other content", len(got))
		}
	})
}

func TestClosedEndDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		for range 2 {
			if err := from.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := from.Send([]byte{1}); !errors.Is(err, link.ErrClosed) {
			t.Errorf("Send: %v, want %v", err, link.ErrClosed)
		}
		if _, err := from.Recv(make([]byte, 10)); !errors.Is(err, link.ErrClosed) {
			t.Errorf("Recv: %v, want %v", err, link.ErrClosed)
		}
	})
}

func TestPeerSeesThatAnEndIsClosed(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		send(t, to, []byte("last words"))
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		if got := recv(t, from, make([]byte, 100)); string(got) != "last words" {
			t.Errorf("what was sent before the end closed came as %q", got)
		}
		// UDP does not notice before the first datagram has come back.
		err := error(nil)
		for end := time.Now().Add(time.Second); err == nil && time.Now().Before(end); {
			err = from.Send([]byte{1})
		}
		if !errors.Is(err, link.ErrPeerClosed) {
			t.Errorf("Send: %v, want %v", err, link.ErrPeerClosed)
		}
	})
}

// Two goroutines, one at each end, each sending and receiving.
func TestBothDirectionsAtOnce(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			const total, window = 5000, 64
			end := func(name string, l link.Link) {
				out, in := make([]byte, 200), make([]byte, 300)
				sent, got := 0, 0
				stop := time.Now().Add(20 * time.Second)
				for got < total || sent < total {
					if sent < total && sent-got < window {
						binary.BigEndian.PutUint32(out, uint32(sent))
						switch err := l.Send(out); {
						case err == nil:
							sent++
						case !errors.Is(err, link.ErrFull):
							t.Errorf("%s: Send: %v", name, err)
							return
						}
					}
					n, err := l.Recv(in)
					switch {
					case err != nil:
						t.Errorf("%s: Recv: %v", name, err)
						return
					case n == 0:
						if time.Now().After(stop) {
							t.Errorf("%s: %d sent, %d received, then nothing", name, sent, got)
							return
						}
					case n != len(out) || binary.BigEndian.Uint32(in) != uint32(got):
						t.Errorf("%s: datagram %d came as number %d with %d bytes", name, got, binary.BigEndian.Uint32(in), n)
						return
					default:
						got++
					}
				}
			}
			var both sync.WaitGroup
			both.Go(func() { end("a", a) })
			both.Go(func() { end("b", b) })
			both.Wait()
		})
	}
}
