package param

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

// manner describes the written form of a kind.
type manner struct {
	wanted  func() string
	units   func() []string
	pattern string
	none    any // the value of the word None
	read    func(s string) (any, error)
}

// manner returns the manner of a parameter's kind.
func (p *Param) manner() manner {
	fixed := func(text string) func() string { return func() string { return text } }
	switch p.Kind {
	case Duration:
		return manner{fixed("a duration such as 100us"), unit.DurationUnits, DurationPattern, unit.Duration(p.at), p.duration}
	case Rate:
		return manner{fixed("a rate such as 10Gb/s or 1GB/s"), unit.RateUnits, ratePattern, unit.Rate(p.at), p.rate}
	case Size:
		return manner{fixed("a size such as 128KiB"), unit.SizeUnits, SizePattern, unit.Size(p.at), p.size}
	case Room:
		return manner{fixed(`a room such as "4 packets" or 150KB`), roomUnits, roomPattern, unit.Room{}, room}
	case Whole:
		return manner{wanted: func() string { return fmt.Sprintf("a whole number of %s or more", p.Low) }, none: p.at, read: p.whole}
	case Decimal:
		return manner{wanted: func() string { return "a number such as " + p.example() }, none: 0.0, read: p.decimal}
	case Flag:
		return manner{wanted: fixed("true or false"), none: false, read: flag}
	case Word:
		return manner{wanted: p.oneOf, none: "", read: p.oneWord}
	case Object:
		return manner{wanted: func() string { return "a mapping with " + strings.Join(p.Object.Keys(), ", ") }}
	}
	return manner{wanted: fixed(""), none: "", read: p.oneWord}
}

// The patterns of written values: they accept all texts that Read accepts.
const (
	decimalPattern  = `\+?([0-9]+\.?[0-9]*|\.[0-9]+)`
	DurationPattern = decimalPattern + `\s*(s|ms|us|µs|μs|ns|ps)`
	SizePattern     = decimalPattern + `\s*(B|KB|MB|GB|KiB|MiB|GiB)`
	ratePattern     = decimalPattern + `\s*[kMGT]?b/s|` + decimalPattern + `\s*[KMG]?B/s`
	roomPattern     = `\+?[0-9]+\s*packets?|` + SizePattern
)

// Spaced returns a pattern of a whole text with any spaces around it.
func Spaced(pattern string) string { return `^\s*(` + pattern + `)\s*$` }

func roomUnits() []string { return append([]string{"packets", "packet"}, unit.SizeUnits()...) }

// Wanted describes the values of a parameter: "a duration such as 100us".
func (p *Param) Wanted() string {
	text := p.Values
	switch {
	case text != "":
	case p.Form != nil:
		text = p.Form.Wanted
	default:
		text = p.manner().wanted()
	}
	if p.None != "" && p.Kind != Flag && p.Kind != Word {
		text += ", or " + p.None
	}
	if len(p.Parts) > 0 {
		var keys []string
		for _, part := range p.Parts {
			keys = append(keys, part.Key)
		}
		text += ", or a mapping with " + strings.Join(keys, ", ")
	}
	return text
}

// Keys returns the keys of all parameters.
func (s *Struct) Keys() (keys []string) {
	for i := range s.Params {
		keys = append(keys, s.Params[i].Key)
	}
	return keys
}

// example returns a number that a parameter may be: its default, or its least.
func (p *Param) example() string {
	switch {
	case p.Default != "":
		return p.Default
	case p.Low != "" && !p.Above:
		return p.Low
	}
	return "1.5"
}

// Units returns the units in which a parameter is written.
func (p *Param) Units() []string {
	if p.Form != nil {
		return p.Form.Units
	}
	if m := p.manner(); m.units != nil {
		return m.units()
	}
	return nil
}

// Pattern returns a regular expression that accepts all texts that Read accepts; none for
// numbers, words and texts.
func (p *Param) Pattern() (pattern string) {
	if p.Form != nil {
		pattern = p.Form.Pattern
	} else if m := p.manner(); m.pattern != "" {
		pattern = Spaced(m.pattern)
	}
	if p.None != "" && pattern != "" {
		pattern = `^` + p.None + `$|` + pattern
	}
	return pattern
}

// Beside returns the allowed words: all values of a word, or words in addition to other values.
func (p *Param) Beside() []string {
	switch {
	case p.Kind == Flag:
		return []string{"true", "false"}
	case p.None != "":
		return []string{p.None}
	case p.Form != nil:
		return p.Form.Words
	}
	return p.Words
}

// Listed reports whether one value may have commas.
func (p *Param) Listed() bool { return p.Form != nil && p.Form.Listed }

// Range returns the bounds of a parameter, or else of its kind. Above excludes low.
func (p *Param) Range() (low, high string, above bool) {
	low, high, above = p.Low, p.High, p.Above
	switch {
	case p.Form != nil:
	case p.Kind == Rate:
		return "0b/s", "", true
	case p.Kind == Room:
		return "1 packet", unit.MaxRoom.String(), false
	case p.Kind == Size && high == "":
		high = unit.MaxRoom.String()
	}
	return low, high, above
}

