// Package scripts has the tests of scripts that make files.
package scripts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A release is the same in two folders; its Debian package can be installed, what was
// installed runs the main job, and nothing of it stays when it is removed.
func TestRelease(t *testing.T) {
	for _, tool := range []string{"dpkg", "dpkg-deb", "gzip", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	args := []string{"./release.sh", "-t", "linux/" + runtime.GOARCH}
	if !profiled {
		args = append(args, "-q")
	}
	var sums [][]byte
	var out string
	for range 2 {
		out = t.TempDir()
		command(t, append(args, "v0.0-1-test", out)...)
		b, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, b)
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("two releases differ:\n%s\n%s", sums[0], sums[1])
	}

	packages, _ := filepath.Glob(filepath.Join(out, "*.deb"))
	if len(packages) != 1 {
		t.Fatalf("%d packages", len(packages))
	}
	root := t.TempDir()
	admin := filepath.Join(root, "var/lib/dpkg")
	for _, dir := range []string{"updates", "info", "triggers"} {
		if err := os.MkdirAll(filepath.Join(admin, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(admin, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dpkg := []string{"dpkg", "--root=" + root, "--log=/dev/null", "--force-not-root", "--force-bad-path"}
	command(t, append(dpkg, "--install", packages[0])...)
	installed := filepath.Join(root, "usr/bin/fabemu")
	if got := command(t, installed, "--version"); got != "fabemu version v0.0-1-test\n" {
		t.Errorf("it says %q", got)
	}
	if got := command(t, installed, "run", "--clock", "virtual", "--out", filepath.Join(root, "results")); !strings.Contains(got, "Verdict: virtual") {
		t.Errorf("the main job says\n%s", got)
	}
	for _, path := range []string{"man/man1/fabemu.1.gz", "bash-completion/completions/fabemu", "doc/fabemu/copyright"} {
		if _, err := os.Stat(filepath.Join(root, "usr/share", path)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{filepath.Join(root, "usr/share/doc/fabemu/copyright"), filepath.Join(out, "fabemu-licenses.txt")} {
		b, err := os.ReadFile(path)
		for _, want := range []string{"Anthony Starks", "SIL OPEN FONT LICENSE", "The FreeType Project LICENSE"} {
			if !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s lacks %q, %v", path, want, err)
			}
		}
	}
	command(t, append(dpkg, "--purge", "fabemu")...)
	if _, err := os.Stat(filepath.Join(root, "usr")); err == nil {
		t.Error("something stays")
	}
}

// command runs a command and returns what it prints.
func command(t *testing.T, args ...string) string {
	t.Helper()
	said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, said)
	}
	return string(said)
}
