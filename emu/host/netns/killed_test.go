package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fabemu/wire/link"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// another says what another process is to do with namespaces: this test program,
// started again.
type another struct {
	Run    uint32
	KillAt int    // the stage at which it is killed; -1: none
	Files  uint64 // how many files it may have open; 0: as many as this process
	// Namespaces is how many network namespaces it may make, in a user namespace of
	// its own; 0: as many as this process.
	Namespaces int
	// Cards is whether its guests are an interface eth1, and a TAP device for a virtual machine.
	Cards bool
}

const (
	anotherVariable = "FABEMU_TEST_ANOTHER"
	apartVariable   = "FABEMU_TEST_APART"
)

// TestMain runs the tests with their own /run: the runs of others, who clean up
// too, are out of sight, and nothing stays whatever happens to a test.
func TestMain(m *testing.M) {
	if text := os.Getenv(anotherVariable); text != "" {
		var a another
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			panic(err)
		}
		if err := a.be(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if Missing() != nil || os.Getenv(apartVariable) != "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // the signal comes when the thread ends
	c := exec.Command("/bin/sh", append([]string{"-c", `mount -t tmpfs tmpfs /run && exec "$0" "$@"`}, os.Args...)...)
	c.Env = append(os.Environ(), apartVariable+"=1")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	var exit *exec.ExitError
	switch err := c.Run(); {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1))
	default:
		panic(err)
	}
}

// start starts the process.
func (a another) start(t testing.TB) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), anotherVariable+"="+string(text))
	if a.Namespaces > 0 {
		root := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET, UidMappings: root, GidMappings: root}
	}
	return c
}

// be does in this process what was asked for.
func (a another) be() error {
	if a.Namespaces > 0 {
		if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
			return fmt.Errorf("mount /run: %w", err)
		}
		if err := os.WriteFile("/proc/sys/user/max_net_namespaces", fmt.Append(nil, a.Namespaces), 0o644); err != nil {
			return err
		}
	}
	if a.Files > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: a.Files, Max: a.Files}); err != nil {
			return err
		}
	}
	n := 0
	stage := func(string) {
		if n == a.KillAt {
			if err := unix.Kill(os.Getpid(), unix.SIGKILL); err != nil {
				panic(err)
			}
			select {}
		}
		n++
	}
	plan := line(a.Run)
	plan.Nodes = append(plan.Nodes, "host")
	plan.Guests = []Guest{{Node: 3, Address: netip.MustParsePrefix("10.0.0.1/16"), MTU: 1500, Queue: 100}}
	if a.Cards {
		plan = cards(a.Run)
	}
	top, err := build(context.Background(), plan, stage)
	if err != nil {
		left, lerr := names(namespaceDir)
		if a.Namespaces > 0 && (len(left) > 0 || lerr != nil) {
			return fmt.Errorf("left behind: %q, %w", left, lerr)
		}
		return err
	}
	return top.close(stage)
}

// Whatever the instant at which a run is killed: what it leaves is found and
// removed, completely, while another run lives alongside it and does not notice.
func TestKilledAtEachStage(t *testing.T) {
	t.Attr("depends-on", "privileges")
	needRights(t)
	beside := newLiving(t)
	stages := stagesOf(t)
	if !slices.Contains(stages, "run") || len(stages) < 10 {
		t.Fatalf("the stages are %q", stages)
	}
	leaves := 0
	for i, name := range stages {
		t.Run(name, func(t *testing.T) {
			run := rand.Uint32()
			var exit *exec.ExitError
			out, err := another{Run: run, KillAt: i}.start(t).CombinedOutput()
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
				t.Fatalf("%v, want killed\n%s", err, out)
			}
			if len(traces(t, run)) > 0 {
				leaves++
			}
			removeAllOf(t, run, beside.run)
			noTraces(t, run)
			beside.works(t)
		})
	}
	if leaves < len(stages)-3 {
		t.Errorf("a run that was killed has left something at %d of %d stages", leaves, len(stages))
	}
}

// removeAllOf finds a dead run and removes it, and leaves one that lives.
func removeAllOf(t *testing.T, run, lives uint32) {
	t.Helper()
	runs, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range runs {
		switch r.ID {
		case run:
			if r.Lives {
				t.Error("a run that was killed is taken for living")
			}
			if err := r.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		case lives:
			found = true
			if !r.Lives || r.PID != os.Getpid() || len(r.Namespaces) != 3 {
				t.Errorf("the run that lives is found as %+v", *r)
			}
			if err := r.Remove(t.Context()); err == nil || !strings.Contains(err.Error(), "not touched") {
				t.Errorf("a run that lives is removed: %v", err)
			}
		}
	}
	if !found {
		t.Error("the run that lives is not found")
	}
}

// Several who clean up at once do not get in each other's way.
func TestManyCleanUpAtOnce(t *testing.T) {
	needRights(t)
	var runs []uint32
	for range 3 {
		run := rand.Uint32()
		runs = append(runs, run)
		if err := (another{Run: run, KillAt: 6}).start(t).Run(); err == nil {
			t.Fatal("not killed")
		}
		if n := len(traces(t, run)); n != 5 { // four namespaces and a lock
			t.Fatalf("%d traces", n)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			found, err := Find()
			if err != nil {
				t.Log(err) // a namespace went while it was looked at
			}
			for _, r := range found {
				if slices.Contains(runs, r.ID) && !r.Lives {
					if err := r.Remove(t.Context()); err != nil {
						t.Log(err)
					}
				}
			}
		})
	}
	all.Wait()
	for _, run := range runs {
		r := &Run{ID: run, Namespaces: namespacesOf(t, run)}
		if err := r.Remove(t.Context()); err != nil {
			t.Error(err)
		}
		noTraces(t, run)
	}
}

func namespacesOf(t testing.TB, run uint32) []string {
	var all []string
	for _, path := range traces(t, run) {
		if dir, name := filepath.Split(path); filepath.Clean(dir) == namespaceDir {
			all = append(all, name)
		}
	}
	return all
}

// Where the machine sets limits, the error says which, and nothing stays.
func TestLimitsOfTheComputer(t *testing.T) {
	needRights(t)
	for _, c := range []struct {
		name string
		a    another
		want string
	}{
		{"files", another{Files: 14}, "raise its limit (ulimit -n)"},
		{"namespaces", another{Namespaces: 2}, "sysctl user.max_net_namespaces"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.a.Run, c.a.KillAt = rand.Uint32(), -1
			out, err := c.a.start(t).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, want an error with %q\n%s", err, c.want, out)
			}
			noTraces(t, c.a.Run)
		})
	}
}

// A process that is put into a namespace keeps it alive; a link that is read when
// its interface goes away says so.
func TestInterfaceThatGoesAwayIsAnError(t *testing.T) {
	needRights(t)
	top, err := Build(context.Background(), line(rand.Uint32()))
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	v, err := top.Ends[0][0].Open(link.VethOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := within(top.Ends[0][0].Namespace, func() error {
		dev, err := netlink.LinkByName("fab0")
		if err != nil {
			return err
		}
		return netlink.LinkDel(dev)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Recv(make([]byte, 100)); err == nil || !strings.Contains(err.Error(), "another program has disabled or removed it") {
		t.Errorf("Recv: %v", err)
	}
	if err := v.Send([]byte("hello")); err == nil || !strings.Contains(err.Error(), "another program has disabled or removed it") {
		t.Errorf("Send: %v", err)
	}
}
