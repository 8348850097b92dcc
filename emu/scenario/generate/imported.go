package generate

import (
	"fmt"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/scenario"
)

// Imported is what an importer makes of the file of another program.
type Imported struct {
	Scenario []byte   // its text
	Goal     []byte   // messages that wait for others, as a GOAL file; nil: there are none
	Left     []string // parts of the file that no scenario can have, each with the reason
	Warnings []string // values that the file does not state clearly, with those taken instead
}

// MostBytes is the size of the largest file that is imported.
const MostBytes = 16 << 20

// checkSize refuses a file that is larger than MostBytes.
func checkSize(file string, text []byte) error {
	if len(text) > MostBytes {
		return errs.Errorf("%s: the file has more than %d MiB", file, MostBytes>>20)
	}
	return nil
}

// comments returns the lines of a scenario that say what its file lacks.
func (x *Imported) comments() string {
	var b strings.Builder
	for _, why := range x.Left {
		fmt.Fprintf(&b, "# Left out: %s\n", strings.Join(strings.Fields(why), " "))
	}
	for _, why := range x.Warnings {
		fmt.Fprintf(&b, "# Warning: %s\n", strings.Join(strings.Fields(why), " "))
	}
	return b.String()
}

// longestNode is the longest name that an importer gives a node: with the number of a port behind
// it, it is a name still.
const longestNode = 60

// namer gives nodes names that are unique.
type namer map[string]bool

// name returns a name that is made of a text and a suffix.
func (n namer) name(text, suffix string) string {
	base := strings.Trim(odd.ReplaceAllString(text, "-"), "-")
	if len(base) > longestNode {
		base = strings.TrimRight(base[:longestNode], "-")
	}
	if scenario.CheckName(base) != nil {
		base = "node-" + base
	}
	name := base + suffix
	for k := 2; n[name]; k++ {
		name = fmt.Sprintf("%s-%d%s", base, k, suffix)
	}
	n[name] = true
	return name
}

// notes are what is left out of a file, with the first line and how many more there are.
type notes struct {
	order []string
	lines map[string][2]int
}

// add notes that something in a line is left out.
func (n *notes) add(line int, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	at, known := n.lines[why]
	if !known {
		if n.lines == nil {
			n.lines = map[string][2]int{}
		}
		n.order = append(n.order, why)
		at = [2]int{line, -1}
	}
	n.lines[why] = [2]int{at[0], at[1] + 1}
}

// list returns the notes as messages.
func (n *notes) list(file string) (all []string) {
	for _, why := range n.order {
		more := ""
		if k := n.lines[why][1]; k > 0 {
			more = fmt.Sprintf(" (and %d more)", k)
		}
		all = append(all, fmt.Sprintf("%s:%d: %s%s", file, n.lines[why][0], why, more))
	}
	return all
}
