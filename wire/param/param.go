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
	Own      Kind = iota // any type: one value, written as Param.Form says
	Duration             // unit.Duration
	Rate                 // unit.Rate
	Size                 // unit.Size
	Room                 // unit.Room
	Whole                // an integer type
	Decimal              // float64
	Flag                 // bool
	Word                 // one of Param.Words: a string type, or an unsigned one
	Text                 // a string: any text, as Param.Form says
	Object               // a mapping with the keys of Param.Object
	Map                  // a mapping whose keys are names; Param.Item says what each holds
	List                 // a list; Param.Item says what each item is
)

// Single reports whether a parameter is one value.
func (k Kind) Single() bool { return k < Object }

// Param is one parameter, as the tags of its field declare it. The package comment says
// what each of them means.
type Param struct {
	Key       string
	Kind      Kind
	Default   string
	Computed  string
	Required  bool
	Inherits  bool // Required, here or under the defaults
	Low, High string
	Above     bool // Low itself is not in the range
	None      string
	Words     []string
	Means     map[string]string
	With      Condition
	Counts    Condition
	Omit      bool
	Own       bool
	What      string
	Doc       string
	Source    string
	Also      []string
	Form      *Form

	Object *Struct // Object: its keys
	Item   *Param  // Map, List: each item
	Named  string
	Short  string
	Parts  []Part
	Least  int
	Length int // List: how many items there are; 0: any number

	usual any   // Default, read
	by    by    // where the default goes with the word of another parameter
	at    int64 // what None stands for
	field []int // empty: it sets nothing
}

// by says how the default of a parameter goes with the word that another one has.
type by struct {
	key   string
	texts []string       // of the defaults, by the words of key in their order
	usual map[string]any // by word, read
}

// Form is a way of writing of its own.
type Form struct {
	Wanted  string
	Pattern string // a regular expression of the whole text, which lets pass all that Read takes
	Units   []string
	Words   []string // allowed beside other values
	Listed  bool     // a value may have commas
	Read    func(text string) (any, error)
}

// Formed is a type whose values are written in a form of its own. Form.Read returns one; an
// error of it may have a method Offset() int, how many bytes of the text are in front of the
// mistake.
type Formed interface{ Form() Form }

// Forms are parameters by the name of their form: what a tag says is added to them.
type Forms map[string]Param

// Part is a key of a mapping that stands for a field beside that mapping.
type Part struct{ Key, Field string }

// Condition says that another field has one of some values, or with Not none of them.
type Condition struct {
	Key    string // empty: always
	Not    bool
	Values []string
}

// String prints a condition as messages have it: "kind: a or b".
func (c Condition) String() string {
	last := len(c.Values) - 1
	text := c.Values[last]
	if last > 0 {
		text = strings.Join(c.Values[:last], ", ") + " or " + text
	}
	if c.Not {
		return c.Key + " other than " + text
	}
	return c.Key + ": " + text
}

// Struct is a type of struct with parameters.
type Struct struct {
	Params []Param // in the order of the fields; those of embedded structs in their place
	zero   any
}

// Of returns the parameters of the type of v, a struct; for nil there are none. It panics
// where a tag or a type is not as the package comment says: that is a mistake of who
// wrote the struct.
func Of(v any, forms ...Forms) *Struct {
	s := &Struct{zero: v}
	if v == nil {
		return s
	}
	var all Forms
	if len(forms) > 0 {
		all = forms[0]
	}
	s.add(reflect.TypeOf(v), nil, all)
	for i := range s.Params {
		if p := &s.Params[i]; p.by.key != "" {
			p.goesBy(s.Find(p.by.key))
		}
	}
	return s
}

// goesBy reads the defaults that go with the words of another parameter.
func (p *Param) goesBy(other *Param) {
	if other == nil || len(other.Words) != len(p.by.texts) {
		panic(fmt.Sprintf("param: %s wants a default for each word of %s", p.Key, p.by.key))
	}
	p.by.usual = map[string]any{}
	var texts []string
	words := map[string][]string{} // by text
	for i, text := range p.by.texts {
		v, err := p.Read(text)
		if err != nil {
			panic(fmt.Sprintf("param: %s with %s: %s: the default: %v", p.Key, p.by.key, other.Words[i], err))
		}
		p.by.usual[other.Words[i]] = v
		if words[text] == nil {
			texts = append(texts, text)
		}
		words[text] = append(words[text], other.Words[i])
	}
	for i, text := range texts {
		if i > 0 {
			texts[i] = fmt.Sprintf("with %v %s", Condition{Key: p.by.key, Values: words[text]}, text)
		}
	}
	p.Computed = strings.Join(texts, ", ")
}

// add adds the parameters of a type, at an index within the struct.
func (s *Struct) add(typ reflect.Type, at []int, forms Forms) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		f.Index = append(slices.Clone(at), i)
		if _, ok := f.Tag.Lookup("key"); ok {
			s.Params = append(s.Params, declared(typ, f, forms))
		} else if f.Anonymous {
			s.add(f.Type, f.Index, forms)
		}
	}
}

