package archtest

import (
	"go/ast"
	"go/build"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pure are the packages that only think: frames, machines, schemes. The same
// code runs under a virtual clock and under the wall clock, so neither time nor
// chance nor the host may reach it but through its arguments.
var pure = []string{
	"wire/unit", "wire/agenda", "wire/param", "wire", "wire/retry", "wire/trace", "wire/fault", "wire/port",
	"node", "node/rp", "node/tcp", "node/traffic", "node/schedule", "node/selective", "node/spray", "node/uet", "switchd", "switchd/cp",
}

// A ban keeps packages, and all below them, out of a part of the tree.
type ban struct {
	packages []string
	reason   string
	only     []string // if set: banned in these packages alone
	except   []string // if set: allowed in these packages
}

var bans = []ban{
	{
		packages: []string{"net", "os", "syscall"},
		only:     pure,
		reason:   "a machine does no I/O: drivers bring it frames and take frames from it",
	},
	{
		packages: []string{"time"},
		only:     pure,
		reason:   "a machine is told the time, in unit.Time; only drivers know a clock",
	},
	{
		packages: []string{"sync", "context"},
		only:     pure,
		reason:   "one goroutine owns a machine, and each call returns at once: there is nothing to lock, wait for or cancel",
	},
	{
		packages: []string{"log"},
		only:     pure,
		reason:   "a machine reports through trace.Sink, so that what it says can be counted and compared",
	},
	{
		packages: []string{"math/rand", "crypto/rand"},
		only:     pure,
		reason:   "chance comes from the seeded generator in wire/unit, the same in every release of Go",
	},
	{
		packages: []string{"github.com/google/gopacket"},
		only:     pure,
		reason:   "the frames of the fabric are package wire's: gopacket decodes the packets of other programs",
	},
	{
		packages: []string{"github.com/vishvananda/netlink", "github.com/vishvananda/netns"},
		except:   []string{"emu/host/netns"},
		reason:   "what changes the host's network is in one place, where it is also undone",
	},
	{
		packages: []string{"golang.org/x/sys"},
		except:   []string{"wire/link", "emu/run/pace", "emu/host", "emu/host/netns", "emu/run/process", "emu/run/program", "emu/emutest/runtest"},
		reason:   "raw system calls stay where sockets, clocks, processes and namespaces are handled",
	},
	{
		packages: []string{"flag", "github.com/spf13/cobra", "github.com/spf13/pflag"},
		except:   []string{"cmd/fabemu", "emu/emutest/golden", "emu/emutest/runtest"},
		reason:   "flags are the command's, and -update and -fuzz those of tests: packages take values",
	},
}

// Packages that only tests may import.
var testOnly = []string{"testing", "github.com/google/go-cmp"}

// Functions that end the process belong to commands: elsewhere they would take
// the decision, and the clean-up, from the caller.
var exits = map[string][]string{
	"os":  {"Exit"},
	"log": {"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
}

// Names that say nothing about what a package holds.
var emptyNames = []string{"util", "utils", "common", "manager", "helper", "helpers", "misc"}

// bansFor returns the bans that hold in a package.
func bansFor(dir string) []ban {
	var hold []ban
	for _, b := range bans {
		if b.only != nil && !slices.Contains(b.only, dir) || slices.Contains(b.except, dir) {
			continue
		}
		hold = append(hold, b)
	}
	return hold
}

func TestBannedImports(t *testing.T) {
	for _, p := range packages(t) {
		hold := bansFor(p.dir)
		for _, f := range p.product() {
			for _, i := range p.imports(f) {
				for _, b := range hold {
					if within(i.path, b.packages...) {
						t.Errorf("%s:%d: %s may not import %s: %s", i.pos.Filename, i.pos.Line, p.dir, i.path, b.reason)
					}
				}
				_, own := local(i.path)
				if slices.Contains(pure, p.dir) && !own && !standard(i.path) {
					t.Errorf("%s:%d: %s may not import %s: the packages that only think need the standard library alone", i.pos.Filename, i.pos.Line, p.dir, i.path)
				}
			}
		}
	}
}

// A ban on a package that was renamed bans nothing.
func TestBannedPackagesExist(t *testing.T) {
	std := build.Default
	root, err := exec.Command("go", "env", "GOROOT").Output() // a test that is built with -trimpath does not know it
	if err != nil {
		t.Fatal(err)
	}
	std.GOROOT = strings.TrimSpace(string(root))
	for _, b := range bans {
		for _, name := range b.packages {
			if !standard(name) {
				continue
			}
			if _, err := std.Import(name, "", build.FindOnly); err != nil {
				t.Errorf("%s is banned, but is not in the standard library: %v", name, err)
			}
		}
	}
}

// Test code stays in tests. Packages whose names end in "test" hold what tests
// share (linktest, say): they may use package testing, and only tests and one
// another may import them.
func TestProductIsFreeOfTestCode(t *testing.T) {
	for _, p := range packages(t) {
		if p.forTests() {
			continue
		}
		for _, f := range p.product() {
			for _, i := range p.imports(f) {
				if within(i.path, testOnly...) {
					t.Errorf("%s:%d: %s imports %s, which is for tests", i.pos.Filename, i.pos.Line, p.dir, i.path)
				}
				if dir, ok := local(i.path); ok && strings.HasSuffix(dir, "test") {
					t.Errorf("%s:%d: %s imports %s, which is for tests", i.pos.Filename, i.pos.Line, p.dir, i.path)
				}
			}
		}
	}
}

func TestOnlyCommandsExit(t *testing.T) {
	for _, p := range packages(t) {
		if p.isMain() && p.under("cmd", "scripts") {
			continue
		}
		for _, f := range p.product() {
			names := map[string]string{} // as written in this file -> import path
			for _, s := range f.ast.Imports {
				name := strings.Trim(s.Path.Value, `"`)
				if exits[name] == nil {
					continue
				}
				if s.Name != nil {
					names[s.Name.Name] = name
				} else {
					names[name] = name
				}
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains(exits[names[x.Name]], s.Sel.Name) {
					t.Errorf("%s: %s.%s ends the process: return an error, the command decides", p.fset.Position(s.Pos()), x.Name, s.Sel.Name)
				}
				return true
			})
		}
	}
}

func TestPackageNames(t *testing.T) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			for _, name := range append(strings.Split(p.dir, "/"), f.ast.Name.Name) {
				if slices.Contains(emptyNames, strings.TrimSuffix(name, "_test")) {
					t.Errorf("%s: %q says nothing about what the package holds", f.name, name)
					break
				}
			}
		}
	}
}
