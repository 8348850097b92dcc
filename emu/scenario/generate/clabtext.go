package generate

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// mostNested is how deep the defaults of variables may be nested.
const mostNested = 20

// A variable, and the text in the braces of one with an operator.
var (
	variable = regexp.MustCompile(`^[\pL_][\pL\pN_]*`)
	operated = regexp.MustCompile(`^(:?)([-=+?])(.*)$`)
)

// expand replaces the variables of a topology as containerlab does, before the text is YAML: $VAR,
// ${VAR}, ${VAR:-x}, ${VAR:=x}, ${VAR-x} and ${VAR=x}, ${VAR:+x} and ${VAR+x}, ${VAR:?x} and
// ${VAR?x}, as in a shell. $$ is a dollar sign. A variable with neither a value nor a default stays
// as it is, and so does every other dollar sign, because commands of nodes are full of them. An
// error names its line.
func expand(text string, lookup func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := expandLine(&out, line, lookup, 0); err != nil {
			return "", fmt.Errorf("line %d: %w", n, err)
		}
	}
	return out.String(), nil
}

// expandLine writes a line, or a default that is so many others deep.
func expandLine(out *strings.Builder, line string, lookup func(string) (string, bool), nested int) error {
	if nested > mostNested {
		return fmt.Errorf("more than %d defaults of variables in one another", mostNested)
	}
	for {
		before, after, found := strings.Cut(line, "$")
		out.WriteString(before)
		if !found {
			return nil
		}
		inner, braced := strings.CutPrefix(after, "{")
		name := variable.FindString(inner)
		value, set := "", false
		if name != "" && name != "_" {
			value, set = lookup(name)
		}
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			line = after[1:]
			continue
		case name == "" || name == "_":
			out.WriteByte('$')
			line = after
			continue
		case !braced:
			out.WriteString(cmp.Or(value, "$"+name))
			line = after[len(name):]
			continue
		}
		end := closing(inner)
		if end < 0 {
			return fmt.Errorf("${%s has no } in its line", name)
		}
		line = inner[end+1:]
		part := operated.FindStringSubmatch(inner[len(name):end])
		has := set && (value != "" || part == nil || part[1] == "")
		switch {
		case len(name) == end:
			out.WriteString(cmp.Or(value, "$"+name))
		case part == nil: // it is for a shell
			out.WriteString("${" + inner[:end+1])
		case part[2] == "+" && !has:
		case part[2] != "+" && has:
			out.WriteString(value)
		case part[2] == "?":
			return errors.New(cmp.Or(part[3], "the environment has no "+name+": set it"))
		default:
			if err := expandLine(out, part[3], lookup, nested+1); err != nil {
				return err
			}
		}
	}
}

// closing returns the offset of the brace that closes a text; negative: there is none.
func closing(text string) int {
	depth := 0
	for i, c := range text {
		switch {
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		case c == '{' && strings.HasSuffix(text[:i], "$"):
			depth++
		}
	}
	return -1
}

// templated returns the line at which a topology has an action of a Go template; 0: it has none.
func templated(text string) int {
	at := strings.Index(text, "{{")
	if at < 0 {
		return 0
	}
	return 1 + strings.Count(text[:at], "\n")
}
