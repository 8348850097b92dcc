package report

import (
	"math"
	"testing"
)

// A claim is judged in one place, for runs, sweeps and papers.
func TestOutcomeOfAClaim(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		value, low, high    float64
		differs, unmeasured string
		want                Outcome
		because             string
	}{
		{1, 0, 2, "", "", Pass, ""},
		{2, 0, 2, "", "", Pass, ""},
		{2.1, 0, 2, "", "", Fail, ""},
		{-0.1, 0, inf, "", "", Fail, ""},
		{3, 0, 2, "known", "", Differs, "known"},
		{1, 0, 2, "known", "", UnexpectedPass, "known"},
		{nan, 0, 2, "", "", Fail, "nothing was there to measure"},
		{nan, 0, 2, "known", "", Fail, "nothing was there to measure"},
		{inf, 0, inf, "", "", Fail, "nothing was there to measure"},
		{nan, 0, 2, "", "ended", NotMeasured, "ended"},
		{1, 0, 2, "", "ended", Pass, ""}, // a value is a value
	} {
		if got, because := outcome(c.value, c.low, c.high, c.differs, c.unmeasured); got != c.want || because != c.because {
			t.Errorf("%+v: %s, %q", c, got, because)
		}
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
		{"a.rate", 7.1439e8, "5.715 Gb/s"}, {"a.rate", 1e9, "8 Gb/s"}, {"a.rate", 12, "96 b/s"},
		{"a.limit", 1.25e8, "1 Gb/s"}, {"a.target", 1.25e9, "10 Gb/s"}, {"a.limit / a.rate", 1.5, "1.5"},
		{"a.fairness", 0.99951, "1"}, {"a.occupancy", 131.7, "132"},
	} {
		if got := valueTo(&Check{Metric: x.metric}, x.v, x.v, 3); got != x.want {
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
		{"a.rate", 9e8, 1.1e9, "7.2 to 8.8 Gb/s"}, {"a.rate", 1e8, 1.5e8, "0.8 to 1.2 Gb/s"}, {"a.rate", 5, 5, "40 b/s"},
	} {
		if got := (&Check{Metric: x.metric, Judged: Judged{Low: x.low, High: x.high}}).Accepted(); got != x.want {
			t.Errorf("%s from %v to %v prints as %q, want %q", x.metric, float64(x.low), float64(x.high), got, x.want)
		}
	}
}

func TestCellsAreQuoted(t *testing.T) {
	if got := string(cells("a", `b,"c`)); got != `,a,"b,""c",` {
		t.Errorf("cells are %s", got)
	}
}

func TestNamesAreQuoted(t *testing.T) {
	for _, x := range [][2]string{{"A1", `"A1"`}, {`a"b\c`, `"a\"b\\c"`}, {"ä", `"ä"`}, {"\n", `"\n"`}} {
		if got := string(appendJSON(nil, x[0])); got != x[1] {
			t.Errorf("%q is written as %s", x[0], got)
		}
	}
}
