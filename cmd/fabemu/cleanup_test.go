package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
)

// vethRun is a run over veth pairs, in its own process.
type vethRun struct {
	*exec.Cmd
	said bytes.Buffer
}

// startVeth starts a run that sleeps nearly all the time: hours for a millisecond.
func startVeth(t *testing.T, flags ...string) *vethRun {
	t.Helper()
	args := append([]string{"run", "--link", "veth", "--dilation", "40000", "--out", filepath.Join(t.TempDir(), "out"), "hpl2002/fig2"}, flags...)
	r := &vethRun{Cmd: exec.Command(binary, args...)}
	r.Stdout, r.Stderr = &r.said, &r.said
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// id returns the id of the run, by the label in its lock, or nothing.
func (r *vethRun) id() string {
	locks, _ := filepath.Glob("/run/fabemu/*")
	for _, lock := range locks {
		b, _ := os.ReadFile(lock)
		if strings.Contains(string(b), fmt.Sprintf(" process %d ", r.Process.Pid)) {
			return filepath.Base(lock)
		}
	}
	return ""
}

// namespacesOf returns the namespaces of a run.
func namespacesOf(id string) []string {
	names, _ := filepath.Glob("/run/netns/fabemu-" + id + "-*")
	return names
}

// await waits until something is so.
func (r *vethRun) await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !so(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("not within three minutes: %s\n%s", what, r.said.String())
		}
	}
}

