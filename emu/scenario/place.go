package scenario

import (
	"fmt"

	"fabemu/wire/param"
)

// place is the location of a mistake: in the file, or in a --set.
type place struct {
	line, column int
	set          *Set
}

// spot is a place and the field there, as in Error.Path.
type spot struct {
	at   place
	path string
}

// field returns the spot of a field that is missing, or has no place, in the object at s.
func (s spot) field(key string) spot { return spot{s.at, param.Path(s.path, key)} }

// inLine returns a place as the end of a clause.
func inLine(at place) string {
	switch {
	case at.set != nil:
		return " by " + at.set.source()
	case at.line > 0:
		return fmt.Sprintf(" in line %d", at.line)
	}
	return ""
}
