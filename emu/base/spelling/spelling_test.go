package spelling

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	words := []string{"rate", "propagation", "flow-control", "buffer", "resend"}
	for word, want := range map[string]string{
		"rat": "rate", "Rate": "rate", "flow_control": "flow-control", "flowControl": "flow-control", "bufer": "buffer", "bfufer": "buffer",
		"resned": "resend", "prop": "propagation", "colour": "", "": "", "x": "", strings.Repeat("rate", 1000): "rate",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%.20q: %q, not %q", word, got, want)
		}
	}
	if got := Nearest("GBs", []string{"Gb/s", "GB/s"}); got != "GB/s" {
		t.Errorf("GBs: %s", got)
	}
	if diff := cmp.Diff([]string{"buffer", "rate", "resend"}, ByNearness("bufer", []string{"rate", "buffer", "resend"})); diff != "" {
		t.Error(diff)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "bc", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != got {
			t.Errorf("%q to %q: %d, not %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSame(t *testing.T) {
	if !Same("flow_control", "FlowControl") || Same("rate", "rates") {
		t.Error("flow_control is not FlowControl, or rate is rates")
	}
}
