// Package scripts has the tests of scripts that make files.
package scripts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
)

// A release is the same in two folders; its Debian package can be installed, the installed
// program runs the default scenario, and nothing of it stays when it is removed. The archive and
// the image have the same program, and the list of parts has a license for each.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	runtest.NeedTools(t, "dpkg", "gzip", "python3")
	args := []string{"./release.sh", "-t", "linux/" + runtime.GOARCH}
	if !profiled {
		args = append(args, "-q")
	}
	var outs []string
	var making []*exec.Cmd
	for range 2 { // at once: each waits for the disk, and for one program after another
		outs = append(outs, t.TempDir())
		c := exec.Command(args[0], append(args[1:], outs[len(outs)-1])...)
		c.Stdout = new(bytes.Buffer)
		c.Stderr = c.Stdout
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		making = append(making, c)
	}
	var sums [][]byte
	for i, c := range making {
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, c.Stdout)
			continue
		}
		b, err := os.ReadFile(filepath.Join(outs[i], "SHA256SUMS"))
		if err != nil {
			t.Error(err)
		}
		sums = append(sums, b)
	}
	if t.Failed() {
		return
	}
	out := outs[1]
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("two releases differ:\n%s\n%s", sums[0], sums[1])
	}

	number, err := os.ReadFile("../cmd/fabemu/version.txt")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(number))
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
	if got := command(t, installed, "--version"); got != "fabemu version "+version+"\n" {
		t.Errorf("it says %q", got)
	}
	if got := command(t, installed, "run", "--clock", "virtual", "--out", filepath.Join(root, "results")); !strings.Contains(got, "Verdict: virtual") {
		t.Errorf("the default scenario says\n%s", got)
	}
	for _, path := range []string{"doc/fabemu/examples/incast.yaml", "doc/fabemu/scenarios/hpl2002/fig3b.yaml", "man/man1/fabemu.1.gz", "man/man1/fabemu-run.1.gz", "bash-completion/completions/fabemu", "doc/fabemu/copyright"} {
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
	installedBytes, err := os.ReadFile(installed)
	if err != nil {
		t.Fatal(err)
	}
	program := string(installedBytes)
	if folder, err := filepath.Abs("."); err != nil || strings.Contains(program, folder) {
		t.Errorf("the program has the path of the folder where it was made, %s, %v", folder, err)
	}
	command(t, append(dpkg, "--purge", "fabemu")...)
	if _, err := os.Stat(filepath.Join(root, "usr")); err == nil {
		t.Error("something stays")
	}

	base := filepath.Join(out, "fabemu-"+version)
	image, archive := base+"-linux-"+runtime.GOARCH+"-image.tar", base+"-linux-"+runtime.GOARCH+".tar.gz"
	if got := unpacked(t, archive)[filepath.Base(base)+"-linux-"+runtime.GOARCH+"/fabemu"]; got != program {
		t.Errorf("the archive has another program, of %d bytes", len(got))
	}
	testImage(t, unpacked(t, image), program)
	testParts(t, base+".cdx.json")
	if rpms, _ := filepath.Glob(filepath.Join(out, "*.rpm")); len(rpms) != 1 {
		t.Errorf("%d packages for RPM", len(rpms))
	} else if rpm, err := exec.LookPath("rpm"); err == nil {
		const want = "/usr/bin/fabemu\n"
		if got := command(t, rpm, "--query", "--list", "--package", rpms[0]); !strings.Contains(got, want) {
			t.Errorf("the package for RPM has the files\n%s", got)
		}
	}
}

// testImage follows an image from its index to its one layer.
func testImage(t *testing.T, files map[string]string, program string) {
	t.Helper()
	type descriptor struct {
		Digest string
		Size   int
	}
	blob := func(d descriptor) []byte {
		b := []byte(files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")])
		if d.Size != len(b) || d.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256(b)) {
			t.Errorf("the image has no blob %v", d)
		}
		return b
	}
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			Diffs []string `json:"diff_ids"`
		}
	}
	read := func(b []byte, v any) {
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	if read([]byte(files["index.json"]), &index); len(index.Manifests) != 1 {
		t.Fatalf("the image has %d manifests", len(index.Manifests))
	}
	read(blob(index.Manifests[0]), &manifest)
	read(blob(manifest.Config), &config)
	if len(manifest.Layers) != 1 || len(config.RootFS.Diffs) != 1 || len(config.Config.Entrypoint) != 1 {
		t.Fatalf("%+v, %+v", manifest, config)
	}
	layer := filepath.Join(t.TempDir(), "layer.tar.gz")
	if err := os.WriteFile(layer, blob(manifest.Layers[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, layer)[strings.TrimPrefix(config.Config.Entrypoint[0], "/")]; got != program {
		t.Errorf("the image runs another program, of %d bytes", len(got))
	}
	sum := strings.Fields(command(t, "sh", "-c", "gzip -dc '"+layer+"' | sha256sum"))
	if sum[0] != strings.TrimPrefix(config.RootFS.Diffs[0], "sha256:") {
		t.Errorf("the layer has the sum %s, and its image another", sum[0])
	}
}

// testParts checks the list of the parts of a release.
func testParts(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Components []struct {
			Name, Purl string
			Licenses   []any
		}
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range list.Components {
		names = append(names, c.Name)
		if len(c.Licenses) == 0 {
			t.Errorf("the list of parts has no license for %s", c.Name)
		}
	}
	for _, want := range []string{"std", "uPlot", "gvisor.dev/gvisor", "github.com/spf13/cobra"} {
		if !slices.Contains(names, want) {
			t.Errorf("the list of parts lacks %s: %v", want, names)
		}
	}
}

// unpacked returns the files of a tar archive, compressed or not.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	command(t, "tar", "-C", dir, "-xf", path)
	return filesOf(t, dir)
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
