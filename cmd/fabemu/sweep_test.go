package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A sweep that is killed, again and again, in the middle of whatever it does, continues
// where it was and ends with the table and the files of an undisturbed one.
func TestKilledSweepGoesOn(t *testing.T) {
	t.Attr("depends-on", "privileges")
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	work := t.TempDir()
	call := func(out string) *exec.Cmd {
		c := exec.Command(binary, "sweep", "hpl2002/fig3c", "--set", "model.duration=5ms", "--set", "model.seed=1,2,3",
			"--set", "defaults.switch.marking.threshold=none,4", "--set", "defaults.link.buffer=2packets,4packets",
			"--metric", "root.B-BC.utilisation", "--jobs", "2", "--out", out)
		c.Dir = work
		return c
	}
	finish := func(out string) string {
		t.Helper()
		c := call(out)
		var said bytes.Buffer
		c.Stderr = &said
		table, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", out, err, said.String())
		}
		return string(table)
	}
	want := finish("whole")
	if n := strings.Count(want, "\n"); n != 13 {
		t.Fatalf("%d lines:\n%s", n, want)
	}
	if s := state(t, filepath.Join(work, "whole")); len(s) != 16 {
		t.Fatalf("%d files: %v", len(s), s)
	}

	// Moments that are waited for, and moments that come as they come.
	present := func(pattern string, n int) moment {
		return func(out string, _ time.Duration) bool {
			found, _ := filepath.Glob(filepath.Join(work, out, pattern))
			return len(found) >= n
		}
	}
	after := func(ms time.Duration) moment {
		return func(_ string, since time.Duration) bool { return since >= ms*time.Millisecond }
	}
	moments := []moment{
		after(0), after(20), present("", 1), present("cells", 1), present("cells/*.json", 1),
		present("cells/*.json", 5), after(100), present("sweep.csv", 1),
	}
	for i, when := range moments { // each in its own directory
		out := fmt.Sprint("killed-", i)
		kill(t, call(out), out, when)
		same(t, want, finish(out), work, out)
	}
	for _, when := range moments { // all in one
		kill(t, call("often"), "often", when)
	}
	same(t, want, finish("often"), work, "often")
}

// same compares what a sweep has written with what the undisturbed one has.
func same(t *testing.T, want, got, work, out string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: the table is\n%snot\n%s", out, got, want)
	}
	is, ought := state(t, filepath.Join(work, out)), state(t, filepath.Join(work, "whole"))
	for name, text := range ought {
		if is[name] != text {
			t.Errorf("%s: %s is\n%s\nnot\n%s", out, name, is[name], text)
		}
	}
	for name := range is {
		if _, ok := ought[name]; !ok {
			t.Errorf("%s: there is %s", out, name)
		}
	}
}

// moment reports whether it has come, for a call that writes into a directory and was
// started some time ago.
type moment func(out string, since time.Duration) bool

// kill starts a command and kills it at a moment, unless it has ended before.
func kill(t *testing.T, c *exec.Cmd, out string, when moment) {
	t.Helper()
	begin := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		c.Wait()
		close(ended)
	}()
	for !when(out, time.Since(begin)) {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
	c.Process.Kill() // it may have ended just now
	<-ended
}

// state reads all files below a directory.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
