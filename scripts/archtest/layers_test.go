package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wings is the order of the tree, from the ground up. A line is one wing: its folder,
// and its packages in their order, where a dot is the package of the folder itself. A package may
// import the wings above its own line, and in its own wing the packages before the last bar. What
// only thinks (pure) imports nothing else of the tree but what only thinks.
//
// Do not change this table to make a build pass. A new package gets a place here, as far
// forward as it can be.
const wings = `
wire             unit | agenda, param, link | . | retry, fault | trace | port
node             rp, tcp, traffic, schedule, selective, spray | uet | .
switchd          cp | .
emu/base         errs, files, spelling, terminal | document
emu/scenario     paths, schema, builtin, place, pattern | yaml, . | sets, rules | resolve | generate, lint
emu/fabric       . | draw
emu/host         ., netns | doctor, fleet
emu/run          mode, lookahead, deadlock, pace, feedback, guest/offload | measured, drive, program | assemble | carrier, guest | process, guest/netstack
emu/metrics      .
emu/result       plot | report | seeds | summary, compare
emu/watch        capture/pcapng, capture/dissector | capture/dump, capture, perfetto, observe | live, openmetrics, subnet
emu              .
emu/study        ., limiters/bench, scale, propose, papers/fluid | campaign, limiters/loops | limiters | sweep, papers | tune
emu/limitertest  ., reactiontest
emu/emutest      golden, runtest, reporttest
cmd              fabemu
scripts          archtest, measure, measure/bare, measure/limiters, measure/rates, k8scheck, markdown, test
docs             examples/aimd, examples/limiter
`

// apart are packages that do not import one another, nor what is in their folders: a
// driver sees nodes through the contract in wire/port alone, and what reads captures
// or draws a scenario needs no nodes.
var apart = [][2]string{
	{"node", "switchd"},
	{"emu/run/drive", "node"}, {"emu/run/drive", "switchd"}, {"emu/run/drive", "emu/scenario"}, {"emu/run/drive", "emu/fabric"},
	{"emu/scenario", "wire/link"}, {"emu/fabric", "wire/link"},
	{"emu/metrics", "emu/run/drive"}, {"emu/metrics", "node"}, {"emu/metrics", "switchd"},
	{"emu/watch/capture/dump", "node"}, {"emu/watch/capture/dump", "switchd"},
}

// A wing is a line of the table.
type wing struct {
	dir string
}

// A place is the position of a package: the line of its wing, and its place within.
type place struct{ wing, step int }

// layout reads a table of wings.
func layout(table string) (all []wing, at map[string]place, err error) {
	at = map[string]place{}
	for row := range strings.Lines(table) {
		row = strings.TrimSpace(row)
		if row == "" {
			continue
		}
		w := wing{}
		dir, packages, _ := strings.Cut(row, " ")
		w.dir = dir
		for step, list := range strings.Split(packages, "|") {
			for name := range strings.SplitSeq(list, ",") {
				name = strings.TrimSpace(name)
				if name == "" || strings.ContainsAny(name, " \t") {
					return nil, nil, fmt.Errorf("%q is not a list of packages with commas", strings.TrimSpace(list))
				}
				name = path.Join(dir, name)
				if _, twice := at[name]; twice {
					return nil, nil, fmt.Errorf("%s has two places", name)
				}
				at[name] = place{len(all) + 1, step}
			}
		}
		all = append(all, w)
	}
	return all, at, nil
}

// refusal says why one package may not import another, or nothing.
func refusal(at map[string]place, from, to string) string {
	f, t := at[from], at[to]
	switch {
	case t.wing == 0:
		return "it has no place in the table of wings"
	case t.wing > f.wing:
		return "its wing is further down the table"
	case t.wing == f.wing && t.step >= f.step:
		return "it is not before it in their wing"
	case slices.Contains(pure, from) && !slices.Contains(pure, to):
		return "the packages that only think import nothing else"
	}
	for _, p := range apart {
		if within(from, p[0]) && within(to, p[1]) || within(from, p[1]) && within(to, p[0]) {
			return p[0] + " and " + p[1] + " are apart"
		}
	}
	return ""
}

func TestWingsHaveOneDirection(t *testing.T) {
	_, at, err := layout(wings)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, p := range packages(t) {
		if len(p.product()) == 0 {
			continue
		}
		found[p.dir] = true
		if at[p.dir].wing == 0 {
			t.Errorf("package %s/%s has no place in the table of wings: give it one in scripts/archtest/layers_test.go", module, p.dir)
			continue
		}
		for _, f := range p.product() {
			for _, i := range p.imports(f) {
				if dir, ok := local(i.path); ok || i.path == module {
					if why := refusal(at, p.dir, dir); why != "" {
						t.Errorf("%s:%d: %s may not import %s: %s", i.pos.Filename, i.pos.Line, p.dir, i.path, why)
					}
				}
			}
		}
	}
	for name := range at {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("the table of wings has %s, which does not exist", name)
		}
	}
}

