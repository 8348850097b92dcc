package report

import (
	"fmt"
	"math"
	"strings"

	"fabemu/emu/scenario"
)

// JudgeClaim says how a claim came out that holds where a value is from low to high, and
// the reason, if there is one. differs is why the claim is known not to hold, empty where
// it should; unmeasured is why there may be no value, empty where there should be one.
func JudgeClaim(value, low, high float64, differs, unmeasured string) (Outcome, string) {
	holds := value >= low && value <= high
	switch {
	case math.IsNaN(value) && unmeasured != "":
		return NotMeasured, unmeasured
	case math.IsNaN(value), math.IsInf(value, 0):
		return Fail, "undefined: nothing was there to measure"
	case holds && differs == "":
		return Pass, ""
	case holds:
		return UnexpectedPass, differs
	case differs == "":
		return Fail, ""
	default:
		return Differs, differs
	}
}

// Tally counts how claims came out, by what they rest on.
type Tally map[scenario.Basis]map[Outcome]int

// Add counts a claim.
func (t Tally) Add(b scenario.Basis, o Outcome) {
	if t[b] == nil {
		t[b] = map[Outcome]int{}
	}
	t[b][o]++
}

// Of returns how many claims came out so.
func (t Tally) Of(o Outcome) int {
	n := 0
	for _, outcomes := range t {
		n += outcomes[o]
	}
	return n
}

// String says how many of each kind hold. Where none is of a source they are checks.
func (t Tally) String() string {
	ours := "checks of ours"
	if len(t[scenario.Quoted])+len(t[scenario.Derived]) == 0 {
		ours = "checks"
	}
	var parts []string
	for _, kind := range []struct {
		basis scenario.Basis
		word  string
	}{{scenario.Quoted, "quoted claims"}, {scenario.Derived, "derived claims"}, {scenario.Ours, ours}} {
		n := t[kind.basis]
		all := n[Pass] + n[UnexpectedPass] + n[Differs] + n[Fail] + n[NotMeasured]
		if all == 0 {
			continue
		}
		s := fmt.Sprintf("%d of %d %s hold", n[Pass]+n[UnexpectedPass], all, kind.word)
		for _, x := range []struct {
			outcome Outcome
			words   string
		}{{Fail, "%d failed"}, {NotMeasured, "%d not measured"}, {Differs, "%d known to differ"}, {UnexpectedPass, "%d of them against expectation"}} {
			if n[x.outcome] > 0 {
				s += ", " + fmt.Sprintf(x.words, n[x.outcome])
			}
		}
		parts = append(parts, s)
	}
	if parts == nil {
		return "no claims"
	}
	return strings.Join(parts, "; ")
}

// ByBasis splits claims into those that a source makes or supports, and ours.
func ByBasis[T any](claims []T, basis func(*T) scenario.Basis) (sourced, ours []T) {
	for i := range claims {
		if basis(&claims[i]) == scenario.Ours {
			ours = append(ours, claims[i])
		} else {
			sourced = append(sourced, claims[i])
		}
	}
	return sourced, ours
}
