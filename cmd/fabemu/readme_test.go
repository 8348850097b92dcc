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
	"strconv"
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
// the files that the documents refer to or have the reader save. A reader may start with any
// document.
func TestCommandsInDocuments(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := func(t *testing.T) string {
		dir := t.TempDir()
		if err := os.Symlink(filepath.Join(root, "docs"), filepath.Join(dir, "docs")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Run("README.md", func(t *testing.T) {
		t.Parallel() // half of its time is real time
		dir := folder(t)
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
			if testing.Short() {
				t.Skip("long: not with -short")
			}
			t.Parallel()
			runDocument(t, folder(t), document)
		})
	}
}

// runDocument runs the commands of a document in a folder, and returns how many. A block of kind
// output after a block of commands is part of what they print.
func runDocument(t *testing.T, dir, document string) (run int) {
	t.Helper()
	printed := ""
	for _, b := range blocks(t, document) {
		if b.save != "" {
			if err := os.WriteFile(filepath.Join(dir, b.save), []byte(strings.Join(b.lines, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if b.kind == "output" && printed != notRun {
			if missing := unprinted(b.lines, printed); missing != "" {
				t.Errorf("%s: %q is not in the output of the commands above it, at its place. They print\n%s", filepath.Base(document), missing, printed)
			}
			continue
		}
		printed = ""
		if b.kind != "sh" {
			continue
		}
		for _, line := range b.lines {
			command, comment, _ := strings.Cut(line, " #")
			if command = strings.TrimSpace(command); command == "" {
				continue
			}
			status := 0
			if found := exitStatus.FindStringSubmatch(comment); found != nil {
				status, _ = strconv.Atoi(found[1])
			}
			run++
			out := notRun
			t.Run(command, func(t *testing.T) { out = runLine(t, dir, command, status) })
			if out == notRun {
				printed = notRun
			} else if printed != notRun {
				printed += out
			}
		}
	}
	return run
}

// notRun is the output of a command that this test does not run, or that lacks a tool here.
const notRun = "\x00"

// exitStatus is the comment behind a command that does not succeed.
var exitStatus = regexp.MustCompile(`exit status (\d+)`)

// unprinted returns the first of the quoted lines that is not in a text after the line before it,
// or "". Spaces count as one. "..." is any part of a line, and alone any number of lines.
func unprinted(quoted []string, text string) string {
	lines := strings.Split(text, "\n")
	for _, want := range quoted {
		words := strings.Join(strings.Fields(want), " ")
		if words == "..." || words == "" {
			continue
		}
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(words), `\.\.\.`, ".*") + "$")
		at := slices.IndexFunc(lines, func(line string) bool { return pattern.MatchString(strings.Join(strings.Fields(line), " ")) })
		if at < 0 {
			return want
		}
		lines = lines[at+1:]
	}
	return ""
}

func TestUnprinted(t *testing.T) {
	const text = "Rates\n  one    5.0\n  two   12.5\nVerdict: exact. All is well.\n"
	for _, c := range []struct{ quoted, want string }{
		{"Rates\n one 5.0\n two 12.5", ""},
		{"one 5.0\n...\nVerdict: exact. ...", ""},
		{"... 12.5", ""},
		{"one ... 12.5", "one ... 12.5"},
		{"two 12.5\none 5.0", "one 5.0"},
		{"one 5", "one 5"},
		{"Verdict: exact.", "Verdict: exact."},
	} {
		if got := unprinted(strings.Split(c.quoted, "\n"), text); got != c.want {
			t.Errorf("%q: %q, want %q", c.quoted, got, c.want)
		}
	}
}

// elsewhere are the lines of documents that other tests run.
var elsewhere = []string{"./scripts/test.sh", "go run -C docs/examples/limiter .", "go install ./cmd/fabemu"}

// withoutPlots puts a module into a folder that is in for matplotlib, where Python has none: it
// takes the calls of pyplot that the documents make and checks that curves have points, and it
// writes the name of the picture into its file.
func withoutPlots(t *testing.T, dir string) {
	t.Helper()
	module := filepath.Join(dir, "matplotlib")
	if err := os.Mkdir(module, 0o777); err != nil {
		t.Fatal(err) // a second time: the module was not found
	}
	const pyplot = `def plot(x, y, label):
    assert len(x) == len(y) > 10 and max(y) > 0 and label
def xlabel(text): pass
def ylabel(text): pass
def legend(): pass
def savefig(name): open(name, "w").write(name)
`
	for name, text := range map[string]string{"__init__.py": "", "pyplot.py": pyplot} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// runLine runs a command line of a document, which ends with a status, and returns its output.
func runLine(t *testing.T, dir, line string, status int) string {
	t.Helper()
	if slices.Contains(elsewhere, line) {
		return notRun
	}
	command, ours := strings.CutPrefix(line, "go run ./cmd/fabemu ")
	if !ours {
		command, ours = strings.CutPrefix(line, "fabemu ")
	}
	python := strings.HasPrefix(line, "python3 ")
	if ours {
		command = binary + " " + command
	} else if !python && !strings.HasPrefix(line, "grep ") { // in a file that a command before it has written
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
	var out, errors bytes.Buffer
	c.Stdout, c.Stderr = &out, &errors
	err := c.Run()
	if python && strings.Contains(errors.String(), "No module named 'matplotlib'") {
		withoutPlots(t, dir)
		return runLine(t, dir, line, status)
	}
	if got := c.ProcessState.ExitCode(); got != status || status == 0 && !ours && !python && out.Len() == 0 {
		t.Errorf("%v: exit status %d, and it is to be %d\n%s%s", err, got, status, out.String(), errors.String())
	}
	return out.String() + errors.String()
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
	if shown < 2 {
		t.Errorf("the README shows %d examples", shown)
	}
}

// Each symptom of the page is provoked by a command, whose output the page quotes.
func TestTroubleshootingProvokesEachSymptom(t *testing.T) {
	sections := strings.Split(text(t, "../../docs/guide/troubleshooting.md"), "\n## ")[1:]
	if len(sections) < 8 {
		t.Errorf("%d sections", len(sections))
	}
	for _, s := range sections {
		heading, body, _ := strings.Cut(s, "\n")
		switch heading {
		case "Permission denied", "Nothing here helps": // the first depends on who runs the tests
			continue
		}
		if !strings.Contains(body, "```sh\n") || !strings.Contains(body, "```output\n") {
			t.Errorf("%q: no command provokes it", heading)
		}
	}
}
