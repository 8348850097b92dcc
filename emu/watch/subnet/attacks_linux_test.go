package subnet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/watch/subnet"
)

// own is a client written for tests.
type own struct {
	name      string
	ctl, data *net.UnixConn
	slot      uint32
}

func (c *own) address(what string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: "@" + c.name + ":" + what + "\x00"}
}

// dial connects a client under a number, and returns whether it was accepted.
func dial(t testing.TB, name string, id int) (*own, bool) {
	t.Helper()
	c := &own{name: name}
	var err error
	if c.ctl, err = net.DialUnix("unixgram", c.address(fmt.Sprint("ctl", id)), c.address("ctl")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.ctl.Close() })
	hello := make([]byte, subnet.ControlSize)
	binary.NativeEndian.PutUint32(hello[0:], 0xDEADBEEF)
	binary.NativeEndian.PutUint32(hello[8:], 1)
	binary.NativeEndian.PutUint32(hello[12:], 44)
	binary.NativeEndian.PutUint32(hello[16:], uint32(id))
	answer := c.control(t, hello)
	if binary.NativeEndian.Uint32(answer[8:]) != 1 {
		return c, false
	}
	c.slot = binary.NativeEndian.Uint32(answer[16:])
	if c.data, err = net.DialUnix("unixgram", c.address(fmt.Sprint("in", id)), c.address(fmt.Sprint("out", c.slot))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.data.Close() })
	return c, true
}

// control sends a control message, and returns the answer.
func (c *own) control(t testing.TB, m []byte) []byte {
	t.Helper()
	if _, err := c.ctl.Write(m); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, subnet.ControlSize)
	c.ctl.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := c.ctl.Read(answer); err != nil || n != len(answer) {
		t.Fatalf("the answer: %d bytes, %v", n, err)
	}
	return answer
}

// ping asks for NodeInfo, and reports whether an answer arrives.
func (c *own) ping(t testing.TB) bool {
	t.Helper()
	p := request(0x81, 1, 0x11, 0)
	if _, err := c.data.Write(p[:]); err != nil {
		t.Fatal(err)
	}
	var answer subnet.Packet
	c.data.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.data.Read(answer[:])
	return err == nil && n == subnet.PacketSize && answer[subnet.AtMAD+3] == 0x81
}

// listen serves the torus without ibsim's library.
func listen(t *testing.T) *subnet.Server {
	t.Helper()
	n, err := subnet.New(build(t))
	if err != nil {
		t.Fatal(err)
	}
	v, err := subnet.Listen(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// Datagrams with a wrong size, a wrong magic number or a foreign name are refused and counted, and
// a client that keeps to the protocol is served.
func TestForgedDatagrams(t *testing.T) {
	v := listen(t)
	c, taken := dial(t, v.Name(), os.Getpid())
	if !taken || !c.ping(t) {
		t.Fatal("the client is not served")
	}
	before := counts(v).Strange
	for _, n := range []int{0, 1, subnet.PacketSize - 1, subnet.PacketSize + 1, 4096} {
		if _, err := c.data.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	forger, err := net.DialUnix("unixgram", c.address("in1"), c.address(fmt.Sprint("out", c.slot)))
	if err != nil {
		t.Fatal(err)
	}
	defer forger.Close()
	p := request(0x81, 1, 0x11, 0)
	if _, err := forger.Write(p[:]); err != nil {
		t.Fatal(err)
	}
	if answer := c.control(t, make([]byte, subnet.ControlSize)); binary.NativeEndian.Uint32(answer[8:]) != 0 {
		t.Error("a control message without the magic number is answered")
	}
	if _, taken := dial(t, v.Name(), 1<<20+7); !taken {
		t.Error("a second client is refused")
	}
	runtest.Await(t, "seven datagrams are counted", func() bool { return counts(v).Strange == before+7 })
	if !c.ping(t) {
		t.Error("the client is not served any more")
	}
}

// A control message whose length is not one of its kind, and one of a process that has no
// identifier here, are counted and refused: no client is told that it is connected whose MADs are
// not taken.
func TestControlMessagesThatAreRefused(t *testing.T) {
	v, id := listen(t), os.Getpid()
	hello := func(what, size uint32) []byte {
		m := make([]byte, subnet.ControlSize)
		for i, x := range []uint32{0xDEADBEEF, 0, what, size, uint32(id)} {
			binary.NativeEndian.PutUint32(m[4*i:], x)
		}
		return m
	}
	for i, c := range []struct {
		pid        int
		what, size uint32
	}{
		{0, 1, 44}, {-1, 1, 44}, {id, 1, 43}, {id, 1, 65}, {id, 1, 1 << 31}, {id, 3, 65}, {id, 9, 3},
	} {
		if v.Control(fmt.Sprint(id), c.pid, hello(c.what, c.size)) || counts(v).Strange != int64(i+1) {
			t.Errorf("%+v is accepted, or not counted: %d", c, counts(v).Strange)
		}
	}
	if !v.Control(fmt.Sprint(id), id, hello(1, 44)) || counts(v).Strange != 7 {
		t.Error("a client is refused")
	}
}

// A client that floods is slowed while another is served.
func TestFlood(t *testing.T) {
	v := listen(t)
	flood, _ := dial(t, v.Name(), os.Getpid())
	calm, taken := dial(t, v.Name(), 1<<20+8)
	if !taken {
		t.Fatal("a second client is refused")
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		p := request(0x81, 1, 0x11, 0)
		for counts(v).Slowed < 3 {
			flood.data.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			flood.data.Write(p[:])
			var answer [subnet.PacketSize]byte
			flood.data.SetReadDeadline(time.Now().Add(time.Millisecond))
			flood.data.Read(answer[:])
		}
	}()
	for range 10 {
		if !calm.ping(t) {
			t.Fatal("a calm client is not served")
		}
	}
	runtest.Await(t, "the flood is slowed", func() bool { return counts(v).Slowed >= 3 })
	<-done
	if !calm.ping(t) {
		t.Error("a calm client is not served after the flood")
	}
}

// TestClientOfAnotherUser also runs as the client, when it starts this program again.
func TestClientOfAnotherUser(t *testing.T) {
	name := os.Getenv("FABEMU_SUBNET")
	if name == "" {
		if os.Getuid() != 0 {
			t.Skip("needs root: it becomes another user")
		}
		v := listen(t)
		c := exec.Command("/proc/self/exe", "-test.run=^TestClientOfAnotherUser$", "-test.v")
		c.Env, c.Dir = append(os.Environ(), "FABEMU_SUBNET="+v.Name()), "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("refused")) || counts(v).Strange != 1 {
			t.Errorf("%v, %+v\n%s", err, *counts(v), out)
		}
		return
	}
	if _, taken := dial(t, name, os.Getpid()); taken {
		t.Error("a client of another user is served")
	}
	fmt.Println("refused")
}

// counts returns the counts of a server, which must not have panicked.
func counts(v *subnet.Server) *report.Subnet {
	c, err := v.Report()
	if err != nil {
		panic(err)
	}
	return c
}
