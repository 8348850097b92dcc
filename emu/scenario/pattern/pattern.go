package pattern

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

// Names is a name or a range of names: "BC", "A[1-10]", "A[01-10]x".
type Names struct {
	Text           string
	Prefix, suffix string
	low, high      int
	width          int // digits, with leading zeros; 0 without a range
	Ranged         bool
}

// All visits the names that a pattern stands for, in order.
func (p Names) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !p.Ranged {
			yield(p.Prefix)
			return
		}
		for i := p.low; i <= p.high; i++ {
			if !yield(fmt.Sprintf("%s%0*d%s", p.Prefix, p.width, i, p.suffix)) {
				return
			}
		}
	}
}

// List returns the names that a pattern stands for, in order.
func (p Names) List() []string { return slices.AppendSeq(make([]string, 0, p.Size()), p.All()) }

// Size returns the number of names that a pattern stands for.
func (p Names) Size() int {
	if !p.Ranged {
		return 1
	}
	return p.high - p.low + 1
}

// Parse reads a name or a range of names.
func Parse(text string) (Names, error) {
	p := Names{Text: text}
	open := strings.IndexByte(text, '[')
	if open < 0 {
		p.Prefix = text
		return p, Check(text)
	}
	end := strings.IndexByte(text, ']')
	if end < open {
		return p, fmt.Errorf("%q has a \"[\" without \"]\": a range is written like A[1-10]", text)
	}
	p.Prefix, p.suffix, p.Ranged = text[:open], text[end+1:], true
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
	if p.Size() > maxRange {
		return p, fmt.Errorf("%q is %d names; at most %d are allowed", text, p.Size(), maxRange)
	}
	if padded(lowText) || padded(highText) {
		if len(lowText) != len(highText) {
			return p, fmt.Errorf("the two ends of the range in %q have different widths", text)
		}
		p.width = len(lowText)
	}
	return p, Check(p.Prefix + lowText + p.suffix)
}

// padded reports whether a number has leading zeros.
func padded(number string) bool { return len(number) > 1 && number[0] == '0' }

// Check returns an error unless a name may stand for a node, a link or a flow.
// Metrics, links and paths separate names by dots, slashes and spaces.
func Check(name string) error {
	if name == "" {
		return fmt.Errorf("a name is missing")
	}
	if len(name) > longestName {
		return TooLong(name, longestName)
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
	LongestScenario = 200
)

// TooLong returns the error of a name with more characters than are possible.
func TooLong(name string, most int) error {
	return fmt.Errorf("the name %s... has %d characters, and files are named by it: at most %d are possible",
		name[:20], len(name), most)
}

// CheckDotted checks a name that consists of parts joined by a separator: each part must satisfy
// Check.
func CheckDotted(name, separator string) error {
	for part := range strings.SplitSeq(name, separator) {
		if err := Check(part); err != nil {
			if part == name {
				return err
			}
			return fmt.Errorf("%q is not a name: each part between %q is a letter, then letters, digits, \"_\" and \"-\"",
				name, separator)
		}
	}
	return nil
}

// Joint is the two sides of a link: "A[1-10] - A", or "A[1-4] x B[1-2]" for links from each to
// each.
type Joint struct {
	A, B     Names
	AAt, BAt int // offsets in the text
	mesh     bool
}

// Ends returns the ends of the links.
func (j Joint) Ends() [][2]string {
	if !j.mesh {
		return Pairs(j.A, j.B)
	}
	var all [][2]string
	for a := range j.A.All() {
		for b := range j.B.All() {
			all = append(all, [2]string{a, b})
		}
	}
	return all
}

// ParseJoint reads the two sides of a link.
func ParseJoint(text string) (any, error) {
	sign := " - "
	if strings.Contains(text, " x ") {
		sign = " x "
	}
	a, b, _ := strings.Cut(text, sign)
	if strings.Count(text, sign) != 1 {
		return nil, param.Misread{Err: fmt.Errorf("%q is not a link: it is written \"X - Y\", with spaces around the dash, such as \"A[1-10] - A\"", text)}
	}
	leading := func(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }
	j := Joint{AAt: leading(a), BAt: len(a) + len(sign) + leading(b), mesh: sign == " x "}
	var err error
	if j.A, err = Parse(strings.TrimSpace(a)); err != nil {
		return nil, param.Misread{Err: err, At: j.AAt}
	}
	if j.B, err = Parse(strings.TrimSpace(b)); err != nil {
		return nil, param.Misread{Err: err, At: j.BAt}
	}
	switch long, short := max(j.A.Size(), j.B.Size()), min(j.A.Size(), j.B.Size()); {
	case j.mesh && long > maxRange/short:
		err = fmt.Errorf("%q is %d times %d links; at most %d are allowed", text, j.A.Size(), j.B.Size(), maxRange)
	case !j.mesh && long%short != 0:
		err = fmt.Errorf("%s has %d nodes and %s has %d: ranges are joined pairwise, so one length must be a multiple of the other; %q joins each to each",
			j.A.Text, j.A.Size(), j.B.Text, j.B.Size(), j.A.Text+" x "+j.B.Text)
	}
	if err != nil {
		return nil, param.Misread{Err: err, At: j.BAt}
	}
	return j, nil
}

// Pairs returns the names on both sides, one pair for each link or flow: each name of the shorter
// side belongs to as many of the longer one, in order.
func Pairs(a, b Names) [][2]string {
	as, bs := a.List(), b.List()
	n := max(len(as), len(bs))
	out := make([][2]string, n)
	for i := range out {
		out[i] = [2]string{as[i*len(as)/n], bs[i*len(bs)/n]}
	}
	return out
}

// Nearest lists the existing names for a missing one, the nearest first, and asks whether that
// was meant.
func Nearest(name string, names []string) string {
	switch len(names) {
	case 0:
		return ": there is none"
	case 1:
		return fmt.Sprintf("%s: there is %s", spelling.DidYouMean(spelling.Nearest(name, names)), names[0])
	}
	return fmt.Sprintf("%s: there are %s",
		spelling.DidYouMean(spelling.Nearest(name, names)), spelling.Several(spelling.ByNearness(name, names)))
}
