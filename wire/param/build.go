package param

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Text returns the parameter of a struct as a file writes it.
func (p *Param) Text(v any) string {
	f := p.in(v)
	switch {
	case p.None != "" && p.isNone(f):
		return p.None
	case f.Type() == reflect.TypeFor[string]():
		return f.String()
	case p.Kind == Decimal:
		return strconv.FormatFloat(f.Float(), 'f', -1, 64)
	case p.Kind == Word && f.CanUint():
		if i := f.Uint(); i < uint64(len(p.Words)) {
			return p.Words[i]
		}
		return "unknown"
	case f.Kind() == reflect.Array && p.Item != nil && p.Item.Kind.Single():
		var items []string
		for i := range f.Len() {
			items = append(items, fmt.Sprint(f.Index(i).Interface()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	field := f.Interface()
	if _, prints := field.(fmt.Stringer); p.Kind == Object && !prints {
		return p.Object.Mapping(field)
	}
	return fmt.Sprint(field)
}

// Mapping returns a struct as a file writes it in one line.
func (s *Struct) Mapping(v any) string { return "{" + s.Fields(v, ", ") + "}" }

// Fields returns the fields of a struct as a file writes them, with a separator and without some
// keys.
func (s *Struct) Fields(v any, between string, without ...string) string {
	var room [512]byte
	b := room[:0]
	for i := range s.Params {
		p := &s.Params[i]
		if !p.Sets() || slices.Contains(without, p.Key) || p.Omit && p.IsUsual(v) || !s.Holds(p.With, v) {
			continue
		}
		if len(b) > 0 {
			b = append(b, between...)
		}
		b = append(append(b, p.Key...), ": "...)
		text := p.Text(v)
		if p.in(v).Kind() == reflect.String {
			text = Quote(text)
		}
		b = append(b, text...)
	}
	return string(b)
}

// Quote prints a text so that YAML reads a text: without quotes if the word cannot be read as
// another kind of value.
func Quote(s string) string {
	plain := s != ""
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		plain = plain && (letter || i > 0 && (c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c == '/'))
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "true", "false", "on", "off", "null", "nan", "inf":
		plain = false
	}
	if plain {
		return s
	}
	return strconv.QuoteToGraphic(s)
}

// in returns the field of the parameter in a struct.
func (p *Param) in(v any) reflect.Value { return reflect.ValueOf(v).FieldByIndex(p.field) }

// isNone reports whether a field has the value of the word None.
func (p *Param) isNone(f reflect.Value) bool {
	if p.at != 0 {
		return f.Int() == p.at
	}
	return f.IsZero()
}

// IsUsual reports whether a struct has the default of the parameter, or nothing.
func (p *Param) IsUsual(v any) bool {
	f := p.in(v)
	return f.IsZero() || p.Default != "" && p.Text(v) == p.Default
}

func (s *Struct) Holds(c Condition, v any) bool {
	if c.Key == "" {
		return true
	}
	p := s.Find(c.Key)
	return p == nil || slices.Contains(c.Values, p.Text(v)) != c.Not
}

// Build returns a struct whose parameters have the values that given returns, in the form
// of Param.Read. For nil a parameter has its default, which may depend on the word of another
// parameter. Then complete, if it is not nil, computes the other defaults through a pointer to
// the struct. Parameters that count only with other values are zero without them. It returns
// nil for no type.
func (s *Struct) Build(given func(p *Param) any, complete func(pointer any)) any {
	if s.zero == nil {
		return nil
	}
	pointer := reflect.New(reflect.TypeOf(s.zero))
	s.Fill(pointer.Interface(), given, complete)
	return pointer.Elem().Interface()
}

// Fill sets the fields of an existing struct, to which pointer points and which is still zero.
// Build makes a new one and calls Fill.
func (s *Struct) Fill(pointer any, given func(p *Param) any, complete func(pointer any)) {
	to := reflect.ValueOf(pointer).Elem()
	for i := range s.Params {
		p := &s.Params[i]
		v := given(p)
		if v == nil {
			v = p.usual
		}
		if v != nil && p.Sets() {
			p.Put(to.FieldByIndex(p.field), v)
		}
	}
	for i := range s.Params {
		if p := &s.Params[i]; p.by.key != "" && given(p) == nil {
			word := s.Find(p.by.key).Text(to.Interface())
			p.Put(to.FieldByIndex(p.field), p.by.usual[word])
		}
	}
	if complete != nil {
		complete(pointer)
	}
	var whole any // before the first parameter that does not count is cleared
	for i := range s.Params {
		p := &s.Params[i]
		if p.With.Key == "" || !p.Sets() {
			continue
		}
		if whole == nil {
			whole = to.Interface()
		}
		if !s.Holds(p.With, whole) {
			to.FieldByIndex(p.field).SetZero()
		}
	}
}

// Put gives a field of a struct a value of Read. It skips a value that does not fit: the owner of
// the form sets that field.
func (p *Param) Put(f reflect.Value, value any) {
	switch v := reflect.ValueOf(value); {
	case v.Type().AssignableTo(f.Type()):
		f.Set(v)
	case p.Kind == Word && f.CanUint() && v.Kind() == reflect.String:
		f.SetUint(uint64(max(slices.Index(p.Words, v.String()), 0)))
	case v.CanConvert(f.Type()) && (v.Kind() == reflect.String) == (f.Kind() == reflect.String):
		f.Set(v.Convert(f.Type()))
	}
}

// Defaults returns a struct of the type of zero with all defaults; those that follow from
// other parameters are filled in too.
func Defaults[P any](zero P, forms ...Forms) P {
	nothing := func(string) bool { return false }
	return Of(zero, forms...).Build(func(*Param) any { return nil }, Complete(nothing)).(P)
}

// Completer is a pointer to a struct of parameters in which some defaults follow from other
// parameters. Complete fills in those that were not given.
type Completer interface {
	Complete(given func(key string) bool)
}

// Complete returns a function for Build that completes a struct if it is a Completer.
func Complete(given func(key string) bool) func(pointer any) {
	return func(pointer any) {
		if c, ok := pointer.(Completer); ok {
			c.Complete(given)
		}
	}
}

// Fill sets a parameter that was not given: the work of Complete.
func Fill[T any](value *T, usual T, given bool) {
	if !given {
		*value = usual
	}
}

// Explainer is a struct of parameters of which some follow from others. Explain returns the
// arithmetic in a line; empty: there is none. A resolved scenario has it as a comment.
type Explainer interface{ Explain() string }

// Check returns an error about the first parameter of a struct that is out of its range, with its
// key. It is for structs that a program makes: what Read returns is in range. An empty word is left
// to the owner of the struct, and so is a parameter that does not count with the values of the
// others.
func Check(v any) error {
	s := Of(v)
	for i := range s.Params {
		p := &s.Params[i]
		if !p.Sets() || !p.Kind.Single() || !s.Holds(p.With, v) || !s.Holds(p.Counts, v) {
			continue
		}
		text := p.Text(v)
		if text == "" && p.in(v).Kind() == reflect.String {
			continue
		}
		if _, err := p.Read(text); err != nil {
			return fmt.Errorf("%s: %w", p.Key, err)
		}
	}
	return nil
}
