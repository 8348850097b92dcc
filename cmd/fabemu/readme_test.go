package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// binary is the command, built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fabemu-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "fabemu")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// commands returns the lines of the sh blocks of a document, without comments.
func commands(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := false
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "```sh":
			in = true
		case line == "```":
			in = false
		case in && line != "":
			line, _, _ = strings.Cut(line, " #")
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// Every command in the README does what it says, in a fresh copy of what the
// README refers to.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := commands(t, filepath.Join(root, "README.md"))
	if len(lines) < 5 {
		t.Fatalf("the README has %d commands: %q", len(lines), lines)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "docs"), filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if line == "./scripts/test.sh" {
			continue // runs this test
		}
		command, ok := strings.CutPrefix(line, "go run ./cmd/fabemu ")
		if !ok {
			t.Errorf("the README has a command that this test does not know: %s", line)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		c := exec.CommandContext(ctx, "sh", "-c", binary+" "+command)
		c.Dir = dir
		out, err := c.CombinedOutput()
		cancel()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// The scenario that the README shows is the file that it names.
func TestReadmeShowsTheExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../docs/examples/incast.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```yaml\n"+string(example)+"```") {
		t.Error("the yaml block of README.md is not docs/examples/incast.yaml")
	}
}
