package link_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"fabemu/wire/link"
)

// Where the loopback interface is down, the error names the remedy. Where it has ::1 alone, links
// are there.
func TestLoopbackWithoutIPv4(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its network namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Log("skipped: no network namespace can be made:", err)
			return
		}
		loopbackWithoutIPv4(t)
	}()
	<-done
}

func loopbackWithoutIPv4(t *testing.T) {
	const advice = "ip link set lo up"
	if _, _, err := link.UDPPair(link.UDPOptions{}); err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("down: %v, want %q", err, advice)
	}
	if _, err := link.UDPEnd(5001, 5002, link.UDPOptions{}); err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("an end, down: %v, want %q", err, advice)
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Error(err)
		return
	}
	all, err := netlink.AddrList(lo, netlink.FAMILY_V4)
	for i := range all {
		if err == nil {
			err = netlink.AddrDel(lo, &all[i])
		}
	}
	if six, _ := netlink.AddrList(lo, netlink.FAMILY_V6); err != nil || len(six) == 0 {
		t.Log("skipped: the loopback has no ::1 here:", err)
		return
	}
	a, b, err := link.UDPPair(link.UDPOptions{Largest: 9000})
	if err != nil {
		t.Error(err)
		return
	}
	crosses(t, a, b)
	c, d, err := link.TrainPair(link.UDPOptions{Largest: 9000})
	if err != nil {
		t.Error(err)
		return
	}
	crosses(t, c, d)
	e, err := link.UDPEnd(5001, 5002, link.UDPOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	f, err := link.UDPEnd(5002, 5001, link.UDPOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	crosses(t, e, f)
}

// crosses sends a datagram in each direction, and closes the link.
func crosses(t *testing.T, a, b link.Link) {
	defer a.Close()
	defer b.Close()
	for _, ends := range [][2]link.Link{{a, b}, {b, a}} {
		b := make([]byte, 100)
		if err := ends[0].Send([]byte("hello")); err != nil {
			t.Error(err)
		}
		n := 0
		for tries := 0; n == 0 && tries < 1e6; tries++ {
			var err error
			if n, err = ends[1].Recv(b); err != nil {
				t.Error(err)
				break
			}
		}
		if string(b[:n]) != "hello" {
			t.Errorf("%q came", b[:n])
		}
	}
}
