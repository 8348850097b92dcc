package report_test

import (
	"encoding"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
)

// keysOf returns the keys of the objects in the JSON of a type, by their paths: "top level",
// "flows[]" for the elements of an array.
func keysOf(t reflect.Type) map[string][]string {
	all := map[string][]string{}
	var walk func(path string, t reflect.Type)
	walk = func(path string, t reflect.Type) {
		for {
			if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
				return // a time, an address
			}
			if k := t.Kind(); k != reflect.Pointer && k != reflect.Slice && k != reflect.Array {
				break
			}
			if t.Kind() != reflect.Pointer {
				path += "[]"
			}
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported():
			case f.Anonymous && name == "":
				walk(path, f.Type)
			case path == "":
				all["top level"] = append(all["top level"], name)
				walk(name, f.Type)
			default:
				all[path] = append(all[path], name)
				walk(path+"."+name, f.Type)
			}
		}
	}
	walk("", t)
	return all
}

// docs/guide/results.md has each key of result.json and of seeds.json, at its object or as an
// object with a row, and no other.
func TestResultsDocumentHasEachKey(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guide/results.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, root := range map[string]reflect.Type{"result.json": reflect.TypeFor[report.Result](), "seeds.json": reflect.TypeFor[seeds.Repetitions]()} {
		_, section, found := strings.Cut(string(text), "\n## "+file+"\n")
		if !found {
			t.Fatalf("no section about %s", file)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		quoted := regexp.MustCompile("`([^`]+)`")
		documented := map[string][]string{}
		for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
			for _, object := range strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ") {
				for _, key := range quoted.FindAllStringSubmatch(row[2], -1) {
					documented[object] = append(documented[object], key[1])
				}
			}
		}
		want := keysOf(root)
		for _, object := range slices.Sorted(maps.Keys(want)) {
			for _, key := range want[object] {
				inner := strings.TrimPrefix(object+"."+key, "top level.")
				if !slices.Contains(documented[object], key) && documented[inner] == nil && documented[inner+"[]"] == nil {
					t.Errorf("%s: the object %q lacks `%s`", file, object, key)
				}
			}
		}
		for object, keys := range documented {
			for _, key := range keys {
				if !slices.Contains(want[object], key) {
					t.Errorf("%s: the object %q has no `%s`", file, object, key)
				}
			}
		}
	}
}

// docs/guide/results.md has each kind of curve of the table of figures, and no other; the verdict
// and the pace are none.
func TestResultsDocumentHasEachCurve(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guide/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## series.csv\n")
	section, _, _ = strings.Cut(section, "\n## ")
	got := []string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(section, -1) {
		got = append(got, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	want := []string{"verdict", "pace"}
	for _, f := range metrics.AllFigures() {
		for _, kind := range []string{f.Series.Kind, f.Series.Groups} {
			if strings.HasSuffix(kind, ".") {
				kind += "CAUSE"
			}
			if kind != "" {
				want = append(want, kind)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("documented are %q, want %q", got, want)
	}
}