// declared returns what the tags of a field declare.
func declared(typ reflect.Type, f reflect.StructField, forms Forms) Param {
	wrong := func(format string, args ...any) {
		panic(fmt.Sprintf("param: %v.%s: ", typ, f.Name) + fmt.Sprintf(format, args...))
	}
	said := tagsOf(f.Tag)
	var p Param
	if name := said.of("form"); name != "" {
		form, ok := forms[name]
		if !ok {
			wrong("there is no form %s", name)
		}
		p = form
	} else if own, ok := reflect.Zero(f.Type).Interface().(Formed); ok {
		form := own.Form()
		p = Param{Kind: Own, Form: &form}
	} else if p.Kind = kindOf(f); p.Kind == Own {
		wrong("a %v cannot be a parameter", f.Type)
	}
	p.Required, p.Inherits, p.Omit, p.Own = false, false, false, false
	p.With, p.Counts, p.Also = Condition{}, Condition{}, nil
	for _, tag := range said {
		p.say(tag.key, tag.text, wrong)
	}
	p.nest(f, forms)
	p.word(f, split(said.of("words")), wrong)
	if f.IsExported() {
		p.field = f.Index
	}
	if p.Default != "" && p.Kind.Single() {
		var err error
		if p.usual, err = p.Read(p.Default); err != nil {
			wrong("the default: %v", err)
		}
	}
	return p
}

// tags are those of a field, in their order.
type tags []struct{ key, text string }

// tagsOf takes a tag apart, as reflect.StructTag.Lookup does for one key.
func tagsOf(tag reflect.StructTag) (all tags) {
	rest := string(tag)
	for {
		key, behind, found := strings.Cut(strings.TrimLeft(rest, " "), ":")
		if !found {
			return all
		}
		quoted, err := strconv.QuotedPrefix(behind)
		if err != nil {
			return all
		}
		text, _ := strconv.Unquote(quoted) // a prefix that is quoted has an end
		all = append(all, struct{ key, text string }{key, text})
		rest = behind[len(quoted):]
	}
}

// of returns the text of a key; none is as good as an empty one.
func (t tags) of(key string) string {
	for _, tag := range t {
		if tag.key == key {
			return tag.text
		}
	}
	return ""
}

// say takes in what one tag says.
func (p *Param) say(key, text string, wrong func(format string, args ...any)) {
	number := func() int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			wrong("%s is not a number", key)
		}
		return n
	}
	for _, tag := range [...]struct {
		key string
		to  *string
	}{
		{"key", &p.Key}, {"def", &p.Default}, {"computed", &p.Computed}, {"high", &p.High}, {"none", &p.None},
		{"what", &p.What}, {"doc", &p.Doc}, {"source", &p.Source}, {"named", &p.Named}, {"short", &p.Short},
	} {
		if tag.key == key {
			*tag.to = text
			return
		}
	}
	switch key {
	case "low":
		p.Low, p.Above = strings.CutPrefix(text, "above ")
	case "need":
		p.Required, p.Inherits = text != "", text == "inherited"
	case "omit":
		p.Omit = text != ""
	case "own":
		p.Own = text != ""
	case "with":
		p.With = condition(text)
	case "counts":
		p.Counts = condition(text)
	case "also":
		p.Also = split(text)
	case "by":
		key, texts, _ := strings.Cut(text, "=")
		p.by = by{key: key, texts: split(texts)}
	case "parts":
		for _, pair := range split(text) {
			part, field, _ := strings.Cut(pair, "=")
			p.Parts = append(p.Parts, Part{part, field})
		}
	case "means":
		for _, pair := range split(text) {
			word, meant, _ := strings.Cut(pair, "=")
			if p.Means == nil {
				p.Means = map[string]string{}
			}
			p.Means[word] = meant
		}
	case "at":
		p.at = number()
	case "least":
		p.Least = int(number())
	}
}

// word reads what a tag, or the type of the field, says of words.
func (p *Param) word(f reflect.StructField, words []string, wrong func(format string, args ...any)) {
	if len(words) > 0 {
		p.Words = words
		if k := f.Type.Kind(); p.Kind == Whole && k >= reflect.Uint && k <= reflect.Uint64 {
			p.Kind = Word
		}
	} else if w, ok := reflect.Zero(f.Type).Interface().(interface{ Words() []string }); ok && p.Form == nil {
		p.Kind, p.Words = Word, w.Words()
	}
	if (p.Kind == Word) != (len(p.Words) > 0) {
		wrong("words are for string types, and those have some")
	}
}

