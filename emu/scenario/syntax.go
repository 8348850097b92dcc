package scenario

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// syntax reports that the YAML parser has refused the file: what it found, where, and on a later line than
// the beginning of what it was reading, where that began.
func (r *reports) syntax(err error) {
	at, message := spotAt(1, 1), err.Error()
	var e *yaml.LoadError
	if errors.As(err, &e) {
		at, message = spotAt(max(e.Mark.Line, 1), max(e.Mark.Column, 1)), e.Message
		if begin := e.ContextMark; begin.Line > 0 && begin.Line < e.Mark.Line {
			message += fmt.Sprintf(", %s from line %d, column %d on", e.ContextMsg, begin.Line, begin.Column)
		}
	}
	if end := r.before(at.at); end != at.at {
		at.at = end
		message += "; the file ends here"
	}
	if strings.Contains(message, "tab character") || r.character(at.at) == '\t' {
		message = "a tab stands where YAML wants spaces"
	}
	for _, h := range hints {
		if strings.HasPrefix(message, h.of) {
			message += "; " + h.hint
		}
	}
	r.add(at, "this is not YAML: %s", message)
}

// hints tell what is meant most often where the YAML parser says how its message begins.
var hints = []struct{ of, hint string }{
	{"mapping values are not allowed", `a text that holds ": " stands in quotes, and the keys of a mapping begin in one column`},
	{"did not find expected key", "the keys of a mapping begin in one column"},
	{"did not find expected '-' indicator", "the items of a list begin in one column"},
	{"could not find expected ':'", "behind a key stand a colon and a space"},
	{"found character that cannot start any token", "a text that begins with it stands in quotes"},
}

// before returns a place of the file, or the end of its text for one that is behind that.
func (r *reports) before(p place) place {
	last := len(r.lines)
	for last > 1 && strings.TrimSpace(r.lines[last-1]) == "" {
		last--
	}
	if p.line > last {
		p.line, p.column = last, utf8.RuneCountInString(strings.TrimRight(r.lines[last-1], " \t\r"))+1
	}
	return p
}

// character returns what stands at a place of the file, or 0.
func (r *reports) character(p place) rune {
	if p.line > len(r.lines) {
		return 0
	}
	column := 0
	for _, c := range r.lines[p.line-1] {
		if column++; column == p.column {
			return c
		}
	}
	return 0
}

// errDeep says that a file nests too deeply.
type errDeep struct{}

func (errDeep) Error() string { return fmt.Sprintf("nested more than %d deep", maxDepth) }
