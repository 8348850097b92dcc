package main

import (
	"bytes"
	"context"
	"errors"
	"fabemu/emu/emutest/runtest"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forever are the arguments of a run that sleeps for days.
func forever(out string, flags ...string) []string {
	return append([]string{"run", "hpl2002/fig2", "--link", "pipe", "--dilation", "40000", "--out", out}, flags...)
}

// refused runs a command that is to end by itself with a mistake in the call.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	var said bytes.Buffer
	c := exec.CommandContext(t.Context(), binary, args...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	defer timer.Stop()
	if got := status(c.Wait()); got != exitMistake || !strings.Contains(said.String(), want) {
		t.Errorf("%q: status %d\n%swant %d and %q", args, got, said.String(), exitMistake, want)
	}
}

// What a run writes may be read and written by whom the umask lets.
func TestUmask(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		mask string
		want fs.FileMode
	}{{"077", 0o600}, {"022", 0o644}, {"002", 0o664}} {
		out := filepath.Join(t.TempDir(), "out")
		script := fmt.Sprintf(`umask %s && "$0" run docs/examples/incast.yaml --clock virtual --events --pcap --out "$1" && "$0" report "$1"`, x.mask)
		c := exec.Command("/bin/sh", "-c", script, binary, out)
		c.Dir = "../.."
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		entries, err := os.ReadDir(out)
		if err != nil || len(entries) != 7 {
			t.Errorf("%d files, %v", len(entries), err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || info.Mode() != x.want {
				t.Errorf("with the umask %s %s has the mode %v, want %v (%v)", x.mask, e.Name(), info.Mode(), x.want, err)
			}
		}
	}
}

// A call that cannot be meant is refused with the call that is.
func TestCallsThatAreMistaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	const scenario = "../../docs/examples/incast.yaml"
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"run", scenario, "--pcap", "foo.pcapng"}, "write --pcap=foo.pcapng"},
		{[]string{"run", "--pcap", "foo.pcapng.gz", scenario}, "write --pcap=foo.pcapng.gz"},
		{[]string{"run", scenario, "--live", "127.0.0.1:9999"}, "write --live=127.0.0.1:9999"},
		{[]string{"run", scenario, "--clock", "virtual", "--out", link}, link + " is a link to nowhere, which is not there"},
		{[]string{"graph", scenario, "--out", link}, link + " is a link to nowhere, which is not there"},
		{[]string{"run", scenario, "--clock", "virtual", "--out", "/proc/fabemu"}, "nothing can be made in /proc"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		said, err := exec.CommandContext(ctx, binary, x.args...).CombinedOutput()
		cancel()
		if got := status(err); got != exitMistake || !strings.Contains(string(said), x.want) {
			t.Errorf("%q: status %d, want %d and %q\n%s", x.args, got, exitMistake, x.want, said)
		}
	}
}

// With --force links go, and what they lead to stays as it is; a folder that is
// elsewhere is refused.
func TestForceFollowsNoLinks(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	parts := []string{"parts/scenario.yaml", "parts/left.json", "parts/left.log"}
	names := append([]string{"result.json", "series.csv", "resolved.yaml", "rates.svg", "events.jsonl", "fabric.pcapng"}, parts...)
	out := filepath.Join(dir, "out")
	if err := os.MkdirAll(filepath.Join(out, "parts"), 0o777); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		link := os.Symlink
		if i%2 == 0 {
			link = os.Link
		}
		if err := link(mine, filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	const scenario = "../../docs/examples/incast.yaml"
	command(t, binary, "run", scenario, "--clock", "virtual", "--events", "--pcap", "--out", out, "--force")
	command(t, binary, "run", scenario, "--placement", "domain", "--set", "model.duration=200us", "--out", filepath.Join(dir, "new"))
	if said, err := exec.Command(binary, "run", scenario, "--placement", "domain", "--set", "model.duration=200us", "--out", out, "--force").CombinedOutput(); status(err) == exitMistake {
		t.Errorf("%v\n%s", err, said)
	}
	if b, err := os.ReadFile(mine); string(b) != "mine" {
		t.Errorf("what the links lead to is %.100q, %v", b, err)
	}
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return name == "events.jsonl" }) {
		if info, err := os.Lstat(filepath.Join(out, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	elsewhere, linked := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "linked")
	if err := errors.Join(os.Mkdir(elsewhere, 0o777), os.Mkdir(linked, 0o777), os.Symlink(elsewhere, filepath.Join(linked, "parts"))); err != nil {
		t.Fatal(err)
	}
	refused(t, "parts is in the way", "run", scenario, "--placement", "domain", "--out", linked, "--force")
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("in the folder that a link leads to there are %v, %v", entries, err)
	}
}