// nest finds out what a struct, a slice or an array holds, unless its form says it.
func (p *Param) nest(f reflect.StructField, forms Forms) {
	switch {
	case p.Kind == Object && p.Object == nil:
		p.Object = Of(reflect.Zero(f.Type).Interface(), forms)
	case (p.Kind == List || p.Kind == Map) && p.Item == nil:
		item := Param{Low: p.Low, High: p.High, Above: p.Above}
		p.Low, p.High, p.Above = "", "", false
		element := f
		element.Type = f.Type.Elem()
		if item.Kind = kindOf(element); item.Kind == Object {
			item.Object = Of(reflect.Zero(element.Type).Interface(), forms)
		}
		p.Item = &item
		if f.Type.Kind() == reflect.Array {
			p.Length = f.Type.Len()
		}
	}
}

// kindOf returns what a field is by its type; Own for one that needs a form.
func kindOf(f reflect.StructField) Kind {
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
	case k == reflect.Struct:
		return Object
	case k == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct, k == reflect.Array:
		return List
	}
	return Own
}

// condition reads the tag of one.
func condition(tag string) Condition {
	key, values, _ := strings.Cut(tag, "=")
	if tag == "" {
		return Condition{}
	}
	key, not := strings.CutSuffix(key, "!")
	return Condition{Key: key, Not: not, Values: split(values)}
}

// split returns the parts of a tag with several.
func split(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, "|")
}

// Find returns the parameter of a key, or nil.
func (s *Struct) Find(key string) *Param {
	for i := range s.Params {
		if s.Params[i].Key == key {
			return &s.Params[i]
		}
	}
	return nil
}

// Walk visits all keys below a parameter, with their paths: "*" stands for a name, "[]" for
// the items of a list.
func (p *Param) Walk(path string, visit func(path string, p *Param)) {
	switch {
	case p.Object != nil:
		for i := range p.Object.Params {
			sub := &p.Object.Params[i]
			at := Path(path, sub.Key)
			visit(at, sub)
			sub.Walk(at, visit)
		}
	case p.Kind == Map:
		p.Item.Walk(path+".*", visit)
	case p.Kind == List:
		p.Item.Walk(path+"[]", visit)
	}
}

// Path returns the path of a key.
func Path(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Usual returns the default as Read returns it, nil when there is none.
func (p *Param) Usual() any { return p.usual }

// Fixed reports whether the default follows from nothing, or from a word alone.
func (p *Param) Fixed() bool { return p.usual != nil || p.by.key != "" }

// Sets reports whether the parameter is a field of its struct.
func (p *Param) Sets() bool { return p.field != nil }

// Text returns the parameter of a struct as a file writes it.
func (p *Param) Text(v any) string {
	f := reflect.ValueOf(v).FieldByIndex(p.field)
	switch {
	case p.None != "" && p.isNone(f):
		return p.None
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
	return fmt.Sprint(f.Interface())
}

// Number returns the parameter of a struct, one of an integer type.
func (p *Param) Number(v any) int64 { return reflect.ValueOf(v).FieldByIndex(p.field).Int() }

// isNone reports whether a field has the value that a word stands for.
func (p *Param) isNone(f reflect.Value) bool {
	if p.at != 0 {
		return f.Int() == p.at
	}
	return f.IsZero()
}

// IsUsual reports whether a struct has the default of the parameter, or nothing.
func (p *Param) IsUsual(v any) bool {
	f := reflect.ValueOf(v).FieldByIndex(p.field)
	return f.IsZero() || p.Default != "" && p.Text(v) == p.Default
}

// Holds reports whether a condition holds in a struct.
func (s *Struct) Holds(c Condition, v any) bool {
	if c.Key == "" {
		return true
	}
	p := s.Find(c.Key)
	return p == nil || slices.Contains(c.Values, p.Text(v)) != c.Not
}

// Build returns a struct of the type whose parameters are what given returns, in the form
// of Param.Read; where that is nil, the default, which may go with the word of another
// parameter. What has none is computed by complete,
// which is handed a pointer to the struct, unless it is nil. What counts only with other
// values is zero without them. It returns nil for no type.
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
		if v != nil && p.Sets() {
			p.set(pointer.Elem().FieldByIndex(p.field), reflect.ValueOf(v))
		}
	}
	for i := range s.Params {
		if p := &s.Params[i]; p.by.key != "" && given(p) == nil {
			word := s.Find(p.by.key).Text(pointer.Elem().Interface())
			p.set(pointer.Elem().FieldByIndex(p.field), reflect.ValueOf(p.by.usual[word]))
		}
	}
	if complete != nil {
		complete(pointer.Interface())
	}
	whole := pointer.Elem().Interface()
	for i := range s.Params {
		if p := &s.Params[i]; p.Sets() && !s.Holds(p.With, whole) {
			pointer.Elem().FieldByIndex(p.field).SetZero()
		}
	}
	return pointer.Elem().Interface()
}

// set gives a field a value that was read. One that does not fit it is left to the
// reader of the form.
func (p *Param) set(f, v reflect.Value) {
	switch {
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

// IsText reports whether the parameter of a struct is a text, which a file may have to
// quote.
func (p *Param) IsText(v any) bool {
	return reflect.ValueOf(v).FieldByIndex(p.field).Kind() == reflect.String
}
