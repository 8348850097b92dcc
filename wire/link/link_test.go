package link_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// A kind of link.
type kind struct {
	name string
	pair func(t testing.TB) (a, b link.Link)

	// stranger, if not nil, has a stranger send to an end of a pair, and says how
	// many datagrams the end counts as not its own.
	stranger func(t testing.TB, a, b link.Link) (counted uint64)
	// blind says that an end does not notice that its peer is closed.
	blind bool
}

// Every kind of link, for the tests that all of them must pass. Each has room for
// 256 datagrams of 2122 bytes: a data packet of 2048 bytes and its trailer.
var kinds = []kind{
	{name: "udp", pair: func(t testing.TB) (link.Link, link.Link) {
		return udpPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	}, stranger: strangerOnUDP},
	{name: "train", pair: func(t testing.TB) (link.Link, link.Link) {
		return trainPair(t, link.UDPOptions{Buffer: 4 * unit.MiB})
	}, stranger: strangerOnUDP},
	{name: "unix", pair: func(t testing.TB) (link.Link, link.Link) {
		a, b := unixPair(t, 4*unit.MiB)
		return a, b
	}},
	{name: "train over unix", pair: func(t testing.TB) (link.Link, link.Link) {
		a, b := unixTrains(t)
		return a, b
	}},
	{name: "veth", pair: func(t testing.TB) (link.Link, link.Link) {
		a, b := vethPair(t, link.VethOptions{Buffer: 4 * unit.MiB})
		return a, b
	}, stranger: strangerOnVeth, blind: true},
	{name: "veth of Ethernet", pair: func(t testing.TB) (link.Link, link.Link) {
		a, b := vethPair(t, link.VethOptions{Buffer: 4 * unit.MiB, Native: true})
		return ethernet{a}, ethernet{b}
	}, blind: true},
	{name: "train over veth", pair: func(t testing.TB) (link.Link, link.Link) {
		a, b := vethTrains(t, link.MaxDatagram, link.VethOptions{Buffer: 4 * unit.MiB})
		return a, b
	}, stranger: strangerOnVeth, blind: true},
	{name: "pipe", pair: func(t testing.TB) (link.Link, link.Link) {
		a, b := link.Pipe(256)
		closeAtEnd(t, a, b)
		return a, b
	}},
}

// ethernet is a native veth end: its datagrams begin with an Ethernet header.
type ethernet struct{ veth }

// shortest returns the length of the shortest datagram that a link carries.
func shortest(l link.Link) int {
	if _, ok := l.(ethernet); ok {
		return 14
	}
	return 1
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

// patience is how long the kernel may take to deliver. It need not have delivered when Send
// returns: on a busy machine a separate thread does, when it has its turn.
const patience = time.Minute

// recv returns the next datagram.
func recv(t testing.TB, l link.Link, b []byte) []byte {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		n, err := l.Recv(b)
		if err != nil {
			t.Fatalf("Recv: %v", err)
		}
		if n > 0 {
			return b[:n]
		}
		if time.Now().After(end) {
			t.Fatalf("Recv: nothing came within %v", patience)
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

// pattern returns n bytes that are not those of another n or salt. The last is not zero, for the
// sake of trains.
func pattern(n, salt int) []byte {
	b := make([]byte, n)
	r := unit.NewRandom(uint64(n), uint64(salt))
	for i := range b {
		b[i] = byte(r.Uint64())
	}
	if n > 0 {
		b[n-1] |= 1
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
	t.Attr("depends-on", "privileges")
	each(t, func(t *testing.T, from, to link.Link) {
		silent(t, from)
		silent(t, to)
	})
}

func TestDatagramsOfAllSizesComeWhole(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		buf := make([]byte, link.MaxDatagram)
		for _, n := range []int{1, 2, 14, 15, 18, 48, 54, 78, 1471, 1472, 1473, 2122, 4170, 9000, 65506, link.MaxDatagram} {
			if n < shortest(from) {
				continue
			}
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
		buf, out := make([]byte, link.MaxDatagram), pattern(2122, 1)
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
		b := pattern(30, 1)
		send(t, from, b)
		copy(b, pattern(30, 2))
		if got := recv(t, to, make([]byte, 100)); !bytes.Equal(got, pattern(30, 1)) {
			t.Errorf("got %x", got)
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
		for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
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
		if err := from.Send(pattern(30, 1)); !errors.Is(err, link.ErrClosed) {
			t.Errorf("Send: %v, want %v", err, link.ErrClosed)
		}
		if _, err := from.Recv(make([]byte, 10)); !errors.Is(err, link.ErrClosed) {
			t.Errorf("Recv: %v, want %v", err, link.ErrClosed)
		}
	})
}

func TestPeerSeesThatAnEndIsClosed(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			from, to := k.pair(t)
			send(t, to, pattern(30, 1))
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			if got := recv(t, from, make([]byte, 100)); !bytes.Equal(got, pattern(30, 1)) {
				t.Errorf("what was sent before the end closed came as %x", got)
			}
			if k.blind {
				send(t, from, pattern(30, 2))
				send(t, from, pattern(30, 3))
				return
			}
			// UDP does not notice before the first datagram has come back.
			err := error(nil)
			for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
				err = from.Send(pattern(30, 2))
			}
			if !errors.Is(err, link.ErrPeerClosed) {
				t.Errorf("Send: %v, want %v", err, link.ErrPeerClosed)
			}
		})
	}
}

// One end is read all the while the other sends and then closes: what was sent
// comes, and then nothing.
func TestPeerClosesWhileAnEndIsRead(t *testing.T) {
	each(t, func(t *testing.T, from, to link.Link) {
		const total = 100
		sent := make(chan error, 1)
		go func() {
			out := pattern(200, 1)
			for i := range total {
				binary.BigEndian.PutUint32(out[20:], uint32(i))
				if err := from.Send(out); err != nil {
					sent <- err
					return
				}
			}
			sent <- from.Close()
		}()
		buf := make([]byte, 300)
		for i := range total {
			if got := recv(t, to, buf); len(got) != 200 || binary.BigEndian.Uint32(got[20:]) != uint32(i) {
				t.Fatalf("datagram %d came as number %d with %d bytes", i, binary.BigEndian.Uint32(got[20:]), len(got))
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		silent(t, to)
	})
}

func TestForeignDatagramsAreRefused(t *testing.T) {
	for _, k := range kinds {
		if k.stranger == nil {
			continue // no other process has access to it, or it is tested under another name
		}
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			want := k.stranger(t, a, b)
			silent(t, a)
			silent(t, b)
			send(t, b, pattern(50, 1))
			if got := recv(t, a, make([]byte, 100)); !bytes.Equal(got, pattern(50, 1)) {
				t.Errorf("the link carries %x", got)
			}
			if c, ok := a.(interface{ Foreign() uint64 }); ok && c.Foreign() != want {
				t.Errorf("%d datagrams were counted as foreign, want %d", c.Foreign(), want)
			}
		})
	}
}

// Two goroutines, one at each end, each sending and receiving.
func TestBothDirectionsAtOnce(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			a, b := k.pair(t)
			const total, window = 5000, 64
			end := func(name string, l link.Link) {
				out, in := pattern(200, 1), make([]byte, 300)
				sent, got := 0, 0
				stop := time.Now().Add(patience)
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
						stop = time.Now().Add(patience)
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
