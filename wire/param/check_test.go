package param_test

import (
	"strings"
	"testing"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// ranged has a parameter of each kind with a range.
type ranged struct {
	Mode  string        `key:"mode" def:"a" words:"a|b"`
	Share float64       `key:"share" def:"0.5" low:"above 0" high:"1"`
	Count int           `key:"count" def:"3" low:"1" high:"9" none:"none"`
	Time  unit.Duration `key:"time" def:"5us" low:"1ns" high:"1s"`
	Size  unit.Size     `key:"size" def:"1KB" low:"64B" high:"9KB"`
	Rate  unit.Rate     `key:"rate" def:"1Gb/s"`
	Depth int           `key:"depth" def:"4" low:"2" high:"8" with:"mode=b"`
	Turns int           `key:"turns" def:"4" low:"2" high:"8" counts:"mode=b"`
}

// Check refuses what Read would not return, and says which parameter it is.
func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		want   string // begins the message; empty: all is in range
		change func(*ranged)
	}{
		{"", func(*ranged) {}},
		{"", func(r *ranged) { r.Mode = "" }},
		{"", func(r *ranged) { r.Count = 0 }}, // none
		{"", func(r *ranged) { r.Depth, r.Turns = 0, 0 }},
		{"mode: ", func(r *ranged) { r.Mode = "c" }},
		{"share: ", func(r *ranged) { r.Share = 0 }},
		{"share: ", func(r *ranged) { r.Share = 1.5 }},
		{"count: ", func(r *ranged) { r.Count = 10 }},
		{"time: ", func(r *ranged) { r.Time = -1 }},
		{"time: ", func(r *ranged) { r.Time = unit.Second + 1 }},
		{"size: ", func(r *ranged) { r.Size = 63 }},
		{"size: ", func(r *ranged) { r.Size = 9001 }},
		{"rate: ", func(r *ranged) { r.Rate = 0 }},
		{"depth: ", func(r *ranged) { r.Mode, r.Depth = "b", 9 }},
		{"turns: ", func(r *ranged) { r.Mode, r.Depth, r.Turns = "b", 4, 1 }},
	} {
		r := param.Defaults(ranged{})
		tc.change(&r)
		if err := param.Check(r); (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", r, err, tc.want)
		}
	}
}
