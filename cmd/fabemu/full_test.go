package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fabemu/emu/result/report"
)

// What was computed is printed where the disk has no room for it, and the exit status says
// that something is missing.
func TestAFullDiskDoesNotLoseTheReport(t *testing.T) {
	t.Attr("depends-on", "privileges")
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a small file system is mounted: needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("a small file system cannot be mounted: ", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	for _, x := range []struct {
		name string
		args []string
		want []string
	}{
		{"results", []string{"hpl2002/fig3b"}, []string{"Rates in percent", "Not written", "results: ", "no space left on device"}},
		{"log", []string{"hpl2002/fig3b", "--events"}, []string{"Rates in percent", "the event log is not whole"}},
		{"json", []string{"hpl2002/fig3b", "--pcap", "--json"}, []string{`"unwritten": [`, "the capture is not whole", `"phases"`}},
	} {
		out := filepath.Join(dir, x.name)
		c := exec.Command(binary, append([]string{"run", "--clock", "virtual", "--out", out}, x.args...)...)
		var said strings.Builder
		c.Stdout = &said
		var exit *exec.ExitError
		if err := c.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Errorf("%s: %v, want exit status %d", x.name, err, exitFailed)
		}
		for _, want := range x.want {
			if !strings.Contains(strings.Join(strings.Fields(said.String()), " "), want) {
				t.Errorf("%s: it does not print %q:\n%.3000s", x.name, want, said.String())
			}
		}
		if _, err := os.Stat(filepath.Join(out, report.ResultFile)); err == nil {
			t.Errorf("%s: %s is there although not all is", x.name, report.ResultFile)
		}
		os.RemoveAll(out)
	}
}
