package generate

import (
	"fmt"
	"strings"

	"fabemu/wire/unit"
)

// dimension returns the first dimension that is given instead of Endpoints, or nothing.
func (o *Options) dimension() string {
	for _, f := range o.flags() {
		if f.value != 0 && f.name != "--rails" {
			return f.name
		}
	}
	return ""
}

// names returns a range of names, quoted: "A[1-10]", or A1 for a single one. A suffix comes behind
// the number.
func names(prefix string, low, high int, suffix ...string) string {
	after := strings.Join(suffix, "")
	if low == high {
		return fmt.Sprintf("%s%d%s", prefix, low, after)
	}
	return fmt.Sprintf("\"%s[%d-%d]%s\"", prefix, low, high, after)
}

// joined returns a link or links, pairwise or as far as one side goes: "A[1-10] - A".
func joined(a, b string) string {
	return `"` + strings.Trim(a, `"`) + " - " + strings.Trim(b, `"`) + `"`
}

// rounded returns a time of whole microseconds with two digits, or a little more, that is no
// shorter.
func rounded(d unit.Duration) unit.Duration {
	round := unit.Microsecond
	for 100*round < d {
		round *= 10
	}
	return (d + round - 1) / round * round
}

func (o *Options) flags() []flag {
	return []flag{{"--k", o.Ports}, {"--pods", o.Pods}, {"--leaves", o.Leaves}, {"--hosts-per-leaf", o.PerLeaf},
		{"--rails", o.Rails}}
}
