package limiters_test

import (
	"context"
	"testing"

	"fabemu/emu/study/limiters"
)

// All reaction points of this program pass their loops.
func TestFiguresOfAlgorithms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, s := range limiters.Algorithms() {
		r, err := limiters.Run(context.Background(), s, limiters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Good() {
			t.Errorf("%s has not passed", s.Name)
		}
	}
}
