package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/goldentest"
	"fabemu/emu/metrics"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	r, _ := sample(t)
	r.Warnings = []string{"the receive buffer of root is 212992 bytes where 1048576 were asked for: raise net.core.rmem_max, or expect lost datagrams at small dilations"}
	r.Directory = "out/fig3b"
	got := render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) })
	goldentest.File(t, "testdata/wall.txt", got)
	for i, line := range strings.Split(string(got), "\n") {
		if n := len([]rune(line)); n > terminal.Width {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
	}
	goldentest.File(t, "testdata/wall-color.txt", render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{Color: true}) }))
}

func TestTextOfAVirtualRun(t *testing.T) {
	r, _ := sample(t)
	r.Clock, r.Dilation, r.WallSeconds = "virtual", 0, 0.9
	r.Verdict.Figures = NoFigures()
	r.Verdict.Virtual = true
	r.Verdict.Level, r.Verdict.Reason = Judge(r.Verdict.Figures)
	r.Checks = nil
	goldentest.File(t, "testdata/virtual.txt", render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
}

func TestTextOfAVoidRun(t *testing.T) {
	r, _ := sample(t)
	r.Partial = true
	r.Verdict.LostDatagrams, r.Verdict.Violations = 1, 7
	r.Verdict.Order.Overtaken, r.Verdict.Order.WorstPacketTimes = 3, 1.37
	for i := range 7 {
		r.Violations = append(r.Violations, Violation{int64(i+1) * 1_000_000, "B", "root.B-BC", "local", "overrun", 165})
	}
	r.Verdict.Level, r.Verdict.Reason = Judge(r.Verdict.Figures)
	goldentest.File(t, "testdata/void.txt", render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
}

func TestJSON(t *testing.T) {
	r, _ := sample(t)
	got := render(t, func(b *bytes.Buffer) error { return WriteJSON(b, r) })
	goldentest.File(t, "testdata/result.json", got)
	var back Result
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	sameNumber := cmp.Comparer(func(a, b Number) bool { return a == b || !a.Known() && !b.Known() })
	if diff := cmp.Diff(r, &back, sameNumber); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
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

func TestRatesIsTheSameEachTime(t *testing.T) {
	r, c := sample(t)
	series := c.Series()
	first := render(t, func(b *bytes.Buffer) error { return WriteRates(b, r, series) })
	second := render(t, func(b *bytes.Buffer) error { return WriteRates(b, r, series) })
	if !bytes.Equal(first, second) {
		t.Error("two figures of the same run differ")
	}
	goldentest.File(t, "testdata/rates.svg", first)
}

// A run without flows or phases has a figure too: an empty one.
func TestRatesOfNothing(t *testing.T) {
	got := render(t, func(b *bytes.Buffer) error {
		return WriteRates(b, &Result{Scenario: "nothing", Clock: "virtual", DurationPs: int64(ms)}, nil)
	})
	if !bytes.Contains(got, []byte("<svg")) {
		t.Error("no figure")
	}
}

// An outline has the points of all series that a picture needs: rates and limits are those
// of the instant, and what is a mean over bins is one over more of them.
func TestOutline(t *testing.T) {
	_, c := sample(t)
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
	r, c := sample(t)
	got := render(t, func(b *bytes.Buffer) error { return WriteSeries(b, r, c.Series()) })
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
	if got := string(cells("a", `b,"c`)); got != `,a,"b,""c",` {
		t.Errorf("cells are %s", got)
	}
}

func TestWriteDir(t *testing.T) {
	r, c := sample(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := WriteDir(dir, r, c, []byte("name: x\n")); err != nil {
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
	if err := WriteDir(dir, r, c, nil); err != nil {
		t.Error(err)
	}
	// Where a file stands no directory can be.
	if err := WriteDir(filepath.Join(dir, ResultFile), r, c, nil); err == nil || !strings.HasPrefix(err.Error(), "results: ") {
		t.Errorf("a file instead of a directory: %v", err)
	}
}

// Of a run that was killed stays how its figures went, and says so; the next run removes it, and
// nothing else that stands there.
func TestSeriesOfARunThatGoesOn(t *testing.T) {
	r, c := sample(t)
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
	whole := string(render(t, func(b *bytes.Buffer) error { return WriteSeries(b, r, c.Series()) }))
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

func TestPrintedFigures(t *testing.T) {
	for _, x := range []struct {
		metric string
		v      Number
		want   string
	}{
		{"a.utilisation", 0.9567, "95.7 %"}, {"a.utilisation", 1, "100 %"}, {"a.utilisation", 0.0412, "4.12 %"},
		{"a.marked", 0, "0 %"}, {"a.stalled.window", 0.5, "50 %"},
		{"a.rate / b.rate", 0.33333, "0.333"}, {"a.rate / b.rate", Missing(), "undefined"},
		{"a.rate", 7.1439e8, "714.4 MB/s"}, {"a.rate", 1e9, "1 GB/s"}, {"a.rate", 12, "12 B/s"},
		{"a.limit", 1.25e8, "125 MB/s"}, {"a.target", 1.25e9, "1.25 GB/s"}, {"a.limit / a.rate", 1.5, "1.5"},
		{"a.fairness", 0.99951, "1"}, {"a.occupancy", 131.7, "132"},
	} {
		if got := valueTo(&Check{Metric: x.metric}, x.v, 3); got != x.want {
			t.Errorf("%s %v prints as %q, want %q", x.metric, float64(x.v), got, x.want)
		}
	}
	inf := Number(math.Inf(1))
	for _, x := range []struct {
		metric    string
		low, high Number
		want      string
	}{
		{"a.utilisation", 0.9, 1, "90 to 100 %"}, {"a.utilisation", 0, 0.85, "0 to 85 %"}, {"a.utilisation", 0.3, 1.0005, "30 to 100.05 %"}, {"a.utilisation", 0.037, 0.043, "3.7 to 4.3 %"},
		{"a.rate / b.rate", 0, 1, "0 to 1"}, {"a.rate / b.rate", 0.9, inf, ">= 0.9"}, {"a.rate / b.rate", -inf, inf, "any"},
		{"a.rate", 9e8, 1.1e9, "900 MB/s to 1.1 GB/s"}, {"a.rate", 5, 5, "5 B/s"},
	} {
		if got := (&Check{Metric: x.metric, Judged: Judged{Low: x.low, High: x.high}}).Wanted(); got != x.want {
			t.Errorf("%s from %v to %v prints as %q, want %q", x.metric, float64(x.low), float64(x.high), got, x.want)
		}
	}
}

// What did not pass comes first, in text and on the page; of many flows the groups are shown, and
// the flows behind a fold.
func TestWhatDiffersFirst(t *testing.T) {
	r := &Result{Scenario: "many"}
	for i := range 40 {
		k := Check{}
		k.ID, k.Claim, k.Outcome = fmt.Sprintf("check-%d", i), "a claim", Pass
		if i == 30 {
			k.Outcome = Fail
		}
		r.Checks = append(r.Checks, k)
		r.Flows = append(r.Flows, Flow{Name: fmt.Sprintf("there.h%d", i), Group: "there", Rate: Number(i + 1), Frames: 2})
	}
	p := Phase{ToPs: 1e9}
	for i := range 40 {
		p.Rates = append(p.Rates, Rate{Kind: "group", Name: fmt.Sprintf("h%d", i)})
	}
	r.Phases = []Phase{p}
	text := string(render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
	if fail, pass, rates := strings.Index(text, "check-30"), strings.Index(text, "check-0"), strings.Index(text, "Rates in percent"); fail < 0 || fail > pass || pass > rates {
		t.Errorf("at %d, %d and %d in\n%s", fail, pass, rates, text)
	}
	for _, want := range []string{"... 28 more that pass", "... 38 more like these"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	page := string(render(t, func(b *bytes.Buffer) error { return WriteHTML(b, &Dir{Result: r}) }))
	at := -1
	for _, want := range []string{"check-30", "check-0<", "<summary>28 more that pass</summary>", "check-39", "Groups of flows",
		"<td class=\"n\">40</td>", "<summary>Flows: all 40</summary>", "there.h39"} {
		next := strings.Index(page[at+1:], want)
		if next < 0 {
			t.Fatalf("%q is not behind what comes before it in\n%s", want, page)
		}
		at += 1 + next
	}
}
