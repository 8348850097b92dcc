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

	"fabemu/emu/run/guest/offload"
)

// cards is the plan of two guests that are interfaces: eth1, and a TAP device for a virtual
// machine.
func cards(run uint32) Plan {
	return Plan{Run: run, Nodes: []string{"wire", "vm"}, Guests: []Guest{
		{Node: 0, Card: "eth1", Ethernet: true, MTU: 1500, Queue: 100},
		{Node: 1, Card: "vm7", Virtual: true, Ethernet: true, MTU: 1400, Queue: 100},
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

// twoSpaces makes a namespace with an interface eth1, which is down, and the other end of it in a
// second one.
func twoSpaces(t *testing.T, name string) (path string) {
	t.Helper()
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
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

// Whatever the instant at which a run is killed: cleanup puts its interfaces back, and removes
// those that it has made.
func TestCardsOfAKilledRun(t *testing.T) {
	t.Attr("depends-on", "privileges")
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
			t.Fatal(c.Err)
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
		clean := func() error {
			runs, err := Find()
			for _, r := range runs {
				if r.ID == run {
					err = errors.Join(err, r.Remove(context.Background()))
				}
			}
			return err
		}
		if i%2 == 0 { // from another namespace, too
			err = clean()
		} else {
			err = within(path, clean)
		}
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

// A device delivers the frames of its interface whole: with their tags, and with the checksums that
// the kernel left to a card. Frames that are written leave it. After the run it is as it was.
func TestCardCarriesFrames(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needRights(t)
	t.Parallel()
	path := twoSpaces(t, "cards-frames")
	before := stateOf(t, path)
	var top *Topology
	err := within(path, func() (err error) { top, err = Build(context.Background(), cards(rand.Uint32())); return err })
	if err != nil {
		t.Fatal(err)
	}
	carryFrames(t, path, top.Devices[0], top.Devices[1])
	if err := within(path, top.Close); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, stateOf(t, path)); d != "" {
		t.Errorf("after the run (-want +got):\n%s", d)
	}
}

func carryFrames(t *testing.T, path string, wire, node *Device) {
	const header = "020000000009"
	// A packet of UDP, whose checksum the kernel leaves to the card.
	script(t, "ip -n cards-frames-far neigh add 10.3.0.9 lladdr 02:00:00:00:00:09 dev far")
	far, hello := -1, []byte("hello")
	err := within(path+"-far", func() error {
		c, err := net.Dial("udp4", "10.3.0.9:9")
		if err != nil {
			return err
		}
		defer c.Close()
		if far, err = rawSocket("far"); err != nil {
			return err
		}
		_, err = c.Write(hello)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(far)
	frame := next(t, wire, header)
	if sum := sumOf(frame[26:34], []byte{0, 17, 0, 13}, frame[34:]); sum != 0xFFFF {
		t.Errorf("the sum over UDP is %04x: %x", sum, frame)
	}
	// A frame with a tag, in both directions.
	tagged, _ := hex.DecodeString(header + "020000000001" + "81006007" + "88b6" + strings.Repeat("5a", 60))
	if _, err := unix.Write(far, tagged); err != nil {
		t.Fatal(err)
	}
	if got := next(t, wire, header); !bytes.Equal(got, tagged) {
		t.Errorf("with a tag: %x, want %x", got, tagged)
	}
	if taken, err := wire.Write(behind(tagged)); !taken || err != nil {
		t.Errorf("written: %t, %v", taken, err)
	}
	awaitFrame(t, far, append(append([]byte{}, tagged[:12]...), tagged[16:]...), func() {}) // the socket of the test asks for no tags
	if taken, err := wire.Write(behind(make([]byte, 1700))); taken || err != nil {
		t.Errorf("a frame longer than the MTU: taken %t, %v", taken, err)
	}
	if _, _, err := wire.Dropped(); err != nil {
		t.Error(err)
	}
	if all := wire.Changes(); all != nil {
		t.Errorf("changes: %v", all)
	}
	script(t, "ip -n cards-frames link set eth1 down")
	if all := wire.Changes(); len(all) != 1 || all[0].Name != "device-down" {
		t.Errorf("changes: %v", all)
	}
	// A virtual machine opens its TAP device.
	vm := -1
	if err := within(path, func() (err error) { vm, err = openTap("vm7"); return err }); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(vm)
	plain, _ := hex.DecodeString(header + "020000000001" + "88b6" + strings.Repeat("5b", 60))
	if _, err := unix.Write(vm, plain); err != nil {
		t.Fatal(err)
	}
	if got := next(t, node, header); !bytes.Equal(got, plain) {
		t.Errorf("from the machine: %x, want %x", got, plain)
	}
	awaitFrame(t, vm, plain, func() { // the kernel brings the device up some time after the machine has opened it
		if _, err := node.Write(behind(plain)); err != nil {
			t.Error(err)
		}
	})
}

// behind returns a frame behind an empty header of virtual networks.
func behind(frame []byte) []byte { return append(make([]byte, headerSize), frame...) }

// awaitFrame waits until a frame can be read, and calls again before each look.
func awaitFrame(t *testing.T, fd int, want []byte, again func()) {
	t.Helper()
	b := make([]byte, 2000)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		again()
		if n, err := unix.Read(fd, b); err == nil && bytes.Equal(b[:n], want) {
			return
		}
	}
	t.Errorf("%x does not come", want)
}

// rawSocket opens a packet socket of an interface.
func rawSocket(name string) (fd int, err error) {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return -1, err
	}
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, 0); err != nil {
		return fd, err
	}
	return fd, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0x0300, Ifindex: dev.Attrs().Index}) // ETH_P_ALL
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
	poll, err := NewPoll([]*Device{d})
	if err != nil {
		t.Fatal(err)
	}
	defer poll.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		n, err := d.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if n > headerSize+14 && hex.EncodeToString(b[headerSize:headerSize+6]) == destination {
			c := offload.Cutter{Ethernet: true}
			whole := make([]byte, 2000)
			if err := c.Cut(b[:n]); err != nil {
				t.Fatal(err)
			}
			return whole[:c.Next(whole)]
		}
		if n == 0 {
			poll.Wait(time.Second, func(int) {})
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
		if err := exec.Command("ip", "-n", name, "link", "add", "link", "eth1", "name", "try", "type", "vlan", "id", "9").Run(); strings.HasSuffix(name, "-vlan") && err != nil {
			t.Log("this kernel has no VLANs")
			continue
		}
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
