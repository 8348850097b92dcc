package netns

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// cards is the plan of two guests that are interfaces: eth1, and a TAP device for a virtual machine.
func cards(run uint32) Plan {
	return Plan{Run: run, Machines: []string{"wire", "vm"}, Guests: []Guest{
		{Machine: 0, Card: "eth1", Ethernet: true, MTU: 1500, Queue: 100},
		{Machine: 1, Card: "vm7", Virtual: true, Ethernet: true, MTU: 1400, Queue: 100},
	}}
}

// script runs commands of ip and the like.
func script(t *testing.T, text string) string {
	t.Helper()
	out, err := exec.Command("sh", "-ec", text).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v, %s", text, err, out)
	}
	return string(out)
}

// twoSpaces makes a namespace with an interface eth1, which is down, and the other end of it in a second one.
func twoSpaces(t *testing.T, name string) (path string) {
	t.Helper()
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name+"-far").Run() })
	script(t, strings.ReplaceAll(`ip netns add NAME; ip netns add NAME-far
		ip -n NAME link add eth1 type veth peer name far netns NAME-far
		ip -n NAME-far addr add 10.3.0.2/24 dev far; ip -n NAME-far link set far up; ip -n NAME link set eth1 mtu 1600`, "NAME", name))
	return "/run/netns/" + name
}

