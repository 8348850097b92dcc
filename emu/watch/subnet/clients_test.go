package subnet_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"fabemu/emu/watch/subnet"
)

// Folders of clients that have died are found, and no other folder with such a name.
func TestDeadClients(t *testing.T) {
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	dead := filepath.Join(dir, subnet.ClientFolder(c.Process.Pid))
	for _, made := range []string{dead, filepath.Join(dir, subnet.ClientFolder(os.Getpid())), filepath.Join(dir, "sys-info")} {
		if err := os.MkdirAll(filepath.Join(made, "sys", "class", "infiniband"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, fmt.Sprint("sys-0", c.Process.Pid)), 0o777); err != nil {
		t.Fatal(err)
	}
	if got := subnet.DeadClients(dir); !slices.Equal(got, []string{dead}) {
		t.Errorf("%q, want %q", got, dead)
	}
}

// A server is found, with its process, and nothing that only has such a name: a socket that does
// not answer, and one that answers something else.
func TestFind(t *testing.T) {
	v, err := subnet.Listen(open(t))
	if err != nil {
		t.Skip(err)
	}
	closed := false
	t.Cleanup(func() {
		if !closed {
			v.Close()
		}
	})
	var bound []*net.UnixConn
	for _, name := range []string{"silent", "strange"} {
		c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: fmt.Sprintf("@fabemu-%s-%d:ctl\x00", name, os.Getpid())})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		bound = append(bound, c)
	}
	asked := make(chan int, 100)
	go func() {
		var b [100]byte
		for {
			n, from, err := bound[1].ReadFromUnix(b[:])
			if err != nil {
				return
			}
			asked <- n
			_, _ = bound[1].WriteToUnix(b[:n], from) // as it came: that is no answer
		}
	}()
	found := func() (pid int) {
		for _, s := range subnet.Find() {
			switch s.Name {
			case v.Name():
				pid = s.PID
			case fmt.Sprint("fabemu-silent-", os.Getpid()), fmt.Sprint("fabemu-strange-", os.Getpid()):
				t.Errorf("%s is taken for a run", s.Name)
			}
		}
		return pid
	}
	if pid := found(); pid != os.Getpid() {
		t.Errorf("the server is of process %d, want %d", pid, os.Getpid())
	}
	if len(asked) == 0 {
		t.Error("the strange one was not asked")
	}
	if counts, _ := v.Report(); counts.Strange > 0 {
		t.Errorf("the question counts as %d strange messages", counts.Strange)
	}
	v.Close()
	if closed = true; found() != 0 {
		t.Error("it is found after its end")
	}
}
