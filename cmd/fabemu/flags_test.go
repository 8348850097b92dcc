package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/runtest"
	"fabemu/emu/host/fleet"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
	"fabemu/emu/run/program"
	"fabemu/emu/study/sweep"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/live"
	"fabemu/emu/watch/openmetrics"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The help of a flag is the comment of its field: the first paragraph of it is in flags.txt.
func TestFlagTexts(t *testing.T) {
	var lines []string
	for _, dir := range []string{".", "../../emu"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(src, []byte(`flag:"`)) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments)
			if err == nil {
				lines = append(lines, flagLines(t, file)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(lines)
	golden.File(t, "flags.txt", []byte(strings.Join(lines, "")))
}

// flagLines returns the lines of flags.txt for the flags that a file declares.
func flagLines(t *testing.T, file *ast.File) (lines []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		of, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range of.Fields.List {
			if field.Tag == nil {
				continue
			}
			tag, _ := strconv.Unquote(field.Tag.Value)
			if _, flag := reflect.StructTag(tag).Lookup("flag"); !flag {
				continue
			}
			name := fmt.Sprintf("%s.%s.%s", file.Name.Name, spec.Name.Name, field.Names[0].Name)
			text, _, _ := strings.Cut(field.Doc.Text(), "\n\n")
			text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
			if text == "" || len(field.Names) > 1 {
				t.Errorf("%s has a flag: it needs its own comment above it", name)
			}
			lines = append(lines, name+": "+text+"\n")
		}
		return true
	})
	return lines
}

// eachCommand visits the commands that a user sees.
func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	if c.HasParent() && !c.IsAvailableCommand() {
		return
	}
	visit(c)
	for _, below := range c.Commands() {
		eachCommand(below, visit)
	}
}

// Each flag has a help, a group where others have one, and no needs that name an unknown flag.
func TestFlagsAreDeclared(t *testing.T) {
	eachCommand(rootCommand(io.Discard), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no help: go test ./cmd/fabemu -run TestFlagTexts -update", c.CommandPath(), f.Name)
			}
			if f.Value.Type() != "bool" && valueOf(f) == "" && !f.Hidden {
				t.Errorf("%s --%s takes a value without a name", c.CommandPath(), f.Name)
			}
		})
	})
}

// Tags and comments repeat some constants of other packages.
func TestFlagsHaveTheConstants(t *testing.T) {
	for _, file := range []string{report.EventsFile, seeds.File, report.TraceFile, report.CaptureFile, report.RatesFile, report.SeriesFile,
		report.ResultFile, sweep.MeansFile, benchFile, recordingFile("FLOW"), fleet.TokenVariable, strconv.Itoa(fleet.DefaultPort), strconv.Itoa(sweep.MaxCells)} {
		if !strings.Contains(flagTexts, file) {
			t.Errorf("no flag mentions %s", file)
		}
	}
	for _, want := range []struct{ command, flag, value string }{
		{"run", "live", live.DefaultAddress}, {"live", "at", live.DefaultAddress}, {"run", "pcap", report.CaptureFile},
		{"run", "pcap-snap", strconv.Itoa(capture.DefaultSnap)}, {"run", "wait", fleet.DefaultWait.String()},
		{"run", "metrics-as", string(openmetrics.Own + "|" + openmetrics.NodeExporter)}, {"bench limiter", "patience", program.DefaultPatience.String()},
	} {
		c, _, err := rootCommand(io.Discard).Find(strings.Fields(want.command))
		if err != nil {
			t.Fatal(err)
		}
		f := c.Flags().Lookup(want.flag)
		if got := []string{f.DefValue, f.NoOptDefVal, valueOf(f)}; !slices.Contains(got, want.value) {
			t.Errorf("%s --%s has %q, want %s", want.command, want.flag, got, want.value)
		}
	}
}

