package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/netns"
	"fabemu/emu/result/report"
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
// the files that the documents refer to or have the reader save. A reader may begin with any document.
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
		t.Parallel() // half of its time is real time
		if runDocument(t, dir, "../../README.md") == 0 {
			t.Error("the README has no command")
		}
		results := regexp.MustCompile("`(results/[^`]+)`").FindStringSubmatch(text(t, "../../README.md"))
		if results == nil {
			t.Fatal("the README does not name the results of its first command")
		}
		for _, name := range report.Files() {
			if _, err := os.Stat(filepath.Join(dir, results[1], name)); err != nil {
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

// runDocument runs the commands of a document in a folder, and returns how many. In the
// README a block without a kind behind a block of commands is part of their output.
func runDocument(t *testing.T, dir, document string) (run int) {
	t.Helper()
	var output string
	for _, b := range blocks(t, document) {
		if b.save != "" {
			if err := os.WriteFile(filepath.Join(dir, b.save), []byte(strings.Join(b.lines, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if quoted := b.kind == "" && output != "" && filepath.Base(document) == "README.md"; quoted && !strings.Contains(output, strings.Join(b.lines, "\n")+"\n") {
			t.Errorf("this is not in the output of the commands above it:\n%s\nThey print\n%s", strings.Join(b.lines, "\n"), output)
		}
		output = ""
		if b.kind != "sh" {
			continue
		}
		for _, line := range b.lines {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" {
				run++
				t.Run(line, func(t *testing.T) { output += runLine(t, dir, line) })
			}
		}
	}
	return run
}

// elsewhere are the lines of documents that other tests run.
var elsewhere = []string{"./scripts/test.sh", "go run -C docs/examples/limiter ."}

// runLine runs a command line of a document and returns its output.
func runLine(t *testing.T, dir, line string) string {
	t.Helper()
	if slices.Contains(elsewhere, line) {
		return ""
	}
	command, ours := strings.CutPrefix(line, "go run ./cmd/fabemu ")
	if ours {
		command = binary + " " + command
	} else if !strings.HasPrefix(line, "grep ") { // in a file that a command before it has written
		t.Fatal("this test has no way to run the command")
	}
	if err := netns.Missing(); err != nil && (strings.Contains(command, "--link veth") || strings.Contains(command, " cleanup") || strings.Contains(command, "run docs/examples/web.yaml")) {
		t.Skip(err)
	}
	if strings.Contains(command, "| tshark") {
		runtest.NeedTools(t, "tshark")
	}
	if strings.Contains(command, ".py") || strings.Contains(command, "run docs/examples/web.yaml") {
		runtest.NeedTools(t, "python3")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Dir = dir
	var errors bytes.Buffer
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil || !ours && len(out) == 0 {
		t.Errorf("%v\n%s%s", err, out, errors.Bytes())
	}
	return string(out)
}

// The blocks of YAML and Go in the README are parts of the examples.
func TestReadmeShowsTheExamples(t *testing.T) {
	t.Parallel()
	var examples string
	for _, pattern := range []string{"../../docs/examples/*.yaml", "../../docs/examples/*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			examples += text(t, name)
		}
	}
	shown := 0
	for _, b := range blocks(t, "../../README.md") {
		if b.kind == "yaml" || b.kind == "go" {
			if shown++; !strings.Contains(examples, strings.Join(b.lines, "\n")+"\n") {
				t.Errorf("this block of the README is in no example:\n%s", strings.Join(b.lines, "\n"))
			}
		}
	}
	if shown < 3 {
		t.Errorf("the README shows %d examples", shown)
	}
}