// A run with --force that is killed leaves nothing that passes for its result. Its binary event log
// is printed as far as it goes.
func TestKilledForceLeavesNoMix(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	command(t, binary, "run", "../../docs/examples/incast.yaml", "--clock", "virtual", "--events", "--out", out)
	log, packed := filepath.Join(out, "events.jsonl"), filepath.Join(out, "events.bin")
	killed := exec.Command(binary, "run", "hpl2002/fig3b", "--clock", "virtual", "--set", "model.duration=9s", "--events=binary", "--events-kinds", "deliver", "--out", out, "--force")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	runtest.Await(t, "the second run begins", func() bool {
		second, err := os.Stat(packed)
		return err == nil && second.Size() > 0
	})
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	refused(t, "lacks result.json", "report", out, "--force")
	refused(t, "lacks result.json", "compare", out, out)
	if _, err := os.Stat(log); err == nil {
		t.Error("the log of the first run is still there")
	}
	refused(t, "this event log is cut off after ", "dump", packed)
	if printed, _ := exec.Command(binary, "dump", packed).Output(); !bytes.HasSuffix(printed, []byte("}\n")) {
		t.Errorf("the lines of the killed run end with %q", printed[max(0, len(printed)-200):])
	}

	// So it is where files were put together by hand.
	other := filepath.Join(t.TempDir(), "other")
	for i, dir := range []string{out, other} {
		command(t, binary, "run", "../../docs/examples/incast.yaml", "--clock", "virtual", "--events", "--seed", fmt.Sprint(i+1), "--out", dir, "--force")
	}
	if err := os.Rename(filepath.Join(other, "events.jsonl"), log); err != nil {
		t.Fatal(err)
	}
	command(t, binary, "report", out)
	refused(t, "is a mix of two runs, or was changed: events.jsonl", "compare", out, out)
	if err := os.Rename(filepath.Join(other, "series.csv"), filepath.Join(out, "series.csv")); err != nil {
		t.Fatal(err)
	}
	refused(t, "is a mix of two runs, or was changed: series.csv", "report", out, "--force")
}

// Of two runs into one new directory one wins, although the other looked into it before.
func TestTwoRunsIntoOneNewDirectory(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "strace")
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	args := []string{"run", "../../docs/examples/incast.yaml", "--clock", "virtual", "--out", out}
	// The first is stopped when it has made the directory, before it locks it.
	trace := filepath.Join(dir, "trace")
	first := exec.Command("strace", append([]string{"-f", "-o", trace, "-P", out, "-e", "trace=/^mkdir,flock", "-e", "inject=/^mkdir:signal=SIGSTOP", binary}, args...)...)
	var said bytes.Buffer
	first.Stdout, first.Stderr = &said, &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	var traced []int
	t.Cleanup(func() {
		for _, pid := range traced {
			_ = syscall.Kill(pid, syscall.SIGKILL) // no other process has its number: strace waits for it
		}
		_ = first.Process.Kill()
		_ = first.Wait()
	})
	runtest.Await(t, "the first run is about to lock the directory", func() bool {
		b, _ := os.ReadFile(trace)
		return bytes.Contains(b, []byte("stopped by SIGSTOP"))
	})
	if traced = children(first.Process.Pid); len(traced) != 1 {
		t.Fatalf("strace has started %v", traced)
	}
	command(t, append([]string{binary}, args...)...)
	for _, pid := range traced {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	traced = nil
	if got := status(first.Wait()); got != exitMistake || !strings.Contains(said.String(), out+" is not empty") {
		t.Errorf("status %d\n%swant %d", got, said.String(), exitMistake)
	}
}

// A directory that cannot be written to is refused before anything is run.
func TestUnwritableOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if os.Geteuid() == 0 { // root may write anywhere but on a read-only file system
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
			t.Skip("a file system cannot be mounted: ", err)
		}
		defer func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		}()
	} else if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	refused(t, dir+": nothing can be written there: ", forever(dir)...)
	refused(t, dir+"/new: ", forever(filepath.Join(dir, "new"))...)
	refused(t, dir+": nothing can be written there: ", "sweep", "hpl2002/fig3c", "--set", "model.seed=1,2", "--out", dir)
	refused(t, dir+": nothing can be written there: ", "reproduce", "hpl2002/fig2", "--out", dir)
}

