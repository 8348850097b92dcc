package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"fabemu/emu/spelling"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// startAt is when the members of a flow start: the first, and each further one a
// step later.
type startAt struct{ first, step unit.Duration }

// The patterns of what is written, for the schema: they let pass all that the
// readers take.
const (
	decimalPattern  = `\+?([0-9]+\.?[0-9]*|\.[0-9]+)`
	durationPattern = decimalPattern + `\s*(s|ms|us|µs|μs|ns|ps)`
	sizePattern     = decimalPattern + `\s*(B|KB|MB|GB|KiB|MiB|GiB)`
	ratePattern     = decimalPattern + `\s*[kMGT]?b/s|` + decimalPattern + `\s*[KMG]?B/s`
	roomPattern     = `\+?[0-9]+\s*packets?|` + sizePattern
	namePattern     = `[A-Za-z][A-Za-z0-9_-]*`
	rangePattern    = namePattern + `(\[[0-9]+-[0-9]+\][A-Za-z0-9_-]*)?`
)

// whole returns a pattern of a whole text, whatever the spaces around it.
func whole(pattern string) string { return `^\s*(` + pattern + `)\s*$` }

// duration is a span of model time of at least the given picoseconds.
func duration(least unit.Duration) *shape {
	p := &param.Param{Kind: param.Duration}
	switch least {
	case 0:
	case 1:
		p.Low, p.Above = "0s", true
	default:
		p.Low = least.String()
	}
	return paramShape(p)
}

func rate() *shape { return paramShape(&param.Param{Kind: param.Rate}) }

// maxSize is the largest size that is understood.
const maxSize = unit.MaxRoom

// size is a number of bytes, at least the given one.
func size(least unit.Size) *shape {
	return paramShape(&param.Param{Kind: param.Size, Low: least.String()})
}

// The payloads that a packet may have: on InfiniBand whole words of 4 bytes.
const (
	minPacket  unit.Size = 4
	maxPacket  unit.Size = wire.MaxPayload
	packetStep unit.Size = 4
)

// packet is a payload of either family: which, is found when its links are known.
func packet() *shape {
	return &shape{what: "a size such as 2048B", units: unit.SizeUnits(), pattern: whole(sizePattern), span: span{low: minPacket.String(), high: unit.Size(wire.MaxMSDU).String()}, read: func(s string) (any, error) {
		n, err := unit.ParseSize(s)
		switch {
		case err != nil:
			return nil, err
		case n < minPacket || n > wire.MaxMSDU:
			return nil, fmt.Errorf("%q cannot be a payload: it is a multiple of %d bytes from %v to %v, or on Ethernet any size from %dB to %dB", s, packetStep, minPacket, maxPacket, wire.MinMSDU, wire.MaxMSDU)
		}
		return n, nil
	}}
}

// payload says what is wrong with a payload on a family of links, or nothing.
func payload(n unit.Size, f wire.Family) error {
	switch {
	case f == wire.Ethernet && n < wire.MinMSDU:
		return fmt.Errorf("%v cannot be a payload on Ethernet: it is any size from %dB to %dB", n, wire.MinMSDU, wire.MaxMSDU)
	case f == wire.InfiniBand && (n > maxPacket || n%packetStep != 0):
		return fmt.Errorf("%v cannot be a payload: it is a multiple of %d bytes from %v to %v", n, packetStep, minPacket, maxPacket)
	}
	return nil
}

// auto stands for a watermark that is computed.
const auto unit.Size = -1

// unlimited is a size, or a word for none: zero, or auto.
func unlimited(sh *shape, word string) *shape {
	read, value := sh.read, unit.Size(0)
	if word == "auto" {
		value = auto
	}
	sh.what += ", or " + word
	sh.words = []string{word}
	sh.pattern = `^` + word + `$|` + sh.pattern
	sh.read = func(s string) (any, error) {
		if s == word {
			return value, nil
		}
		return read(s)
	}
	return sh
}

// Unlimited is a rate of service that takes everything as it comes.
const Unlimited unit.Rate = math.MaxInt64

