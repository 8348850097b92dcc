package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// startAt is when the members of a flow start: the first, and each further one a
// step later.
type startAt struct{ first, step unit.Duration }

// noThreshold is the threshold "none".
const noThreshold int64 = 0

// duration is a span of model time of at least the given picoseconds.
func duration(least unit.Duration) *shape {
	return &shape{what: "a duration such as 100us", units: []string{"s", "ms", "us", "ns", "ps"}, read: func(s string) (any, error) {
		d, err := unit.ParseDuration(s)
		switch {
		case err != nil:
			return nil, err
		case d < least && least == 1:
			return nil, fmt.Errorf("%q is zero: it must be above zero", s)
		case d < least:
			return nil, fmt.Errorf("%q is too short: it must be at least %v, since no latency in a model is zero", s, least)
		}
		return d, nil
	}}
}

func rate() *shape {
	return &shape{what: "a rate such as 10Gb/s or 1GB/s", units: []string{"b/s", "kb/s", "Mb/s", "Gb/s", "B/s", "KB/s", "MB/s", "GB/s"}, read: func(s string) (any, error) {
		r, err := unit.ParseRate(s)
		if err == nil && r == 0 {
			return nil, fmt.Errorf("%q is zero: a rate must be above zero", s)
		}
		return r, err
	}}
}

func sizeUnits() []string { return []string{"B", "KB", "MB", "GB", "KiB", "MiB", "GiB"} }

// size is a number of bytes, at least the given one.
func size(least unit.Size) *shape {
	return &shape{what: "a size such as 128KiB", units: sizeUnits(), read: func(s string) (any, error) {
		n, err := unit.ParseSize(s)
		switch {
		case err != nil:
			return nil, err
		case n < least:
			return nil, fmt.Errorf("%q is too small: at least %v are needed", s, least)
		case n > math.MaxInt32:
			return nil, fmt.Errorf("%q is too large: at most %dB are allowed", s, math.MaxInt32)
		}
		return n, nil
	}}
}

func packet() *shape {
	return &shape{what: "a size such as 2048B", units: sizeUnits(), read: func(s string) (any, error) {
		n, err := unit.ParseSize(s)
		switch {
		case err != nil:
			return nil, err
		case n < 4 || n > wire.MaxPayload || n%4 != 0:
			return nil, fmt.Errorf("%q cannot be a payload: it is a multiple of 4 bytes from 4B to %dB", s, wire.MaxPayload)
		}
		return n, nil
	}}
}

// natural is a whole number from 0 to the largest of 64 bits.
func natural() *shape {
	return &shape{what: "a whole number such as 1", read: func(s string) (any, error) {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number from 0 to %d", s, uint64(math.MaxUint64))
		}
		return v, nil
	}}
}

// count is a whole number between two others.
func count(low, high int64) *shape {
	return &shape{what: fmt.Sprintf("a whole number of %d or more", low), read: func(s string) (any, error) {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < low || v > high {
			return nil, fmt.Errorf("%q is not a whole number from %d to %d", s, low, high)
		}
		return v, nil
	}}
}

