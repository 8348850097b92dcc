package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// R. Jain, The Art of Computer Systems Performance Analysis: the memory-cache study of
// chapter 17, "y = 40 + 20 xA + 10 xB + 5 xA xB", of which the variation is "76 %", "19 %" and
// "5 %"; and the same with three replications of chapter 18, with effects of 41, 21.5, 9.5 and
// 5, a sum of squared errors of 102 and parts of 78.88, 15.4, 4.27 and 1.45 %.
func TestFactorial(t *testing.T) {
	percent := func(e effects) (p [4]float64) {
		for i, x := range e.share {
			p[i] = math.Round(x*1e4) / 100
		}
		return p
	}
	one := factorial([4][]float64{{15}, {45}, {25}, {75}})
	if diff := cmp.Diff([4]float64{40, 20, 10, 5}, one.q); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([4]float64{0, 76.19, 19.05, 4.76}, percent(one)); diff != "" {
		t.Error(diff)
	}
	three := factorial([4][]float64{{15, 18, 12}, {45, 48, 51}, {25, 28, 19}, {75, 75, 81}})
	if diff := cmp.Diff([4]float64{41, 21.5, 9.5, 5}, three.q); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([4]float64{1.45, 78.88, 15.4, 4.27}, percent(three)); diff != "" {
		t.Error(diff)
	}
	if want := math.Sqrt(102.0 / 8); math.Abs(three.errors-want) > 1e-12 {
		t.Errorf("errors deviate by %v, want %v", three.errors, want)
	}
}

// Slide "Simulations for Fairness": "Max-min fairness: Ra1 = ... = Ra4 = Rb = Rc = C/5;
// proportional fairness: Ra1 = ... = Ra4 = C/6; Rb = Rc = C/3". No allocation near the
// proportional one has a larger sum of logarithms.
func TestAllocationsOfTheParkingLot(t *testing.T) {
	words := paperNamed("bcn").Figures[0].words()
	s := scope{language: words.language}
	both, one := s.number("1/price"), s.number("2/price")
	if math.Abs(both-10.0/6) > 1e-12 || math.Abs(one-10.0/3) > 1e-12 {
		t.Errorf("proportional: %v and %v", both, one)
	}
	utility := func(both float64) float64 { return 4*math.Log(both) + 2*math.Log(10-4*both) }
	if u := utility(both); utility(both*1.01) >= u || utility(both*0.99) >= u {
		t.Error("there is a better allocation than the proportional one")
	}
	if equal := s.number("equal"); equal != 2 {
		t.Errorf("max-min: %v", equal)
	}
}

// Each of the claims B-1 to B-11 has a row.
func TestClaimsOfBCN(t *testing.T) {
	var ids []string
	for _, f := range paperNamed("bcn").Figures {
		f.whole()
		for _, c := range f.Claims {
			ids = append(ids, c.ID)
		}
	}
	for _, want := range []string{"B-1a", "B-2-1Ga", "B-2-10Ga", "B-3a", "B-4a", "B-5e", "B-6d", "B-7a", "BL-1", "B-8a", "B-9a", "B-10-Gi-up", "B-11a"} {
		if !slices.Contains(ids, want) {
			t.Errorf("no claim is %s", want)
		}
	}
}