// unlimitedRate is a rate, or the word unlimited.
func unlimitedRate() *shape {
	sh := rate()
	read := sh.read
	sh.what = "a rate such as 1Gb/s, or unlimited"
	sh.words = []string{"unlimited"}
	sh.pattern = `^unlimited$|` + sh.pattern
	sh.read = func(s string) (any, error) {
		if s == "unlimited" {
			return Unlimited, nil
		}
		return read(s)
	}
	return sh
}

// memory is a size, of a whole switch or for each port.
func memory() *shape {
	const perPort = "per port"
	sh := size(1)
	read := sh.read
	sh.what = "a size such as 2MB, or 300KB per port"
	sh.pattern = whole(`(` + sizePattern + `)(\s*per port)?`)
	sh.read = func(s string) (any, error) {
		text, each := strings.CutSuffix(strings.TrimSpace(s), perPort)
		n, err := read(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		return Memory{Bytes: n.(unit.Size), PerPort: each}, nil
	}
	return sh
}

// natural is a whole number from 0 to the largest of 64 bits.
func natural() *shape {
	return &shape{form: FormWhole, what: "a whole number such as 1", span: span{low: "0", high: strconv.FormatUint(math.MaxUint64, 10)}, read: func(s string) (any, error) {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number from 0 to %d", s, uint64(math.MaxUint64))
		}
		return v, nil
	}}
}

// count is a whole number between two others.
func count(low, high int64) *shape {
	return paramShape(&param.Param{Kind: param.Whole, Low: strconv.FormatInt(low, 10), High: strconv.FormatInt(high, 10)})
}

