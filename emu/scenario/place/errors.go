package place

import (
	"cmp"
	"fmt"
	"strings"
)

// Error is a mistake in a file, or in a --set.
type Error struct {
	File    string `json:"file,omitempty"`    // its name; empty for a mistake in a --set
	Line    int    `json:"line,omitempty"`    // from 1; 0 for a mistake in a --set
	Column  int    `json:"column,omitempty"`  // in characters, from 1; 0 for a mistake in a --set
	Path    string `json:"path,omitempty"`    // the field, such as "defaults.link.rate"; may be empty
	Message string `json:"message"`           // the mistake, the allowed values, and the nearest name
	Excerpt string `json:"excerpt,omitempty"` // the line with a caret under the place, or the --set
}

// Error prints the mistake without its excerpt, on one line.
func (e Error) Error() string {
	at := cmp.Or(e.Excerpt, e.File)
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
		if e.Path != "" {
			at += ": " + e.Path
		}
	}
	return at + ": " + e.Message
}

// Errors has all mistakes that were found in a file.
type Errors struct {
	List []Error // by position; mistakes of --set come last
}

// mostPrinted is the most mistakes that Errors.Error prints: one name may be wrong in a thousand
// places.
const mostPrinted = 50

// Error prints the mistakes with their excerpts, of very many the first.
func (e *Errors) Error() string {
	var lines []string
	for i, m := range e.List {
		if i == mostPrinted {
			lines = append(lines, fmt.Sprintf("and %d more mistakes", len(e.List)-i))
			break
		}
		lines = append(lines, m.Error())
		if m.Line > 0 && m.Excerpt != "" {
			lines = append(lines, m.Excerpt)
		}
	}
	return strings.Join(lines, "\n")
}
