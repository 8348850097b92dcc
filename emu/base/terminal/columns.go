package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Columns returns how many columns s has.
func Columns(s string) int { return utf8.RuneCountInString(s) }

// Left returns s at the left of so many columns, or s if it is longer.
func Left(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-Columns(s)))
}

// Wrap breaks text between words into lines of at most so many columns; a longer word
// has its own line. It returns one line at least.
func Wrap(s string, columns int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(s) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case Columns(*last)+1+Columns(word) <= columns:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Shorten cuts s to so many columns, between two words where one ends near.
func Shorten(s string, columns int) string {
	r := []rune(s)
	if len(r) <= columns {
		return s
	}
	cut := string(r[:columns-2])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)*2/3 {
		return cut[:i] + "..."
	}
	return string(r[:columns-3]) + "..."
}

// Count prints a number of things: "1 frame", "2 frames", "2 switches".
func Count[N int | int64](n N, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch"):
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
