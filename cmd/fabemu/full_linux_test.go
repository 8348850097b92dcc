package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/result/report"

	"golang.org/x/sys/unix"
)

// A log and a capture that fill the disk leave room for the results, which say what is not whole.
func TestAFullDiskHasRoomForTheResults(t *testing.T) {
	t.Attr("depends-on", "privileges")
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("no file system of a small size: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	out := filepath.Join(dir, "out")
	said, err := exec.Command(binary, "run", "hpl2002/fig2", "--clock", "virtual", "--events", "--pcap", "--out", out).CombinedOutput()
	r, e := report.ReadDir(out)
	if e != nil {
		t.Fatalf("there is no result: %v\n%v\n%s", e, err, said)
	}
	if told := strings.Join(r.Unwritten, "\n"); !strings.Contains(told, "the event log is not whole") || !strings.Contains(told, "the capture is not whole") {
		t.Errorf("it does not say what is not whole: %q\n%s", told, said)
	}
}
