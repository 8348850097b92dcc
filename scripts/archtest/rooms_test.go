package archtest

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// rooms are the folders in whose packages calls between files go in one direction.
const rooms = "emu/scenario"

// A use is a function that uses one of another file.
type use struct{ by, of string }

// A plan is the files of a package, and for each of them the files that it uses, with an example
// of a use.
type plan map[string]map[string]use

// planOf returns the plan of a package: a file uses another one if a function in it calls, or
// names, a function or a method that the other one declares. A call of a method of an interface
// uses the file with the interface, so that the files with its implementations can be below or
// above the caller. Types do not count: those of a model refer to one another.
func planOf(p *pkg, from types.Importer) (plan, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	for _, f := range p.product() {
		files = append(files, f.ast)
	}
	conf := types.Config{Importer: from}
	in, err := conf.Check(module+"/"+p.dir, p.fset, files, info)
	if err != nil {
		return nil, err
	}
	all := plan{}
	name := func(pos token.Pos) string { return path.Base(p.fset.Position(pos).Filename) }
	for _, f := range files {
		own := name(f.Pos())
		all[own] = map[string]use{}
		for _, d := range f.Decls {
			by := "a variable"
			if fn, ok := d.(*ast.FuncDecl); ok {
				by = fn.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				of, ok := info.Uses[id].(*types.Func)
				if !ok || of.Pkg() != in {
					return true
				}
				if other := name(of.Origin().Pos()); other != own {
					if _, known := all[own][other]; !known {
						all[own][other] = use{by, of.Name()}
					}
				}
				return true
			})
		}
	}
	return all, nil
}

// cycle returns files of a plan of which each uses the next, and the last the first; none: there is
// no cycle.
func (p plan) cycle() []string {
	done := map[string]bool{}
	var way []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if i := slices.Index(way, file); i >= 0 {
			return slices.Clone(way[i:])
		}
		if done[file] {
			return nil
		}
		way = append(way, file)
		for _, next := range sorted(p[file]) {
			if found := visit(next); found != nil {
				return found
			}
		}
		way = way[:len(way)-1]
		done[file] = true
		return nil
	}
	for _, file := range sorted(p) {
		if found := visit(file); found != nil {
			return found
		}
	}
	return nil
}

// describe lists the uses of a cycle.
func (p plan) describe(cycle []string) string {
	var text strings.Builder
	for i, file := range cycle {
		next := cycle[(i+1)%len(cycle)]
		fmt.Fprintf(&text, "\n\t%s uses %s: %s uses %s", file, next, p[file][next].by, p[file][next].of)
	}
	return text.String()
}

func sorted[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// compiled returns what imports the packages that those of the rooms need. The go command compiles
// them, or has them in its cache.
func compiled(t *testing.T) types.Importer {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+rooms+"/...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		at[name] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(at[name]) })
}

// In the packages of the scenario language calls between files go in one direction. That between
// packages do is what the table of wings is for.
func TestRoomsHaveOneDirection(t *testing.T) {
	from, uses := compiled(t), 0
	for _, p := range packages(t) {
		if !p.under(rooms) || len(p.product()) == 0 {
			continue
		}
		plan, err := planOf(p, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range plan {
			uses += len(of)
		}
		if c := plan.cycle(); c != nil {
			t.Errorf("%s: calls between files go round: move one of these functions to a file below both%s", p.dir, plan.describe(c))
		}
	}
	if uses < 100 {
		t.Errorf("only %d uses between files found: the test looks in the wrong place", uses)
	}
}

func TestPlanOf(t *testing.T) {
	const below = "package x\ntype T struct{}\nfunc (T) M() {}\nfunc F() {}\nfunc G[V any](V) {}\nvar N int\ntype I interface{ Do() }\n"
	for _, tc := range []struct{ above, more, cycle string }{
		{"func A() { F() }", "", ""},
		{"func A() { F() }\nfunc H() {}", "func B() { H() }", "a.go b.go"},
		{"func A() { T{}.M() }\nfunc H() {}", "var B = H", "a.go b.go"},
		{"func A(t T) { _ = t.M }\nfunc H() {}", "var B = []func(){H}", "a.go b.go"},
		{"func A() { G(1) }\ntype U struct{}\nfunc (U) K() {}", "func B() { func() { U{}.K() }() }", "a.go b.go"},
		{"type W struct{ T }\nfunc A() { W{}.M() }\nfunc H() {}", "func B() { H() }", "a.go b.go"}, // a method that is embedded
		{"type U struct{}\nfunc (U) Do() { F() }", "func B(i I) { i.Do() }\nvar _ I = U{}", ""},    // by an interface
		{"type U struct{ t T }\nfunc A() { F() }", "func B(u U) U { return U{} }", ""},             // types
		{"func A() { N++ }\nfunc H() {}", "func B() { H() }", ""},                                  // variables
	} {
		p := &pkg{dir: "x", fset: token.NewFileSet()}
		for name, src := range map[string]string{"a.go": "package x\n" + tc.above, "b.go": below + tc.more} {
			if err := p.add(name, []byte(src)); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := planOf(p, nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.above, err)
		}
		if got := strings.Join(plan.cycle(), " "); got != tc.cycle {
			t.Errorf("%s | %s: cycle %q, want %q", tc.above, tc.more, got, tc.cycle)
		}
	}
	round := plan{"a": {"b": {"A", "B"}}, "b": {"c": {"B", "C"}}, "c": {"a": {"C", "A"}}}
	if got := round.describe(round.cycle()); !strings.Contains(got, "c uses a: C uses A") {
		t.Error(got)
	}
}