// A program that imports emu compiles no drawing, no fonts and no TCP stack: its own imports bring
// them in.
func TestEmuIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/emu").Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name := range strings.Lines(string(out)) {
		n++
		for _, heavy := range []string{"gonum.org/", "gvisor.dev/", "codeberg.org/go-fonts", "codeberg.org/go-latex", "git.sr.ht/~sbinet", "golang.org/x/image", module + "/emu/result/plot"} {
			if strings.HasPrefix(name, heavy) {
				t.Errorf("emu depends on %s", strings.TrimSpace(name))
			}
		}
	}
	if n < 50 {
		t.Errorf("emu has only %d dependencies", n)
	}
}

// The two machines know each other through frames alone, in their tests too:
// a test that needs both is a test of package emu.
func TestNodeAndSwitchMeetOnTheWireOnly(t *testing.T) {
	for _, pair := range [][2]string{{"node", "switchd"}, {"switchd", "node"}} {
		from, to := pair[0], pair[1]
		for _, p := range packages(t) {
			if !p.under(from) {
				continue
			}
			for _, f := range p.files {
				for _, i := range p.imports(f) {
					if dir, ok := local(i.path); ok && within(dir, to) {
						t.Errorf("%s:%d: %s imports %s: they meet on the wire only", i.pos.Filename, i.pos.Line, p.dir, i.path)
					}
				}
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	_, at, err := layout("wire unit | .\nnode .\nswitchd cp | .\nemu/run link, drive\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		from, to string
		allowed  bool
	}{
		{"wire", "wire/unit", true}, {"node", "wire", true}, {"switchd", "switchd/cp", true}, {"emu/run/drive", "wire/unit", true},
		{"wire/unit", "wire", false}, {"switchd/cp", "switchd", false}, {"switchd", "emu/run/drive", false}, // up
		{"emu/run/drive", "emu/run/link", false},                           // in one place
		{"switchd", "node", false}, {"emu/run/drive", "switchd/cp", false}, // apart
		{"node", "nowhere", false},
	} {
		if why := refusal(at, tc.from, tc.to); (why == "") != tc.allowed {
			t.Errorf("%s imports %s: %q", tc.from, tc.to, why)
		}
	}
	for _, bad := range []string{"a", "a b c", "a b,, c", "a b | b"} {
		if _, _, err := layout(bad); err == nil {
			t.Errorf("%q is taken for a table of wings", bad)
		}
	}
}

// forPrograms reads the packages that programs import from the comment of package emu.
func forPrograms(t *testing.T) (names []string) {
	for _, p := range packages(t) {
		for _, f := range p.files {
			if p.dir != "emu" || f.ast.Doc == nil {
				continue
			}
			_, text, _ := strings.Cut(f.ast.Doc.Text(), "\n# Packages for programs\n")
			text, _, _ = strings.Cut(text, "\n# ")
			for row := range strings.Lines(text) {
				if _, list, ok := strings.Cut(strings.TrimSpace(row), "  "); ok && strings.HasPrefix(row, "\t") {
					for name := range strings.SplitSeq(list, ",") {
						names = append(names, strings.TrimSpace(name))
					}
				}
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("package emu names %d packages for programs", len(names))
	}
	return names
}

// The reproductions of papers, and the examples, do with what a program of a user imports.
func TestPapersImportWhatProgramsMay(t *testing.T) {
	names, users := forPrograms(t), 0
	for _, name := range names {
		if !slices.ContainsFunc(packages(t), func(p *pkg) bool { return p.dir == name }) {
			t.Errorf("package emu names %s for programs, and there is no such package", name)
		}
	}
	for _, p := range packages(t) {
		if !p.under("emu/study/papers") && !p.under("docs/examples") {
			continue
		}
		for _, f := range p.files {
			for _, i := range p.imports(f) {
				dir, ok := local(i.path)
				if !ok || f.test || within(dir, p.dir) {
					continue
				}
				users++
				if !slices.Contains(names, dir) {
					t.Errorf("%s:%d: imports %s, which package emu does not name for programs", i.pos.Filename, i.pos.Line, dir)
				}
			}
		}
	}
	if users < 20 {
		t.Errorf("only %d imports found: the test looks in the wrong place", users)
	}
}