// stateOf returns what a run could change at the interfaces of a namespace.
func stateOf(t *testing.T, path string) (all []string) {
	t.Helper()
	err := within(path, func() error {
		values, err := offloadsOf("eth1")
		if err != nil {
			return err
		}
		links, err := netlink.LinkList()
		for _, l := range links {
			a := l.Attrs()
			all = append(all, strings.Join([]string{a.Name, a.HardwareAddr.String(), (a.Flags & net.FlagUp).String(), a.Alias}, " "))
			if a.Name == "eth1" {
				all = append(all, cmp.Diff([]uint32{}, values), cmp.Diff(0, a.Promisc))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever the instant at which a run is killed: cleanup puts its interfaces back, and removes those that it has made.
func TestCardsOfAKilledRun(t *testing.T) {
	needRights(t)
	t.Parallel()
	path := twoSpaces(t, "cards-killed")
	before := stateOf(t, path)
	changed := 0
	for i := 0; ; i++ {
		run := rand.Uint32()
		c := another{Run: run, KillAt: i, Cards: true}.start(t)
		c.Args = append([]string{"nsenter", "--net=" + path}, c.Args...)
		if c.Path, c.Err = exec.LookPath("nsenter"); c.Err != nil {
			t.Skip(c.Err)
		}
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		ended := err == nil
		if !ended && (!errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL) {
			t.Fatalf("stage %d: %v, %s", i, err, out)
		}
		if !cmp.Equal(before, stateOf(t, path)) {
			changed++
		}
		err = within(path, func() error {
			runs, err := Find()
			for _, r := range runs {
				if r.ID == run {
					err = errors.Join(err, r.Remove(context.Background()))
				}
			}
			return err
		})
		if d := cmp.Diff(before, stateOf(t, path)); d != "" || err != nil {
			t.Errorf("stage %d, %v (-want +got):\n%s", i, err, d)
		}
		if ended {
			break
		}
	}
	if changed < 3 {
		t.Errorf("%d stages leave something, at least 3 are wanted", changed)
	}
}

// Frames of an interface come out of its device, whole: with their tags, and with the checksums that the kernel left to a
// card. Frames that are written leave it. After the run it is as it was.
func TestCardCarriesFrames(t *testing.T) {
	needRights(t)
	t.Parallel()
	path := twoSpaces(t, "cards-frames")
	before := stateOf(t, path)
	if err := within(path, func() error { return carryFrames(t) }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, stateOf(t, path)); d != "" {
		t.Errorf("after the run (-want +got):\n%s", d)
	}
}

func carryFrames(t *testing.T) error {
	top, err := Build(context.Background(), cards(rand.Uint32()))
	if err != nil {
		return err
	}
	defer top.Close()
	wire := top.Devices[0]
	script(t, `ip -n cards-frames-far neigh add 10.3.0.9 lladdr 02:00:00:00:00:09 dev far
		ip -n cards-frames-far link add link far name far.7 type vlan id 7; ip -n cards-frames-far addr add 10.4.0.2/24 dev far.7
		ip -n cards-frames-far link set far.7 up; ip -n cards-frames-far neigh add 10.4.0.9 lladdr 02:00:00:00:00:09 dev far.7`)
	for to, head := range map[string]string{"10.3.0.9:9": "020000000009", "10.4.0.9:9": "020000000009"} {
		err := within("/run/netns/cards-frames-far", func() error {
			c, err := net.Dial("udp4", to)
			if err == nil {
				_, err = c.Write([]byte("hello"))
				c.Close()
			}
			return err
		})
		if err != nil {
			return err
		}
		frame := next(t, wire, head)
		kind := binary.BigEndian.Uint16(frame[12:])
		if tagged := strings.HasPrefix(to, "10.4"); tagged != (kind == unix.ETH_P_8021Q) {
			t.Errorf("to %s: type %04x", to, kind)
		} else if tagged {
			if tag := binary.BigEndian.Uint16(frame[14:]); tag&0xFFF != 7 {
				t.Errorf("to %s: VLAN %d", to, tag)
			}
			frame = append(frame[:12:12], frame[16:]...)
		}
		if sum := sumOf(frame[26:34], []byte{0, 17, 0, 13}, frame[34:]); sum != 0xFFFF {
			t.Errorf("to %s: the sum over UDP is %04x, %x", to, sum, frame)
		}
		// Back again: what is written is received at the other end.
		_, _ = wire.Write(append(append(append([]byte{}, frame[6:12]...), frame[:6]...), frame[12:]...))
	}
	if taken, err := wire.Write(make([]byte, 1700)); taken || err != nil {
		t.Errorf("a frame longer than the MTU: taken %t, %v", taken, err)
	}
	got := script(t, "ip -n cards-frames-far -s link show far")
	if !strings.Contains(got, "RX") {
		t.Error(got)
	}
	if all := wire.Changes(); all != nil {
		t.Errorf("changes: %v", all)
	}
	script(t, "ip -n cards-frames link set eth1 down")
	if all := wire.Changes(); len(all) != 1 || all[0].Name != "device-down" {
		t.Errorf("changes: %v", all)
	}
	// A virtual machine opens its TAP device: what it sends comes out, and what is written it receives.
	vm, err := openTap("vm7")
	if err != nil {
		return err
	}
	defer unix.Close(vm)
	frame, _ := hex.DecodeString("0200000000090200000000018888" + strings.Repeat("5a", 60))
	if _, err := unix.Write(vm, frame); err != nil {
		return err
	}
	if got := next(t, top.Devices[1], "020000000009"); !bytes.Equal(got, frame) {
		t.Errorf("from the machine: %x, want %x", got, frame)
	}
	if taken, err := top.Devices[1].Write(frame); !taken || err != nil {
		t.Errorf("to the machine: %t, %v", taken, err)
	}
	b := make([]byte, 2000)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if n, err := unix.Read(vm, b); err == nil && bytes.Equal(b[:n], frame) {
			return top.Close()
		}
	}
	t.Error("the machine receives nothing")
	return nil
}

// openTap opens a TAP device as a virtual machine does.
func openTap(name string) (fd int, err error) {
	if fd, err = unix.Open(tunPath, unix.O_RDWR|unix.O_NONBLOCK, 0); err != nil {
		return fd, err
	}
	r, err := unix.NewIfreq(name)
	if err == nil {
		r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	return fd, err
}

// next waits for the next frame with a destination.
func next(t *testing.T, d *Device, destination string) []byte {
	t.Helper()
	b := make([]byte, 2000)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		n, err := d.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if n > 14 && hex.EncodeToString(b[:6]) == destination {
			return b[:n]
		}
		if n == 0 {
			Wait([]*Device{d}, time.Second)
		}
	}
	t.Fatal("no frame comes")
	return nil
}

// sumOf adds words as RFC 1071 does.
func sumOf(parts ...[]byte) uint16 {
	all := bytes.Join(parts, nil)
	if len(all)%2 == 1 {
		all = append(all, 0)
	}
	sum := uint32(0)
	for i := 0; i < len(all); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(all[i:]))
		sum = sum&0xFFFF + sum>>16
	}
	return uint16(sum)
}

// An interface that carries the default route is refused, by itself and below a bridge or a VLAN.
func TestDefaultRouteIsRefused(t *testing.T) {
	needRights(t)
	t.Parallel()
	for name, setUp := range map[string]string{
		"cards-route":  "ip -n NAME addr add 10.3.0.1/24 dev eth1; ip -n NAME link set eth1 up; ip -n NAME route add default via 10.3.0.2",
		"cards-bridge": "ip -n NAME link add br0 type bridge; ip -n NAME link set eth1 master br0; ip -n NAME link set eth1 up; ip -n NAME link set br0 up; ip -n NAME addr add 10.3.0.1/24 dev br0; ip -n NAME route add default via 10.3.0.2",
		"cards-vlan":   "ip -n NAME link set eth1 up; ip -n NAME link add link eth1 name eth1.7 type vlan id 7; ip -n NAME link set eth1.7 up; ip -n NAME addr add 10.3.0.1/24 dev eth1.7; ip -n NAME route add default via 10.3.0.2",
	} {
		path := twoSpaces(t, name)
		script(t, strings.ReplaceAll(setUp, "NAME", name))
		before := stateOf(t, path)
		err := within(path, func() error {
			top, err := Build(context.Background(), cards(rand.Uint32()))
			if err == nil {
				top.Close()
			}
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "guest wire: interface eth1 carries the default route") || !strings.Contains(err.Error(), "--yes-this-one") {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(before, stateOf(t, path)); d != "" {
			t.Errorf("%s: afterwards (-want +got):\n%s", name, d)
		}
		err = within(path, func() error {
			p := cards(rand.Uint32())
			p.YesThisOne = true
			top, err := Build(context.Background(), p)
			if err != nil {
				return err
			}
			return top.Close()
		})
		if err != nil {
			t.Errorf("%s, with yes: %v", name, err)
		}
	}
}
