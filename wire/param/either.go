package param

import (
	"fmt"
	"slices"
	"strings"
)

// Either returns a parameter whose values are those of one or of another parameter, as where two schemes have one
// key. The choice of the scheme decides later which of the two it is.
func Either(a, b Param) Param {
	out := a
	what, more := a.Wanted(), b.Wanted()
	if !strings.HasPrefix(more, what) {
		more = what + ", or " + more
	}
	out.What, out.None = "", ""
	out.Low, out.High, out.Above = "", "", false
	numbers := []Kind{Whole, Decimal}
	switch {
	case a.Kind == b.Kind:
	case slices.Contains(numbers, a.Kind) && slices.Contains(numbers, b.Kind):
		out.Kind = Decimal
	default:
		out.Kind = Own
	}
	out.Form = &Form{Wanted: more, Units: union(a.Units(), b.Units()), Words: union(a.Beside(), b.Beside())}
	if a.Pattern() != "" && b.Pattern() != "" {
		out.Form.Pattern = a.Pattern() + "|" + b.Pattern()
	}
	if out.Kind == Word {
		out.Words = out.Form.Words
	}
	out.Form.Read = func(s string) (any, error) {
		v, err := a.Read(s)
		if err != nil {
			v, err = b.Read(s)
		}
		if err != nil && out.Kind == Word {
			return nil, fmt.Errorf("%q is not one of %s", s, strings.Join(out.Words, ", "))
		}
		return v, err
	}
	return out
}

// union returns the items of both lists, each once.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Stated returns a parameter that no tag declares, with its default read. It sets no field.
func (p Param) Stated() Param {
	p.field, p.usual = nil, nil
	if p.Default != "" {
		var err error
		if p.usual, err = p.Read(p.Default); err != nil {
			panic("param: the default of " + p.Key + ": " + err.Error())
		}
	}
	return p
}
