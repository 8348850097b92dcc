package scripts

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Standard        bool
	Module          *struct {
		GoVersion string
		Main      bool
	}
}

// The product compiles for other systems and processors: its types are checked with the files that
// each of them has. scripts/soak.sh builds and vets it for them, which takes twenty times as long.
func TestModelTypesOnOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, target := range []string{"linux/arm64", "darwin/arm64", "windows/amd64"} {
		t.Run(target, func(t *testing.T) {
			system, processor, _ := strings.Cut(target, "/")
			checked := map[string]*types.Package{"unsafe": types.Unsafe}
			ours := 0
			for _, p := range productOf(t, system, processor) { // what a package imports comes before it
				c := types.Config{
					Importer:         mapped{p.ImportMap, checked},
					Sizes:            types.SizesFor("gc", processor),
					IgnoreFuncBodies: true,
					Error:            func(error) {}, // all are counted by Check
				}
				if p.Module != nil {
					c.GoVersion = "go" + p.Module.GoVersion
				}
				if p.Module != nil && p.Module.Main {
					c.IgnoreFuncBodies = false
					c.Error = func(err error) { t.Error(err) }
					ours++
				}
				var files []*ast.File
				set := token.NewFileSet()
				for _, name := range p.GoFiles {
					f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
					if err != nil {
						t.Fatal(err)
					}
					files = append(files, f)
				}
				checked[p.ImportPath], _ = c.Check(p.ImportPath, set, files, nil)
			}
			if ours < 50 {
				t.Errorf("%d packages of this module are checked", ours)
			}
		})
	}
}

// productOf lists the packages of the product for a system, and those that it imports.
func productOf(t *testing.T, system, processor string) (all []listed) {
	t.Helper()
	c := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Standard,Module", "./cmd/...", "./emu/...", "./node/...", "./switchd/...", "./wire/...")
	c.Dir, c.Stderr = "..", os.Stderr
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath != "unsafe" {
			all = append(all, p)
		}
	}
}

// mapped imports packages that are checked already.
type mapped struct {
	names   map[string]string // of copies within the standard library, by the path in the source
	checked map[string]*types.Package
}

func (m mapped) Import(path string) (*types.Package, error) {
	if other, ok := m.names[path]; ok {
		path = other
	}
	if p := m.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not checked yet", path)
}
