package compare

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/wire/unit"
)

func series(values ...float64) *metrics.Series {
	s := &metrics.Series{Kind: "link.rate", Name: "x"}
	for i, v := range values {
		s.Times, s.Values = append(s.Times, unit.Time(10*i)), append(s.Values, v)
	}
	return s
}

func TestApart(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name              string
		a, b              *metrics.Series
		rms, share, worst float64
		at                int64
		points, gaps      int
	}{
		{"equal", series(1, 2, 3), series(1, 2, 3), 0, 0, 0, 0, 3, 0},
		{"one off", series(4, 4, 4, 4), series(4, 2, 4, 4), 1, 0.25, -2, 10, 4, 0},
		{"both undefined", series(1, nan), series(1, nan), 0, 0, 0, 0, 1, 0},
		{"one undefined", series(1, nan, 1), series(1, 1, nan), 0, 0, 0, 0, 1, 2},
		{"nothing in common", series(1), series(nan), nan, nan, nan, 0, 0, 1},
		{"the other is shorter", series(1, 1, 1), series(1, 1), 0, 0, 0, 0, 2, 1},
		{"all zero", series(0, 0), series(0, 0), 0, 0, 0, 0, 2, 0},
	} {
		s := apart(c.a, c.b)
		same := func(n report.Number, want float64) bool {
			return float64(n) == want || !n.Known() && math.IsNaN(want)
		}
		if !same(s.RMS, c.rms) || !same(s.Share, c.share) || !same(s.Worst, c.worst) || s.WorstPs != c.at || s.Points != c.points || s.Gaps != c.gaps {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// Between two instants a series is a straight line; outside it is nothing.
func TestAt(t *testing.T) {
	s := series(0, 10, 30)
	for at_, want := range map[unit.Time]float64{0: 0, 5: 5, 10: 10, 15: 20, 20: 30} {
		if got := at(s, at_); got != want {
			t.Errorf("at %d: %v, want %v", at_, got, want)
		}
	}
	for _, outside := range []unit.Time{-1, 21} {
		if got := at(s, outside); !math.IsNaN(got) {
			t.Errorf("at %d: %v", outside, got)
		}
	}
}

// A run has a series of stalls only where there were any: none is zero, not a gap.
func TestStallsThatOneRunHasNot(t *testing.T) {
	stalls := metrics.Series{Kind: metrics.FlowStalled + "window", Name: "f", Times: []unit.Time{0, 10}, Values: []float64{0, 0.5}}
	rate := *series(1, 1)
	for _, c := range []struct {
		a, b  []metrics.Series
		worst report.Number
	}{
		{[]metrics.Series{stalls, rate}, []metrics.Series{rate}, -0.5},
		{[]metrics.Series{rate}, []metrics.Series{rate, stalls}, 0.5},
	} {
		var x Comparison
		x.series(c.a, c.b)
		if len(x.Alone) > 0 || len(x.Series) != 2 || x.Series[0].Worst != c.worst || x.Series[0].Share != 1 || x.Series[0].Gaps > 0 {
			t.Errorf("%+v", x)
		}
	}
	var x Comparison
	x.series([]metrics.Series{rate}, nil)
	if len(x.Alone) != 1 {
		t.Errorf("%+v", x)
	}
}

func TestWithin(t *testing.T) {
	base := func() *Comparison {
		return &Comparison{
			Checks: []Check{{ID: "x", A: 100, B: 101, Difference: 1, OutcomeA: report.Pass, OutcomeB: report.Pass}},
			Series: []Series{{Share: 0.02}},
			Log:    Log{State: LogsPart},
		}
	}
	for _, c := range []struct {
		name   string
		change func(*Comparison)
		at     float64
		want   bool
	}{
		{"as it is, generously", func(*Comparison) {}, 0.03, true},
		{"the series is too far", func(*Comparison) {}, 0.015, false},
		{"the check is too far", func(c *Comparison) { c.Checks[0].Difference = 4 }, 0.03, false},
		{"an outcome differs", func(c *Comparison) { c.Checks[0].OutcomeB = report.Fail }, 0.03, false},
		{"one is undefined", func(c *Comparison) { c.Checks[0].B = report.Missing() }, 0.03, false},
		{"a gap", func(c *Comparison) { c.Series[0].Gaps = 1 }, 0.03, false},
		{"something is alone", func(c *Comparison) { c.Alone = []string{"x"} }, 0.03, false},
		{"equal figures, logs that part", func(c *Comparison) { c.Checks, c.Series = nil, nil }, 0, false},
		{"one is partial", func(c *Comparison) { c.B.Partial = true }, 0.03, false},
		{"both are partial", func(c *Comparison) { c.A.Partial, c.B.Partial = true, true }, 0.03, true},
		{"one is longer", func(c *Comparison) { c.A.Duration, c.B.Duration = 1, 2 }, 0.03, false},
		{"one is void", func(c *Comparison) { c.A.Level, c.B.Level = report.Exact, report.Void }, 0.03, false},
		{"both are void", func(c *Comparison) { c.A.Level, c.B.Level = report.Void, report.Void }, 0.03, true},
		{"another level", func(c *Comparison) { c.A.Level, c.B.Level = report.Exact, report.Degraded }, 0.03, true},
		{"all equal", func(c *Comparison) { *c = Comparison{Log: Log{State: LogsEqual}} }, 0, true},
	} {
		x := base()
		c.change(x)
		if got := x.Within(c.at); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOnly(t *testing.T) {
	a, b := []byte("x\n  y\ny\nz\n"), []byte("x\ny\nw\n")
	if got := strings.Join(only(a, b), ","); got != "y,z" {
		t.Error(got)
	}
	if got := strings.Join(only(b, a), ","); got != "w" {
		t.Error(got)
	}
}

func TestLogs(t *testing.T) {
	newDir := func() *report.Dir { return &report.Dir{Result: &report.Result{Directory: t.TempDir()}} }
	a, b := newDir(), newDir()
	put := func(d *report.Dir, text string) {
		t.Helper()
		f, err := os.Create(filepath.Join(d.Directory, report.EventsFile))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log := report.NewFile(f)
		_, err = log.Write([]byte(text))
		if err := errors.Join(err, d.Record(log)); err != nil {
			t.Fatal(err)
		}
	}
	state := func() Log {
		l, err := logs(a, b)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := state(); !strings.Contains(l.State, "neither") {
		t.Errorf("%+v", l)
	}
	put(a, "1\n2\n3\n")
	if l := state(); !strings.Contains(l.State, "second run has no") {
		t.Errorf("%+v", l)
	}
	put(b, "1\n2\n3\n")
	if l := state(); l.State != LogsEqual {
		t.Errorf("%+v", l)
	}
	put(b, "1\n2\n4\n")
	if l := state(); l != (Log{LogsPart, 3, "3", "4"}) {
		t.Errorf("%+v", l)
	}
	put(b, "1\n2\n")
	if l := state(); l != (Log{LogsPart, 3, "3", ""}) {
		t.Errorf("%+v", l)
	}
}

func TestWriteText(t *testing.T) {
	c := &Comparison{
		A:      Side{Directory: "a", Scenario: "s", Settings: mode.Settings{Clock: "virtual"}, Seed: 1, Level: "virtual"},
		B:      Side{Directory: "b", Scenario: "s", Settings: mode.Settings{Clock: "wall", Dilation: 20, Timing: "ideal", Link: "udp", Placement: "process"}, Seed: 1, Level: "degraded", Partial: true},
		Checks: []Check{{ID: "IB-1", Claim: "a claim", A: 1, B: report.Missing(), Difference: report.Missing(), OutcomeA: report.Pass, OutcomeB: report.Fail}},
		Series: []Series{{Kind: "link.rate", Name: "root", RMS: 5, Share: 0.5, Worst: -7, WorstPs: 1e9, Unit: "B/s", Gaps: 3}, {RMS: 0}},
		Alone:  []string{"check x of the first"},
		Inputs: []Input{{"model.seed", []string{"1", "2"}}},
		Log:    Log{LogsPart, 3, "{1}", ""},
	}
	var b bytes.Buffer
	if err := WriteText(&b, []*Comparison{c}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"degraded", "wall clock, dilation 20, ideal timing, udp, process, seed 1, partial", "IB-1", "pass, fail", "50 %", "undefined in one of them at 3 instants", "1 series are equal", "only one has check x", "differ from line 3 on", "(the log has ended)", "model.seed  1      2"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// Rates of a row are in bits per second, in one unit; other figures are as they are.
func TestRatesInBits(t *testing.T) {
	in := scaleOf("B/s", 1.25e9, -2e6, report.Missing())
	if got := in.print(1.25e9) + " " + in.print(-2e6) + " " + in.print(report.Missing()) + " " + in.Word; got != "10 -0.016 - Gb/s" {
		t.Errorf("rates are printed as %s", got)
	}
	if in := scaleOf("bytes", 4096); in.print(4096) != "4096" || in.Word != "bytes" {
		t.Errorf("4096 bytes are printed as %s %s", in.print(4096), in.Word)
	}
}
