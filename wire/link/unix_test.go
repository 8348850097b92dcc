package link_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

func unixPair(t testing.TB, buffer unit.Size) (a, b *link.Unix) {
	t.Helper()
	a, b, err := link.UnixPair(buffer, 2122)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, a, b)
	return a, b
}

func unixTrains(t testing.TB) (a, b link.Batch) {
	t.Helper()
	x, y, err := link.UnixTrainPair(4*unit.MiB, 2122)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, x, y)
	return x, y
}

// A Unix link loses nothing: what finds no room is refused, and all that was taken arrives.
func TestFullUnixLinkSaysSo(t *testing.T) {
	t.Attr("depends-on", "privileges")
	a, b := unixPair(t, 16*unit.KiB)
	sent := 0
	for ; sent < 1000; sent++ {
		if err := a.Send(pattern(1000, sent)); errors.Is(err, link.ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if sent == 0 || sent == 1000 {
		t.Fatalf("%d datagrams of 1000 bytes had room in 16 KiB", sent)
	}
	buf := make([]byte, 2000)
	for i := range sent {
		if got := recv(t, b, buf); string(got) != string(pattern(1000, i)) {
			t.Fatalf("datagram %d is another one", i)
		}
	}
	if n, err := b.Lost(); n != 0 || err != nil {
		t.Errorf("Lost = %d, %v", n, err)
	}
	send(t, a, pattern(1000, sent))
}

func TestImpossibleUnixLinksAreRefused(t *testing.T) {
	t.Attr("depends-on", "privileges")
	for _, size := range []unit.Size{-1, 2 * unit.GiB} {
		if _, _, err := link.UnixPair(size, 0); err == nil {
			t.Errorf("a buffer of %d bytes was taken", size)
		}
	}
	if _, _, err := link.UnixPair(unit.KiB, 60_000); !errors.Is(err, link.ErrTooLong) {
		t.Errorf("datagrams of 60 000 bytes in a buffer of 1 KiB: %v", err)
	}
}

func TestAdoptUnix(t *testing.T) {
	a, b := unixPair(t, 0)
	fd, err := syscall.Dup(b.FD())
	if err != nil {
		t.Fatal(err)
	}
	c, err := link.AdoptUnix(fd)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, c)
	if c.Granted() != b.Granted() {
		t.Errorf("Granted = %v, want %v", c.Granted(), b.Granted())
	}
	send(t, a, []byte("to c"))
	if got := string(recv(t, c, make([]byte, 10))); got != "to c" {
		t.Errorf("%q came", got)
	}
	send(t, c, []byte("to a"))
	if got := string(recv(t, a, make([]byte, 10))); got != "to a" {
		t.Errorf("%q came", got)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	x, _ := udpPair(t, link.UDPOptions{})
	for _, fd := range []int{int(null.Fd()), x.FD(), -1} {
		if _, err := link.AdoptUnix(fd); err == nil || !strings.Contains(err.Error(), "is not a socket of a Unix link") {
			t.Errorf("file descriptor %d: %v", fd, err)
		}
	}
}
