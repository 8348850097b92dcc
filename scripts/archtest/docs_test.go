package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A package says once what it is, in doc.go (a command may say it in main.go),
// and a package of the product also says what it cannot do.
func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.product()) == 0 {
			continue
		}
		where := []string{"doc.go"}
		if p.isMain() {
			where = append(where, "main.go")
		}
		var text string
		var in []string
		for _, f := range p.files {
			if f.ast.Doc == nil || f.test && strings.HasSuffix(f.ast.Name.Name, "_test") {
				continue
			}
			text = f.ast.Doc.Text()
			in = append(in, f.name)
			if !slices.Contains(where, path.Base(f.name)) {
				t.Errorf("%s: the package comment of %s belongs in %s/%s", f.name, p.dir, p.dir, where[0])
			}
		}
		switch len(in) {
		case 0:
			t.Errorf("%s has no package comment: say in %s/doc.go what it is, the types to know, its limitations", p.dir, p.dir)
			continue
		case 1:
		default:
			t.Errorf("%s has %d package comments: %s", p.dir, len(in), strings.Join(in, ", "))
			continue
		}
		if p.isMain() {
			continue
		}
		if want := "Package " + path.Base(p.dir) + " "; !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment does not begin with %q", in[0], want)
		}
		if p.isProduct() && !strings.Contains(text, "Limitations") {
			t.Errorf("%s: the package comment does not say what the package cannot do, under \"# Limitations\"", in[0])
		}
	}
}

// ARCHITECTURE.md shows the tree as it is: every package of the product is in
// its tree, and what is there exists.
func TestTreeOfArchitecture(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tree, _ := strings.Cut(string(text), "```\n")
	tree, _, _ = strings.Cut(tree, "```")
	shown := map[string]bool{}
	var above []string // the folders around a line
	for line := range strings.Lines(tree) {
		name := strings.TrimLeft(line, " ")
		depth := (len(line) - len(name)) / 2
		name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
		if depth > len(above) {
			t.Fatalf("the tree skips a level: %s", line)
		}
		above = append(above[:depth], strings.TrimSuffix(name, "/"))
		shown[path.Join(above...)] = true
	}
	for folder := range shown {
		if _, err := os.Stat("../../" + folder); err != nil {
			t.Errorf("the tree of ARCHITECTURE.md has %s, which there is not", folder)
		}
	}
	for _, p := range packages(t) {
		if p.isProduct() && !shown[p.dir] {
			t.Errorf("the tree of ARCHITECTURE.md lacks %s", p.dir)
		}
	}
}

// foreign are types of formats, whose members comments name.
var foreign = []string{"PortInfo", "TrackEvent"}

// Comments and the documents about the code name what exists: pkg.Name in a package, Type.Member of
// a type of the module, and in comments [Name], a link, and "(package name)".
func TestCommentsNameWhatExists(t *testing.T) {
	declared, known := map[string]map[string]bool{}, map[string]bool{}
	for _, p := range packages(t) {
		for _, f := range p.files {
			names := declared[f.ast.Name.Name]
			if names == nil {
				names = map[string]bool{}
				declared[f.ast.Name.Name] = names
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					names[id.Name], known[id.Name] = true, true
				}
				return true
			})
		}
	}
	ofPackage, ofType := regexp.MustCompile(`(?:^|[^\w./])([a-z]\w*)\.([A-Z]\w*)`), regexp.MustCompile(`(?:^|[^\w.])([A-Z][a-z]\w*)\.([A-Z]\w*)`)
	inBrackets, inParentheses := regexp.MustCompile(`\[([A-Z]\w*[a-z]\w*)\]`), regexp.MustCompile(`\(package ([a-z/]+)\)`)
	check := func(at, text string, imports ...*ast.ImportSpec) {
		for _, found := range ofPackage.FindAllStringSubmatch(text, -1) {
			theirs := slices.ContainsFunc(imports, func(i *ast.ImportSpec) bool {
				return strings.HasSuffix(i.Path.Value, "/"+found[1]+`"`) && !strings.HasPrefix(i.Path.Value, `"fabemu/`)
			})
			if names := declared[found[1]]; names != nil && !names[found[2]] && !theirs {
				t.Errorf("%s names %s.%s, which does not exist", at, found[1], found[2])
			}
		}
		for _, found := range ofType.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(foreign, found[1]) && (!known[found[1]] || !known[found[2]]) {
				t.Errorf("%s names %s.%s, which does not exist", at, found[1], found[2])
			}
		}
	}
	for _, p := range packages(t) {
		for _, f := range p.product() {
			for _, group := range f.ast.Comments {
				at, text := p.fset.Position(group.Pos()).String(), group.Text()
				check(at, text, f.ast.Imports...)
				for _, found := range inBrackets.FindAllStringSubmatch(text, -1) {
					if !known[found[1]] {
						t.Errorf("%s links to %s, which does not exist", at, found[1])
					}
				}
				for _, found := range inParentheses.FindAllStringSubmatch(text, -1) {
					if declared[path.Base(found[1])] == nil {
						t.Errorf("%s names package %s, which does not exist", at, found[1])
					}
				}
			}
		}
	}
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		check(name, documents(t)[name])
	}
}