// leftOut are the examples that the test does not run, by their start, with the reason. Their flags
// are parsed.
var leftOut = []struct{ start, why string }{
	{"fabemu capture hpl2002/fig3b | wireshark", "it opens a window"},
	{"fabemu live results/fig3b$", "it serves a page until Ctrl-C"},
	{"fabemu events live --follow", "it ends with the run"},
	{"fabemu run hpl2002/fig3b --placement hosts", "it waits for a second host"},
	{"fabemu agent", "it waits for a run on another host"},
	{"fabemu link netns:web", "it needs root and these namespaces"},
	{"fabemu cleanup", "it needs root, and removes what other tests may use"},
	{"fabemu exec", "it needs a run with real hosts, and root"},
	{"fabemu shell", "it needs a run with real hosts, and root"},
	{"fabemu subnet exec", "it needs a run with --subnet, and the tool"},
	{"SHELL=/bin/bash fabemu shell", "it needs a run with real hosts, and root"},
	{"fabemu run hpl2002/fig3b --placement process --by-hand", "it waits for the part that its next example starts"},
	{"fabemu node", "it waits for its run"},
	{"fabemu switchd", "it waits for its run"},
	{"strace -f fabemu", "it waits for its run"},
}

// Each command has two examples at least, and they succeed in a folder with the files that they
// name.
func TestModelHelpExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	dir := t.TempDir()
	docs, err := filepath.Abs("../../docs")
	if err == nil {
		err = errors.Join(os.Symlink(docs, filepath.Join(dir, "docs")), os.Symlink(docs+"/examples/incast.yaml", filepath.Join(dir, "incast.yaml")),
			os.WriteFile(filepath.Join(dir, "lab.clab.yml"), []byte("name: lab\ntopology:\n  nodes:\n    a: {kind: linux}\n    b: {kind: linux}\n  links:\n    - endpoints: [\"a:eth1\", \"b:eth1\"]\n"), 0o666))
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	shell := func(line string) *exec.Cmd {
		c := exec.CommandContext(ctx, "sh", "-c", line)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
		return c
	}
	for out, of := range map[string]string{"fig3b": "hpl2002/fig3b --events --pcap", "fig3b-2": "hpl2002/fig3b --events --pcap", "slow": "ethernet/slow-spine"} {
		line := "fabemu run " + of + " --clock virtual --out results/" + out
		if said, err := shell(line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	if said, err := shell("fabemu export ibnetdiscover hpl2002/fig2 > subnet.txt").CombinedOutput(); err != nil {
		t.Fatalf("subnet.txt: %v\n%s", err, said)
	}
	live := shell("exec fabemu run incast.yaml --dilation 10000000 --verify off --quiet --out results/live")
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	defer live.Wait()
	defer live.Process.Signal(os.Interrupt)
	runtest.Await(t, "the run in results/live", func() bool { return shell("fabemu status live").Run() == nil })
	eachCommand(rootCommand(io.Discard), func(c *cobra.Command) {
		if c.HasSubCommands() && c.HasParent() && !slices.Contains([]string{"sweep", "reproduce", "tune"}, c.Name()) {
			return // only its subcommands do something
		}
		_, text, _ := helpOf(c)
		examples := strings.Split(text, "\n")
		if len(examples) < 2 {
			t.Errorf("%s has %d examples, want 2", c.CommandPath(), len(examples))
		}
		for _, line := range examples {
			line, _, _ = strings.Cut(line, " #")
			line = strings.TrimSpace(line)
			t.Run(line, func(t *testing.T) {
				parseExample(t, line)
				for _, x := range leftOut {
					if strings.HasPrefix(line+"$", x.start) {
						return
					}
				}
				if strings.Contains(line, "--out results/fig3b ") {
					line = strings.Replace(line, "results/fig3b", "results/again", 1)
				}
				for _, tool := range []string{"less", "python3"} {
					if slices.Contains(strings.Fields(line), tool) {
						runtest.NeedTools(t, tool)
					}
				}
				if said, err := shell(line).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, said)
				}
			})
		}
	})
}

// parseExample checks the command, the flags and the number of arguments of an example.
func parseExample(t *testing.T, line string) {
	t.Helper()
	_, line, _ = strings.Cut(line, "fabemu ")
	line = strings.TrimSpace(regexp.MustCompile(`[|>].*`).ReplaceAllString(line, ""))
	line = regexp.MustCompile(`'[^']*'`).ReplaceAllString(line, "quoted")
	c, rest, err := rootCommand(io.Discard).Find(strings.Fields(line))
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = cmp.Or(c.ValidateArgs(c.Flags().Args()), checkFlags(c, nil))
	}
	if err != nil {
		t.Error(err)
	}
}
