package param

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

// Sets returns the parameter whose words name sets of values of the others, each with its source;
// nil if there is none.
func (s *Struct) Sets() *Param {
	for i := range s.Params {
		if p := &s.Params[i]; p.sources != nil && p.of == "" {
			return p
		}
	}
	return nil
}

// made has, by the words of a parameter of sets, for which fabrics a set was made.
type made struct{ rates, trips []string }

// Made is for which fabrics a set was made; zero where its source does not say.
type Made struct {
	Least, Most unit.Rate // of links
	Rates       string    // the same in words
	Trip        unit.Duration
}

// String describes them: "25Gb/s to 400Gb/s, a round trip of 13us".
func (m Made) String() string {
	text := m.Rates
	if m.Trip > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s, a round trip of %v", text, m.Trip), ", ")
	}
	return text
}

// MadeFor returns for which fabrics a set was made.
func (p *Param) MadeFor(set string) (m Made) {
	i := slices.Index(p.Words, set)
	low, high, found := strings.Cut(at(p.made.rates, i), "-")
	if !found {
		high = low
	}
	m.Least, _ = unit.ParseRate(low)
	m.Most, _ = unit.ParseRate(high)
	m.Rates = strings.Replace(at(p.made.rates, i), "-", " to ", 1)
	m.Trip, _ = unit.ParseDuration(at(p.made.trips, i))
	return m
}

// Search is a range in which a parameter may be searched that has no source.
type Search struct {
	Low, High string  // as a file writes them; empty: Factor gives them
	Factor    float64 // from the value over it to the value times it; 0: there is no such range
	No        bool    // the parameter is not searched
}

// searchOf reads the tag search.
func searchOf(tag string, wrong func(format string, args ...any)) (s Search) {
	var found bool
	if s.Low, s.High, found = strings.Cut(tag, ".."); found || tag == "" {
		return s
	}
	s.Low, s.No = "", tag == "no"
	if f, err := strconv.ParseFloat(tag, 64); err == nil && f > 1 {
		s.Factor = f
	} else if !s.No {
		wrong("search is %q: a range such as 1..4, a factor above 1, or no", tag)
	}
	return s
}

// SetsOf returns the names of the sets that have a value of the parameter.
func (p *Param) SetsOf() []string { return p.sets }

// In returns the value in a set, as a file writes it; empty: it is computed.
func (p *Param) In(set string) string {
	if text, ok := p.perSet(p.by.texts, set); ok {
		return text
	}
	return p.Default
}

// SourceIn returns the source of a value in a set; empty: it has none of its own.
func (p *Param) SourceIn(set string) string {
	text, _ := p.perSet(p.sources, set)
	return text
}

// RuleIn returns how the source of a set computes the value for another fabric; empty: it does not.
// See Rule.
func (p *Param) RuleIn(set string) string {
	text, _ := p.perSet(p.rules, set)
	return text
}

// GuessedIn reports whether the value in a set, or if ruled the rule that computes it, has no
// source.
func (p *Param) GuessedIn(set string, ruled bool) bool {
	return slices.Contains(p.guesses, set) || !ruled && slices.Contains(p.guesses, set+" value")
}

// perSet returns a text of a set; sets is nil for a struct that has none.
func (p *Param) perSet(texts []string, set string) (string, bool) {
	i := slices.Index(p.sets, set)
	return at(texts, i), i >= 0 && i < len(texts)
}

// at returns an item of a list, or nothing.
func at(list []string, i int) string {
	if i < 0 || i >= len(list) {
		return ""
	}
	return list[i]
}

// declareSets reads the tags about sets.
func (p *Param) declareSets(tags map[string]string, words []string, wrong func(format string, args ...any)) {
	lists := map[string]*[]string{"from": &p.sources, "rule": &p.rules, "rates": &p.made.rates, "trips": &p.made.trips}
	for name, list := range lists {
		if tags[name] == "" {
			continue
		}
		text := tags[name]
		if key, rest, is := strings.Cut(text, "="); is && !strings.ContainsAny(key, " |") {
			p.of, text = key, rest
		}
		if *list = split(text); p.of == "" && len(*list) != len(words) {
			wrong("%s needs one for each word", name)
		}
	}
	p.guesses = split(tags["guess"])
	grows, unless, _ := strings.Cut(tags["grows"], "/")
	p.Grows, p.Unless = grows, unless
	p.Search = searchOf(tags["search"], wrong)
	for _, rule := range p.rules {
		if _, err := Rule(rule, nil); err != nil {
			wrong("%v", err)
		}
	}
}

