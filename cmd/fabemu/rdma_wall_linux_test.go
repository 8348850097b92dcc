//go:build !race

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
)

// rdma runs docs/examples/rdma.yaml until both virtual machines have ended, and returns the result and their consoles.
func rdma(t *testing.T, args ...string) (r report.Result, a, b string) {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(binary, append([]string{"run", "--quiet", "--out", dir, "--set", "model.duration=300s", "docs/examples/rdma.yaml"}, args...)...)
	c.Dir = "../.."
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- c.Wait() }()
	console := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, "programs", name+".out"))
		return strings.ReplaceAll(string(text), "\r", "")
	}
	var err error
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(100 * time.Millisecond):
			if strings.Contains(console("a"), "\nverbs: status ") && strings.Contains(console("b"), "\nverbs: status ") {
				time.Sleep(time.Second) // both programs end
				_ = c.Process.Signal(os.Interrupt)
				err, running = <-ended, false
			}
		}
	}
	a, b = console("a"), console("b")
	text, missing := os.ReadFile(filepath.Join(dir, "result.json"))
	if missing != nil || json.Unmarshal(text, &r) != nil {
		t.Fatalf("there is no result: %v, %v, %s", missing, err, said.String())
	}
	for _, p := range r.Programs {
		if p.Status != 0 {
			stderr, _ := os.ReadFile(filepath.Join(dir, "programs", p.Name+".err"))
			t.Errorf("virtual machine %s %s: %s%s", p.Name, p.Ended, console(p.Name), stderr)
		}
	}
	return r, a, b
}

// Two virtual machines with Debian's kernel and rdma_rxe run RDMA programs over a fabric that marks and loses one data
// frame: rxe sends one NAK for it, and goes back once.
func TestWallRDMA(t *testing.T) {
	runtest.NeedTools(t, "qemu-system-x86_64", "apt-get")
	if err := netns.Missing(); err != nil {
		t.Skip(err)
	}
	build := exec.Command("../../scripts/verbs.sh", "build")
	build.Env = append(os.Environ(), "VERBS_KVM=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, a, b := rdma(t)
	for console, wants := range map[string][]string{
		a: {"50 iters in ", "65536      60 ", "rdma-ping-4", "out_of_seq_request:1\n"},
		b: {"50 iters in ", "65536      60 ", "rdma-ping-4", "rcvd_seq_err:1\n"},
	} {
		for _, want := range wants {
			if !strings.Contains(console, want) {
				t.Errorf("a console has no %q: %s", want, console)
			}
		}
	}
	if len(r.Drops) != 1 || r.Drops[0].Count != 1 {
		t.Errorf("dropped were %+v", r.Drops)
	}
	if f := r.Flows[0]; f.Marked == 0 || f.Marked > f.Frames {
		t.Errorf("of %d frames %d are marked", f.Frames, f.Marked)
	}
}