// Read reads a parameter as a file writes it, and refuses values out of its range.
// It returns a value of its kind: int64 for any integer, string for a word. For the word
// None it returns the value of that word.
func (p *Param) Read(s string) (any, error) {
	switch {
	case p.None != "" && s == p.None:
		return p.manner().none, nil
	case p.Form != nil:
		return p.Form.Read(s)
	default:
		return p.manner().read(s)
	}
}

// oneOf lists the allowed words.
func (p *Param) oneOf() string {
	if len(p.Words) == 1 {
		return "the word " + p.Words[0]
	}
	return "one of " + strings.Join(p.Words, ", ")
}

func (p *Param) oneWord(s string) (any, error) {
	switch {
	case slices.Contains(p.Words, s):
		return s, nil
	case len(p.Words) == 1:
		return nil, fmt.Errorf("%q is unknown: the only word is %s", s, p.Words[0])
	}
	return nil, fmt.Errorf("%q is not %s", s, p.oneOf())
}

func room(s string) (any, error) { return unit.ParseRoom(s) }

func (p *Param) duration(s string) (any, error) {
	d, err := unit.ParseDuration(s)
	if err != nil {
		return nil, err
	}
	low, _ := unit.ParseDuration(p.Low)
	switch {
	case p.Above && d <= low:
		return nil, fmt.Errorf("%q is zero: it must be above zero", s)
	case d < low:
		return nil, fmt.Errorf("%q is too short: it must be at least %v, since no latency in a model is zero", s, low)
	}
	if high, err := unit.ParseDuration(p.High); err == nil && d > high {
		return nil, fmt.Errorf("%q is too long: it must be at most %v", s, high)
	}
	return d, nil
}

func (p *Param) rate(s string) (any, error) {
	r, err := unit.ParseRate(s)
	switch {
	case err != nil:
		return nil, err
	case r == 0 && p.Low != "0b/s":
		return nil, fmt.Errorf("%q is zero: a rate must be above zero", s)
	}
	return r, nil
}

func (p *Param) size(s string) (any, error) {
	n, err := unit.ParseSize(s)
	if err != nil {
		return nil, err
	}
	low, _ := unit.ParseSize(p.Low)
	high := unit.MaxRoom
	if most, err := unit.ParseSize(p.High); err == nil {
		high = min(high, most)
	}
	switch {
	case n < low:
		return nil, fmt.Errorf("%q is too small: at least %v are needed", s, low)
	case n > high:
		return nil, fmt.Errorf("%q is too large: at most %v are allowed", s, high)
	}
	return n, nil
}

func (p *Param) whole(s string) (any, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	low, _ := strconv.ParseInt(p.Low, 10, 64)
	high, _ := strconv.ParseInt(p.High, 10, 64)
	if err != nil || v < low || v > high {
		beside := ""
		if p.None != "" {
			beside = ", nor " + p.None
		}
		return nil, fmt.Errorf("%q is not a whole number from %d to %d%s", s, low, high, beside)
	}
	return v, nil
}

func (p *Param) decimal(s string) (any, error) {
	if strings.HasSuffix(s, "%") {
		return nil, fmt.Errorf("%q is a percentage: fractions are written from 0 to 1, such as 0.9", s)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(s, "xX_") {
		return nil, fmt.Errorf("%q is not a number%s: expected %s", s, decimalComma(s), p.Wanted())
	}
	low, high := bound(p.Low, math.Inf(-1)), bound(p.High, math.Inf(1))
	if v < low || p.Above && v == low || v > high {
		return nil, fmt.Errorf("%s is out of range: it is a number %s", s, p.bounds())
	}
	if v == 0 {
		v = 0 // not minus zero, which reads back as another value
	}
	return v, nil
}

// bound reads the end of a range of numbers.
func bound(s string, none float64) float64 {
	if s == "" {
		return none
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("param: the bound " + s + " is not a number")
	}
	return v
}

// bounds describes the range of a number.
func (p *Param) bounds() string {
	from := "from " + p.Low
	if p.Above {
		from = "above " + p.Low
	}
	switch {
	case p.Low == "":
		return "up to " + p.High
	case p.High == "":
		return from
	}
	return from + " to " + p.High
}

func flag(s string) (any, error) {
	if s != "true" && s != "false" {
		return nil, fmt.Errorf("%q is neither true nor false", s)
	}
	return s == "true", nil
}

// decimalComma explains the mistake in a fraction with a comma; empty for other texts.
func decimalComma(s string) string {
	whole, rest, found := strings.Cut(s, ",")
	if !found || strings.Trim(whole+rest, "0123456789") != "" {
		return ""
	}
	return fmt.Sprintf(" (a fraction has a point: %s.%s)", whole, rest)
}
