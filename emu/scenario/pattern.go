package scenario

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/wire/param"
)

// maxRange is the most names of a range: more than the LIDs of a subnet. A larger range is
// a typing mistake.
const maxRange = 65536

// pattern is a name or a range of names: "BC", "A[1-10]", "A[01-10]x".
type pattern struct {
	text           string
	prefix, suffix string
	low, high      int
	width          int // digits, with leading zeros; 0 without a range
	ranged         bool
}

// all visits the names that a pattern stands for, in order.
func (p pattern) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !p.ranged {
			yield(p.prefix)
			return
		}
		for i := p.low; i <= p.high; i++ {
			if !yield(fmt.Sprintf("%s%0*d%s", p.prefix, p.width, i, p.suffix)) {
				return
			}
		}
	}
}

// names returns the names that a pattern stands for, in order.
func (p pattern) names() []string { return slices.AppendSeq(make([]string, 0, p.size()), p.all()) }

// size returns the number of names that a pattern stands for.
func (p pattern) size() int {
	if !p.ranged {
		return 1
	}
	return p.high - p.low + 1
}

// parsePattern reads a name or a range of names.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	open := strings.IndexByte(text, '[')
	if open < 0 {
		p.prefix = text
		return p, checkName(text)
	}
	end := strings.IndexByte(text, ']')
	if end < open {
		return p, fmt.Errorf("%q has a \"[\" without \"]\": a range is written like A[1-10]", text)
	}
	p.prefix, p.suffix, p.ranged = text[:open], text[end+1:], true
	if strings.ContainsAny(p.suffix, "[]") {
		return p, fmt.Errorf("%q has more than one pair of brackets: a name has one range, like A[1-10]", text)
	}
	lowText, highText, found := strings.Cut(text[open+1:end], "-")
	low, errLow := strconv.ParseUint(lowText, 10, 31)
	high, errHigh := strconv.ParseUint(highText, 10, 31)
	if !found || errLow != nil || errHigh != nil {
		return p, fmt.Errorf("%q is not a range: it is written like A[1-10]", text)
	}
	p.low, p.high = int(low), int(high)
	if p.high < p.low {
		return p, fmt.Errorf("the range in %q runs backwards: did you mean [%s-%s]?", text, highText, lowText)
	}
	if p.size() > maxRange {
		return p, fmt.Errorf("%q is %d names; at most %d are allowed", text, p.size(), maxRange)
	}
	if padded(lowText) || padded(highText) {
		if len(lowText) != len(highText) {
			return p, fmt.Errorf("the two ends of the range in %q have different widths", text)
		}
		p.width = len(lowText)
	}
	return p, checkName(p.prefix + lowText + p.suffix)
}

// padded reports whether a number has leading zeros.
func padded(number string) bool { return len(number) > 1 && number[0] == '0' }

// checkName returns an error unless a name may stand for a node, a link or a flow.
// Metrics, links and paths separate names by dots, slashes and spaces.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("a name is missing")
	}
	if len(name) > longestName {
		return tooLong(name, longestName)
	}
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-') {
			return fmt.Errorf("%q is not a name: a name is a letter, then letters, digits, \"_\" and \"-\"", name)
		}
	}
	return nil
}

// Names are parts of the names of files. The path of a socket has room for longestName bytes of a
// node's name; folders of results begin with the name of the scenario.
const (
	longestName     = 80
	longestScenario = 200
)

func tooLong(name string, most int) error {
	return fmt.Errorf("the name %s... has %d characters, and files are named by it: at most %d are possible",
		name[:20], len(name), most)
}

// checkDotted checks a name that consists of parts joined by a separator: each part must satisfy
// checkName.
func checkDotted(name, separator string) error {
	for part := range strings.SplitSeq(name, separator) {
		if err := checkName(part); err != nil {
			if part == name {
				return err
			}
			return fmt.Errorf("%q is not a name: each part between %q is a letter, then letters, digits, \"_\" and \"-\"",
				name, separator)
		}
	}
	return nil
}

// joint is the two sides of a link: "A[1-10] - A", or "A[1-4] x B[1-2]" for links from each to
// each.
type joint struct {
	a, b     pattern
	aAt, bAt int // offsets in the text
	mesh     bool
}

// ends returns the ends of the links.
func (j joint) ends() [][2]string {
	if !j.mesh {
		return pairs(j.a, j.b)
	}
	var all [][2]string
	for a := range j.a.all() {
		for b := range j.b.all() {
			all = append(all, [2]string{a, b})
		}
	}
	return all
}

// readJoint reads the two sides of a link.
func readJoint(text string) (any, error) {
	sign := " - "
	if strings.Contains(text, " x ") {
		sign = " x "
	}
	a, b, _ := strings.Cut(text, sign)
	if strings.Count(text, sign) != 1 {
		return nil, param.Misread{Err: fmt.Errorf("%q is not a link: it is written \"X - Y\", with spaces around the dash, such as \"A[1-10] - A\"", text)}
	}
	leading := func(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }
	j := joint{aAt: leading(a), bAt: len(a) + len(sign) + leading(b), mesh: sign == " x "}
	var err error
	if j.a, err = parsePattern(strings.TrimSpace(a)); err != nil {
		return nil, param.Misread{Err: err, At: j.aAt}
	}
	if j.b, err = parsePattern(strings.TrimSpace(b)); err != nil {
		return nil, param.Misread{Err: err, At: j.bAt}
	}
	switch long, short := max(j.a.size(), j.b.size()), min(j.a.size(), j.b.size()); {
	case j.mesh && long > maxRange/short:
		err = fmt.Errorf("%q is %d times %d links; at most %d are allowed", text, j.a.size(), j.b.size(), maxRange)
	case !j.mesh && long%short != 0:
		err = fmt.Errorf("%s has %d nodes and %s has %d: ranges are joined pairwise, so one length must be a multiple of the other; %q joins each to each",
			j.a.text, j.a.size(), j.b.text, j.b.size(), j.a.text+" x "+j.b.text)
	}
	if err != nil {
		return nil, param.Misread{Err: err, At: j.bAt}
	}
	return j, nil
}

// pairs returns the names on both sides, one pair for each link or flow: each name of the shorter
// side belongs to as many of the longer one, in order.
func pairs(a, b pattern) [][2]string {
	as, bs := a.names(), b.names()
	n := max(len(as), len(bs))
	out := make([][2]string, n)
	for i := range out {
		out[i] = [2]string{as[i*len(as)/n], bs[i*len(bs)/n]}
	}
	return out
}

// listNames lists the existing names for a missing one, the nearest first, and asks whether that
// was meant.
func listNames(name string, names []string) string {
	switch len(names) {
	case 0:
		return ": there is none"
	case 1:
		return fmt.Sprintf("%s: there is %s", spelling.DidYouMean(spelling.Nearest(name, names)), names[0])
	}
	return fmt.Sprintf("%s: there are %s",
		spelling.DidYouMean(spelling.Nearest(name, names)), spelling.Several(spelling.ByNearness(name, names)))
}
