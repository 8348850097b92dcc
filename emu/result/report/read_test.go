package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/reporttest"
	. "fabemu/emu/result/report"

	"github.com/google/go-cmp/cmp"
)

func TestReadDir(t *testing.T) {
	dir, r := reporttest.Written(t, plain)
	d, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, d.Result, cmp.Comparer(func(a, b Number) bool { return a == b || !a.Known() && !b.Known() })); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	if string(d.Resolved) != "name: <sample>\n" {
		t.Errorf("%q", d.Resolved)
	}
	kinds := map[string]int{}
	for _, s := range d.Series {
		kinds[s.Kind]++
		if len(s.Times) != len(s.Values) || len(s.Times) == 0 {
			t.Errorf("%s %s: %d times, %d values", s.Kind, s.Name, len(s.Times), len(s.Values))
		}
	}
	if kinds["link.rate"] != 6 || kinds["flow.limit"] != 3 || kinds["verdict"] != 0 {
		t.Errorf("%v", kinds)
	}
}

func TestReadDirRefuses(t *testing.T) {
	whole, _ := reporttest.Written(t, plain)
	for name, test := range map[string]struct {
		spoil func(dir string) error
		want  []string
	}{
		"no series": {func(dir string) error { return os.Remove(filepath.Join(dir, SeriesFile)) }, []string{"is incomplete: it lacks series.csv"}},
		"two files": {func(dir string) error {
			os.Remove(filepath.Join(dir, ResolvedFile))
			return os.Remove(filepath.Join(dir, RatesFile))
		}, []string{"it lacks resolved.yaml, rates.svg"}},
		"not ended": {func(dir string) error { return os.Remove(filepath.Join(dir, ResultFile)) }, []string{"it lacks result.json; it is written last"}},
		"cut short": {func(dir string) error {
			return os.Truncate(filepath.Join(dir, ResultFile), 500)
		}, []string{"result.json: it is cut short"}},
		"another form": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ResultFile), []byte(`{"fabemu": "v9.1", "form": 1, "scenario": "x"}`), 0o666)
		}, []string{"written by v9.1 in another form", "lacks clock, seed"}},
		"a newer form": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ResultFile), []byte(`{"fabemu": "9.1", "form": 3, "weather": 3}`), 0o666)
		}, []string{"written by version 9.1 of fabemu in form 3, and this version reads forms up to 2: read it with version 9.1"}},
		"a new key": {func(dir string) error {
			path := filepath.Join(dir, ResultFile)
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, bytes.Replace(b, []byte("{"), []byte(`{"weather": 3,`), 1), 0o666)
		}, []string{"in another form", "weather"}},
		"no table": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, SeriesFile), []byte("a,b\n1,2\n"), 0o666)
		}, []string{"series.csv: it does not start with the columns"}},
		"bad row": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, SeriesFile), []byte("time_ps,kind,name,value\n0,verdict,exact,\n1,link.rate,a,x\n"), 0o666)
		}, []string{"series.csv: line 3"}},
		"short row": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, SeriesFile), []byte("time_ps,kind,name,value\n0\n"), 0o666)
		}, []string{"series.csv: "}},
		"a file of another run": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ResolvedFile), []byte("name: other\n"), 0o666)
		}, []string{"is a mix of two runs, or was changed: resolved.yaml is not the file that result.json was written with"}},
		"a figure that was changed": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, RatesFile), []byte("<svg><script>alert(1)</script></svg>"), 0o666)
		}, []string{"is a mix of two runs, or was changed: rates.svg"}},
		"no directory": {func(dir string) error { return os.RemoveAll(dir) }, []string{"is not a results directory"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := test.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, err := ReadDir(dir)
			if err == nil {
				t.Fatal("it is read")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v; it does not say %q", err, want)
				}
			}
		})
	}
}
