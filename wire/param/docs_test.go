package param_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
)

// longest is how long a line with a doc in its tags can be.
const longest = 140

// commented returns a line of docs.txt for each parameter of a file with a comment above it, and
// refuses documentation in two places.
func commented(t *testing.T, file, pkg string) (lines []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	source, set := strings.Split(string(text), "\n"), token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range structure.Fields.List {
			if field.Tag == nil {
				continue
			}
			tags, _ := strconv.Unquote(field.Tag.Value)
			tag := reflect.StructTag(tags)
			key, ok := tag.Lookup("key")
			if !ok {
				continue
			}
			at := set.Position(field.Tag.Pos())
			inTag := tag.Get("doc") != ""
			switch {
			case inTag && len(source[at.Line-1]) > longest:
				t.Errorf("%s:%d: the line is longer than %d bytes: write the doc of %s into a comment above it", file, at.Line, longest, key)
			case inTag && field.Doc != nil:
				t.Errorf("%s:%d: %s has a doc in its tag and a comment above it", file, at.Line, key)
			}
			if inTag || field.Doc == nil {
				continue
			}
			doc := strings.TrimSpace(field.Doc.Text())
			doc, origin, _ := strings.Cut(doc, "\nSource: ")
			flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
			lines = append(lines, path.Join("fabemu", pkg)+"."+spec.Name.Name+"\t"+key+"\t"+flat(doc)+"\t"+flat(origin)+"\n")
		}
		return true
	})
	return lines
}

// docs.txt has the comments of all parameters.
func TestDocs(t *testing.T) {
	var lines []string
	for _, wing := range []string{"wire", "node", "switchd", "emu", "cmd"} {
		root := filepath.Join("..", "..")
		err := filepath.WalkDir(filepath.Join(root, wing), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			pkg, err := filepath.Rel(root, filepath.Dir(file))
			lines = append(lines, commented(t, file, filepath.ToSlash(pkg))...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(lines)
	for i, line := range lines {
		place := line[:strings.Index(line[strings.Index(line, "\t")+1:], "\t")+strings.Index(line, "\t")+2]
		if i > 0 && strings.HasPrefix(lines[i-1], place) {
			t.Errorf("two comments are about %s", place)
		}
	}
	golden.File(t, "docs.txt", strings.Join(lines, ""))
}
