package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "fabemu"

// root is the top of the repository, seen from the folder that the test runs in.
const root = "../.."

// A file is a parsed Go file.
type file struct {
	name string // path from the root, with slashes
	test bool
	src  []byte
	ast  *ast.File
}

// A pkg is the Go files of one folder.
type pkg struct {
	dir   string // path from the root, with slashes; "." for the root
	files []*file
	fset  *token.FileSet
}

// An imp is an import as it is in a file.
type imp struct {
	path string
	pos  token.Position
}

// tree is every package of the module, parsed once for all tests.
var tree = sync.OnceValues(func() ([]*pkg, error) { return load(root) })

// packages returns the packages of the module or ends the test.
func packages(t *testing.T) []*pkg {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatalf("reading the tree: %v", err)
	}
	if len(all) == 0 {
		t.Fatal("no Go package found: the test looks in the wrong place")
	}
	return all
}

// load parses every Go file under top, but for other modules, testdata and
// folders whose names the go command passes over.
func load(top string) ([]*pkg, error) {
	byDir := map[string]*pkg{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			base := path.Base(rel)
			if rel != "." && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(rel) != ".go" {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir := path.Dir(rel)
		p := byDir[dir]
		if p == nil {
			p = &pkg{dir: dir, fset: token.NewFileSet()}
			byDir[dir] = p
		}
		return p.add(rel, src)
	})
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for _, p := range byDir {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	return all, nil
}

// add parses one file into the package.
func (p *pkg) add(name string, src []byte) error {
	f, err := parser.ParseFile(p.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files = append(p.files, &file{name: name, test: strings.HasSuffix(name, "_test.go"), src: src, ast: f})
	return nil
}

// product returns the files that are not tests.
func (p *pkg) product() []*file {
	var fs []*file
	for _, f := range p.files {
		if !f.test {
			fs = append(fs, f)
		}
	}
	return fs
}

// under says whether the package is one of the folders or below one of them.
func (p *pkg) under(folders ...string) bool {
	for _, f := range folders {
		if p.dir == f || strings.HasPrefix(p.dir, f+"/") {
			return true
		}
	}
	return false
}

// isProduct says whether the package is part of what users get, not of scripts.
func (p *pkg) isProduct() bool { return p.under("wire", "node", "switchd", "emu", "cmd") }

// isMain says whether the package is a command.
func (p *pkg) isMain() bool { return p.files[0].ast.Name.Name == "main" }

// forTests says whether the package exists for the tests of others (linktest, say).
func (p *pkg) forTests() bool { return p.under("emu/emutest", "emu/limitertest") }

// imports returns the imports of a file.
func (p *pkg) imports(f *file) []imp {
	var is []imp
	for _, s := range f.ast.Imports {
		if name, err := strconv.Unquote(s.Path.Value); err == nil {
			is = append(is, imp{name, p.fset.Position(s.Pos())})
		}
	}
	return is
}

// resolve says what each name in the product files of the package stands for.
// Other packages are not loaded: their names count as unknown, the package's own
// are exact, with all scopes and shadowing.
func (p *pkg) resolve() *types.Info {
	info := &types.Info{
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Types:      map[ast.Expr]types.TypeAndValue{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	var files []*ast.File
	for _, f := range p.product() {
		files = append(files, f.ast)
	}
	conf := types.Config{
		Importer: importNothing{},
		Error:    func(error) {}, // unknown names of other packages; the compiler reports real errors
	}
	conf.Check(p.dir, p.fset, files, info)
	return info
}

type importNothing struct{}

func (importNothing) Import(string) (*types.Package, error) { return nil, fs.ErrNotExist }

// local returns the path of a package of this module from the root.
func local(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, module+"/")
}

// standard says whether an import path belongs to the standard library.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return first != module && !strings.Contains(first, ".")
}

// within says whether an import path is one of the paths or below one of them.
func within(importPath string, paths ...string) bool {
	for _, p := range paths {
		if importPath == p || strings.HasPrefix(importPath, p+"/") {
			return true
		}
	}
	return false
}
