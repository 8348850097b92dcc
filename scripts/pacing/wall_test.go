//go:build !race

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// build makes the program, which starts itself again in its namespaces. Without
// root, or without ip and tc, the test is skipped.
func build(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: network namespaces cannot be made")
	}
	for _, name := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not in PATH: install iproute2")
		}
	}
	program := filepath.Join(t.TempDir(), "pacing")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// namespaces lists the network namespaces of a process of this program.
func namespaces(t *testing.T, c *exec.Cmd) []string {
	t.Helper()
	names, err := filepath.Glob("/run/netns/fabemu-pacing-*")
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, name := range names {
		if strings.Contains(name, "-"+strconv.Itoa(c.Process.Pid)+"-") {
			own = append(own, name)
		}
	}
	return own
}

// All methods, for a moment: each sends about as many frames as it should, none is
// lost, and the namespaces are gone.
func TestWallPacing(t *testing.T) {
	program := build(t)
	c := exec.Command(program, "1", "0.3")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	t.Logf("\n%s", out)
	for _, name := range []string{"fabemu", "htb", "tbf", "tbf, least burst", "time.Sleep"} {
		found := false
		for line := range strings.Lines(string(out)) {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+" ")
			f := strings.Fields(rest)
			if !ok || len(f) != 9 {
				continue
			}
			found = true
			if f[8] != "0" {
				t.Errorf("%s lost %s datagrams", name, f[8])
			}
			if len(f[7]) < 3 { // of 1450
				t.Errorf("%s sent %s frames", name, f[7])
			}
		}
		if !found {
			t.Errorf("there is no line of %s", name)
		}
	}
	if left := namespaces(t, c); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}

// An interrupt leaves nothing behind.
func TestWallPacingInterrupted(t *testing.T) {
	program := build(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, program, "50", "1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for len(namespaces(t, c)) < 2 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(1500 * time.Millisecond) // into the first qdisc
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || ctx.Err() != nil {
		t.Errorf("the program ended with %v, in time: %v", err, ctx.Err() == nil)
	}
	if left := namespaces(t, c); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}
