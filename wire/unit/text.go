package unit

import (
	"fmt"
	"math/big"
	"strings"
)

// A suffix is a unit's word and how many of the base unit it holds.
type suffix struct {
	word string
	base int64
}

var (
	durationWords = []suffix{{"s", int64(Second)}, {"ms", int64(Millisecond)}, {"us", int64(Microsecond)}, {"ns", int64(Nanosecond)}, {"ps", 1}}
	sizeWords     = []suffix{{"GB", int64(GB)}, {"MB", int64(MB)}, {"KB", int64(KB)}, {"B", 1}, {"GiB", int64(GiB)}, {"MiB", int64(MiB)}, {"KiB", int64(KiB)}}
	bitRateWords  = []suffix{{"Tb/s", 1e12}, {"Gb/s", 1e9}, {"Mb/s", 1e6}, {"kb/s", 1e3}, {"b/s", 1}}
	byteRateWords = []suffix{{"GB/s", 8e9}, {"MB/s", 8e6}, {"KB/s", 8e3}, {"B/s", 8}}
	rateWords     = append(append([]suffix{}, bitRateWords...), byteRateWords...)
)

// ParseDuration reads a span such as "100us", "1.5ms" or "40 ns". The unit is
// one of s, ms, us (or µs, with either of the two mu of Unicode), ns, ps and may not be left out;
// the value may not be negative and must be a whole number of picoseconds.
func ParseDuration(s string) (Duration, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(s, "\u00b5s", "us"), "\u03bcs", "us")
	v, err := parse("duration", text, "100us", durationWords)
	return Duration(v), err
}

// ParseSize reads a size such as "2048B", "150KB" (150 000 bytes) or "4KiB"
// (4096 bytes). The unit may not be left out.
func ParseSize(s string) (Size, error) {
	v, err := parse("size", s, "2048B", sizeWords)
	return Size(v), err
}

// ParseRate reads a rate in bits (b/s, kb/s, Mb/s, Gb/s, Tb/s) or in bytes (B/s, KB/s,
// MB/s, GB/s) per second, such as "10Gb/s" or "1GB/s".
func ParseRate(s string) (Rate, error) {
	v, err := parse("rate", s, "10Gb/s or 1GB/s", rateWords)
	return Rate(v), err
}

// mostText is the longest text of a number and its unit.
const mostText = 100

// parse reads a number and one of the words, exactly.
func parse(what, s, example string, words []suffix) (int64, error) {
	if len(s) > mostText {
		return 0, fmt.Errorf("%.20q... is not a %s: it has %d characters", s, what, len(s))
	}
	number, word := Split(s)
	if number == "" {
		return 0, fmt.Errorf("%q is not a %s: expected a number and a unit, such as %s", s, what, example)
	}
	var base int64
	for _, w := range words {
		if w.word == word {
			base = w.base
		}
	}
	if base == 0 {
		if word == "" {
			return 0, fmt.Errorf("%q has no unit: write one of %s, such as %s", s, list(words), example)
		}
		return 0, fmt.Errorf("%q has the unknown unit %q: a %s is written with one of %s", s, word, what, list(words))
	}
	value, ok := new(big.Rat), len(number) <= 30
	if ok {
		value, ok = value.SetString(number)
	}
	if !ok {
		return 0, fmt.Errorf("%q is not a %s: %q is not a number", s, what, number)
	}
	if value.Sign() < 0 {
		return 0, fmt.Errorf("%q is negative: a %s cannot be", s, what)
	}
	value.Mul(value, new(big.Rat).SetInt64(base))
	if !value.IsInt() {
		return 0, fmt.Errorf("%q is too fine: a %s is a whole number of %s", s, what, baseUnit(what))
	}
	if !value.Num().IsInt64() {
		return 0, fmt.Errorf("%q is too large for a %s", s, what)
	}
	return value.Num().Int64(), nil
}

// baseUnit names the base unit of a kind of quantity.
func baseUnit(what string) string {
	switch what {
	case "duration":
		return "picoseconds"
	case "size":
		return "bytes"
	default:
		return "bits per second"
	}
}

func list(words []suffix) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w.word)
	}
	return b.String()
}

// String prints d so that ParseDuration reads it back: "100us", "1.5ms".
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	return exact(int64(d), durationWords)
}

// String prints t as the span since the run began; Never is "never".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return Duration(t).String()
}

// Text prints a Time or a Duration for reports and pictures: in µs, where scenarios have us.
func Text(t fmt.Stringer) string { return strings.Replace(t.String(), "us", "µs", 1) }

// String prints s in whole numbers, so that ParseSize reads it back: in bytes
// below 10 000 of them ("2048B"), and else with the unit that makes it shortest
// ("150KB", "128KiB").
func (s Size) String() string {
	best := fmt.Sprint(int64(s)) + "B"
	for _, w := range sizeWords {
		binary := w.base%int64(KiB) == 0
		if s == 0 || int64(s)%w.base != 0 || binary && s < 10*KB && s > -10*KB {
			continue
		}
		if text := fmt.Sprint(int64(s)/w.base) + w.word; len(text) < len(best) {
			best = text
		}
	}
	return best
}

// String prints r so that ParseRate reads it back, in bits or in bytes,
// whichever is shorter: "10Gb/s", "1GB/s".
func (r Rate) String() string {
	inBits := r.InBits()
	if r%8 == 0 && r != 0 {
		if inBytes := exact(int64(r), byteRateWords); len(inBytes) <= len(inBits) {
			return inBytes
		}
	}
	return inBits
}

// InBits prints r in bits, so that ParseRate reads it back: "200Mb/s".
func (r Rate) InBits() string { return exact(int64(r), bitRateWords) }

// exact prints v with the largest unit that it reaches, and all its digits.
func exact(v int64, words []suffix) string {
	sign, size := "", uint64(v)
	if v < 0 {
		sign, size = "-", -size
	}
	last := words[len(words)-1]
	for _, w := range words {
		if size >= uint64(w.base) {
			last = w
			break
		}
	}
	text := fmt.Sprint(size / uint64(last.base))
	if rest := size % uint64(last.base); rest != 0 {
		fraction := new(big.Rat).SetFrac64(int64(rest), last.base).FloatString(12)
		text += strings.TrimRight(fraction[1:], "0")
	}
	return sign + text + last.word
}

// MarshalText prints d as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalText prints s as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText prints r as String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Word returns the word for a value of a type whose values are counted from 0; of one beyond the
// words it is "unknown".
func Word[T ~uint8](v T, words []string) string {
	if int(v) < len(words) {
		return words[v]
	}
	return "unknown"
}
