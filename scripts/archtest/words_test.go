package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/wire/param"
)

// otherwise are comparisons with a word that means something else there.
var otherwise = []string{
	`wire/param/build.go: "on"`,                 // what YAML takes for a flag
	`wire/param/build.go: "off"`,                // the same
	`emu/host/netns/namespace_linux.go: "veth"`, // what the kernel calls a kind of interface
}

// words are those that a scenario or a call chooses by: schemes, algorithms, kinds, flow
// controls, traffic, limiters, placements, clocks.
func words() (all []string) {
	scenario.Language().Walk("", func(_ string, p *param.Param) {
		if p.Kind == param.Word {
			all = append(all, p.Words...)
		}
	})
	all = append(all, string(emu.WallClock), string(emu.VirtualClock))
	all = append(all, string(emu.UDP), string(emu.Unix), string(emu.Veth), string(emu.Pipe))
	return append(all, string(emu.InProcesses), string(emu.InDomains))
}

// A word becomes a value of a type when it is read. So nothing is compared with it as a
// text: there is a constant, or a row of a table.
func TestWordsAreTypes(t *testing.T) {
	all, met := words(), map[string]bool{}
	for _, p := range packages(t) {
		if !p.isProduct() {
			continue
		}
		for _, f := range p.product() {
			for _, found := range compared(p, f, all) {
				met[found] = true
				if !slices.Contains(otherwise, found) {
					t.Errorf("%s is compared as a text: give it a type with constants (emu/scenario/words.go), or ask the row of its table", found)
				}
			}
		}
	}
	for _, o := range otherwise {
		if !met[o] {
			t.Errorf("%s is excepted, and nothing is compared with it any more", o)
		}
	}
}

// compared lists the words with which something is compared in a file.
func compared(p *pkg, f *file, words []string) (found []string) {
	literal := func(e ast.Expr) {
		if b, ok := e.(*ast.BasicLit); ok && b.Kind == token.STRING {
			if text, err := strconv.Unquote(b.Value); err == nil && slices.Contains(words, text) {
				found = append(found, fmt.Sprintf("%s: %q", f.name, text))
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				literal(n.X)
				literal(n.Y)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				literal(e)
			}
		}
		return true
	})
	return found
}

func TestCompared(t *testing.T) {
	p := &pkg{}
	const src = `package x

func f(s string) bool {
	switch s {
	case "pfc", "other":
	}
	return s == "qcn" || s != "greedy" || s == "nothing" || "ecmp" == s
}
`
	p.fset = token.NewFileSet()
	if err := p.add("x.go", []byte(src)); err != nil {
		t.Fatal(err)
	}
	got := compared(p, p.files[0], words())
	want := []string{`x.go: "pfc"`, `x.go: "qcn"`, `x.go: "greedy"`, `x.go: "ecmp"`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
