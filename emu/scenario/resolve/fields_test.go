package resolve_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/param"
)

// TestEveryField: each field of Scenario is set by a key, which is documented
// and has a bad file in which it is wrong.
func TestEveryField(t *testing.T) {
	unset := keyless("", reflect.TypeFor[scenario.Scenario]())
	want := []string{"Switches.Name", "Switches.Shared", "Links.A", "Links.B", "Events.Act", "HasShort", "Endless", "Open", "Managed", "Schemes", "Warnings"} // a key of a map, what follows from alpha, what a link joins, what Load says
	if d := cmp.Diff(want, unset); d != "" {
		t.Errorf("fields that no key sets (-want +got):\n%s", d)
	}
	wrong := wrongPaths(t)
	scenario.Language().Walk("", func(path string, p *param.Param) {
		if len(p.Doc) < 10 || !strings.HasSuffix(p.Doc, ".") {
			t.Errorf("%s has no proper documentation: %q", path, p.Doc)
		}
		if p.Wanted() == "" {
			t.Errorf("%s does not say what is wanted", path)
		}
		holds := p.Object != nil || p.Item != nil && p.Item.Object != nil // fields
		if holds || strings.HasPrefix(path, "defaults.") || strings.HasPrefix(path, "short.") {
			return
		}
		if !matches(wrong, path) {
			t.Errorf("no bad file has a wrong %s", path)
		}
	})
}

// keyless returns the exported fields without a key of a struct, and of those in its lists.
func keyless(path string, typ reflect.Type) (all []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name := strings.TrimPrefix(path+"."+f.Name, ".")
		_, keyed := f.Tag.Lookup("key")
		switch {
		case f.Anonymous:
			all = append(all, keyless(path, f.Type)...)
		case !keyed && f.IsExported():
			all = append(all, name)
		case keyed && f.Type.Kind() == reflect.Slice:
			all = append(all, keyless(name, f.Type.Elem())...)
		}
	}
	return all
}

// wrongPaths returns the paths of the mistakes in all bad files.
func wrongPaths(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*.bad.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = resolve.Load(file, src, nil, resolve.CheckMetrics(checkMetric))
		for _, e := range err.(*scenario.Errors).List {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// matches reports whether one of the paths is the path of a key, or of the same key under defaults.
// A workload has many keys of flows, and a fault the keys of events.
func matches(paths []string, key string) bool {
	pattern := regexp.QuoteMeta(key)
	for from, to := range map[string]string{`switches\.\*`: `(switches\.[^.]+|defaults\.switch)`, `links\[\]`: `(links(\[\d+\]|\..+)|defaults\.link)`, `flows\[\]`: `(flows(\[\d+\]|\..+)|defaults\.flow)`, `endpoints\[\]`: `(endpoints(\[\d+\]|\..+)|defaults\.endpoint)`,
		`workload\[\]`: `((workload|flows)(\[\d+\]|\..+)|defaults\.flow)`, `faults\[\]`: `(faults|events)(\[\d+\]|\..+)`, `events\[\]`: `(faults|events)(\[\d+\]|\..+)`} {
		pattern = strings.Replace(pattern, from, to, 1)
	}
	pattern = strings.Replace(pattern, `\[\]`, `(\[\d+\]|\..+)`, 1)
	if strings.HasSuffix(key, ".between") {
		pattern = strings.TrimSuffix(pattern, `\.between`) // a short link is its between
	}
	if key == "endpoints" || key == "switches" {
		pattern += `(\[\d+\]|\..+)?`
	}
	re := regexp.MustCompile("^" + pattern + "$")
	for _, p := range paths {
		if re.MatchString(p) {
			return true
		}
	}
	return false
}
