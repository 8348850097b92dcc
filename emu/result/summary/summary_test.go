package summary

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/base/terminal"
	"fabemu/emu/emutest/golden"
	"fabemu/emu/emutest/reporttest"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

const ms = unit.Time(unit.Millisecond)

func TestEventsAreShown(t *testing.T) {
	r, c := reporttest.Eventful(t, 100*ms)
	want := []string{"20ms link trunk down", "30ms link trunk up", "70ms switch B restarts", "80ms switch B is back", "95ms link root at 4Gb/s"}
	var got []string
	for _, e := range r.Events {
		got = append(got, fmt.Sprint(unit.Time(e.AtPs), " ", e.What))
	}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	var begins []int64
	for _, p := range r.Phases {
		begins = append(begins, p.BeginPs/int64(ms))
	}
	if want := []int64{1, 20, 30, 40, 60, 70, 80, 95}; !slices.Equal(begins, want) {
		t.Errorf("phases begin at %v ms, want %v", begins, want)
	}
	f := RatesFigure(r, c.Series())
	if len(f.Events) != 5 || f.Events[2] != (plot.Event{At: 70, Name: "switch B restarts"}) {
		t.Errorf("on the figure: %v", f.Events)
	}
	var text, svg bytes.Buffer
	if err := WriteText(&text, r, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	if err := f.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Events\n", "20ms  link trunk down", "after the first 2ms of each phase"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	if !strings.Contains(svg.String(), ">link trunk down</text>") {
		t.Error("the figure does not name the event")
	}
	r.Phases = slices.Delete(r.Phases, 1, 3)
	text.Reset()
	if err := WriteText(&text, r, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	if want := "windows: 20-40 ms\n"; !strings.Contains(text.String(), want) {
		t.Errorf("the text does not say %q:\n%s", want, text.String())
	}
	r.Phases[0].FromPs = r.Phases[0].BeginPs // a run that is one short phase
	text.Reset()
	if err := WriteText(&text, r, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "after the first") {
		t.Error("the text says that the first window is left out, and it is not")
	}
}

// What a run that was ended has not reached is not measured: that is no failure.
func TestChecksThatWereNotReached(t *testing.T) {
	r, _ := reporttest.Eventful(t, 50*ms)
	for i := range r.Checks {
		want := report.NotMeasured
		if r.Checks[i].ID == "IB-9" {
			want = report.Fail // it was over, and nothing was there
		}
		if got := r.Checks[i].Outcome; got != want {
			t.Errorf("%s: %s, want %s", r.Checks[i].ID, got, want)
		}
	}
	r.Partial = true
	var text, json bytes.Buffer
	if err := WriteText(&text, r, terminal.Look{}); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&json, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NOT MEASURED", "the run ended at 50ms", "0 of 1 quoted claims hold, 1 not measured;", "1 failed, 3 not measured"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, text.String())
		}
	}
	if !strings.Contains(json.String(), `"outcome": "not-measured"`) {
		t.Error("the JSON does not say not-measured")
	}
}

// The bar at the top of a page is of the worst of the verdict and the claims.
func TestBar(t *testing.T) {
	for _, x := range []struct {
		level   report.Level
		outcome report.Outcome
		want    string
	}{
		{report.Exact, report.Pass, "good"}, {report.Virtual, report.Differs, "good"}, {report.Exact, report.Fail, "bad"}, {report.Virtual, report.Fail, "bad"}, {report.Faithful, report.NotMeasured, "fair"},
		{report.OrderOnly, report.Pass, "fair"}, {report.OrderOnly, report.Fail, "bad"}, {report.Degraded, report.Pass, "bad"}, {report.Void, report.NotMeasured, "bad"},
	} {
		claims := report.Tally{}
		claims.Add(scenario.Ours, x.outcome)
		p := Page("", "", &report.Verdict{Level: x.level}, claims)
		var page bytes.Buffer
		if err := p.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), `<p class="verdict `+x.want+`">`) {
			t.Errorf("%s with a claim of outcome %s is not %s", x.level, x.outcome, x.want)
		}
	}
}

