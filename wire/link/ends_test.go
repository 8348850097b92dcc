package link_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"fabemu/wire/link"
)

// udpEnds opens both ends of a link by themselves, at ports that were free, as far as can be told.
func udpEnds(t *testing.T) (a, b *link.UDP) {
	t.Helper()
	for {
		x, y, err := link.UDPPair(link.UDPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, q := x.LocalPort(), y.LocalPort()
		closeBoth(t, x, y)
		if a, err = link.UDPEnd(p, q, link.UDPOptions{}); err == nil {
			closeAtEnd(t, a)
			b, err = link.UDPEnd(q, p, link.UDPOptions{})
		}
		switch {
		case err == nil:
			closeAtEnd(t, b)
			return a, b
		case !errors.Is(err, syscall.EADDRINUSE): // then others have been faster
			t.Fatal(err)
		}
	}
}

func TestUDPEnd(t *testing.T) {
	a, b := udpEnds(t)
	if _, err := link.UDPEnd(a.LocalPort(), b.LocalPort(), link.UDPOptions{}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that is taken: %v", err)
	}
	if err := a.Send([]byte("to b")); err != nil {
		t.Fatal(err)
	}
	if got := string(recv(t, b, make([]byte, 100))); got != "to b" {
		t.Errorf("%q came", got)
	}
	for _, ports := range [][2]int{{0, 5}, {5, 0}, {5, 5}, {5, 65536}, {-1, 5}} {
		if _, err := link.UDPEnd(ports[0], ports[1], link.UDPOptions{}); err == nil {
			t.Errorf("ports %v were taken", ports)
		}
	}
}

// Ends on two hosts know their own address first, and each other's when both are there.
// What has come before is not the other end's.
func TestUDPBetweenHosts(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		at := netip.AddrPortFrom(netip.MustParseAddr(host), 0)
		a, err := link.BindUDP(at, link.UDPOptions{Fragments: true})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		b, err := link.BindUDP(at, link.UDPOptions{Fragments: true})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		of := func(u *link.UDP) netip.AddrPort { return netip.AddrPortFrom(at.Addr(), uint16(u.LocalPort())) }
		stranger, err := net.Dial("udp", of(b).String())
		if err != nil {
			t.Fatal(err)
		}
		defer stranger.Close()
		stranger.Write([]byte("stranger"))
		for _, x := range []struct{ from, to *link.UDP }{{a, b}, {b, a}} {
			if whole, err := x.from.Connect(of(x.to)); err != nil || whole < 1280-48 {
				t.Errorf("%s: datagrams of %d bytes are whole, %v", host, whole, err)
			}
		}
		if err := a.Send([]byte("to b")); err != nil {
			t.Fatal(err)
		}
		if got := string(recv(t, b, make([]byte, 100))); got != "to b" {
			t.Errorf("%s: %q came", host, got)
		}
	}
	for _, at := range []string{"0.0.0.0:0", "192.0.2.1:0"} {
		if u, err := link.BindUDP(netip.MustParseAddrPort(at), link.UDPOptions{}); err == nil {
			u.Close()
			t.Errorf("an end was bound to %s", at)
		}
	}
}

// A socket that is handed over as a file descriptor is the same end.
func TestAdoptUDP(t *testing.T) {
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	copied, err := syscall.Dup(b.FD())
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := link.AdoptUDP(copied)
	if err != nil {
		t.Fatal(err)
	}
	defer adopted.Close()
	if adopted.LocalPort() != b.LocalPort() || adopted.Granted() != b.Granted() {
		t.Errorf("port %d, buffer %v; want %d, %v", adopted.LocalPort(), adopted.Granted(), b.LocalPort(), b.Granted())
	}
	if err := a.Send([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := string(recv(t, adopted, make([]byte, 100))); got != "hello" {
		t.Errorf("%q came", got)
	}

	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := link.AdoptUDP(int(file.Fd())); err == nil {
		t.Error("a file was taken for a socket")
	}
	alone, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	raw, err := alone.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		if _, err := link.AdoptUDP(int(fd)); err == nil {
			t.Error("a socket without a peer was taken")
		}
	})
}

func TestPoller(t *testing.T) {
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	p := link.NewPoller([]link.File{a, b})
	came := -1
	begin := time.Now()
	if err := p.Wait(int64(20*time.Millisecond), func(i int) { came = i }); err != nil || came >= 0 {
		t.Errorf("end %d, %v: nothing was sent", came, err)
	}
	if took := time.Since(begin); took < 20*time.Millisecond {
		t.Errorf("it waited for %v, want 20ms at least", took)
	}
	if err := a.Send([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(int64(patience), func(i int) { came = i }); err != nil || came != 1 {
		t.Errorf("end %d, %v: want 1", came, err)
	}
}
