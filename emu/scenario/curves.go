package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/param"
)

// Curves chooses links, groups of flows, flows and workloads by their names, for pictures and
// tables of a run. Its text has names with commas between. A name may have ranges and stand for
// many: "leaf[1-4]-spine[1-2]", "h*-leaf1".
type Curves struct{ Text string }

func (c Curves) String() string { return c.Text }

// Names returns the names, as they are in the text.
func (c Curves) Names() (all []string) {
	for name := range strings.SplitSeq(c.Text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// Form describes the texts (param.Formed).
func (Curves) Form() param.Form {
	return param.Form{
		Wanted: `a list of names such as [web, trunk.A-B, "leaf[1-4]-spine1"]`, Pattern: `\S`, Listed: true,
		Read: func(text string) (any, error) {
			c := Curves{strings.TrimSpace(text)}
			for _, name := range c.Names() {
				if _, err := Chooser(name); err != nil {
					return c, err
				}
			}
			if len(c.Names()) == 0 {
				return c, errors.New("the list is empty: leave curves out for the default ones")
			}
			return c, nil
		},
	}
}

// numbers is a range in a name: [1-16].
var numbers = regexp.MustCompile(`\[([0-9]{1,9})-([0-9]{1,9})\]`)

// Plural reports whether a name of Curves may stand for several.
func Plural(name string) bool { return strings.ContainsAny(name, "[*") }

// Chooser returns a function that reports whether a name of Curves stands for the name of an
// object: * stands for any characters, and [1-16] for a number in the range.
func Chooser(name string) (func(object string) bool, error) {
	var expression strings.Builder
	var ranges [][2]uint64
	literal := func(text string) {
		expression.WriteString(strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, `.*`))
	}
	at := 0
	for _, m := range numbers.FindAllStringSubmatchIndex(name, -1) {
		literal(name[at:m[0]])
		low, _ := strconv.ParseUint(name[m[2]:m[3]], 10, 32)
		high, _ := strconv.ParseUint(name[m[4]:m[5]], 10, 32)
		if low > high {
			return nil, fmt.Errorf("the range in %q runs backwards", name)
		}
		ranges = append(ranges, [2]uint64{low, high})
		expression.WriteString("([0-9]+)")
		at = m[1]
	}
	literal(name[at:])
	if strings.ContainsAny(name[at:], "[]") {
		return nil, fmt.Errorf("%q is not a name: a range is written like h[1-16]", name)
	}
	of := regexp.MustCompile("^" + expression.String() + "$")
	return func(object string) bool {
		found := of.FindStringSubmatch(object)
		for i, r := range ranges {
			if found == nil {
				break
			}
			if n, err := strconv.ParseUint(found[i+1], 10, 64); err != nil || n < r[0] || n > r[1] {
				return false
			}
		}
		return found != nil
	}, nil
}

// Choose returns a function that reports whether one of the names stands for the name of an object.
// Without names each object is chosen.
func (c Curves) Choose() func(object string) bool {
	var all []func(string) bool
	for _, name := range c.Names() {
		if of, err := Chooser(name); err == nil {
			all = append(all, of)
		}
	}
	return func(object string) bool {
		return len(all) == 0 || slices.ContainsFunc(all, func(of func(string) bool) bool { return of(object) })
	}
}
