package param

import (
	"fmt"
	"slices"
	"strings"
)

// Either returns a parameter that takes the values of a and of b, for a key that two schemes have.
// The value is checked again once the scheme is chosen.
func Either(a, b Param) Param {
	out := a
	first, more := a.Wanted(), b.Wanted()
	if !strings.HasPrefix(more, first) {
		more = first + ", or " + more
	}
	out.Values, out.None, out.Low, out.High, out.Above = "", "", "", "", false
	isNumber := func(k Kind) bool { return k == Whole || k == Decimal }
	switch {
	case a.Kind == b.Kind:
	case isNumber(a.Kind) && isNumber(b.Kind):
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

// union returns the words of both lists, each once.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Stated returns a parameter without tags, with its default read. It sets no field.
func (p Param) Stated() Param {
	p.field = nil
	p.readDefault(func(format string, args ...any) { panic("param: " + p.Key + ": " + fmt.Sprintf(format, args...)) })
	return p
}

func (p *Param) readDefault(wrong func(format string, args ...any)) {
	p.usual = nil
	if p.Default != "" && p.Kind.Single() {
		var err error
		if p.usual, err = p.Read(p.Default); err != nil {
			wrong("the default: %v", err)
		}
	}
}