// number is a finite number.
func number(what string) *shape {
	return &shape{form: FormDecimal, what: what, read: func(s string) (any, error) {
		if strings.HasSuffix(s, "%") {
			return nil, fmt.Errorf("%q is a percentage: fractions are written from 0 to 1, such as 0.9", s)
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(s, "xX_") {
			return nil, fmt.Errorf("%q is not a number%s: %s is wanted", s, param.DecimalComma(s), what)
		}
		if v == 0 {
			v = 0 // not minus zero, which reads back as another value
		}
		return v, nil
	}}
}

// between is a number from low to high.
func between(what string, low, high float64) *shape {
	sh := number(what)
	sh.span = span{low: float(low), high: float(high)}
	read := sh.read
	sh.read = func(s string) (any, error) {
		v, err := read(s)
		if err == nil && (v.(float64) < low || v.(float64) > high) {
			return nil, fmt.Errorf("%s is out of range: it is a number from %v to %v", s, low, high)
		}
		return v, err
	}
	return sh
}

// load is a part of a link's rate.
func load() *shape {
	sh := between("a part such as 0.85", 0, 1)
	sh.span.above = true
	read := sh.read
	sh.read = func(s string) (any, error) {
		v, err := read(s)
		if err == nil && v.(float64) == 0 {
			return nil, fmt.Errorf("a load of %s offers nothing: it must be above zero", s)
		}
		return v, err
	}
	return sh
}

// word is one of a few words.
func word(words ...string) *shape {
	return &shape{form: FormWord, what: oneOf(words), words: words, read: func(s string) (any, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		if len(words) == 1 {
			return nil, fmt.Errorf("%q is not known: only %s is%s", s, words[0], spelling.DidYouMean(spelling.Nearest(s, words)))
		}
		return nil, fmt.Errorf("%q is not one of %s%s", s, strings.Join(words, ", "), spelling.DidYouMean(spelling.Nearest(s, words)))
	}}
}

// hinted adds to a word what people write who mean it.
func hinted(sh *shape, hints map[string]string) *shape {
	read := sh.read
	sh.read = func(s string) (any, error) {
		if meant, ok := hints[s]; ok && !slices.Contains(sh.words, s) {
			return nil, fmt.Errorf("%q is not one of %s%s", s, strings.Join(sh.words, ", "), spelling.DidYouMean(meant))
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
	return &shape{form: FormText, what: "a text", read: func(s string) (any, error) {
		for _, c := range s {
			if unicode.IsControl(c) && !unicode.IsSpace(c) {
				return nil, fmt.Errorf("the text holds the control character U+%04X", c)
			}
		}
		return strings.Join(strings.Fields(s), " "), nil
	}}
}

// metric is the text of a metric. Whether it can be measured is found later.
func metric() *shape {
	return &shape{form: FormText, what: "a metric such as trunk.A-B.utilisation or remote.rate / local.rate", read: func(s string) (any, error) {
		v, err := text().read(s)
		if err == nil && v == "" {
			return nil, fmt.Errorf("a metric is missing, such as trunk.A-B.utilisation or remote.rate / local.rate")
		}
		return v, err
	}}
}

func scenarioName() *shape {
	return &shape{what: "a name such as hpl2002/fig3b", pattern: `^` + namePattern + `([./]` + namePattern + `)*$`, read: func(s string) (any, error) {
		if len(s) > longestScenario {
			return nil, tooLong(s, longestScenario)
		}
		for part := range strings.SplitSeq(s, "/") {
			if err := checkDotted(part, "."); err != nil {
				return nil, fmt.Errorf("%q is not a name for a scenario: it is made of letters, digits, \"_\", \"-\" and \".\", each part begins with a letter, and parts are joined by \"/\"", s)
			}
		}
		return s, nil
	}}
}

func linkName() *shape {
	return &shape{what: "a name such as trunk", pattern: `^` + namePattern + `$`, read: func(s string) (any, error) { return s, checkName(s) }}
}

func flowName() *shape {
	return &shape{what: "a name such as local", pattern: `^` + namePattern + `(\.` + namePattern + `)*$`, read: func(s string) (any, error) { return s, checkDotted(s, ".") }}
}

func checkID() *shape {
	return &shape{what: "a name such as IB-5a", pattern: `^` + namePattern + `$`, read: func(s string) (any, error) { return s, checkName(s) }}
}

// names is a name or a range of names.
func names() *shape {
	return &shape{what: "a name or a range of names such as A[1-10]", pattern: whole(rangePattern), read: func(s string) (any, error) {
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

// machineName is the name of a machine. Whether there is one is found later.
func machineName() *shape {
	return &shape{what: "the name of a machine", pattern: `^` + namePattern + `$`, read: func(s string) (any, error) { return s, checkName(s) }}
}

func jointShape() *shape {
	return &shape{what: "two machines such as \"A - B\" or \"A[1-10] - A\"", pattern: whole(rangePattern + `\s* - \s*` + rangePattern), read: func(s string) (any, error) {
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
	return &shape{what: "the name of a link", pattern: `\S`, read: func(s string) (any, error) {
		if s == "" {
			return nil, fmt.Errorf("the name of a link is missing")
		}
		return strings.Join(strings.Fields(s), " "), nil
	}}
}

func start() *shape {
	return &shape{what: "a duration such as 1ms, or a first one and a step such as 0us + 100us", units: unit.DurationUnits(), pattern: whole(durationPattern + `(\s*\+\s*` + durationPattern + `)?`), read: func(s string) (any, error) {
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
	return &shape{what: "a duration such as 60ms, or end", units: unit.DurationUnits(), words: []string{"end"}, pattern: `^end$|` + whole(durationPattern), span: span{low: "0s", above: true}, read: func(s string) (any, error) {
		if s == "end" {
			return unit.Duration(0), nil
		}
		return duration(1).read(s)
	}}
}

// timeout is a duration; zero stands for never.
func timeout() *shape {
	return &shape{what: "a duration such as 100us, or never", units: unit.DurationUnits(), words: []string{"never"}, pattern: `^never$|` + whole(durationPattern), span: span{low: "0s", above: true}, read: func(s string) (any, error) {
		if s == "never" {
			return unit.Duration(0), nil
		}
		return duration(1).read(s)
	}}
}

// window is a number of packets; zero stands for none.
func window() *shape {
	const most = 1 << 23
	return &shape{form: FormWhole, what: "a number of packets such as 1, or none", words: []string{"none"}, span: span{low: "1", high: strconv.Itoa(most)}, read: func(s string) (any, error) {
		if s == "none" {
			return int64(0), nil
		}
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil || v < 1 || v > most {
			return nil, fmt.Errorf("%q is not a whole number from 1 to %d, nor none", s, most)
		}
		return v, nil
	}}
}

func buffer() *shape { return paramShape(&param.Param{Kind: param.Room}) }
