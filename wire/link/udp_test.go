package link_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// The sockets are connected, so the kernel tells a stranger that there is no one
// at the port, and the ends of the link see nothing of it.
func strangerOnUDP(t testing.TB, a, _ link.Link) (counted uint64) {
	at, err := unix.Getsockname(a.(link.File).FD())
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*unix.SockaddrInet4).Port})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Write([]byte("let me in")); err != nil {
		t.Fatal(err)
	}
	if err := stranger.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Read(make([]byte, 100)); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("the stranger sees %v, want %v", err, unix.ECONNREFUSED)
	}
	return 0
}

// pairAtPorts returns a link at ports that were asked for, the first of which is port.
func pairAtPorts(t *testing.T) (a, b *link.UDP, port int) {
	t.Helper()
	for port := 20003; port < 30000; port += 97 {
		a, b, err := link.UDPPair(link.UDPOptions{Port: port})
		if err == nil {
			closeAtEnd(t, a, b)
			return a, b, port
		}
	}
	t.Skip("no two free UDP ports in a row between 20003 and 30000")
	return nil, nil, 0
}

func closeBoth(t *testing.T, a, b *link.UDP) {
	t.Helper()
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestPortsAreTheOnesAskedFor(t *testing.T) {
	a, b, port := pairAtPorts(t)
	if a.LocalPort() != port || b.LocalPort() != port+1 {
		t.Errorf("ports %d and %d, want %d and %d", a.LocalPort(), b.LocalPort(), port, port+1)
	}
	a, b = udpPair(t, link.UDPOptions{})
	if a.LocalPort() == 0 || b.LocalPort() == 0 || a.LocalPort() == b.LocalPort() {
		t.Errorf("the kernel chose ports %d and %d", a.LocalPort(), b.LocalPort())
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

func TestPortInUse(t *testing.T) {
	for taken, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			a, b, port := pairAtPorts(t) // one of the two stays
			if err := []*link.UDP{b, a}[taken].Close(); err != nil {
				t.Fatal(err)
			}
			before := descriptors(t)
			_, _, err := link.UDPPair(link.UDPOptions{Port: port})
			if !errors.Is(err, unix.EADDRINUSE) {
				t.Fatalf("got %v, want %v", err, unix.EADDRINUSE)
			}
			if want := fmt.Sprintf("UDP port %d is in use: ", port+taken); !strings.HasPrefix(err.Error(), want) {
				t.Errorf("the error is %q, want %q first", err, want)
			}
			if after := descriptors(t); after != before {
				t.Errorf("%d descriptors are open, %d were before", after, before)
			}
		})
	}
}

func TestImpossibleOptionsAreRefused(t *testing.T) {
	for _, opts := range []link.UDPOptions{{Port: -1}, {Port: 65535}, {Port: 1 << 20}, {Buffer: -1}, {Buffer: unit.GiB + 1}} {
		if a, b, err := link.UDPPair(opts); err == nil {
			closeBoth(t, a, b)
			t.Errorf("%+v is taken", opts)
		}
	}
}

func TestGrantedBuffer(t *testing.T) {
	a, b := udpPair(t, link.UDPOptions{Buffer: 64 * unit.KiB})
	if a.Granted() != 64*unit.KiB || b.Granted() != 64*unit.KiB {
		t.Errorf("asked for 64 KiB, granted %d and %d", a.Granted(), b.Granted())
	}
	a, _ = udpPair(t, link.UDPOptions{})
	if a.Granted() <= 0 {
		t.Errorf("asked for nothing, granted %d", a.Granted())
	}
	// What is beyond the limit of the host is granted or cut, and never hidden.
	a, _ = udpPair(t, link.UDPOptions{Buffer: unit.GiB})
	if a.Granted() <= 64*unit.KiB || a.Granted() > unit.GiB {
		t.Errorf("asked for 1 GiB, granted %d", a.Granted())
	}
}

func TestLostCountsWhatTheKernelDropped(t *testing.T) {
	a, b := udpPair(t, link.UDPOptions{Buffer: 16 * unit.KiB})
	if n, err := b.Lost(); n != 0 || err != nil {
		t.Fatalf("Lost of a new link = %d, %v", n, err)
	}
	const sent = 200
	out := make([]byte, 2122)
	for range sent {
		send(t, a, out)
	}
	var received, lost int
	buf := make([]byte, 4096)
	for end := time.Now().Add(patience); received+lost < sent && time.Now().Before(end); {
		n, err := b.Recv(buf)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			received++
		}
		l, err := b.Lost()
		if err != nil {
			t.Fatal(err)
		}
		lost = int(l)
	}
	if lost == 0 || received == 0 || received+lost != sent {
		t.Errorf("%d sent, %d received, %d lost", sent, received, lost)
	}
	if n, err := a.Lost(); n != 0 || err != nil {
		t.Errorf("Lost of the sender = %d, %v", n, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lost(); !errors.Is(err, link.ErrClosed) {
		t.Errorf("Lost of a closed end: %v, want %v", err, link.ErrClosed)
	}
}

func TestDescriptorIsGoneAfterClose(t *testing.T) {
	a, _ := udpPair(t, link.UDPOptions{})
	if a.FD() < 0 {
		t.Errorf("FD of an open end is %d", a.FD())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if a.FD() != -1 {
		t.Errorf("FD of a closed end is %d", a.FD())
	}
}