// Of many links the busiest are drawn and printed; of many flows each group is a band.
func TestTheBusiestLinksAreDrawn(t *testing.T) {
	r := &report.Result{}
	phase := report.Phase{}
	var series []metrics.Series
	for i := range 40 {
		name, use := fmt.Sprint("l", i), float64(i*7%40)/40
		phase.Rates = append(phase.Rates, report.Rate{Kind: "link", Name: name, Utilisation: report.Number(use)})
		series = append(series, metrics.Series{Kind: "link.utilisation", Name: name, Times: []unit.Time{0, ms}, Values: []float64{math.NaN(), use}},
			metrics.Series{Kind: metrics.FlowLimit, Name: "f" + name, Times: []unit.Time{0, ms}, Values: []float64{1, 1 + use}})
		r.Flows = append(r.Flows, report.Flow{Name: "f" + name, Group: fmt.Sprint("g", i%2)})
	}
	r.Phases = []report.Phase{phase}
	f := RatesFigure(r, series)
	if len(f.Curves) != plot.MaxCurves || !strings.Contains(f.Note, "the busiest; 24 more") {
		t.Errorf("%d curves, %q", len(f.Curves), f.Note)
	}
	for _, c := range f.Curves {
		if c.Y[1] < 60 {
			t.Errorf("%s is drawn, with %v", c.Name, c.Y)
		}
	}
	for i, shown := range shownRates(r.Phases) {
		if busiest := phase.Rates[i].Utilisation >= 38./40; shown != busiest {
			t.Errorf("%v is printed: %v", phase.Rates[i], shown)
		}
	}
	limits := seriesFigure(r, series, "", metrics.FlowLimit, "")
	if len(limits.Curves) != 2 || limits.Curves[0].Name != "g1: 20, median and range" {
		t.Fatalf("%+v", limits.Curves)
	}
	if c := limits.Curves[0]; c.Low[1] > c.Y[1] || c.High[1] != 1+39./40 {
		t.Errorf("%+v", c)
	}
}

// Of many buffers the fullest are drawn, whichever come first.
func TestTheFullestBuffersAreDrawn(t *testing.T) {
	var series []metrics.Series
	for i := range 40 {
		series = append(series, metrics.Series{
			Kind: metrics.BufferOccupancy, Name: fmt.Sprint("b", i), Times: []unit.Time{0, ms}, Values: []float64{1, float64(i * 7 % 40)},
		})
	}
	f := seriesFigure(&report.Result{}, series, "Buffers", metrics.BufferOccupancy, "mean occupancy")
	if len(f.Curves) != plot.MaxCurves || !strings.Contains(f.Note, "the fullest; 24 more") {
		t.Errorf("%d curves, %q", len(f.Curves), f.Note)
	}
	for _, c := range f.Curves {
		if c.Y[1] < 24 {
			t.Errorf("%s is drawn, with %v", c.Name, c.Y)
		}
	}
}

