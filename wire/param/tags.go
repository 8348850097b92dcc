package param

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fabemu/wire/unit"
)

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

// declared returns the parameter that the tags of a field declare.
func declared(typ reflect.Type, f reflect.StructField, forms Forms) Param {
	wrong := func(format string, args ...any) {
		panic(fmt.Sprintf("param: %v.%s: ", typ, f.Name) + fmt.Sprintf(format, args...))
	}
	tags := tagsOf(f.Tag)
	var p Param
	if name := tags.of("form"); name != "" {
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
	for _, tag := range tags {
		p.take(tag.key, tag.text, wrong)
	}
	p.nest(f, forms)
	p.word(f, split(tags.of("words")), wrong)
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

// A tag is a key of the tags of a field, and its text.
type tag struct{ key, text string }

// tags are the tags of a field, in their order.
type tags []tag

// tagsOf takes a tag apart, as reflect.StructTag.Lookup does for one key.
func tagsOf(of reflect.StructTag) (all tags) {
	rest := string(of)
	for {
		key, behind, _ := strings.Cut(strings.TrimLeft(rest, " "), ":")
		quoted, err := strconv.QuotedPrefix(behind)
		if err != nil {
			return all
		}
		text, _ := strconv.Unquote(quoted) // a prefix that is quoted has an end
		all = append(all, tag{key, text})
		rest = behind[len(quoted):]
	}
}

// of returns the text of a key; none is as good as an empty one.
func (t tags) of(key string) string {
	if i := slices.IndexFunc(t, func(x tag) bool { return x.key == key }); i >= 0 {
		return t[i].text
	}
	return ""
}

// take takes in one tag.
func (p *Param) take(key, text string, wrong func(format string, args ...any)) {
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
		p.Parts = pairs(text)
	case "means":
		p.Means = map[string]string{}
		for _, x := range pairs(text) {
			p.Means[x.Key] = x.Field
		}
	case "at":
		p.at = number()
	case "least":
		p.Least = int(number())
	}
}

// word reads the words of a tag, or of the type of the field.
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

// nest reads the parameters within a struct, a slice or an array, unless its form has them.
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

// kindOf returns the kind of a field by its type; Own for one that needs a form.
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

// pairs returns the parts of a tag with several of the form "a=b".
func pairs(tag string) (all []Part) {
	for _, pair := range split(tag) {
		a, b, _ := strings.Cut(pair, "=")
		all = append(all, Part{a, b})
	}
	return all
}
