package dissector_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/host/netns"
	"fabemu/wire"
	"fabemu/wire/link"
)

// tcpdump listens with a real tcpdump until it has seen n packets, and returns what
// it captured when done is called.
func tcpdump(t *testing.T, n int, prefix []string, args ...string) (done func() string) {
	t.Helper()
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("there is no tcpdump")
	}
	args = append(append(prefix, "tcpdump", "-U", "--immediate-mode", "-B", "16384", "-s", "4096", "-c", fmt.Sprint(n), "-w", "-"), args...)
	c := exec.Command(args[0], args[1:]...)
	path := filepath.Join(t.TempDir(), "links.pcap")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.Stdout = file
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	words := bufio.NewReader(said)
	for complaint := ""; !strings.Contains(complaint, "listening on"); {
		line, err := words.ReadString('\n')
		complaint += line
		if err != nil {
			c.Wait()
			if strings.Contains(complaint, "permission") {
				t.Skip("tcpdump may not capture here (CAP_NET_RAW): ", strings.TrimSpace(complaint))
			}
			t.Fatalf("tcpdump: %s", complaint)
		}
	}
	return func() string {
		stop := time.AfterFunc(time.Minute, func() { c.Process.Signal(syscall.SIGINT) })
		defer stop.Stop()
		rest, _ := io.ReadAll(words)
		if err := c.Wait(); err != nil {
			t.Fatalf("tcpdump: %v\n%s", err, rest)
		}
		return path
	}
}

// wireChecks are what is found of the frames of both families on links of one kind.
func wireChecks(t *testing.T, u user, path string, frames []wire.Frame) {
	t.Helper()
	count := map[string]int{"fabemu": len(frames), "fabemu.run == 0xabcd1234": len(frames), "_ws.malformed": 0, "fabemu_say.crc": 0, "fabemu_say.gap": 0}
	for _, f := range frames {
		switch {
		case f.Kind == wire.FlowControl:
			count["fabemu_fcp"]++
		case f.Kind == wire.Pause || f.Kind == wire.PriorityPause:
			count["macc"]++
		case f.Kind == wire.Notification:
			count["cnm"]++
		case f.Kind == wire.BCN:
			count["bcn"]++
		case f.Kind == wire.Probe:
			count["e2cm"]++
		case f.Delimiter() == wire.StartOfFrame:
			count["fabemu_data"]++
		default:
			count["infiniband.bth"]++
		}
	}
	var filters []string
	for f := range count {
		filters = append(filters, f)
	}
	for i, n := range u.counts(path, filters) {
		// The gaps of packet sequence numbers are in the samples; those of links are not.
		if n != count[filters[i]] && filters[i] != "fabemu_say.gap" {
			t.Errorf("%s finds %d frames, want %d", filters[i], n, count[filters[i]])
		}
	}
}

// What tcpdump captures on the loopback interface decodes.
func TestTcpdumpOnLoopback(t *testing.T) {
	t.Attr("depends-on", "privileges")
	u := newUser(t)
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	frames := append(append([]wire.Frame{}, infiniband...), ethernet...)
	done := tcpdump(t, len(frames), nil, "-i", "lo", "udp", "and", "port", fmt.Sprint(a.LocalPort()))
	for i, f := range frames {
		if err := a.Send(datagram(&f, 0, i)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // time stamps that differ
	}
	wireChecks(t, u, done(), frames)
}

// Each frame of a train decodes: on the loopback interface, and at both ends of a veth pair.
func TestTcpdumpOfTrains(t *testing.T) {
	t.Attr("depends-on", "privileges")
	u := newUser(t)
	families := [][]wire.Frame{infiniband, ethernet}
	a, b, err := link.TrainPair(link.UDPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	at, err := syscall.Getsockname(a.FD())
	if err != nil {
		t.Fatal(err)
	}
	trainsDecode(t, u, a, families, tcpdump(t, 2, nil, "-s", "0", "-i", "lo", "udp", "and", "port", fmt.Sprint(at.(*syscall.SockaddrInet4).Port)))
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	for i, family := range families {
		ends, inside := vethEnds(t)
		v, err := ends[0].Open(link.VethOptions{Native: i == 1, Train: link.MaxVethTrain})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		var done []func() string
		for _, prefix := range inside {
			done = append(done, tcpdump(t, 1, prefix, "-s", "0", "-i", "fab0"))
		}
		trainsDecode(t, u, link.VethTrain(v), [][]wire.Frame{family}, done...)
	}
}

// trainsDecode sends frames, each family as a train, and compares what tshark says of the captures
// with them.
func trainsDecode(t *testing.T, u user, a *link.Train, families [][]wire.Frame, done ...func() string) {
	t.Helper()
	var want string
	for _, frames := range families {
		var seqs []string
		for i, f := range frames {
			seqs = append(seqs, fmt.Sprint(i))
			if err := a.Put(datagram(&f, 0, i)); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := a.Flush(); left != 0 || err != nil {
			t.Fatalf("Flush left %d: %v", left, err)
		}
		want += fmt.Sprintf("Train of %d frames\t%s\n", len(frames), strings.Join(seqs, ","))
	}
	for _, path := range done {
		if got := u.tshark("-r", path(), "-T", "fields", "-e", "_ws.col.Info", "-e", "fabemu.seq"); got != want {
			t.Errorf("tshark shows\n%s\nwant\n%s", got, want)
		}
	}
}

// vethEnds returns both ends of a veth pair, and how to run a command beside each.
func vethEnds(t *testing.T) (ends [2]netns.Port, inside [2][]string) {
	t.Helper()
	run := rand.Uint32()
	topology, err := netns.Build(context.Background(), netns.Plan{
		Run: run, Nodes: []string{"a", "b"}, Largest: link.MaxDatagram, MTU: link.VethMTU,
		Links: []netns.Link{{Name: "wire", Ends: [2]netns.End{{Node: 0}, {Node: 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { topology.Close() })
	for i, node := range []string{"a", "b"} {
		inside[i] = []string{"ip", "netns", "exec", fmt.Sprintf("fabemu-%08x-%s", run, node)}
	}
	return topology.Ends[0], inside
}

// And so does what it captures on a veth pair between namespaces; there frames of
// Ethernet need no add-on.
func TestTcpdumpOnVeth(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	u := newUser(t)
	for _, c := range []struct {
		frames []wire.Frame
		native bool
	}{{infiniband, false}, {ethernet, true}} {
		ends, inside := vethEnds(t)
		a, err := ends[0].Open(link.VethOptions{Largest: link.MaxDatagram, Native: c.native})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		done := tcpdump(t, len(c.frames), inside[1], "-i", "fab0")
		for i, f := range c.frames {
			if err := a.Send(datagram(&f, 0, i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		path := done()
		wireChecks(t, u, path, c.frames)
		if !c.native {
			continue
		}
		stock := exec.Command("tshark", "-r", path, "-T", "fields", "-e", "eth.dst", "-e", "vlan.priority", "-e", "macc.opcode", "-e", "macc.pause_time")
		stock.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := stock.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"02:00:00:00:00:05\t3\t", "01:80:c2:00:00:01\t\t0x0001\t65535", "01:80:c2:00:00:01\t\t0x0101\t", "02:00:00:00:00:01\t6\t"} {
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("without the add-on: no %q in\n%s", want, out)
			}
		}
	}
}
