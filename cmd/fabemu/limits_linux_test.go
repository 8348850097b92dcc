package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fabemu/emu/host/netns"
)

// Wherever the start of a run meets the limit of open files or of memory, there is an error that
// names it, or the run succeeds; nothing of it is left.
func TestStartUnderLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	t.Parallel()
	startUnder(t, []string{"-n 20", "-n 32", "-n 40", "-n 44", "-n 52", "-n 64", "-v 1200000"})
}

// startUnder starts runs under limits, as in ulimit.
func startUnder(t *testing.T, limits []string) {
	links := []string{"udp"}
	if netns.Missing() == nil {
		if !apart(t) {
			return
		}
		links = append(links, "veth")
	}
	failed := 0
	for _, limit := range limits {
		for _, placement := range []string{"goroutine", "process", "domain"} {
			for _, link := range links {
				if !startsUnder(t, limit, placement, link) {
					failed++
				}
			}
		}
	}
	if failed == 0 {
		t.Error("no run has met its limit: this test shows nothing")
	}
}

// noMemory matches the error of a run, of Go and of the library of C.
var noMemory = regexp.MustCompile(`ulimit -v|memory|Resource temporarily unavailable`)

// startsUnder reports whether a run succeeds under a limit.
func startsUnder(t *testing.T, limit, placement, link string) bool {
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", `ulimit `+limit+` && exec "$0" "$@"`, binary,
		"run", "../../docs/examples/incast.yaml", "--set", "model.duration=200us", "--placement", placement, "--link", link, "--packing", "single", "--verify", "off", "--out", out)
	said, err := c.CombinedOutput()
	got, name := status(err), fmt.Sprintf("ulimit %s, placement %s, link %s", limit, placement, link)
	switch {
	case ctx.Err() != nil:
		t.Errorf("%s: it has not ended\n%s", name, said)
	case bytes.Contains(said, []byte("nil pointer")) || bytes.Contains(said, []byte("this is a bug")):
		t.Errorf("%s: status %d\n%s", name, got, said)
	case strings.HasPrefix(limit, "-n") && got != exitOK && !bytes.Contains(said, []byte("too many open files")),
		strings.HasPrefix(limit, "-v") && got != exitOK && !noMemory.Match(said):
		t.Errorf("%s: status %d, and the error does not name the limit\n%s", name, got, said)
	}
	var left []string
	for _, pattern := range []string{filepath.Join(out, "parts", "*.sock"), "/run/netns/fabemu-*", "/run/fabemu/*"} {
		if found, _ := filepath.Glob(pattern); link == "veth" || pattern[:4] != "/run" {
			left = append(left, found...)
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, _ := os.ReadFile(path); bytes.Contains(line, []byte(out)) {
			left = append(left, string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	if len(left) > 0 {
		t.Errorf("%s: status %d, and it has left %q\n%s", name, got, left, said)
	}
	return got == exitOK
}