// number is a finite number that a function may refuse.
func number(what string, check func(float64) error) *shape {
	return &shape{what: what, read: func(s string) (any, error) {
		if strings.HasSuffix(s, "%") {
			return nil, fmt.Errorf("%q is a percentage: fractions are written from 0 to 1, such as 0.9", s)
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(s, "xX_") {
			return nil, fmt.Errorf("%q is not a number: %s is wanted", s, what)
		}
		if v == 0 {
			v = 0 // not minus zero, which reads back as another value
		}
		if check != nil {
			return v, check(v)
		}
		return v, nil
	}}
}

func flag() *shape {
	return &shape{what: "true or false", words: []string{"true", "false"}, read: func(s string) (any, error) {
		switch s {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", s)
	}}
}

// word is one of a few words.
func word(words ...string) *shape {
	return &shape{what: oneOf(words), words: words, read: func(s string) (any, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		if len(words) == 1 {
			return nil, fmt.Errorf("%q is not known: only %s is%s", s, words[0], didYouMean(nearest(s, words)))
		}
		return nil, fmt.Errorf("%q is not one of %s%s", s, strings.Join(words, ", "), didYouMean(nearest(s, words)))
	}}
}

// hinted adds to a word what people write who mean it.
func hinted(sh *shape, hints map[string]string) *shape {
	read := sh.read
	sh.read = func(s string) (any, error) {
		if meant, ok := hints[s]; ok && !slices.Contains(sh.words, s) {
			return nil, fmt.Errorf("%q is not one of %s%s", s, strings.Join(sh.words, ", "), didYouMean(meant))
		}
		return read(s)
	}
	return sh
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return "the word " + words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

// text is any text, brought to one line.
func text() *shape {
	return &shape{kind: textShape, what: "a text", read: func(s string) (any, error) {
		for _, c := range s {
			if unicode.IsControl(c) && !unicode.IsSpace(c) {
				return nil, fmt.Errorf("the text holds the control character U+%04X", c)
			}
		}
		return strings.Join(strings.Fields(s), " "), nil
	}}
}

func readMetric(s string) (any, error) {
	v, err := text().read(s)
	if err == nil && v == "" {
		return nil, fmt.Errorf("a metric is missing, such as trunk.A-B.utilisation or remote.rate / local.rate")
	}
	return v, err
}

func scenarioName() *shape {
	return &shape{what: "a name such as hpl2002/fig3b", read: func(s string) (any, error) {
		for part := range strings.SplitSeq(s, "/") {
			if err := checkDotted(part, "."); err != nil {
				return nil, fmt.Errorf("%q is not a name for a scenario: it is made of letters, digits, \"_\", \"-\" and \".\", each part begins with a letter, and parts are joined by \"/\"", s)
			}
		}
		return s, nil
	}}
}

func linkName() *shape {
	return &shape{what: "a name such as trunk", read: func(s string) (any, error) { return s, checkName(s) }}
}

func flowName() *shape {
	return &shape{what: "a name such as local", read: func(s string) (any, error) { return s, checkDotted(s, ".") }}
}

func checkID() *shape {
	return &shape{what: "a name such as IB-5a", read: func(s string) (any, error) { return s, checkName(s) }}
}

// names is a name or a range of names.
func names() *shape {
	return &shape{what: "a name or a range of names such as A[1-10]", read: func(s string) (any, error) {
		p, err := parsePattern(strings.TrimSpace(s))
		return p, err
	}}
}

func endpointPattern() *shape {
	sh := names()
	sh.what = "the name of an endpoint or a range of them such as A[1-10]"
	return sh
}

// offsetError is an error about a part of a text.
type offsetError struct {
	error
	offset int // in bytes
}

func jointShape() *shape {
	return &shape{what: "two machines such as \"A - B\" or \"A[1-10] - A\"", read: func(s string) (any, error) {
		j, offset, err := parseJoint(s)
		if err != nil {
			return nil, offsetError{err, offset}
		}
		return j, nil
	}}
}

// linkRef is the name of a link, or what it joins. Whether there is such a link
// is found later.
func linkRef() *shape {
	return &shape{what: "the name of a link", read: func(s string) (any, error) {
		if s == "" {
			return nil, fmt.Errorf("the name of a link is missing")
		}
		return strings.Join(strings.Fields(s), " "), nil
	}}
}

func start() *shape {
	return &shape{what: "a duration such as 1ms, or a first one and a step such as 0us + 100us", units: []string{"s", "ms", "us", "ns", "ps"}, read: func(s string) (any, error) {
		var at startAt
		var err error
		first, step, stepped := strings.Cut(s, "+")
		if at.first, err = unit.ParseDuration(first); err != nil {
			return nil, err
		}
		if stepped {
			if at.step, err = unit.ParseDuration(step); err != nil {
				return nil, err
			}
		}
		return at, nil
	}}
}

// stop is a duration above zero; zero stands for the end of the run.
func stop() *shape {
	return &shape{what: "a duration such as 60ms, or end", units: []string{"s", "ms", "us", "ns", "ps"}, read: func(s string) (any, error) {
		if s == "end" {
			return unit.Duration(0), nil
		}
		return duration(1).read(s)
	}}
}

func threshold() *shape {
	return &shape{what: "a number of frames such as 4, or none", read: func(s string) (any, error) {
		if s == "none" {
			return noThreshold, nil
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 1 || v > 1<<20 {
			return nil, fmt.Errorf("%q is not a threshold: it is a whole number from 1 to %d, or none", s, 1<<20)
		}
		return v, nil
	}}
}

func buffer() *shape {
	return &shape{what: "a room such as \"4 packets\" or 150KB", units: append([]string{"packets", "packet"}, sizeUnits()...), read: readBuffer}
}

// fullAt is a buffer; the word whole is the zero value.
func fullAt() *shape {
	sh := buffer()
	sh.what = "a room such as \"3 packets\" or 6KB, or whole"
	sh.read = func(s string) (any, error) {
		if s == "whole" {
			return Buffer{}, nil
		}
		return readBuffer(s)
	}
	return sh
}

func readBuffer(s string) (any, error) {
	s = strings.TrimSpace(s)
	number, word := splitUnit(s)
	switch word {
	case "packets", "packet":
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > 1<<20 {
			return nil, fmt.Errorf("%q is not a room: packets are counted from 1 to %d", s, 1<<20)
		}
		if n == 0 {
			return nil, fmt.Errorf("%q holds no packet: a buffer of a lossless link holds at least one", s)
		}
		return Buffer{Packets: int(n)}, nil
	case "":
		return nil, fmt.Errorf("%q has no unit: write \"%s packets\" or a size such as 150KB", s, s)
	}
	n, err := unit.ParseSize(s)
	switch {
	case err != nil && !slices.Contains(sizeUnits(), word):
		return nil, fmt.Errorf("%q has the unknown unit %q: a room is given in packets, or in %s", s, word, strings.Join(sizeUnits(), ", "))
	case err != nil:
		return nil, err
	case n == 0:
		return nil, fmt.Errorf("%q holds no packet: a buffer of a lossless link holds at least one", s)
	case n > math.MaxInt32:
		return nil, fmt.Errorf("%q is too large: at most %dB are allowed", s, math.MaxInt32)
	}
	return Buffer{Bytes: n}, nil
}

// splitUnit cuts a quantity into its number and its unit.
func splitUnit(s string) (number, word string) {
	s = strings.TrimSpace(s)
	cut := strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("0123456789.+-", c) })
	if cut < 0 {
		return s, ""
	}
	return s[:cut], strings.TrimSpace(s[cut:])
}