// What stands for something that is done is on the disk before it has its name, and its
// name is on the disk before anything else is done.
func TestFilesAreFlushed(t *testing.T) {
	t.Parallel()
	runtest.NeedTools(t, "strace")
	for _, x := range []struct {
		name string
		args []string
		want []string
	}{
		{"run", []string{"run", "../../docs/examples/incast.yaml", "--clock", "virtual", "--events"}, []string{"series.csv", "resolved.yaml", "rates.svg", "result.json"}},
		{"sweep", []string{"sweep", "../../docs/examples/incast.yaml", "--set", "model.seed=1,2", "--jobs", "1"}, []string{"cell", "sweep.csv"}},
		{"reproduce", []string{"reproduce", "hpl2002/fig2", "--seeds", "1"}, []string{"claims.csv", "claims.md", "report.html", "claims.json"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			trace := filepath.Join(dir, "trace")
			args := append([]string{"strace", "-f", "-y", "-o", trace, "-e", "trace=fsync,fdatasync,/^rename,/^link", binary}, x.args...)
			command(t, append(args, "--out", filepath.Join(dir, "out"))...)
			b, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			call := regexp.MustCompile(`(fsync|rename|link)\w*\((?:\d+<([^>]*)>|AT_FDCWD[^,]*, "([^"]*)", AT_FDCWD[^,]*, "([^"]*)")`)
			flushed, renamed := map[string]bool{}, []string{}
			pending := "" // a folder with a name that is not flushed
			for _, m := range call.FindAllStringSubmatch(string(b), -1) {
				switch {
				case m[1] == "fsync":
					flushed[m[2]] = true
					if m[2] == pending {
						pending = ""
					}
				case pending != "":
					t.Errorf("%s gets its name before that in %s is flushed", m[4], pending)
				case !flushed[m[3]]:
					t.Errorf("%s gets its name before it is flushed", m[4])
				}
				if m[1] != "fsync" {
					renamed, pending = append(renamed, filepath.Base(m[4])), filepath.Dir(m[4])
				}
			}
			if pending != "" {
				t.Errorf("the last name in %s is not flushed", pending)
			}
			for i, name := range renamed { // the hash of a cell
				renamed[i] = regexp.MustCompile(`^[0-9a-f]{12}\.json$`).ReplaceAllString(name, "cell")
			}
			for _, name := range x.want {
				if !slices.Contains(renamed, name) {
					t.Errorf("%s has not got its name at last: %q", name, renamed)
				}
			}
			if x.name == "run" && !flushed[filepath.Join(dir, "out", "events.jsonl")] {
				t.Error("the event log is not flushed")
			}
		})
	}
}

// The power goes while a sweep runs: nothing that was not flushed is there afterwards.
// The same call continues where the sweep was.
func TestSweepAfterAPowerCut(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a file system is mounted: needs root")
	}
	runtest.NeedTools(t, "mkfs.ext4", "mount", "truncate")
	dir := t.TempDir()
	image, mounted := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	if err := os.Mkdir(mounted, 0o777); err != nil {
		t.Fatal(err)
	}
	command(t, "truncate", "-s", "16M", image)
	command(t, "mkfs.ext4", "-q", image)
	mount := func(image string) {
		if said, err := exec.Command("mount", "-o", "loop", image, mounted).CombinedOutput(); err != nil {
			t.Skipf("a file system cannot be mounted: %s", said)
		}
	}
	mount(image)
	defer func() { _ = syscall.Unmount(mounted, syscall.MNT_DETACH) }()
	out := filepath.Join(mounted, "a", "sweep")
	args := []string{"sweep", "../../docs/examples/incast.yaml", "--set", "model.seed=1,2,3,4,5,6,7,8,9,10,11,12", "--jobs", "2", "--out", out}
	var said bytes.Buffer
	c := exec.Command(binary, args...)
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var done int
	runtest.Await(t, "some runs are done", func() bool {
		cells, _ := filepath.Glob(filepath.Join(out, "cells", "*.json"))
		done = len(cells)
		return done >= 3
	})
	disk, err := os.Open(mounted)
	if err != nil {
		t.Fatal(err)
	}
	// FS_IOC_SHUTDOWN without flushing even the journal: what the disk has now is all that
	// there will be (linux/fs.h, ext4).
	const shutdown, noLogFlush = 0x8004587d, 2
	err = unix.IoctlSetPointerInt(int(disk.Fd()), shutdown, noLogFlush)
	disk.Close()
	if err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		t.Skip("this file system cannot be cut off: ", err)
	}
	if err := c.Wait(); err == nil {
		t.Fatal("the sweep has ended before the power was cut")
	}
	if err := syscall.Unmount(mounted, 0); err != nil {
		t.Fatal(err)
	}
	// A copy: while any namespace has the first mount, the image itself is the disk that is cut
	// off.
	command(t, "cp", image, image+"-after")
	mount(image + "-after")
	again := command(t, append([]string{binary}, args...)...)
	var before int
	if m := regexp.MustCompile(`runs are done \((\d+) before\)`).FindStringSubmatch(again); m != nil {
		fmt.Sscan(m[1], &before)
	}
	// The last may have had its name, and not been flushed yet, when the power went; so may
	// the one that was written next to it.
	if before < done-2 || before == 0 {
		t.Errorf("%d runs were done, and %d were there after the power cut\n%s", done, before, again)
	}
	if n := strings.Count(again, ",virtual,"); n != 12 {
		t.Errorf("%d rows, want 12:\n%s", n, again)
	}
}
