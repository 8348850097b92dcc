package metrics

import (
	"math"
	"strings"
)

// Unit is the unit of the figures of a quantity.
type Unit struct {
	Word   string  // as documents have it: "bytes per second"
	Symbol string  // of values as they are, in addition to numbers: "B/s"; may be empty
	Scales []Scale // in which a figure is printed, the largest first; none: as it is
	Whole  bool    // it is printed with all digits
	Time   int     // the power of time in it: 1 of seconds, -1 of rates
}

// Scale is a unit and its value.
type Scale struct {
	Base float64
	Word string
}

// Fit returns the largest of the scales that makes a figure one or more, and the last one
// if none does.
func (u Unit) Fit(v float64) Scale {
	for _, s := range u.Scales {
		if math.Abs(v) >= s.Base {
			return s
		}
	}
	if n := len(u.Scales); n > 0 {
		return u.Scales[n-1]
	}
	return Scale{1, u.Symbol}
}

// The units. Shares are printed in per cent.
var (
	percent  = []Scale{{0.01, "%"}}
	share    = Unit{Word: "0 to 1", Scales: percent}
	utilised = Unit{Word: "0 to 1", Symbol: "of the capacity", Scales: percent}
	rates    = Unit{Word: "bytes per second", Symbol: "B/s", Scales: []Scale{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "KB/s"}, {1, "B/s"}}, Time: -1}
	sizes    = Unit{Word: "bytes", Symbol: "bytes", Scales: []Scale{{1e6, "MB"}, {1e3, "KB"}, {1, "B"}}}
	seconds  = Unit{Word: "seconds", Symbol: "s", Scales: []Scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}}, Time: 1}
	blocks   = Unit{Word: "blocks; bytes", Symbol: "blocks"}
)

// Share returns the unit of shares of one.
func Share() Unit { return share }

// Sizes returns the unit of bytes.
func Sizes() Unit { return sizes }

// Rates returns the unit of rates.
func Rates() Unit { return rates }

// Seconds returns the unit of times.
func Seconds() Unit { return seconds }

// plain is the unit of figures that are printed as they are.
func plain(word string) Unit { return Unit{Word: word} }

// count is the unit of numbers of something.
func count(word string) Unit { return Unit{Word: word, Whole: true} }

// TimeOf returns the power of time in an expression: 1 of a figure in seconds, -1
// of a rate, 0 of a figure that does not change with the scale of time.
func TimeOf(expression string) int {
	a, b, _ := strings.Cut(expression, " / ")
	return UnitOf(a, false).Time - UnitOf(b, false).Time
}

// UnitOf returns the unit of an expression, or of a kind of series (Series.Kind), of a run
// whose buffers are counted in bytes or not. A quotient has none, nor has a text that names no
// quantity.
func UnitOf(expression string, inBytes bool) Unit {
	best, unit := "", Unit{}
	if strings.Contains(expression, " / ") {
		return unit
	}
	for name, q := range names {
		if len(name) > len(best) && strings.HasSuffix(expression, "."+name) {
			best, unit = name, q.Unit
		}
	}
	if inBytes && unit.Symbol == blocks.Symbol {
		return sizes
	}
	return unit
}
