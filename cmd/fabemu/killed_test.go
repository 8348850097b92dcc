package main

import (
	"fabemu/emu/emutest/runtest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A run in processes is killed with kill -9 at any moment of its start and of its way.
// The same call with --force works at once, and nothing of the killed run stays but its
// results; files of others do.
func TestRunAgainAfterKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	others := []string{"notes.json", ".result.json-mine", "parts/mine.sock"}
	if err := os.MkdirAll(filepath.Join(out, "parts"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(out, name), []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"run", "../../docs/examples/incast.yaml", "--set", "model.duration=200us", "--out", out, "--force", "--placement"}
	const kills = 8
	sockets := 0
	for try := range kills {
		killed := exec.Command(binary, append(args, "process", "--dilation", "40000")...)
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		left := func() bool {
			left, _ := filepath.Glob(filepath.Join(out, "parts/[^m]*.sock"))
			return len(left) > 0
		}
		if try < kills-1 {
			time.Sleep(time.Duration(try) * 20 * time.Millisecond)
		} else {
			runtest.Await(t, "there are sockets", left)
		}
		if err := killed.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = killed.Wait()
		if left() {
			sockets++
		}
		said, err := exec.Command(binary, append(args, "domain")...).CombinedOutput()
		if got := status(err); got != exitOK {
			t.Errorf("try %d: status %d\n%s", try, got, said)
		}
	}
	t.Logf("%d of %d killed runs have left sockets", sockets, kills)
	if sockets == 0 {
		t.Errorf("none of %d killed runs has left a socket: this test shows nothing", kills)
	}
	var odd []string
	for _, pattern := range []string{".*", "parts/.*", "parts/*.sock"} {
		found, _ := filepath.Glob(filepath.Join(out, pattern))
		for _, path := range found {
			if name := strings.TrimPrefix(path, out+"/"); !slices.Contains(others, name) {
				odd = append(odd, name)
			}
		}
	}
	if len(odd) > 0 {
		t.Errorf("left: %q", odd)
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

// Two runs cannot write into one directory.
func TestTwoRunsIntoOneDirectory(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	first := exec.Command(binary, "run", "hpl2002/fig2", "--link", "pipe", "--dilation", "40000", "--events", "--out", out)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = first.Process.Kill()
		_ = first.Wait()
	}()
	runtest.Await(t, "the first run begins", func() bool {
		_, err := os.Stat(filepath.Join(out, "events.jsonl"))
		return err == nil
	})
	said, err := exec.Command(binary, "run", "--clock", "virtual", "--out", out, "--force").CombinedOutput()
	want := "fabemu: " + out + ": another run is active there; choose another place with --out\n"
	if got := status(err); got != exitMistake || !strings.HasSuffix(string(said), want) {
		t.Errorf("status %d\n%swant %d and\n%s", got, said, exitMistake, want)
	}
}
