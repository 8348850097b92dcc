package main

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/host/netns"
)

// drops are filters of the kernel for tc(8), by the share of the datagrams that they drop. Each
// draws a random number and compares it.
var drops = map[string]string{
	"all":  "1,6 0 0 2,",
	"half": "4,32 0 0 4294963256,37 0 1 2147483648,6 0 0 2,6 0 0 4294967295,",
	"1 %":  "4,32 0 0 4294963256,37 0 1 4252017623,6 0 0 2,6 0 0 4294967295,",
}

// A run whose datagrams the loopback drops comes to its end, and is void, whatever the share and
// the placement.
func TestRunWhoseDatagramsAreDropped(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	const dropping = `{ ip link set lo up && tc qdisc add dev lo clsact && tc filter add dev lo ingress bpf da bytecode "$0"; } || exit 77; exec "$@"`
	for share, filter := range drops {
		for _, placement := range []string{"goroutine", "process", "domain"} {
			if placement != "goroutine" && share != "all" {
				continue // it takes as long: the sixth loss ends the run
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			c := exec.CommandContext(ctx, "/bin/sh", "-c", dropping, filter, binary, "run", "../../docs/examples/incast.yaml",
				"--packing", "single", "--placement", placement, "--verify", "off", "--out", filepath.Join(t.TempDir(), "out"))
			c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET}
			said, err := c.CombinedOutput()
			got := status(err)
			if got == 77 {
				t.Skipf("tc cannot filter here: %s", said)
			}
			if ctx.Err() != nil || got != exitFailed || !bytes.Contains(said, []byte("Verdict: void")) {
				t.Errorf("%s dropped, placement %s: status %d (%v), want %d\n%s", share, placement, got, ctx.Err(), exitFailed, said)
			}
			cancel()
		}
	}
}

// A run over veth pairs one end of which has become too narrow ends by itself, and is void: the
// kernel refuses the datagrams forever.
func TestRunOverNarrowLinks(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("there is no ip command: install iproute2")
	}
	t.Parallel()
	if !apart(t) {
		return
	}
	c := exec.Command(binary, "run", "../../docs/examples/incast.yaml", "--link", "veth", "--verify", "off", "--dilation", "2000", "--progress", "json",
		"--out", filepath.Join(t.TempDir(), "out"))
	var said bytes.Buffer
	c.Stdout = &said
	progress, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	lines := bufio.NewScanner(progress)
	for n := 0; lines.Scan(); n++ {
		said.WriteString(lines.Text() + "\n")
		if n != 2 { // it runs
			continue
		}
		space, err := filepath.Glob("/run/netns/fabemu-*-left")
		if err != nil || len(space) != 1 {
			t.Fatalf("%q, %v", space, err)
		}
		out, err := exec.Command("ip", "netns", "exec", filepath.Base(space[0]), "sh", "-c", `for i in /sys/class/net/fab*; do ip link set ${i##*/} mtu 600 || exit; done`).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	}
	if got := status(c.Wait()); got != exitFailed || !bytes.Contains(said.Bytes(), []byte("Verdict: void")) {
		t.Errorf("status %d, want %d and a void verdict\n%s", got, exitFailed, said.String())
	}
}
