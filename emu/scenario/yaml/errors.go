package yaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/scenario/place"
)

// File is the text of a file, with the mistakes and the warnings that were found in it.
type File struct {
	Name     string // for messages
	Root     *Node  // of the tree that is read
	Mistakes []place.Error
	Warnings []place.Error

	text    string
	lines   []string
	grammar Grammar // what the tree is read against
	seen    map[message]bool
	wrong   map[string]wrong    // what has mistakes, by paths
	lacks   map[string][]string // by the paths of objects, keys that they lack because of a mistake; empty: any
}

// wrong says whether there is a mistake about what is at a path, or about a part of it.
type wrong struct{ at, within bool }

// message identifies a message by its place and its kind. Values are often shared: 20 links inherit
// a default, an item stands for 100 flows. A mistake is reported for the first of them only.
type message struct {
	at     place.Spot
	format string
}

// NewFile returns a file with a name and a text. A byte order mark, which some editors write, is no
// part of it.
func NewFile(name, text string) *File {
	text = strings.TrimPrefix(text, "\uFEFF")
	return &File{Name: name, text: text, lines: strings.Split(text, "\n"), seen: map[message]bool{},
		wrong: map[string]wrong{}, lacks: map[string][]string{}}
}

// Add reports a mistake at a place.
func (r *File) Add(at place.Spot, format string, args ...any) {
	if r.first(at, format) {
		r.Report(at, fmt.Sprintf(format, args...))
	}
}

// Report adds a mistake at a place, whatever is known there.
func (r *File) Report(at place.Spot, message string) {
	r.Mistakes = append(r.Mistakes, r.Entry(at, message))
	for i, c := range at.Path {
		if c == '.' || c == '[' {
			r.wrong[at.Path[:i]] = wrong{r.wrong[at.Path[:i]].at, true}
		}
	}
	r.wrong[at.Path] = wrong{true, true}
}

// Warn reports a value that is probably not intended, at a place.
func (r *File) Warn(at place.Spot, format string, args ...any) {
	if r.first(at, format) {
		r.Warnings = append(r.Warnings, r.Entry(at, fmt.Sprintf(format, args...)))
	}
}

// first reports whether a place has its first message of a kind.
func (r *File) first(at place.Spot, format string) bool {
	m := message{at, format}
	seen := r.seen[m]
	r.seen[m] = true
	return !seen
}

// Lacks reports whether an object does not have a key because of a mistake: the key is missing, or
// an unknown key may have meant it.
func (r *File) Lacks(path, key string) bool {
	return slices.ContainsFunc(r.lacks[path], func(lacking string) bool { return lacking == key || lacking == "" })
}

// lack notes that an object lacks a key because of a mistake; empty: it may be any.
func (r *File) lack(path, key string) { r.lacks[path] = append(r.lacks[path], key) }

// WrongAt reports whether there is a mistake about what is at a path, but not about a part of it.
func (r *File) WrongAt(path string) bool { return r.wrong[path].at }

// WrongIn reports whether there is a mistake about what is at a path, or about a part of it.
func (r *File) WrongIn(path string) bool { return r.wrong[path].within }

// mostMessage is the longest message in bytes. A longer one repeats a long value: its middle is
// left out.
const mostMessage = 2000

// Entry returns a message with its place.
func (r *File) Entry(at place.Spot, message string) place.Error {
	if n := len(message); n > mostMessage {
		message = strings.ToValidUTF8(message[:mostMessage/4]+" ... "+message[n-mostMessage/2:], "")
	}
	e := place.Error{File: r.Name, Line: at.At.Line, Column: at.At.Column, Path: at.Path, Message: message}
	switch {
	case at.At.Set != nil:
		e.File, e.Line, e.Column = "", 0, 0
		e.Excerpt = at.At.Set.Source()
	case e.Line > 0:
		e.Excerpt = r.excerpt(e.Line, e.Column)
	}
	return e
}

// Err returns the mistakes that were collected, by position, or nil.
func (r *File) Err() error {
	if len(r.Mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(r.Mistakes, byPlace)
	return &place.Errors{List: r.Mistakes}
}

// Also adds the mistakes of f, which has been read from the same text in another way, where there
// is none yet, and returns all. Two at one place are one mistake, seen twice.
func (r *File) Also(f *File) error {
	seen := map[place.Error]bool{}
	where := func(e place.Error) place.Error { return place.Error{Line: e.Line, Column: e.Column, Path: e.Path} }
	for _, e := range r.Mistakes {
		seen[where(e)] = true
	}
	for _, e := range f.Mistakes {
		if !seen[where(e)] {
			r.Mistakes = append(r.Mistakes, e)
		}
	}
	return r.Err()
}

// Sorted returns the warnings, by position.
func (r *File) Sorted() []place.Error {
	slices.SortStableFunc(r.Warnings, byPlace)
	return r.Warnings
}

// byPlace orders by position. Mistakes without a position come last.
func byPlace(a, b place.Error) int {
	if (a.Line == 0) != (b.Line == 0) {
		return cmp.Compare(b.Line, a.Line)
	}
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// excerptWidth is how much of a long line is shown, in characters.
const excerptWidth = 100

// excerpt shows a line of the file with a caret under a column.
func (r *File) excerpt(line, column int) string {
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
