package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A user without privilege who asks for larger socket buffers than the system
// grants is told so, with the figures, in the report and in result.json.
func TestSmallerSocketBufferIsAWarning(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(binary, "run", "--dilation", "5", "--set", "model.duration=3ms", "--set", "wall.socket-buffer=1GiB", "--out", filepath.Join(dir, "out"), "hpl2002/fig2")
	if os.Getuid() == 0 { // who may have any buffer: be nobody
		const nobody = 65534
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(binary)} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Dir = dir
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	result, err := os.ReadFile(filepath.Join(dir, "out", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "the kernel granted socket buffers of"
	words := strings.Join(strings.Fields(out.String()), " ")
	if !strings.Contains(words, want) || !strings.Contains(words, "1GiB") || !bytes.Contains(result, []byte(want)) {
		t.Errorf("no warning with the figures:\n%s", out.Bytes())
	}
}
