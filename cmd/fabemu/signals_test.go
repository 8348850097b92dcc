package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
)

// spoken is a command whose standard error is read line by line.
type spoken struct {
	*exec.Cmd
	lines *bufio.Reader
	close func() error // there is no reader any more
}

func speak(t *testing.T, name string, args ...string) *spoken {
	t.Helper()
	s := &spoken{Cmd: exec.Command(name, args...)}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.lines, s.close, s.Stderr = bufio.NewReader(r), r.Close, w
	err = s.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); _ = s.Process.Kill(); _ = s.Wait() })
	return s
}

// says waits until a line has a text in it.
func (s *spoken) says(t *testing.T, want string) {
	t.Helper()
	for said := ""; ; {
		line, err := s.lines.ReadString('\n')
		if said += line; err != nil {
			t.Fatalf("%v; it does not say %q but\n%s", err, want, said)
		}
		if strings.Contains(line, want) {
			return
		}
	}
}

// goesOn is what each line has in which a run says how far it is.
const goesOn = " % (model time "

// send returns what sends signals.
func send(signals ...syscall.Signal) func(*spoken) error {
	return func(s *spoken) (err error) {
		for _, x := range signals {
			err = s.Process.Signal(x)
		}
		return err
	}
}

// endings are what ends a run early, and leaves its results.
var endings = []struct {
	name string
	end  func(*spoken) error
}{
	{"SIGINT", send(syscall.SIGINT)},
	{"SIGTERM twice", send(syscall.SIGTERM, syscall.SIGTERM)},
	{"SIGHUP", send(syscall.SIGHUP)},
	{"SIGHUP twice", send(syscall.SIGHUP, syscall.SIGHUP)},
	{"SIGQUIT", send(syscall.SIGQUIT)},
	{"SIGQUIT, SIGHUP", send(syscall.SIGQUIT, syscall.SIGHUP)},
	{"no reader", func(s *spoken) error { return s.close() }},
}

// endedEarly waits for the end of a run that is to leave a partial result.
func (s *spoken) endedEarly(t *testing.T, out string) {
	t.Helper()
	rest, _ := io.ReadAll(s.lines)
	if got := status(s.Wait()); got != exitFailed || strings.Contains(string(rest), "goroutine ") {
		t.Errorf("status %d, want %d\n%s", got, exitFailed, rest)
	}
	if b, err := os.ReadFile(filepath.Join(out, "result.json")); err != nil || !strings.Contains(string(b), `"partial": true`) {
		t.Errorf("no partial result: %v", err)
	}
}

func TestEndedEarly(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	for _, x := range endings {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			s := speak(t, binary, forever(out)...)
			s.says(t, goesOn)
			if err := x.end(s); err != nil {
				t.Fatal(err)
			}
			s.endedEarly(t, out)
		})
	}
}

// However a run over veth pairs is ended, its namespaces go.
func TestEndedEarlyInNamespaces(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	if !apart(t) {
		return
	}
	for _, x := range endings {
		t.Run(x.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			s := speak(t, binary, forever(out, "--link", "veth", "--placement", "domain")...)
			s.says(t, goesOn)
			runtest.Await(t, "each machine has its namespace", func() bool { return len(namespacesOf("*")) == nodes })
			if err := x.end(s); err != nil {
				t.Fatal(err)
			}
			s.endedEarly(t, out)
			locks, _ := filepath.Glob("/run/fabemu/*")
			if left := append(namespacesOf("*"), locks...); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// The first Ctrl-C ends a run that waits for a lock on the folder of namespaces that another
// process has; a run that is not ended names that process.
func TestEndedWhileItWaits(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	if !apart(t) {
		return
	}
	if err := os.Mkdir("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open("/run/netns")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	s := speak(t, binary, forever(out, "--link", "veth")...)
	s.says(t, "takes") // the next that it does is to wait
	runtest.Await(t, "it has opened the folder", func() bool { return opened(s.Process.Pid, "/run/netns") })
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	s.endedEarly(t, out)

	s = speak(t, binary, forever(out, "--link", "veth", "--force")...)
	s.says(t, fmt.Sprintf("/run/netns has been locked for 5s by process %d (", os.Getpid()))
	if got := status(s.Wait()); got != exitFailed {
		t.Errorf("status %d, want %d", got, exitFailed)
	}
	if left, err := os.ReadDir("/run/netns"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// opened says whether a process has a file open.
func opened(pid int, path string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(links, func(l string) bool { to, err := os.Readlink(l); return err == nil && to == path })
}

// Under nohup(1) a run continues when the terminal is closed.
func TestHangUpThatIsIgnored(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	s := speak(t, "/bin/sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, binary}, forever(out)...)...)
	s.says(t, goesOn)
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.says(t, goesOn) // still
	if _, err := os.Stat(filepath.Join(out, "result.json")); err == nil {
		t.Error("it has a result")
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.endedEarly(t, out)
}

// Who reads a part of what a command prints has no error of it, and its exit status is
// what it is when all is read.
func TestClosedOutput(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	dir := t.TempDir()
	const incast = "../../docs/examples/incast.yaml"
	for _, x := range []struct {
		want int
		args []string
	}{
		{exitOK, []string{"list"}}, {exitOK, []string{"schema"}}, {exitOK, []string{"completion", "bash"}}, {exitOK, []string{"run", "--help"}},
		{exitOK, []string{"generate", "incast"}}, {exitOK, []string{"check", "--json", incast}},
		{exitOK, []string{"run", incast, "--clock", "virtual", "--pcap", "--out", dir + "/a"}},
		{exitCheck, []string{"run", incast, "--clock", "virtual", "--json", "--out", dir + "/b", "--set", "expect.no-spreading.low=0.9"}},
		{exitFailed, []string{"run", incast, "hpl2002/fig3b", "--clock", "virtual", "--out", dir + "/c"}}, // the second is ended early
		{exitOK, []string{"compare", dir + "/a", dir + "/a"}},
		{exitCheck, []string{"compare", dir + "/a", dir + "/b"}},
		{exitOK, []string{"compare", dir + "/a", dir + "/a", dir + "/a"}},
		{exitCheck, []string{"compare", dir + "/a", dir + "/a", dir + "/b"}},
		{exitOK, []string{"dump", dir + "/a/fabric.pcapng"}},
		{exitOK, []string{"sweep", incast, "--set", "model.seed=1,2", "--out", dir + "/d"}},
		{exitOK, []string{"reproduce", "hpl2002/fig2", "--seeds", "1", "--out", dir + "/e"}},
		{exitMistake, []string{"run", "no-such"}},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var said strings.Builder
		c := exec.Command(binary, x.args...)
		c.Stdout, c.Stderr = w, &said
		err = c.Run()
		w.Close()
		if got := status(err); got != x.want || strings.Contains(said.String(), "broken pipe") {
			t.Errorf("%q: %v, want status %d\n%s", x.args, err, x.want, said.String())
		}
	}
	for _, name := range []string{"a/result.json", "b/result.json", "c/incast/result.json", "d/sweep.csv", "e/claims.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
