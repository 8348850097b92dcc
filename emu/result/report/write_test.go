package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/reporttest"
	"fabemu/emu/metrics"
	. "fabemu/emu/result/report"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

// plain draws nothing: the tests of this package do not look at pictures.
func plain(*Result, []metrics.Series) []Picture { return []Picture{{RatesFile, blank{}}} }

type blank struct{}

func (blank) SVG(w io.Writer) error {
	_, err := io.WriteString(w, "<svg></svg>")
	return err
}

func TestJSON(t *testing.T) {
	r, _ := reporttest.Sample(t)
	got := reporttest.Render(t, func(b *bytes.Buffer) error { return WriteJSON(b, r) })
	golden.File(t, "testdata/result.json", got)
	var back Result
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	sameNumber := cmp.Comparer(func(a, b Number) bool { return a == b || !a.Known() && !b.Known() })
	if diff := cmp.Diff(r, &back, sameNumber); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
}

// Long lists are written one element after the other, and the text is that of the encoder, wherever
// in a struct they are.
func TestJSONOfLongLists(t *testing.T) {
	type element struct {
		Name  string  `json:"name"`
		Share Number  `json:"share"`
		Parts []int64 `json:"parts"`
	}
	long := make([]element, 2500)
	for i := range long {
		long[i] = element{"a > \"b\"\n  \"last\": null", Number(i), make([]int64, i%3)}
	}
	there := []byte(`"` + strings.Repeat("x", 2500) + `"`)
	v := &struct {
		First  []element `json:"first"`
		None   []element `json:"none"`
		Option []element `json:"option,omitempty"`
		Plain  []element
		JSON   json.RawMessage `json:"json"`
		Bytes  []byte          `json:"bytes"`
		Kept   []element       `json:"-"`
		Last   []element       `json:"last"`
	}{long, nil, long, long, there, there, long, long}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	if got := reporttest.Render(t, func(b *bytes.Buffer) error { return WriteJSON(b, v) }); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes, and %d by the encoder; or others", len(got), want.Len())
	}
}

func TestNumbersThatAreMissing(t *testing.T) {
	for _, n := range []Number{Missing(), Number(math.Inf(1)), Number(math.Inf(-1))} {
		if b, err := json.Marshal(n); err != nil || string(b) != "null" {
			t.Errorf("%v is written as %s, %v", float64(n), b, err)
		}
	}
	var n Number = 5
	if err := json.Unmarshal([]byte("null"), &n); err != nil || n.Known() {
		t.Errorf("null is read as %v, %v", n, err)
	}
}

// An outline has the points of all series that a picture needs: rates and limits are those
// of the instant, and what is a mean over bins is one over more of them.
func TestOutline(t *testing.T) {
	_, c := reporttest.Sample(t)
	whole := map[string]map[unit.Time]float64{}
	points := 0
	for _, s := range c.Series() {
		values := map[unit.Time]float64{}
		for i, at := range s.Times {
			values[at] = s.Values[i]
		}
		whole[s.Kind+" "+s.Name] = values
		points = max(points, len(values))
	}
	for _, s := range c.Outline() {
		values := whole[s.Kind+" "+s.Name]
		if len(s.Times) < metrics.OutlinePoints || len(s.Times) > points/2 {
			t.Fatalf("%s of %s has %d points of %d", s.Kind, s.Name, len(s.Times), points)
		}
		mean := strings.Contains(s.Kind, "stalled") || s.Kind == metrics.BufferOccupancy || s.Kind == metrics.LinkQueue
		sum, n := 0.0, 0
		for i, at := range s.Times {
			want, ok := values[at]
			if !ok || !mean && want != s.Values[i] && !(math.IsNaN(want) && math.IsNaN(s.Values[i])) {
				t.Fatalf("%s of %s is %v at %v, want %v", s.Kind, s.Name, s.Values[i], at, want)
			}
			sum += s.Values[i] / float64(len(s.Times))
		}
		if !mean {
			continue
		}
		all := 0.0
		for _, v := range values {
			all += v
			n++
		}
		if all /= float64(n); math.Abs(all-sum) > 0.02*max(all, sum) {
			t.Errorf("the mean of %s of %s is %v, and of all points %v", s.Kind, s.Name, sum, all)
		}
	}
}

func TestSeriesTable(t *testing.T) {
	r, c := reporttest.Sample(t)
	got := reporttest.Render(t, func(b *bytes.Buffer) error { return WriteSeries(b, r, c.Series()) })
	lines := strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")
	if lines[0] != "time_ps,kind,name,value" || lines[1] != "0,verdict,exact," {
		t.Errorf("begins with %q, %q", lines[0], lines[1])
	}
	found := false
	for _, l := range lines[1:] {
		if strings.Count(l, ",") != 3 {
			t.Fatalf("row %q", l)
		}
		found = found || strings.HasPrefix(l, "50000000000,link.utilisation,trunk.A-B,0.9")
	}
	if !found {
		t.Error("no figure of the trunk at 50 ms")
	}
}

func TestWriteDir(t *testing.T) {
	r, c := reporttest.Sample(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := WriteDir(dir, r, c, []byte("name: x\n"), plain); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{RatesFile, ResolvedFile, ResultFile, SeriesFile}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, ResolvedFile)); string(b) != "name: x\n" {
		t.Errorf("resolved scenario %q", b)
	}
	if r.Directory != dir {
		t.Errorf("directory %q", r.Directory)
	}
	// Again over what is there, without a resolved scenario.
	if err := WriteDir(dir, r, c, nil, plain); err != nil {
		t.Error(err)
	}
	// A directory cannot replace a file.
	if err := WriteDir(filepath.Join(dir, ResultFile), r, c, nil, plain); err == nil || !strings.HasPrefix(err.Error(), "results: ") {
		t.Errorf("a file instead of a directory: %v", err)
	}
}

// Of a run that was killed stays how its figures went, and says so; the next run removes it, and
// nothing else that is there.
func TestSeriesOfARunThatGoesOn(t *testing.T) {
	r, c := reporttest.Sample(t)
	dir := t.TempDir()
	path := filepath.Join(dir, SeriesFile)
	retire := func(stays bool) {
		t.Helper()
		if err := RetirePartial(dir); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("stays: %v, want %v", err, stays)
		}
	}
	retire(false) // nothing is there
	if err := WritePartial(t.Context(), dir, c.Course(), true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r.Pace = nil
	whole := string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteSeries(b, r, c.Series()) }))
	if want := strings.Replace(whole, ",verdict,"+string(r.Verdict.Level)+",", ",verdict,partial,", 1); string(got) != want {
		t.Errorf("it begins with %.80q", got)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := WritePartial(ended, dir, c.Course(), false); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("it has left %v", entries)
	}
	retire(false)
	for _, others := range []string{whole, "time_ps,kind,name,value\n", "notes"} {
		if err := os.WriteFile(path, []byte(others), 0o666); err != nil {
			t.Fatal(err)
		}
		retire(true)
	}
}
