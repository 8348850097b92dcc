package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number is a figure that may be missing: NaN and the infinities are null in
// JSON, and null is read as NaN.
type Number float64

// Missing is a Number that is not known or not defined.
func Missing() Number { return Number(math.NaN()) }

// Known reports whether n is a figure.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes n, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads the output of MarshalJSON.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Missing()
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// Print prints a figure as fmt.Sprintf does, or a dash for a missing one.
func (n Number) Print(format string) string {
	if !n.Known() {
		return "-"
	}
	return fmt.Sprintf(format, float64(n))
}

// Cell prints a figure with a number of digits for programs, or nothing if it is missing.
func (n Number) Cell(digits int) string {
	if !n.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', digits, 64)
}

// Short prints a figure to two significant digits, or a dash for a missing one.
func (n Number) Short() string {
	if !n.Known() {
		return "-"
	}
	return Significant(float64(n), 2)
}

// Significant prints v with a number of significant digits, never in powers of ten; all digits
// before the point are printed.
func Significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	behind := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	s := fmt.Sprintf("%.*f", max(0, min(behind, 9)), v)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Percent prints a share of 1, or a dash for a missing one.
func (n Number) Percent() string {
	if n > 0.99 && n < 0.9999 {
		return (100 * n).Print("%.2f %%") // where the levels are decided
	}
	return (100 * n).Print("%.1f %%")
}
