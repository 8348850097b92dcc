package archtest

import (
	"bytes"
	"errors"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFormatted(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			want, err := format.Source(f.src)
			if err != nil {
				t.Errorf("%s: %v", f.name, err)
			} else if !bytes.Equal(f.src, want) {
				t.Errorf("%s is not as gofmt writes it: run gofmt -w %s", f.name, f.name)
			}
		}
	}
}

func TestGoVersion(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^go 1\.26(\.\d+)?$`).Match(mod) {
		t.Error("go.mod does not say \"go 1.26\"")
	}
	if !regexp.MustCompile(`(?m)^module ` + module + `$`).Match(mod) {
		t.Errorf("go.mod does not say \"module %s\"", module)
	}
}

func TestModuleIsTidy(t *testing.T) {
	cmd := exec.Command("go", "mod", "tidy", "-diff")
	cmd.Dir = root
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	diff, err := cmd.Output()
	switch {
	case len(diff) > 0:
		t.Errorf("run go mod tidy:\n%s", diff)
	case err != nil:
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Skipf("go mod tidy cannot be run: %v", err)
		}
		t.Skipf("go mod tidy cannot tell, offline perhaps: %s", strings.TrimSpace(complaint.String()))
	}
}

// The Vagrantfile is one that Vagrant understands; no provider is needed to tell.
func TestVagrantfile(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	if _, err := exec.LookPath("vagrant"); err != nil {
		t.Skip("there is no vagrant command: install the package vagrant")
	}
	cmd := exec.Command("vagrant", "validate", "--ignore-provider")
	cmd.Dir = root
	home := t.TempDir() // where Vagrant would put its own things
	cmd.Env = append(os.Environ(), "VAGRANT_HOME="+home, "VAGRANT_DOTFILE_PATH="+filepath.Join(home, "box"), "VAGRANT_CHECKPOINT_DISABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("vagrant validate: %v\n%s", err, out)
	}
}

// Nothing in the tree tells of the machine that it was written on. The patterns
// are put together here so that this file does not match them.
func TestNoMachinePaths(t *testing.T) {
	patterns := []*regexp.Regexp{
		regexp.MustCompile("/wo" + "rk/"),
		regexp.MustCompile("/ro" + "ot/"),
		regexp.MustCompile("sha" + `red/(sources/|[a-z0-9-]+\.(md|pdf|txt))`),
		regexp.MustCompile(`\.\./sha` + "red/"),
	}
	names := files(t)
	if len(names) < 10 {
		t.Fatalf("only %d files found: the test looks in the wrong place", len(names))
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, the deletion not yet committed
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for _, re := range patterns {
			if at := re.FindIndex(content); at != nil {
				t.Errorf("%s:%d: %q is a path of one machine", name, 1+bytes.Count(content[:at[0]], []byte("\n")), content[at[0]:at[1]])
			}
		}
	}
}

// files lists the files of the tree: those that git has or would take, or, where
// there is no git, all texts but results.
func files(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	var names []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() && (rel == ".git" || rel == "results") {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(content[:min(len(content), 8000)], []byte{0}) {
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A test is left out by t.Skip with a reason, such as testing.Short for a long one. Build tags are
// for systems, for tests of timing and allocations, which scripts/test.sh runs one package at a
// time, and for the long forms of scripts/soak.sh. With another tag, such as !race, a test would
// run in no pass.
func TestEveryTestIsInAPass(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			if !f.test {
				continue
			}
			for line := range strings.Lines(string(f.src[:p.fset.Position(f.ast.Package).Offset])) {
				rest, ok := strings.CutPrefix(line, "//go:build ")
				for _, tag := range regexp.MustCompile(`[\w.]+`).FindAllString(rest, -1) {
					if ok && !slices.Contains([]string{"linux", "unix", "timing", "soak"}, tag) {
						t.Errorf("%s: no pass of scripts/test.sh has to do with the tag %s", f.name, tag)
					}
				}
			}
		}
	}
}
