package metrics

import (
	"fmt"
	"strings"
	"testing"
)

// The rows of the table have what a row needs; each name, and each place where a figure appears, is
// that of one row.
func TestFigures(t *testing.T) {
	seen := map[string]bool{}
	once := func(what string) {
		if seen[what] {
			t.Errorf("%s is there twice", what)
		}
		seen[what] = true
	}
	for _, f := range AllFigures() {
		switch {
		case f.Unit.Word == "" || f.Meaning == "":
			t.Errorf("%s has no unit, or no meaning", f.Name)
		case f.over == nil && f.read == nil && f.each == nil:
			t.Errorf("%s has no reader", f.Name)
		case f.Live != "" && f.over == nil && (f.Kind == Mean || f.Kind == Counter && (f.Of == Link || f.Of == Flow)):
			t.Errorf("moments have no %s: it cannot be taken over a time", f.Name)
		case (f.each == nil) != (f.by == ""):
			t.Errorf("%s has parts without a name", f.Name)
		}
		for _, end := range f.ends() {
			once(fmt.Sprint(f.Of, " ", f.name(end)))
		}
		for _, place := range []string{"json " + f.JSON, "live " + f.Live} {
			if !strings.HasSuffix(place, " ") {
				once(fmt.Sprint(f.Of, " ", place))
			}
		}
		for _, x := range f.MAD {
			once(fmt.Sprint("attribute ", x.Attribute, " byte ", x.At))
		}
	}
	for n, f := range names {
		if u := UnitOf("x.A-B."+n, false); u.Word != f.Unit.Word {
			t.Errorf("the unit of x.A-B.%s is %s, and that of its row %s", n, u.Word, f.Unit.Word)
		}
	}
}

// What is printed of a figure, drawn and compared is in units of the same table.
func TestUnitOf(t *testing.T) {
	for _, c := range []struct {
		expression string
		inBytes    bool
		symbol     string
		of         float64
		scale      string
	}{
		{"trunk.A-B.rate", false, "B/s", 1e9, "Gb/s"},
		{"local.limit", false, "B/s", 5e6, "Mb/s"},
		{LinkQueue, true, "bytes", 12e3, "KB"},
		{BufferOccupancy, true, "bytes", 12, "B"},
		{BufferOccupancy, false, "blocks", 12e6, "blocks"},
		{FlowUtilisation, false, "of the capacity", 0.5, "%"},
		{LinkStalled + "no-credit", false, "", 0.001, "%"},
		{"f.completion.p95", false, "s", 1e-4, "µs"},
		{"a.rate / b.rate", false, "", 5e9, ""},
		{"pace", false, "", 1, ""},
	} {
		u := UnitOf(c.expression, c.inBytes)
		if got := u.Fit(c.of).Word; u.Symbol != c.symbol || got != c.scale {
			t.Errorf("%s is in %q, and %v of it in %q; want %q and %q", c.expression, u.Symbol, c.of, got, c.symbol, c.scale)
		}
	}
}

func TestWords(t *testing.T) {
	for expression, want := range map[string]string{
		"trunk.A-B.rate": "rate of trunk.A-B", "load.slowdown.p99": "99th percentile of the slowdown of load", "load.completion.mean": "mean flow completion time of load",
		"load.completion.p50.small": "median flow completion time of small flows of load", "a.queue.max": "maximum queue of a",
		"f.stalled.rate-limited": "share of time stopped (rate-limited) of f", "a.rate / b.rate": "rate of a / rate of b", "nothing": "nothing",
	} {
		if got := Words(expression); got != want {
			t.Errorf("%s is %q in words, want %q", expression, got, want)
		}
	}
}
