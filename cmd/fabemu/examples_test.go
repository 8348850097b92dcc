package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The examples are their own modules, which import this one: they are built, their tests
// pass, they run, and what their programs print on the virtual clock is as it was.
func TestModelExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	modules, err := filepath.Glob("../../docs/examples/*/go.mod")
	if err != nil || len(modules) < 2 {
		t.Fatalf("%v, %v: want two examples at least", modules, err)
	}
	prints := map[string][]string{
		"limiter": {"packets in pairs  virtual clock  bystander 60.8 %  virtual\n", "x/time/rate       virtual clock  bystander 57.9 %  virtual\n"},
		"aimd":    {"aimd  virtual clock  bystander 57.7 %  virtual\n"},
	}
	// In a workspace the packages of this module are the ones that are compiled already: with
	// -trimpath a module that requires them would compile each of them for itself.
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(t.TempDir(), "go.work")
	text := "go 1.26.3\nuse " + root + "\n"
	for _, m := range modules {
		text += "use " + filepath.Join(root, "cmd/fabemu", filepath.Dir(m)) + "\n"
	}
	if err := os.WriteFile(workspace, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		dir := filepath.Dir(m)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time of a run is real time
			in := func(workspace string, args ...string) (string, error) {
				c := exec.Command("go", args...)
				c.Dir = dir
				c.Env = append(os.Environ(), "GOPROXY=off", "GOWORK="+workspace) // they need no more than this module
				out, err := c.CombinedOutput()
				return string(out), err
			}
			if out, err := in("off", "list", "-deps", "-test", "."); err != nil {
				t.Errorf("go list: %v: if the requirements have changed, go mod tidy in %s is due\n%s", err, dir, out)
			}
			if out, err := in(workspace, "vet", "."); err != nil {
				t.Errorf("go vet: %v\n%s", err, out)
			}
			if out, err := in(workspace, "test", "-vet=off", "."); err != nil {
				t.Errorf("go test: %v\n%s", err, out)
			}
			out, err := in(workspace, "run", ".")
			if err != nil && !strings.Contains(out, "do not trust this line: ") { // this machine was too late
				t.Errorf("go run: %v\n%s", err, out)
			}
			if prints[name] == nil {
				t.Errorf("this test does not know what %s prints", name)
			}
			for _, want := range prints[name] {
				if !strings.Contains(out, want) {
					t.Errorf("it prints\n%s\nwithout\n%s", out, want)
				}
			}
			sources, _ := filepath.Glob(filepath.Join(dir, "*.go"))
			for _, f := range sources {
				if n := lines(t, f); n > 30 {
					t.Errorf("%s has %d lines without comments and imports, want 30 at most", f, n)
				}
			}
		})
	}
}

// lines counts the lines of a Go file below its imports that are neither empty nor comments.
func lines(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "\n)\n")
	n := 0
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
