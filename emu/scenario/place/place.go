package place

import (
	"fmt"

	"fabemu/wire/param"
)

// Place is the location of a part of a tree: in the file, or in a --set.
type Place struct {
	Line, Column int  // from 1, the column in characters
	Set          *Set // nil: it is in the file
}

// Spot is a place and the field there, as in Error.Path.
type Spot struct {
	At   Place
	Path string
}

// Of returns the spot of a field at p.
func (p Place) Of(path string) Spot { return Spot{p, path} }

// Field returns the spot of a field that is missing, or has no place, in the object at s.
func (s Spot) Field(key string) Spot { return Spot{s.At, param.Path(s.Path, key)} }

// InLine returns a place as the end of a clause.
func InLine(at Place) string {
	switch {
	case at.Set != nil:
		return " by " + at.Set.Source()
	case at.Line > 0:
		return fmt.Sprintf(" in line %d", at.Line)
	}
	return ""
}
