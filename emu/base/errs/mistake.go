package errs

import (
	"fmt"
	"slices"
	"strings"
)

// Mistake is an error that the user can correct.
type Mistake struct{ Err error }

func (e *Mistake) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Mistake) Unwrap() error { return e.Err }

// Errorf returns a *Mistake with the text of fmt.Errorf.
func Errorf(format string, args ...any) error { return &Mistake{fmt.Errorf(format, args...)} }

// Unknown returns a *Mistake if word is not one of the words of a kind, of which there are at
// least two.
func Unknown[W ~string](kind string, word W, words ...W) error {
	if slices.Contains(words, word) {
		return nil
	}
	last := len(words) - 1
	var list strings.Builder
	for _, w := range words[:last] {
		fmt.Fprintf(&list, ", %s", w)
	}
	return Errorf("there is no %s %q; there are %s and %s", kind, word, list.String()[2:], words[last])
}
