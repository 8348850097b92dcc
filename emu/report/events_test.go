package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/emu/terminal"
	"fabemu/wire/unit"
)

// eventful is the sample with events, ended before its time or not.
func eventful(t *testing.T, end unit.Time) (*Result, *metrics.Collector) {
	t.Helper()
	f, s := sampleFabric()
	s.Events = []scenario.Event{
		{At: 20 * unit.Millisecond, Link: "trunk", State: "down"}, {At: 30 * unit.Millisecond, Link: "trunk", State: "up"},
		{At: 70 * unit.Millisecond, Switch: "B", Restart: 10 * unit.Millisecond}, {At: 95 * unit.Millisecond, Link: "root", Rate: 4e9},
	}
	c, err := metrics.New(f, s)
	if err != nil {
		t.Fatal(err)
	}
	events := sampleEvents()
	for i := range events {
		if events[i].At < end {
			c.Record(&events[i])
		}
	}
	c.Close(end)
	r := New(c)
	r.Clock, r.Verdict.Level = "virtual", Virtual
	return r, c
}

func TestEventsAreShown(t *testing.T) {
	r, c := eventful(t, 100*ms)
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
	r, _ := eventful(t, 50*ms)
	for i := range r.Checks {
		want := NotMeasured
		if r.Checks[i].ID == "IB-9" {
			want = Fail // it was over, and nothing was there
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
	if err := WriteJSON(&json, r); err != nil {
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
		level   Level
		outcome Outcome
		want    string
	}{
		{Exact, Pass, "good"}, {Virtual, Differs, "good"}, {Exact, Fail, "bad"}, {Virtual, Fail, "bad"}, {Faithful, NotMeasured, "fair"},
		{OrderOnly, Pass, "fair"}, {OrderOnly, Fail, "bad"}, {Degraded, Pass, "bad"}, {Void, NotMeasured, "bad"},
	} {
		p := Page{Verdict: &Verdict{Level: x.level}, Claims: Tally{}}
		p.Claims.Add(scenario.Ours, x.outcome)
		var page bytes.Buffer
		if err := p.Write(&page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), `<p class="verdict `+x.want+`">`) {
			t.Errorf("%s with a claim that came out as %s is not %s", x.level, x.outcome, x.want)
		}
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
	f := (&Result{}).seriesFigure(series, "Buffers", metrics.BufferOccupancy, "mean occupancy")
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
	dir, _ := written(t)
	d, err := ReadDir(dir)
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
	if tables, scroll := strings.Count(page, "<table>"), strings.Count(page, `<div class="scroll" role="region" aria-label="`); tables != scroll || tables < 4 {
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