// A page is for those who do not see it too: pictures, tables and parts have names.
func TestThePageInWords(t *testing.T) {
	dir, _ := reporttest.Written(t, Pictures)
	d, err := report.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, d); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	pictures := strings.Count(page, "<svg ")
	if n := strings.Count(page, `role="img" aria-label="`); n != pictures || strings.Count(page, "<desc>") != n || pictures < 3 {
		t.Errorf("%d pictures, %d with a role and a name, %d with a description", pictures, n, strings.Count(page, "<desc>"))
	}
	if tables, scroll := strings.Count(page, "<table"), strings.Count(page, `<div class="scroll" role="region" aria-label="`); tables != scroll || tables < 4 {
		t.Errorf("%d tables, %d that scroll by themselves", tables, scroll)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "trunk.A-B: from ", `<th scope="col">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<th></th>") {
		t.Error("a column has no name")
	}
}

// The page has everything in it, and what comes from files is text there: no picture is
// taken from one.
func TestPage(t *testing.T) {
	dir, _ := reporttest.Written(t, Pictures)
	d, err := report.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{report.RatesFile, report.PageFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`<svg><script>alert("x")</script></svg>`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d.Scenario = `</title><script>alert("x")</script>`
	d.Series[0].Name, d.Links[0].Name = d.Scenario, d.Scenario
	d.Checks[0].Claim = `<script>alert("x")</script>`
	d.Checks[0].Why = "so says the text"
	path, err := WritePage(d, &plot.Style{})
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

func TestText(t *testing.T) {
	r, _ := reporttest.Sample(t)
	r.Warnings = []string{"the receive buffer of root is 212992 bytes where 1048576 were asked for: raise net.core.rmem_max, or expect lost datagrams at small dilations"}
	r.Directory = "out/fig3b"
	got := reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) })
	golden.File(t, "testdata/wall.txt", got)
	for i, line := range strings.Split(string(got), "\n") {
		if n := len([]rune(line)); n > terminal.Width {
			t.Errorf("line %d has %d columns: %s", i+1, n, line)
		}
	}
	golden.File(t, "testdata/wall-color.txt", reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{Color: true}) }))
}

func TestTextOfAVirtualRun(t *testing.T) {
	r, _ := reporttest.Sample(t)
	r.Clock, r.Dilation, r.WallSeconds = "virtual", 0, 0.9
	r.Verdict.Figures = report.NoFigures()
	r.Verdict.Virtual = true
	r.Verdict.Level, r.Verdict.Reason = report.Judge(r.Verdict.Figures)
	r.Checks = nil
	golden.File(t, "testdata/virtual.txt", reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
}

func TestTextOfAVoidRun(t *testing.T) {
	r, _ := reporttest.Sample(t)
	r.Partial = true
	r.Verdict.LostDatagrams, r.Verdict.Violations = 1, 7
	for i := range 7 {
		r.Violations = append(r.Violations, report.Violation{AtPs: int64(i+1) * 1_000_000, Node: "B", Port: "root.B-BC", Flow: "local", Reason: "overrun", Figure: 165})
	}
	r.Verdict.Level, r.Verdict.Reason = report.Judge(r.Verdict.Figures)
	golden.File(t, "testdata/void.txt", reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
}

func TestRatesIsTheSameEachTime(t *testing.T) {
	r, c := reporttest.Sample(t)
	series := c.Series()
	first := reporttest.Render(t, func(b *bytes.Buffer) error { return RatesFigure(r, series).SVG(b) })
	second := reporttest.Render(t, func(b *bytes.Buffer) error { return RatesFigure(r, series).SVG(b) })
	if !bytes.Equal(first, second) {
		t.Error("two figures of the same run differ")
	}
	golden.File(t, "testdata/rates.svg", first)
}

// A run without flows or phases has a figure too: an empty one.
func TestRatesOfNothing(t *testing.T) {
	got := reporttest.Render(t, func(b *bytes.Buffer) error {
		return RatesFigure(&report.Result{Scenario: "nothing", Settings: mode.Settings{Clock: "virtual"}, DurationPs: int64(ms)}, nil).SVG(b)
	})
	if !bytes.Contains(got, []byte("<svg")) {
		t.Error("no figure")
	}
}

// What did not pass comes first, in text and on the page; of many flows the groups are shown, and
// the flows behind a fold.
func TestWhatDiffersFirst(t *testing.T) {
	r := &report.Result{Scenario: "many"}
	for i := range 40 {
		k := report.Check{}
		k.ID, k.Claim, k.Outcome = fmt.Sprintf("check-%d", i), "a claim", report.Pass
		if i == 30 {
			k.Outcome = report.Fail
		}
		r.Checks = append(r.Checks, k)
		r.Flows = append(r.Flows, report.Flow{Name: fmt.Sprintf("there.h%d", i), Group: "there", Rate: report.Number(i + 1), Frames: 2})
	}
	p := report.Phase{ToPs: 1e9}
	for i := range 40 {
		p.Rates = append(p.Rates, report.Rate{Kind: "group", Name: fmt.Sprintf("h%d", i)})
	}
	r.Phases = []report.Phase{p}
	text := string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
	if fail, pass, rates := strings.Index(text, "check-30"), strings.Index(text, "check-0"), strings.Index(text, "Rates in percent"); fail < 0 || fail > pass || pass > rates {
		t.Errorf("at %d, %d and %d in\n%s", fail, pass, rates, text)
	}
	for _, want := range []string{"... 28 more that pass", "... 38 more like these"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	page := string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteHTML(b, &report.Dir{Result: r}) }))
	at := -1
	for _, want := range []string{"check-30", "check-0<", "<summary>28 more that pass</summary>", "check-39", "Groups of flows",
		"<td class=\"n\" data-h=\"flows\">40</td>", "<summary>Flows: all 40</summary>", "there.h39"} {
		next := strings.Index(page[at+1:], want)
		if next < 0 {
			t.Fatalf("%q is not behind what comes before it in\n%s", want, page)
		}
		at += 1 + next
	}
}

// The page shows what the text shows: each part, with the same cells. Deadlocks, violations and
// files that were not written are among them.
func TestThePageHasThePartsOfTheText(t *testing.T) {
	r, _ := reporttest.Sample(t)
	r.Violations = []report.Violation{{AtPs: 1_000_000, Node: "B", Port: "root.B-BC", Reason: "overrun", Figure: 165}}
	r.Deadlocks = []report.Deadlock{{AtPs: 7_000_000, Cycle: []report.Waiting{
		{Node: "S1", For: "S2", Link: "r1.S1-S2", Cause: "paused", SincePs: 5_000_000},
		{Node: "S2", For: "S1", Link: "r2.S2-S1", Cause: "paused", SincePs: 6_000_000}}}}
	r.EndedPs = 8_000_000
	r.Unwritten = []string{"events.jsonl: no space left on device"}
	r.Losses = []report.Loss{{Node: "B", Link: "root.B-BC", Reason: "fcs-error", Count: 3}}
	text := string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteText(b, r, terminal.Look{}) }))
	page := strings.ReplaceAll(html.UnescapeString(string(reporttest.Render(t, func(b *bytes.Buffer) error { return WriteHTML(b, &report.Dir{Result: r}) }))), "\u00a0", " ")
	seen := 0
	for _, x := range append(lists(r), unwritten(r)) {
		for _, row := range x.Rows {
			seen++
			for _, cell := range row {
				if !strings.Contains(text, cell.Text) || !strings.Contains(page, cell.Text) {
					t.Errorf("%s, %q: in the text %t, on the page %t", x.Label, cell.Text, strings.Contains(text, cell.Text), strings.Contains(page, cell.Text))
				}
			}
		}
		if len(x.Rows) > 0 && (!strings.Contains(text, x.Label) || !strings.Contains(page, x.Label)) {
			t.Errorf("%q: in the text %t, on the page %t", x.Label, strings.Contains(text, x.Label), strings.Contains(page, x.Label))
		}
	}
	for _, row := range append(timing(r), []string{"Jain's index at root.B-BC", "0.829"}, []string{"flows that are active", "2"}) {
		if word, figure := row[0], row[1]; !strings.Contains(text, word) || !strings.Contains(text, figure) || !strings.Contains(page, word) || !strings.Contains(page, figure) {
			t.Errorf("%s %s is not both in the text and on the page", word, figure)
		}
	}
	if seen < 6 {
		t.Errorf("only %d rows", seen)
	}
}

// A run of workloads alone on the links of endpoints has no rates: neither a table nor a picture is
// empty.
func TestReportWithoutRates(t *testing.T) {
	r := &report.Result{Scenario: "star", Settings: mode.Settings{Clock: "virtual"}, DurationPs: int64(ms), Phases: []report.Phase{{ToPs: int64(ms)}}}
	if parts := rateTables(r); parts != nil {
		t.Errorf("%d tables of rates, want none", len(parts))
	}
	r.Flows = []report.Flow{{Name: "f"}}
	if parts := rateTables(r); len(parts) != 2 {
		t.Errorf("%d tables with a flow, want one for browsers and one for terminals", len(parts))
	}
}
