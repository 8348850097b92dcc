package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fabemu/emu/result/report"
)

// What was computed is printed where the disk has no room for it, the exit status says that
// something is missing, and result.json comes before all that takes more room: it names what is
// missing, and a report can be made of it.
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
		{"results", []string{"hpl2002/fig3b", "--all-points"}, []string{"Rates in percent", "Not written", "results: series.csv is not written: no space left on device"}},
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
		d, err := report.ReadDir(out)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		} else if last := x.want[len(x.want)-1]; x.name == "results" && !slices.Contains(d.Unwritten, last) || len(d.Unwritten) == 0 || len(d.Phases) == 0 {
			t.Errorf("%s: %s has %d phases, and says %q", x.name, report.ResultFile, len(d.Phases), d.Unwritten)
		}
		if said, err := exec.Command(binary, "report", out).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", x.name, err, said)
		}
		os.RemoveAll(out)
	}
}
