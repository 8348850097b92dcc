package report

import (
	"math"
	"testing"
)

// A claim is judged in one place, for runs, sweeps and papers.
func TestOutcomeOfAClaim(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		value, low, high    float64
		differs, unmeasured string
		want                Outcome
		because             string
	}{
		{1, 0, 2, "", "", Pass, ""},
		{2, 0, 2, "", "", Pass, ""},
		{2.1, 0, 2, "", "", Fail, ""},
		{-0.1, 0, inf, "", "", Fail, ""},
		{3, 0, 2, "known", "", Differs, "known"},
		{1, 0, 2, "known", "", UnexpectedPass, "known"},
		{nan, 0, 2, "", "", Fail, "undefined: nothing was there to measure"},
		{nan, 0, 2, "known", "", Fail, "undefined: nothing was there to measure"},
		{inf, 0, inf, "", "", Fail, "undefined: nothing was there to measure"},
		{nan, 0, 2, "", "ended", NotMeasured, "ended"},
		{1, 0, 2, "", "ended", Pass, ""}, // a value is a value
	} {
		if got, because := outcome(c.value, c.low, c.high, c.differs, c.unmeasured); got != c.want || because != c.because {
			t.Errorf("%+v: %s, %q", c, got, because)
		}
	}
}
