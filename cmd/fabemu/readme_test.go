package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/host/netns"
	"fabemu/emu/report"
	"fabemu/emu/runtest"
)

// binary is the command, built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	if signal.Ignored(syscall.SIGHUP) { // as under nohup: the programs that tests start are not to
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	dir, err := os.MkdirTemp("", "fabemu-test-")
	if err != nil {
		panic(err)
	}
	if binary, err = runtest.Program(dir); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// A block is a fenced block of a document.
type block struct {
	kind  string // "sh", "yaml"
	lines []string
	save  string // name of the file that the text before it has one save it as
}

// blocks returns the fenced blocks of a document.
func blocks(t *testing.T, path string) []block {
	t.Helper()
	var all []block
	in, before := false, ""
	for line := range strings.Lines(text(t, path)) {
		line = strings.TrimRight(line, "\n")
		switch kind, fence := strings.CutPrefix(line, "```"); {
		case fence && in:
			in, before = false, ""
		case fence:
			b := block{kind: kind}
			if found := saved.FindStringSubmatch(before); found != nil {
				b.save = found[1]
			}
			all, in = append(all, b), true
		case in:
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		case line != "":
			before = line
		}
	}
	return all
}

// text returns a document.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// saved finds "Save this as `two.yaml`".
var saved = regexp.MustCompile("[Ss]ave this as `([^`]+)`")

// Every command in the README and in docs does what it says, in a folder with nothing but
// what the documents refer to or have one save, where a reader goes on from one to the
// next: the README first, then the others, which disturb neither it nor one another in
// whatever order they are read.
func TestCommandsInDocuments(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "docs"), filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	t.Run("README.md", func(t *testing.T) {
		if runDocument(t, dir, "../../README.md") == 0 {
			t.Error("the README has no command")
		}
		said := regexp.MustCompile("`(results/[^`]+)`").FindStringSubmatch(text(t, "../../README.md"))
		if said == nil {
			t.Fatal("the README does not say where the results of its first command are")
		}
		for _, name := range report.Files() {
			if _, err := os.Stat(filepath.Join(dir, said[1], name)); err != nil {
				t.Error(err)
			}
		}
	})
	docs, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, document := range docs {
		t.Run(filepath.Base(document), func(t *testing.T) {
			t.Parallel()
			runDocument(t, dir, document)
		})
	}
}

// runDocument runs the commands of a document in a folder, and returns how many.
func runDocument(t *testing.T, dir, document string) (run int) {
	t.Helper()
	for _, b := range blocks(t, document) {
		if b.save != "" {
			if err := os.WriteFile(filepath.Join(dir, b.save), []byte(strings.Join(b.lines, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if b.kind != "sh" {
			continue
		}
		for _, line := range b.lines {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" {
				run++
				runLine(t, dir, line)
			}
		}
	}
	return run
}

// runLine runs a command line of a document.
func runLine(t *testing.T, dir, line string) {
	t.Helper()
	if line == "./scripts/test.sh" {
		return // runs this test
	}
	if line == "go run -C docs/examples/limiter ." {
		return // TestModelExamples runs it
	}
	command, ok := strings.CutPrefix(line, "go run ./cmd/fabemu ")
	if strings.HasPrefix(line, "grep ") { // in what a command before it has written
		c := exec.Command("sh", "-c", line)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		return
	}
	if !ok {
		t.Errorf("a command that this test does not know: %s", line)
		return
	}
	if err := netns.Missing(); err != nil && (strings.Contains(command, "--link veth") || command == "cleanup") {
		t.Skipf("%s: %v", line, err)
	}
	if _, err := exec.LookPath("tshark"); err != nil && strings.Contains(command, "| tshark") {
		t.Skipf("there is no tshark for: %s", line)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", binary+" "+command)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// The scenario and the limiter that the README shows are those of the files that it names.
func TestReadmeShowsTheExamples(t *testing.T) {
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
	limiter, err := os.ReadFile("../../docs/examples/limiter/pairs.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(readme), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	if !found || !strings.Contains(string(limiter), code) {
		t.Error("the Go block of README.md is not from docs/examples/limiter")
	}
}
