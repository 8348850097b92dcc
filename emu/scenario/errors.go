package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/wire/param"
)

// Error is a mistake in a scenario.
type Error struct {
	File    string // name given to Load; empty for a mistake in a --set
	Line    int    // from 1; 0 for a mistake in a --set
	Column  int    // in characters, from 1; 0 for a mistake in a --set
	Path    string // the field, such as "defaults.link.rate"; may be empty
	Message string // what is wrong, what is allowed, and the nearest name
	Excerpt string // the line with a caret under the place, or the --set
}

// Error prints the mistake without its excerpt, on one line.
func (e Error) Error() string {
	var b strings.Builder
	switch {
	case e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
		if e.Path != "" {
			b.WriteString(e.Path + ": ")
		}
	case e.Excerpt != "":
		b.WriteString(e.Excerpt + ": ")
	default:
		b.WriteString(e.File + ": ")
	}
	return b.String() + e.Message
}

// Errors is all that is wrong with a scenario: what Load returns.
type Errors struct {
	List []Error // by position; those of --set come last
}

// Error prints every mistake with its excerpt.
func (e *Errors) Error() string {
	var b strings.Builder
	for _, m := range e.List {
		b.WriteString(m.Error() + "\n")
		if m.Line > 0 && m.Excerpt != "" {
			b.WriteString(m.Excerpt + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Unwrap returns the mistakes one by one, for errors.As.
func (e *Errors) Unwrap() []error {
	list := make([]error, len(e.List))
	for i, m := range e.List {
		list[i] = m
	}
	return list
}

// reports collects mistakes while a file is read.
type reports struct {
	file     string
	lines    []string
	nodes    []node // that are not in use yet
	list     []Error
	warnings []Warning
	seen     map[string]bool // place and message, so that a default that 20 links inherit is refused once
	astray   bool            // the short run names a check that there is not
	fabric   bool            // a mistake may have left out a machine, a link or a flow, or a value that they need
}

func newReports(file, src string) *reports {
	return &reports{file: file, lines: strings.Split(src, "\n"), seen: map[string]bool{}}
}

// place is where a mistake stands: in the file, or in a --set.
type place struct {
	line, column int
	set          *Set
}

// spot is a place and the field there, as in Error.Path.
type spot struct {
	at   place
	path string
}

// field is the spot of a field of what stands at s; the field is missing, or has no place of its own.
func (s spot) field(key string) spot { return spot{s.at, param.Path(s.path, key)} }

// add reports a mistake at a place.
func (r *reports) add(at spot, format string, args ...any) {
	if e, first := r.entry(at, fmt.Sprintf(format, args...)); first {
		r.list = append(r.list, e)
		r.affect(at.path)
	}
}

// affect notes that a mistake was found, by the path where it stands.
func (r *reports) affect(path string) {
	switch section, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), "."); section {
	case "name", "source", "description", "model", "wall", "events", "measure", "expect":
	default:
		r.fabric = true
	}
}

// addUnknown reports a key that is not known: the fabric is what it is without.
func (r *reports) addUnknown(at spot, format string, args ...any) {
	before := r.fabric
	r.add(at, format, args...)
	r.fabric = before
}

// warn reports a value that is probably not meant, at a place.
func (r *reports) warn(at spot, format string, args ...any) {
	if e, first := r.entry(at, fmt.Sprintf(format, args...)); first {
		r.warnings = append(r.warnings, Warning(e))
	}
}

// entry says something of a place, and whether that is the first time.
func (r *reports) entry(at spot, message string) (e Error, first bool) {
	e = Error{File: r.file, Line: at.at.line, Column: at.at.column, Path: at.path, Message: message}
	switch {
	case at.at.set != nil:
		e.File, e.Line, e.Column = "", 0, 0
		e.Excerpt = at.at.set.said()
	case e.Line > 0:
		e.Excerpt = r.excerpt(e.Line, e.Column)
	}
	key := fmt.Sprintf("%d:%d:%s:%s", e.Line, e.Column, e.Excerpt, e.Message)
	first = !r.seen[key]
	r.seen[key] = true
	return e, first
}

// err returns the mistakes that were collected, by position, or nil.
func (r *reports) err() error {
	if len(r.list) == 0 {
		return nil
	}
	slices.SortStableFunc(r.list, byPlace)
	return &Errors{List: r.list}
}

// byPlace orders by position; what has none comes last.
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
	// The caret is set below its character whatever the width of a tab is.
	var shown, caret strings.Builder
	for i, c := range text {
		if c < ' ' && c != '\t' {
			c = '\uFFFD'
		}
		shown.WriteRune(c)
		if i < at {
			if c != '\t' {
				c = ' '
			}
			caret.WriteRune(c)
		}
	}
	return fmt.Sprintf("%5d | %s%s%s\n      | %*s%s^",
		line, before, shown.String(), after, len(before), "", caret.String())
}
