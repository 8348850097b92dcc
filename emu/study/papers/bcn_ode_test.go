package papers

import (
	"slices"
	"testing"
)

// What the equations of BCN say by themselves holds: it is judged without a run.
func TestClaimsOfTheEquationsOfBCN(t *testing.T) {
	judged := 0
	_, figures, err := Find("bcn/ode")
	if err != nil {
		t.Fatal(err)
	}
	f := figures[0]
	for _, c := range f.Claims {
		if len(c.Value.leaves) > 0 {
			continue
		}
		judged++
		if v := c.Value.of(nil); !(v >= c.Low && v <= c.High) {
			t.Errorf("%s: %v, want %v to %v", c.ID, v, c.Low, c.High)
		}
	}
	if judged < 2 {
		t.Errorf("%d claims need no run", judged)
	}
	for _, p := range f.Plots {
		for _, c := range p.Curves {
			if c.Solved == nil {
				continue
			}
			x, y := c.Solved()
			if len(x) == 0 || len(x) != len(y) || !slices.IsSorted(x) {
				t.Errorf("%s, %s: %d times, %d values", p.Name, c.Name, len(x), len(y))
			}
		}
	}
}
