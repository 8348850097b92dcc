package archtest

import (
	"go/ast"
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

// theirs are names of others in comments: projects, and symbols, files and managed objects of
// papers, simulators and standards.
var theirs = regexp.MustCompile(`^(gVisor|uPlot|xMII|run\.py|maxStage|txRate|q[AB]+|dV|(rpg|cp)[A-Z]\w*)$`)

// Comments and the documents about the code name what exists: pkg.Name in a package, Type.Member of
// a type of the module, and in comments [Name], a link, "(package name)", camelCase, and files.
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
	camelCase, file := regexp.MustCompile(`(?:^|[^\w./-])([a-z][a-z0-9]*[A-Z]\w*)`), regexp.MustCompile(`(?:^|[^\w./*-])([\w-]+\.(?:go|lua|js|sh|py))\b`)
	tree := map[string]bool{}
	for _, name := range files(t) {
		tree[path.Base(name)] = true
	}
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
				for _, found := range camelCase.FindAllStringSubmatch(text, -1) {
					if !known[found[1]] && !theirs.MatchString(found[1]) {
						t.Errorf("%s names %s, which does not exist", at, found[1])
					}
				}
				for _, found := range file.FindAllStringSubmatch(text, -1) {
					if !tree[found[1]] && !theirs.MatchString(found[1]) {
						t.Errorf("%s names the file %s, which does not exist", at, found[1])
					}
				}
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

// What a text tells the reader to look up with go doc is there.
func TestGoDocFindsWhatTextsName(t *testing.T) {
	command := regexp.MustCompile(`go doc \./([\w/]+)(?: ([A-Z][\w.]*))?`)
	found := 0
	for _, name := range files(t) {
		if !slices.Contains([]string{".md", ".go", ".yaml"}, path.Ext(name)) || strings.Contains(name, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, the deletion not yet committed
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			found++
			i := slices.IndexFunc(packages(t), func(p *pkg) bool { return p.dir == m[1] })
			if i < 0 {
				t.Errorf("%s: %s: there is no such package", name, m[0])
				continue
			}
			declared := map[string]bool{}
			for _, f := range packages(t)[i].product() {
				ast.Inspect(f.ast, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						declared[id.Name] = true
					}
					return true
				})
			}
			for word := range strings.SplitSeq(strings.Trim(m[2], "."), ".") {
				if word != "" && !declared[word] {
					t.Errorf("%s: %s: there is no %s", name, m[0], word)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d found: the test looks in the wrong place", found)
	}
}

// The package comments of reaction points and congestion points name every interface, and every
// optional function, so that the author of a scheme finds all that it can be.
func TestPackageCommentsNameWhatSchemesMayBe(t *testing.T) {
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
				var names []*ast.Ident
				switch of := spec.Type.(type) {
				case *ast.InterfaceType:
					names = append(names, spec.Name)
				case *ast.StructType:
					for _, field := range of.Fields.List {
						if _, ok := field.Type.(*ast.FuncType); ok && (spec.Name.Name == "Reaction" || spec.Name.Name == "Marking") {
							names = append(names, field.Names...)
						}
					}
				}
				for _, name := range names {
					found++
					if !regexp.MustCompile(`\b` + name.Name + `\b`).Match(text) {
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
