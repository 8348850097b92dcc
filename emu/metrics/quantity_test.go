package metrics

import (
	"testing"
)

// Each quantity is told of what has it, and of nothing else, and its figures have a unit.
func TestQuantities(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range Quantities() {
		if (q.Links != "") != (q.link != nil) || (q.Flows != "") != (q.flow != nil) || q.link == nil && q.flow == nil {
			t.Errorf("%s: it is told of links (%v) and of flows (%v), or not of those that have it", q.Name, q.Links != "", q.Flows != "")
		}
		if q.Unit.Word == "" {
			t.Errorf("%s has no unit", q.Name)
		}
	}
	for n, q := range names {
		if seen[n] {
			t.Errorf("%s is there twice", n)
		}
		seen[n] = true
		if u := UnitOf("x.A-B."+n, false); u.Word != q.Unit.Word {
			t.Errorf("the unit of x.A-B.%s is %s, and that of its quantity %s", n, u.Word, q.Unit.Word)
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
