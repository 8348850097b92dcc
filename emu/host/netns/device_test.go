package netns

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// twoGuests returns the plan of two guests of a kind.
func twoGuests(run uint32, ethernet bool) Plan {
	p := Plan{Run: run, Nodes: []string{"a", "b"}}
	for i, a := range []string{"10.0.0.1/16", "192.168.7.2/24"} {
		other := []string{"192.168.7.2/32", "10.0.0.1/32"}[i]
		p.Guests = append(p.Guests, Guest{
			Node: i, Ethernet: ethernet, Address: netip.MustParsePrefix(a), Hardware: [6]byte{2, 0, 0, 0, 0, byte(i + 1)},
			Others: []netip.Prefix{netip.MustParsePrefix(other)}, MinRTO: 4 * time.Second, MTU: 1400, Queue: 123,
			Parameters: map[string]string{"net.ipv4.tcp_congestion_control": "reno"},
		})
	}
	return p
}

// A guest's packets are read from its device, and packets that are written to the device reach the
// guest.
func TestGuestIsBehindItsDevice(t *testing.T) {
	needRights(t)
	for _, ethernet := range []bool{false, true} {
		run := rand.Uint32()
		top, err := Build(context.Background(), twoGuests(run, ethernet))
		if err != nil {
			t.Fatal(err)
		}
		defer top.Close()
		a, b := top.Devices[0], top.Devices[1]
		var from net.Conn
		if err := within(a.Namespace, func() (err error) { from, err = net.Dial("udp4", "192.168.7.2:9"); return err }); err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		var to net.PacketConn
		if err := within(b.Namespace, func() (err error) { to, err = net.ListenPacket("udp4", "192.168.7.2:9"); return err }); err != nil {
			t.Fatal(err)
		}
		defer to.Close()
		if _, err := from.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		poll, err := NewPoll(top.Devices)
		if err != nil {
			t.Fatal(err)
		}
		defer poll.Close()
		var ready []int
		poll.Wait(time.Minute, func(i int) { ready = append(ready, i) })
		if !slices.Contains(ready, 0) {
			t.Errorf("ready: %v", ready)
		}
		buf := make([]byte, 2000)
		n, err := a.Read(buf)
		want := 10 + 20 + 8 + 5 // behind a header of virtual networks
		if ethernet {
			want = 10 + 42 // a request of ARP
		}
		if n != want || err != nil {
			t.Fatalf("read %d bytes, %v; want %d", n, err, want)
		}
		if n, err := a.Read(buf); n != 0 || err != nil {
			t.Errorf("a second packet of %d bytes, %v", n, err)
		}
		if taken, err := b.Write(buf[:n]); !ethernet && (!taken || err != nil) {
			t.Errorf("written: %t, %v", taken, err)
		}
		if !ethernet {
			_ = to.SetReadDeadline(time.Now().Add(time.Minute))
			if n, _, err := to.ReadFrom(buf); n != 5 || err != nil {
				t.Errorf("received %d bytes, %v", n, err)
			}
		}
		sent, received, err := a.Dropped()
		if sent != 0 || received != 0 || err != nil {
			t.Errorf("dropped %d and %d, %v", sent, received, err)
		}
		checkDevice(t, a, ethernet)
		if err := top.Close(); err != nil {
			t.Error(err)
		}
		if left := traces(t, run); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// checkDevice checks the interface as the guest sees it.
func checkDevice(t *testing.T, d *Device, ethernet bool) {
	t.Helper()
	ns, err := netns.GetFromPath(d.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	dev, err := h.LinkByName(guestInterface)
	if err != nil {
		t.Fatal(err)
	}
	a := dev.Attrs()
	if a.MTU != 1400 || a.TxQLen != 123 || !strings.HasSuffix(a.Alias, ": guest a 10.0.0.1") {
		t.Errorf("mtu %d, queue %d, alias %q", a.MTU, a.TxQLen, a.Alias)
	}
	routes, err := h.RouteList(dev, netlink.FAMILY_V4)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Dst.String() == "192.168.7.2/32" && r.RtoMin == 4000 }) {
		t.Errorf("routes %v", routes)
	}
	if ethernet && a.HardwareAddr.String() != "02:00:00:00:00:01" {
		t.Errorf("address %v", a.HardwareAddr)
	}
}

// What is sent and not read is dropped when the queue is full, and counted.
func TestGuestQueueIsCounted(t *testing.T) {
	needRights(t)
	top, err := Build(context.Background(), twoGuests(rand.Uint32(), false))
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	var from net.Conn
	if err := within(top.Devices[0].Namespace, func() (err error) { from, err = net.Dial("udp4", "192.168.7.2:9"); return err }); err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	for range 200 {
		if _, err := from.Write([]byte("hello")); err != nil && !errors.Is(err, unix.ENOBUFS) {
			t.Fatal(err)
		}
	}
	if sent, _, err := top.Devices[0].Dropped(); sent != 200-123 || err != nil {
		t.Errorf("%d dropped, %v; want %d", sent, err, 200-123)
	}
}

// A parameter that the kernel does not have is an error, and nothing stays.
func TestGuestParameterThatThereIsNot(t *testing.T) {
	needRights(t)
	plan := twoGuests(rand.Uint32(), false)
	plan.Guests[1].Parameters = map[string]string{"net.ipv4.tcp_congestion_control": "nonesuch"}
	if _, err := Build(context.Background(), plan); err == nil || !strings.Contains(err.Error(), "nonesuch") {
		t.Errorf("error %v", err)
	}
	if left := traces(t, plan.Run); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
