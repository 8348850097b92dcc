package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is a mistake in a scenario.
type Error struct {
	File    string `json:"file,omitempty"`    // name given to Load; empty for a mistake in a --set
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

// Errors has all mistakes that Load found in a scenario.
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

// reports collects mistakes while a file is read.
type reports struct {
	file     string
	text     string
	lines    []string
	list     []Error
	warnings []Error
	seen     map[message]bool
	grammar  grammar // what the tree is read against
	root     *node   // of the tree
}

// message identifies a message by its place and its kind. Values are often shared: 20 links inherit
// a default, an item stands for 100 flows. A mistake is reported for the first of them only.
type message struct {
	at     spot
	format string
}

func newReports(file, text string) *reports {
	return &reports{file: file, text: text, lines: strings.Split(text, "\n"), seen: map[message]bool{}}
}

// add reports a mistake at a place.
func (r *reports) add(at spot, format string, args ...any) {
	if r.first(at, format) {
		r.list = append(r.list, r.entry(at, fmt.Sprintf(format, args...)))
	}
}

// warn reports a value that is probably not intended, at a place.
func (r *reports) warn(at spot, format string, args ...any) {
	if r.first(at, format) {
		r.warnings = append(r.warnings, r.entry(at, fmt.Sprintf(format, args...)))
	}
}

// first reports whether a place has its first message of a kind.
func (r *reports) first(at spot, format string) bool {
	m := message{at, format}
	seen := r.seen[m]
	r.seen[m] = true
	return !seen
}

// mostMessage is the longest message in bytes. A longer one repeats a long value: its middle is
// left out.
const mostMessage = 2000

// entry returns a message with its place.
func (r *reports) entry(at spot, message string) Error {
	if n := len(message); n > mostMessage {
		message = strings.ToValidUTF8(message[:mostMessage/4]+" ... "+message[n-mostMessage/2:], "")
	}
	e := Error{File: r.file, Line: at.at.line, Column: at.at.column, Path: at.path, Message: message}
	switch {
	case at.at.set != nil:
		e.File, e.Line, e.Column = "", 0, 0
		e.Excerpt = at.at.set.source()
	case e.Line > 0:
		e.Excerpt = r.excerpt(e.Line, e.Column)
	}
	return e
}

// err returns the mistakes that were collected, by position, or nil.
func (r *reports) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, byPlace)
	return &Errors{List: r.list}
}

// sorted returns the warnings, by position.
func (r *reports) sorted() []Error {
	slices.SortStableFunc(r.warnings, byPlace)
	return r.warnings
}

// byPlace orders by position. Mistakes without a position come last.
func byPlace(a, b Error) int {
	if (a.Line == 0) != (b.Line == 0) {
		return cmp.Compare(b.Line, a.Line)
	}
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// excerptWidth is how much of a long line is shown, in characters.
const excerptWidth = 100

// excerpt shows a line of the file with a caret under a column.
func (r *reports) excerpt(line, column int) string {
	if line > len(r.lines) {
		return ""
	}
	text := []rune(strings.TrimRight(r.lines[line-1], "\r"))
	at := min(max(column-1, 0), len(text))
	before, after := "", ""
	if len(text) > excerptWidth {
		from := min(max(at-excerptWidth/2, 0), len(text)-excerptWidth)
		if from > 0 {
			before = "..."
		}
		if from+excerptWidth < len(text) {
			after = "..."
		}
		text, at = text[from:from+excerptWidth], at-from
	}
	visible := func(c rune) rune {
		if c < ' ' && c != '\t' {
			return '\uFFFD'
		}
		return c
	}
	blank := func(c rune) rune { // keeps the caret below its character at any width of tabs
		if c != '\t' {
			return ' '
		}
		return c
	}
	return fmt.Sprintf("%5d | %s%s%s\n      | %*s%s^", line, before, strings.Map(visible, string(text)), after,
		len(before), "", strings.Map(blank, string(text[:at])))
}
