package reactiontest_test

import (
	"testing"

	"fabemu/emu/limitertest/reactiontest"
	"fabemu/node/rp"
	"fabemu/wire/param"
)

// An algorithm of the program passes.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, a := range rp.Algorithms() {
		if a.Name != "lipd" {
			continue
		}
		reactiontest.Run(t, func(s rp.Site) rp.Reaction {
			r, err := a.New(param.Defaults(a.Params), s)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}, nil)
	}
}