// apart starts this program again for the test that calls it, with a /run of its
// own, where others who clean up are out of sight; it reports false when that has
// ended, and true in the program that was started.
func apart(t *testing.T) bool {
	t.Helper()
	const variable = "FABEMU_TEST_APART"
	if os.Getenv(variable) != "" {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := withOwnRun(self, "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), variable+"=1", runtest.ProgramVariable+"="+binary)
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// withOwnRun returns a command that will have its own /run.
func withOwnRun(name string, args ...string) *exec.Cmd {
	c := exec.Command("/bin/sh", append([]string{"-c", `mount -t tmpfs tmpfs /run && exec "$0" "$@"`, name}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return c
}

// The script that the box of the Vagrantfile runs, too.
func TestSmokeScript(t *testing.T) {
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	runtest.NeedTools(t, "ip")
	out, err := withOwnRun("../../scripts/smoke-netns.sh", binary).CombinedOutput()
	if err != nil || !bytes.HasSuffix(out, []byte("smoke: ok\n")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// nodes is how many nodes hpl2002/fig2 has.
const nodes = 25

// A run is killed with kill -9 as it starts, while it runs, and as it ends, while
// another continues alongside it. What it leaves is listed and removed by cleanup; what
// the other has stays, until that is told to stop.
func TestCleanupAfterKilledRuns(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	if !apart(t) {
		return
	}
	beside := startVeth(t)
	defer func() { _ = beside.Process.Kill() }()
	var besideID string
	beside.await(t, "the other run has its namespaces", func() bool {
		besideID = beside.id()
		return besideID != "" && len(namespacesOf(besideID)) == nodes
	})
	for _, stage := range []struct {
		name  string
		at    func(r *vethRun, id string) bool
		stop  bool // the run is told to stop first
		flags []string
	}{
		{"no namespace yet", func(*vethRun, string) bool { return true }, false, nil},
		{"first namespace", func(_ *vethRun, id string) bool { return len(namespacesOf(id)) > 0 }, false, nil},
		{"half of them", func(_ *vethRun, id string) bool { return len(namespacesOf(id)) > nodes/2 }, false, nil},
		{"links", func(_ *vethRun, id string) bool { return len(namespacesOf(id)) == nodes }, false, nil},
		{"it runs", func(r *vethRun, _ string) bool { return sockets(r.Process.Pid) >= 2*(nodes-1) }, false, nil},
		{"it runs in processes", func(r *vethRun, _ string) bool { return len(parts(r.Process.Pid)) == 2 }, false, []string{"--placement", "domain"}},
		{"it ends", func(_ *vethRun, id string) bool { return len(namespacesOf(id)) < nodes }, true, nil},
	} {
		t.Run(stage.name, func(t *testing.T) {
			r := startVeth(t, stage.flags...)
			defer func() { _ = r.Process.Kill() }()
			var id string
			r.await(t, "a lock", func() bool { id = r.id(); return id != "" })
			if stage.stop {
				r.await(t, "it runs", func() bool { return sockets(r.Process.Pid) >= 2*(nodes-1) })
				if err := r.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			r.await(t, stage.name, func() bool { return stage.at(r, id) })
			running := parts(r.Process.Pid)
			if err := r.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = r.Wait()
			left := namespacesOf(id)
			_, lockErr := os.Stat("/run/fabemu/" + id)

			out, err := exec.Command(binary, "cleanup").CombinedOutput()
			if err != nil {
				t.Errorf("cleanup: %v\n%s", err, out)
			}
			// At its end the run may have been faster than the signal.
			if lockErr == nil && !strings.Contains(string(out), "run "+id+" is dead, and has left:") {
				t.Errorf("cleanup does not list run %s:\n%s", id, out)
			}
			for _, path := range left {
				if !strings.Contains(string(out), "namespace "+filepath.Base(path)+"\n") {
					t.Errorf("cleanup does not list %s:\n%s", path, out)
				}
			}
			if want := fmt.Sprintf("run %s is running as process %d and was not touched", besideID, beside.Process.Pid); !strings.Contains(string(out), want) {
				t.Errorf("cleanup does not say %q:\n%s", want, out)
			}
			if left := namespacesOf(id); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if _, err := os.Stat("/run/fabemu/" + id); err == nil {
				t.Errorf("the lock of run %s is left", id)
			}
			// Processes of the run that was killed end by themselves.
			for _, pid := range running {
				r.await(t, "the processes of the run have ended", func() bool { return ended(pid) })
			}
			if n := len(namespacesOf(besideID)); n != nodes {
				t.Errorf("the other run has %d namespaces, want %d", n, nodes)
			}
		})
	}

	// A process of a run is killed: the run ends, and takes its namespaces along.
	r := startVeth(t, "--placement", "domain")
	defer func() { _ = r.Process.Kill() }()
	r.await(t, "its processes", func() bool { return len(parts(r.Process.Pid)) == 2 })
	id := r.id()
	if err := syscall.Kill(parts(r.Process.Pid)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := status(r.Wait()); got != exitFailed || len(namespacesOf(id)) > 0 {
		t.Errorf("status %d, want %d; left: %q\n%s", got, exitFailed, namespacesOf(id), r.said.String())
	}

	// Ctrl-C: what was measured is written, and nothing stays.
	if err := beside.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := status(beside.Wait()); got != exitFailed {
		t.Errorf("status %d, want %d\n%s", got, exitFailed, beside.said.String())
	}
	if left := namespacesOf(besideID); len(left) > 0 {
		t.Errorf("after an interrupt, left: %q", left)
	}
	if _, err := os.Stat("/run/fabemu/" + besideID); err == nil {
		t.Error("after an interrupt the lock is left")
	}
}

// children returns the processes that a process has started.
func children(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(field); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// parts returns the processes that a run has started for its switches. Between fork and exec a
// process still has the command line of the run, whatever it is started for.
func parts(pid int) []int {
	return slices.DeleteFunc(children(pid), func(child int) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		return !bytes.Contains(line, []byte("\x00switchd\x00"))
	})
}

// ended says whether a process has ended.
func ended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(b, []byte(") Z "))
}

// sockets returns how many sockets a process has open.
func sockets(pid int) int {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return len(slices.DeleteFunc(links, func(l string) bool {
		to, err := os.Readlink(l)
		return err != nil || !strings.HasPrefix(to, "socket:")
	}))
}

// Without privilege, a sentence says which capabilities are missing, and what does
// without.
func TestVethWithoutPrivilege(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if os.Getuid() != 0 {
		t.Skip("not root: this process cannot become another user")
	}
	dir, err := os.MkdirTemp("", "fabemu-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, path := range []string{dir, filepath.Dir(binary)} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--link", "veth"}, "fabemu: --link veth: network namespaces and veth pairs need CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, which this process lacks; --link udp needs none\n"},
		{[]string{"cleanup"}, "fabemu: cleanup: network namespaces and veth pairs need CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, which this process lacks\n"},
	} {
		command := exec.Command(binary, c.args...)
		command.Dir = dir
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := command.CombinedOutput()
		if got := status(err); got != exitMistake || !strings.HasSuffix(string(out), c.want) {
			t.Errorf("%q: status %d, want %d and %q\n%s", c.args, got, exitMistake, c.want, out)
		}
	}
}