// Every exported name of the product is described.
func TestExportedNamesAreDescribed(t *testing.T) {
	for _, p := range packages(t) {
		if !p.isProduct() || p.isMain() {
			continue
		}
		for _, s := range undescribed(p) {
			t.Error(s)
		}
	}
}

// Methods that say all by their name: fmt and errors call them.
var wellKnown = []string{"String", "Error", "Unwrap"}

// undescribed lists the exported functions, methods, types, constants and
// variables of a package without a comment that begins with their name. In a
// group, the comment of the group or one at the end of the line will do for
// constants and variables. Fields, methods of interfaces and the methods whose
// meaning the standard library fixes (wellKnown) are not looked at.
func undescribed(p *pkg) []string {
	var found []string
	check := func(name *ast.Ident, what string, doc *ast.CommentGroup, begins bool) {
		at := p.fset.Position(name.Pos())
		switch text := doc.Text(); {
		case strings.TrimSpace(text) == "":
			found = append(found, fmt.Sprintf("%s:%d: %s has no comment", at.Filename, at.Line, what))
		case begins && !beginsWith(text, name.Name):
			found = append(found, fmt.Sprintf("%s:%d: the comment of %s does not begin with %q", at.Filename, at.Line, what, name.Name))
		}
	}
	for _, f := range p.product() {
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				what := d.Name.Name
				if d.Recv != nil {
					recv := receiver(d.Recv.List[0].Type)
					if !ast.IsExported(recv) {
						continue
					}
					what = recv + "." + what
				}
				if d.Name.IsExported() && !(d.Recv != nil && slices.Contains(wellKnown, d.Name.Name)) {
					check(d.Name, what, d.Doc, true)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						doc := s.Doc
						if doc == nil && !d.Lparen.IsValid() {
							doc = d.Doc
						}
						if s.Name.IsExported() {
							check(s.Name, s.Name.Name, doc, true)
						}
					case *ast.ValueSpec:
						doc, begins := s.Doc, true
						if doc == nil && !d.Lparen.IsValid() {
							doc = d.Doc
						}
						if doc == nil {
							doc, begins = s.Comment, false
						}
						if doc == nil {
							doc = d.Doc
						}
						if d.Lparen.IsValid() {
							begins = false
						}
						for _, n := range s.Names {
							if n.IsExported() {
								check(n, n.Name, doc, begins && len(s.Names) == 1)
							}
						}
					}
				}
			}
		}
	}
	return found
}

// beginsWith says whether a comment begins with the name, after an article.
func beginsWith(text, name string) bool {
	words := strings.Fields(text)
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	rest, ok := strings.CutPrefix(words[0], name)
	return ok && (rest == "" || !ast.IsExported("X"+rest) || !token.IsIdentifier(name+rest))
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func TestUndescribed(t *testing.T) {
	for _, tc := range []struct {
		src  string
		want string // part of the report; empty: nothing to report
	}{
		{"// F does it.\nfunc F() {}", ""},
		{"// A T is one.\ntype T int\n// String writes it.\nfunc (t T) String() string { return `` }", ""},
		{"// A T is one.\ntype T int\nfunc (t T) String() string { return `` }", ""},
		{"// F, as G, does it.\nfunc F() {}", ""},
		{"func f() {}\ntype t int\nfunc (t) M() {}", ""},
		{"// Kinds of it.\nconst (\n\tA = 1\n\tB = 2\n)", ""},
		{"const (\n\tA = 1 // the first\n\t// B is the second.\n\tB = 2\n)", ""},
		{"const A = 1 // the first", ""},
		{"func F() {}", "F has no comment"},
		{"// Does it.\nfunc F() {}", `does not begin with "F"`},
		{"// Fast does it.\nfunc F() {}", `does not begin with "F"`},
		{"// T is one.\ntype T int\nfunc (t *T) M() {}", "T.M has no comment"},
		{"const (\n\tA = 1\n)", "A has no comment"},
		{"// Kinds of it.\ntype (\n\tT int\n)", "T has no comment"},
		{"// Something.\nvar V = 1", `does not begin with "V"`},
	} {
		p := &pkg{dir: "x", fset: token.NewFileSet()}
		if err := p.add("x.go", []byte("package x\n"+tc.src)); err != nil {
			t.Fatalf("%s: %v", tc.src, err)
		}
		got := strings.Join(undescribed(p), "\n")
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s\n got %q\nwant %q", tc.src, got, tc.want)
		}
	}
}

// The package comments of reaction points and congestion points name every interface, so that the
// author of a scheme finds all that it can be.
func TestPackageCommentsNameTheInterfacesOfSchemes(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		if !p.under("node/rp", "switchd/cp") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, p.dir, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.product() {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !spec.Name.IsExported() {
					return true
				}
				if _, ok := spec.Type.(*ast.InterfaceType); ok {
					found++
					if name := spec.Name.Name; !regexp.MustCompile(`\b` + name + `\b`).Match(text) {
						t.Errorf("the package comment of %s does not name %s", p.dir, name)
					}
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("%d interfaces were found", found)
	}
}
