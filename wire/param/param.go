package param

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

// Kind says what a parameter is.
type Kind uint8

// The kinds.
const (
	Duration Kind = iota // unit.Duration
	Rate                 // unit.Rate
	Size                 // unit.Size
	Room                 // unit.Room
	Whole                // an integer type
	Decimal              // float64
	Flag                 // bool
	Word                 // a string type: one of Param.Words
)

// Param is one parameter, as the tags of its field declare it. The package comment says
// what each of them means.
type Param struct {
	Key       string
	Kind      Kind
	Default   string
	Computed  string
	Low, High string
	Above     bool // Low itself is not in the range
	None      string
	Words     []string
	Doc       string
	Source    string
	Also      []string
	usual     any // Default, read
	field     []int
}

// Struct is a type of struct with parameters.
type Struct struct {
	Params []Param // in the order of the fields; those of embedded structs in their place
	zero   any
}

// Of returns the parameters of the type of v, a struct; for nil there are none. It panics
// where a tag or a type is not as the package comment says: that is a mistake of who
// wrote the struct.
func Of(v any) *Struct {
	s := &Struct{zero: v}
	if v == nil {
		return s
	}
	typ := reflect.TypeOf(v)
	for _, f := range reflect.VisibleFields(typ) {
		key, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		p := Param{
			Key: key, Kind: kindOf(typ, f), Default: f.Tag.Get("def"), Computed: f.Tag.Get("computed"),
			Low: f.Tag.Get("low"), High: f.Tag.Get("high"), None: f.Tag.Get("none"), Words: split(f.Tag.Get("words")),
			Doc: f.Tag.Get("doc"), Source: f.Tag.Get("source"), Also: split(f.Tag.Get("also")), field: f.Index,
		}
		if low, ok := strings.CutPrefix(p.Low, "above "); ok {
			p.Low, p.Above = low, true
		}
		if (p.Kind == Word) != (len(p.Words) > 0) {
			panic(fmt.Sprintf("param: %v.%s: words are for string types, and those have some", typ, f.Name))
		}
		if p.Default != "" {
			var err error
			if p.usual, err = p.Read(p.Default); err != nil {
				panic(fmt.Sprintf("param: %v.%s: the default: %v", typ, f.Name, err))
			}
		}
		s.Params = append(s.Params, p)
	}
	return s
}

// kindOf returns what the field of a parameter is.
func kindOf(typ reflect.Type, f reflect.StructField) Kind {
	switch f.Type {
	case reflect.TypeFor[unit.Duration]():
		return Duration
	case reflect.TypeFor[unit.Rate]():
		return Rate
	case reflect.TypeFor[unit.Size]():
		return Size
	case reflect.TypeFor[unit.Room]():
		return Room
	}
	switch k := f.Type.Kind(); {
	case k >= reflect.Int && k <= reflect.Uint64:
		return Whole
	case k == reflect.Float64:
		return Decimal
	case k == reflect.Bool:
		return Flag
	case k == reflect.String:
		return Word
	}
	panic(fmt.Sprintf("param: %v.%s: a %v cannot be a parameter", typ, f.Name, f.Type))
}

// split returns the parts of a tag with several.
func split(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, "|")
}

// Text returns the parameter of a struct as a scenario writes it.
func (p *Param) Text(v any) string {
	f := reflect.ValueOf(v).FieldByIndex(p.field)
	switch {
	case p.None != "" && f.IsZero():
		return p.None
	case p.Kind == Decimal:
		return strconv.FormatFloat(f.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(f.Interface())
}

// Build returns a struct of the type whose parameters are what given returns, in the form
// of Param.Read; where that is nil, the default. What has none is computed by complete,
// which is handed a pointer to the struct, unless it is nil. It returns nil for no type.
func (s *Struct) Build(given func(p *Param) any, complete func(pointer any)) any {
	if s.zero == nil {
		return nil
	}
	pointer := reflect.New(reflect.TypeOf(s.zero))
	for i := range s.Params {
		p := &s.Params[i]
		v := given(p)
		if v == nil {
			v = p.usual
		}
		if v != nil {
			f := pointer.Elem().FieldByIndex(p.field)
			f.Set(reflect.ValueOf(v).Convert(f.Type()))
		}
	}
	if complete != nil {
		complete(pointer.Interface())
	}
	return pointer.Elem().Interface()
}

// Defaults returns a struct of the type of zero with all defaults; those that follow from
// other parameters are filled in too.
func Defaults[P any](zero P) P {
	nothing := func(string) bool { return false }
	return Of(zero).Build(func(*Param) any { return nil }, Complete(nothing)).(P)
}

// Completer is a struct of parameters, by its pointer, of which some have defaults that
// follow from others. Complete fills in those that were not given.
type Completer interface {
	Complete(given func(key string) bool)
}

// Complete returns what completes a struct that is a Completer, for Build.
func Complete(given func(key string) bool) func(pointer any) {
	return func(pointer any) {
		if c, ok := pointer.(Completer); ok {
			c.Complete(given)
		}
	}
}

// Explainer is a struct of parameters of which some follow from others. Explain returns the
// arithmetic, in a line; nothing if there is none to tell. A resolved scenario has it as a
// comment.
type Explainer interface{ Explain() string }

// Alike reports whether two parameters are written alike: their kind, range and words
// are the same.
func (p *Param) Alike(q *Param) bool {
	return p.Kind == q.Kind && p.Low == q.Low && p.High == q.High && p.Above == q.Above && p.None == q.None && slices.Equal(p.Words, q.Words)
}
