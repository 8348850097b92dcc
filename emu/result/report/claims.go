package report

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
)

// Judged is a claim and its outcome: the common part of a check of a run and a claim about several
// runs.
type Judged struct {
	ID      string         `json:"id,omitempty"`
	Basis   scenario.Basis `json:"basis"`
	Source  string         `json:"source"`
	From    string         `json:"from,omitempty"` // how a derived claim follows from the source
	Value   Number         `json:"value"`          // null: undefined
	Low     Number         `json:"low"`            // null: no bound
	High    Number         `json:"high"`
	Outcome Outcome        `json:"outcome"`
	Reason  string         `json:"reason,omitempty"` // why it differs, or why it has no value
	Why     string         `json:"why,omitempty"`    // the reason for low and high
}

// JudgeClaim judges a claim by the value of its metric. unmeasured is the reason why there
// may be no value, empty where there should be one.
func JudgeClaim(c *scenario.Check, value float64, unmeasured string) Judged {
	j := Judged{
		ID: c.ID, Basis: cmp.Or(c.Basis, scenario.Ours), Source: c.Source, From: c.From, Why: c.Why,
		Value: Number(value), Low: Number(c.Low), High: Number(c.High),
	}
	j.Outcome, j.Reason = outcome(value, c.Low, c.High, c.Differs(), unmeasured)
	return j
}

// outcome judges a claim that holds where a value is from low to high, and returns
// the reason, if there is one. differs is the reason why the claim does not hold, or empty.
func outcome(value, low, high float64, differs, unmeasured string) (Outcome, string) {
	holds := value >= low && value <= high
	switch {
	case math.IsNaN(value) && unmeasured != "":
		return NotMeasured, unmeasured
	case math.IsNaN(value), math.IsInf(value, 0):
		return Fail, "nothing was there to measure"
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

// Tally counts the outcomes of claims, by their basis, and apart those without a null result.
type Tally map[scenario.Basis]map[Outcome]int

// bare marks the basis of claims that would perhaps hold without the scheme too: they have no null
// result.
const bare = " without a null result"

// AddBare counts a claim of a paper that has no null result.
func (t Tally) AddBare(b scenario.Basis, o Outcome) { t.Add(b+bare, o) }

// Add counts a claim.
func (t Tally) Add(b scenario.Basis, o Outcome) {
	if t[b] == nil {
		t[b] = map[Outcome]int{}
	}
	t[b][o]++
}

// Of returns the number of claims with an outcome.
func (t Tally) Of(o Outcome) int {
	n := 0
	for _, outcomes := range t {
		n += outcomes[o]
	}
	return n
}

// Held returns how many claims of a basis that have a null result hold, and how many there are.
func (t Tally) Held(b scenario.Basis) (held, all int) {
	for o, n := range t[b] {
		if all += n; o == Pass || o == UnexpectedPass {
			held += n
		}
	}
	return held, all
}

// HeldBare is Held for the claims without a null result.
func (t Tally) HeldBare(b scenario.Basis) (held, all int) { return t.Held(b + bare) }

// String counts the claims of each kind that hold. Where none has a source they are called checks.
func (t Tally) String() string {
	ours := "checks of ours"
	if len(t[scenario.Quoted])+len(t[scenario.Derived])+len(t[scenario.Quoted+bare])+len(t[scenario.Derived+bare]) == 0 {
		ours = "checks"
	}
	var parts []string
	for _, kind := range []struct {
		basis scenario.Basis
		word  string
	}{{scenario.Quoted, "quoted claims"}, {scenario.Derived, "derived claims"}, {scenario.Ours, ours},
		{scenario.Quoted + bare, "quoted claims" + bare}, {scenario.Derived + bare, "derived claims" + bare}, {scenario.Ours + bare, ours + bare}} {
		n := t[kind.basis]
		held, all := t.Held(kind.basis)
		if all == 0 {
			continue
		}
		s := fmt.Sprintf("%d of %d %s hold", held, all, kind.word)
		for _, x := range []struct {
			outcome Outcome
			words   string
		}{{Fail, "%d failed"}, {NotMeasured, "%d not measured"}, {Differs, "%d known to differ"},
			{UnexpectedPass, "%d of them against expectation"}} {
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

// Result prints the value of a check, with enough digits to distinguish it from a bound that it is
// close to.
func (k *Check) Result() string {
	if k.Outcome == NotMeasured {
		return "-"
	}
	for digits := 3; ; digits++ {
		s := valueTo(k, k.Value, k.Value, digits)
		near := func(bound Number) bool { return k.Value != bound && s == valueTo(k, bound, bound, digits) }
		if digits == 9 || !near(k.Low) && !near(k.High) {
			return s
		}
	}
}

// valueTo prints a figure in the way of the check's metric (metrics.Unit), in the unit that suits
// another.
func valueTo(k *Check, v, like Number, digits int) string {
	f := float64(v)
	u := metrics.UnitOf(k.Metric, false)
	switch {
	case math.IsNaN(f):
		return "undefined"
	case u.Whole:
		return strconv.FormatFloat(f, 'f', -1, 64)
	case len(u.Scales) == 0:
		return Significant(f, digits)
	case len(u.Scales) > 1:
		digits++
	}
	s := u.Fit(float64(like))
	return Significant(f/s.Base, digits) + " " + s.Word
}

// Accepted prints the range of a check as it was given, to so many digits that 1.0005 is not 1.
func (k *Check) Accepted() string {
	bound := func(v, like Number) string { return valueTo(k, v, like, 6) }
	low, high := k.Low.Known(), k.High.Known()
	switch {
	case low && k.Low == k.High:
		return bound(k.Low, k.Low)
	case low && high:
		largest := max(k.High, -k.Low)
		from, _, _ := strings.Cut(bound(k.Low, largest), " ")
		return from + " to " + bound(k.High, largest)
	case low:
		return ">= " + bound(k.Low, k.Low)
	case high:
		return "<= " + bound(k.High, k.High)
	}
	return "any"
}
