package sets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Range is where a search looks for better values of a parameter.
type Range struct {
	Path   string `json:"path"` // as in --set: defaults.flow.control.rate-timer
	Low    string `json:"low"`  // as in a file
	High   string `json:"high"`
	Usual  string `json:"usual"`  // the value that the source of the scheme has
	Source string `json:"source"` // of the ends
	Ours   bool   `json:"ours"`   // no source has the ends

	x         *param.Param
	low, high float64
}

// At returns the value at a share of the range, 0 to below 1, as a file writes it, with three
// digits. Where the range begins above zero, equal shares are equal ratios, because what matters of
// times, sizes and rates is by which factor they differ.
func (r *Range) At(share float64) string {
	v := r.low + share*(r.high-r.low)
	if r.low > 0 {
		v = r.low * math.Pow(r.high/r.low, share)
	}
	return r.text(min(max(rounded(v), r.low), r.high))
}

// rounded rounds to three digits.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return v
}

func (r *Range) text(v float64) string {
	switch r.x.Kind {
	case param.Duration:
		return unit.Duration(math.Round(v)).String()
	case param.Size:
		return unit.Size(math.Round(v)).String()
	case param.Rate:
		return unit.Rate(math.Round(v)).InBits() // so that all rates of a table have one unit
	case param.Whole:
		return strconv.Itoa(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// numeric reports whether the values of a parameter are numbers.
func numeric(x *param.Param) bool {
	switch x.Kind {
	case param.Duration, param.Size, param.Rate, param.Whole, param.Decimal:
		return true
	}
	return false
}

// quantity returns a value as a number; NaN if it is none, or the word for no value.
func quantity(x *param.Param, text string) float64 {
	if v, err := x.Read(text); err == nil && text != "" && text != x.None {
		switch v := v.(type) {
		case unit.Duration, unit.Size, unit.Rate, float64:
			return number(x, text)
		case int64:
			return float64(v)
		}
	}
	return math.NaN()
}

// Ranges returns where the parameters of an object of a scheme may be searched; path is that of
// the object: "defaults.flow.control". The range of a parameter reaches over the values that the
// published sets have for the place, by their rules or in proportion to the link rate or round trip
// for which they were made, and over the value that the object has. A range that its tag search
// gives instead is ours. Parameters whose sources agree, and those for which others are given (a
// rate to which thresholds scale), have no range.
func (p *Place) Ranges(path string, params any) (all []Range) {
	of := param.Of(params)
	for i := range of.Params {
		x := &of.Params[i]
		scales := slices.ContainsFunc(of.Params, func(y param.Param) bool { return y.Unless == x.Key })
		if !x.Sets() || !numeric(x) || scales || x.Search.No || !of.Holds(x.Counts, params) || !of.Holds(x.With, params) {
			continue
		}
		r := Range{Path: path + "." + x.Key, Usual: x.Text(params), x: x}
		usual := quantity(x, r.Usual)
		if math.IsNaN(usual) {
			continue
		}
		switch s := x.Search; {
		case s.Factor > 0:
			r.low, r.high, r.Ours = usual/s.Factor, usual*s.Factor, true
			r.Source = fmt.Sprintf("ours: from the value over %v to the value times %v", s.Factor, s.Factor)
		case s.Low != "":
			r.low, r.high, r.Ours, r.Source = quantity(x, s.Low), quantity(x, s.High), true, "ours"
		default:
			r.low, r.high, r.Source = p.hull(of, x, params, usual)
		}
		if r.clip(); r.low < r.high {
			r.Low, r.High = r.text(r.low), r.text(r.high)
			all = append(all, r)
		}
	}
	return all
}

// clip holds a range within what a file may have.
func (r *Range) clip() {
	if low := quantity(r.x, r.x.Low); low > r.low {
		r.low = low
	}
	if high := quantity(r.x, r.x.High); high < r.high {
		r.high = high
	}
	if r.x.Kind == param.Whole {
		r.low, r.high = math.Round(r.low), math.Round(r.high)
	}
}

// hull returns the least and the greatest value of the sets at a place, with the usual one, and the
// sources of both.
func (p *Place) hull(of *param.Struct, x *param.Param, params any, usual float64) (low, high float64, source string) {
	sets := of.Sets()
	if sets == nil {
		return usual, usual, ""
	}
	own := sets.Text(params)
	low, high = usual, usual
	from, to := own, own
	for _, set := range sets.Words {
		v := p.inSet(of, x, params, set)
		if v < low {
			low, from = v, set
		}
		if v > high {
			high, to = v, set
		}
	}
	name := func(set string) string {
		ruled := x.Ruled(set, p.quantities()) != ""
		text := cmp.Or(x.SourceIn(set), sets.SourceIn(set))
		if ruled {
			text = sets.SourceIn(set) + ": " + x.RuleIn(set)
		}
		if x.GuessedIn(set, ruled) {
			text += ", a guess"
		}
		return fmt.Sprintf("%s (%s)", set, text)
	}
	return low, high, name(from) + " to " + name(to)
}

// inSet returns the value that a set has for the place; NaN if it has none.
func (p *Place) inSet(of *param.Struct, x *param.Param, params any, set string) float64 {
	// Values are for the rate that the parameter Unless has, both in the set and here; those of
	// rules are for the links.
	by, here := of.Find(x.Unless), p.Rate
	if by != nil {
		if rate, err := unit.ParseRate(by.Text(params)); err == nil {
			here = rate
		}
	}
	if text := x.Ruled(set, p.quantities()); text != "" {
		v := quantity(x, text)
		if x.Grows == param.LinkRate {
			v *= float64(here) / float64(p.Rate)
		}
		return v
	}
	v, made := quantity(x, x.In(set)), of.Sets().MadeFor(set)
	switch x.Grows {
	case param.LinkRate:
		there := made.Least
		if made.Least != made.Most {
			there = 0
		}
		if by != nil {
			if rate, err := unit.ParseRate(by.In(set)); err == nil {
				there = rate
			}
		}
		if there == 0 {
			return math.NaN()
		}
		v *= float64(here) / float64(there)
	case param.RoundTrip:
		if made.Trip == 0 {
			return math.NaN()
		}
		v *= float64(p.Trip) / float64(made.Trip)
	}
	return v
}

// Given returns a range that a user gives for a parameter of an object whose path is path. The
// error says what is wrong with it.
func Given(path string, params any, key, low, high string) (Range, error) {
	of := param.Of(params)
	x := of.Find(key)
	if !numeric(x) || !x.Sets() {
		return Range{}, fmt.Errorf("%s is not a number: only times, sizes, rates and numbers are searched", key)
	}
	r := Range{Path: path + "." + key, Usual: x.Text(params), Source: "given", x: x}
	for _, end := range []struct {
		text string
		to   *float64
	}{{low, &r.low}, {high, &r.high}} {
		if _, err := x.Read(end.text); err != nil {
			return Range{}, fmt.Errorf("%s: %w", end.text, err)
		}
		if *end.to = quantity(x, end.text); math.IsNaN(*end.to) {
			return Range{}, fmt.Errorf("%s is not a number", end.text)
		}
	}
	if r.low >= r.high {
		return Range{}, fmt.Errorf("the range is empty: %s must be below %s", low, high)
	}
	r.Low, r.High = r.text(r.low), r.text(r.high)
	return r, nil
}