// goesWith has a parameter know the sets of its struct, and checks that it has something for each.
func (p *Param) goesWith(sets *Param) {
	switch {
	case p == sets:
		p.sets = p.Words
		return
	case sets == nil && (p.of != "" || p.guesses != nil):
		panic("param: " + p.Key + " has tags about sets, and its struct has none")
	case sets == nil:
		return
	}
	p.sets = sets.Words
	if p.of != "" && p.of != sets.Key {
		panic("param: " + p.Key + ": the sets are of " + sets.Key + ", not of " + p.of)
	}
	if p.by.key != "" && p.by.key != sets.Key {
		panic("param: " + p.Key + ": its defaults go by " + p.by.key + ", and the sets by " + sets.Key)
	}
	for _, list := range [][]string{p.rules, p.sources} {
		if list != nil && len(list) != len(sets.Words) {
			panic("param: " + p.Key + " needs a source and a rule for each word of " + sets.Key)
		}
	}
	for _, g := range p.guesses {
		if !slices.Contains(sets.Words, strings.TrimSuffix(g, " value")) {
			panic("param: " + p.Key + ": there is no set " + g)
		}
	}
}

// The quantities of a fabric that a rule may use.
const (
	LinkRate  = "rate"       // of the links of the endpoints, in bytes per second
	RoundTrip = "rtt"        // the longest without queues, in seconds
	OneSwitch = "one-switch" // the round trip over one switch, in seconds
	PerSwitch = "per-switch" // what a further switch adds to it on the longest path, in seconds
	Switches  = "switches"   // on the longest path, where flows do not know theirs
)

// Rule computes the value of a rule: quantities and constants such as 25Gb/s or 0.5, with * and /
// between them, each apart by a space. The result is in bytes, bytes per second or seconds. It is
// NaN if a quantity is unknown.
func Rule(rule string, quantities map[string]float64) (float64, error) {
	if rule == "" {
		return math.NaN(), nil
	}
	value, operator := 1.0, "*"
	for i, word := range strings.Fields(rule) {
		if i%2 == 1 {
			if operator = word; word != "*" && word != "/" {
				return 0, fmt.Errorf("the rule %s has %q where * or / is expected", rule, word)
			}
			continue
		}
		x, err := term(word, quantities)
		if err != nil {
			return 0, fmt.Errorf("the rule %s: %w", rule, err)
		}
		if operator == "/" {
			x = 1 / x
		}
		value = float64(value * x)
		operator = ""
	}
	if operator != "" {
		return 0, fmt.Errorf("the rule %s ends with %s", rule, operator)
	}
	return value, nil
}

// term returns a quantity or a constant.
func term(word string, quantities map[string]float64) (float64, error) {
	switch word {
	case LinkRate, RoundTrip, OneSwitch, PerSwitch, Switches:
		if x, ok := quantities[word]; ok {
			return x, nil
		}
		return math.NaN(), nil
	}
	if x, err := strconv.ParseFloat(word, 64); err == nil {
		return x, nil
	}
	if d, err := unit.ParseDuration(word); err == nil {
		return d.Seconds(), nil
	}
	if r, err := unit.ParseRate(word); err == nil {
		return r.BytesPerSecond(), nil
	}
	if n, err := unit.ParseSize(word); err == nil {
		return float64(n), nil
	}
	return 0, fmt.Errorf("%q is neither a quantity of a fabric nor a value", word)
}

// Ruled returns the value that the rule of a set gives for a fabric, as a file writes it: times in
// steps of 10 ns, upwards. It is empty if there is no rule, or it gives nothing in range.
func (p *Param) Ruled(set string, quantities map[string]float64) string {
	x, err := Rule(p.RuleIn(set), quantities)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return ""
	}
	const slack = 1e-9 // of a step, so that what is a whole number but for rounding stays
	text := ""
	switch p.Kind {
	case Duration:
		const step = 10 * unit.Nanosecond
		text = fmt.Sprint(unit.Duration(math.Ceil(float64(x*float64(unit.Second))/float64(step)-slack)) * step)
	case Size:
		text = fmt.Sprint(max(unit.Size(math.Ceil(x-slack)), 1))
	case Rate:
		text = fmt.Sprint(unit.Rate(math.Round(8 * x)))
	case Whole:
		text = strconv.FormatInt(int64(math.Ceil(x-slack)), 10)
	default:
		text = strconv.FormatFloat(x, 'g', 6, 64)
	}
	if _, err := p.Read(text); err != nil {
		return ""
	}
	return text
}
