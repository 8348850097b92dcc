package report

import (
	"bytes"
	"fabemu/emu/timing"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// written has the sample's results in a directory.
func written(t *testing.T) (dir string, r *Result) {
	t.Helper()
	r, c := sample(t)
	r.Pace = PaceOf(&timing.Timing{Moments: []timing.Moment{{From: 0, Data: 8, Late: 1, Worst: 5000}, {From: 50 * ms, Data: 4, Late: 1, Worst: 7500, Stalled: 100_000}}})
	dir = t.TempDir()
	if err := WriteDir(dir, r, c, []byte("name: <sample>\n")); err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestReadDir(t *testing.T) {
	dir, r := written(t)
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
	whole, _ := written(t)
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
			return os.WriteFile(filepath.Join(dir, ResultFile), []byte(`{"fabemu": "v9.1", "scenario": "x"}`), 0o666)
		}, []string{"written by v9.1 in another form", "lacks clock, seed"}},
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
		}, []string{"series.csv: it does not begin with the columns"}},
		"bad row": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, SeriesFile), []byte("time_ps,kind,name,value\n0,verdict,exact,\n1,link.rate,a,x\n"), 0o666)
		}, []string{"series.csv: line 3"}},
		"short row": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, SeriesFile), []byte("time_ps,kind,name,value\n0\n"), 0o666)
		}, []string{"series.csv: "}},
		"a file of another run": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ResolvedFile), []byte("name: other\n"), 0o666)
		}, []string{"is a mix of two runs, or was changed: resolved.yaml is not what result.json was written with"}},
		"a figure that was changed": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, RatesFile), []byte("<svg><script>alert(1)</script></svg>"), 0o666)
		}, []string{"is a mix of two runs, or was changed: rates.svg"}},
		"no directory": {func(dir string) error { return os.RemoveAll(dir) }, []string{"is no directory of results"}},
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

// The page has everything in it, and what comes from files is text there: no picture is
// taken from one.
func TestPage(t *testing.T) {
	dir, _ := written(t)
	d, err := ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{RatesFile, PageFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`<svg><script>alert("x")</script></svg>`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d.Scenario = `</title><script>alert("x")</script>`
	d.Series[0].Name, d.Links[0].Name = d.Scenario, d.Scenario
	d.Checks[0].Claim = `<script>alert("x")</script>`
	d.Checks[0].Why = "so says the text"
	path, err := WritePage(d)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{
		"Verdict: exact", "&lt;script&gt;", "so says the text", "DIFFERS", "hardly ever reached", "name: &lt;sample&gt;",
		"Rates", "Buffers", "Pace", "Rate limits", "Timing", "Machine", "trunk.A-B", "processors", "<svg", `http-equiv="Content-Security-Policy" content="default-src 'none';`, "model time (ms)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if outside := regexp.MustCompile(`(src|href)="[^#"]*"|url\(|@import|<script`).FindAllString(page, -1); outside != nil {
		t.Errorf("the page needs %q", outside)
	}
}
