package param

import (
	"cmp"
	_ "embed"
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
			s.Params = append(s.Params, OfField(typ, f, forms))
		} else if f.Anonymous {
			s.add(f.Type, f.Index, forms)
		}
	}
}

// OfField returns the parameter that the tags of a field of typ declare, whether it has a key or
// not. It panics as Of does.
func OfField(typ reflect.Type, f reflect.StructField, forms Forms) Param {
	wrong := func(format string, args ...any) {
		panic("param: " + f.Name + ": " + fmt.Sprintf(format, args...))
	}
	tags := tagsOf(f.Tag)
	d := described[typ.PkgPath()+"."+typ.Name()+"\t"+tags["key"]]
	tags["doc"], tags["source"] = cmp.Or(tags["doc"], d.doc), cmp.Or(tags["source"], d.source)
	var p Param
	if name := tags["form"]; name != "" {
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
	p.declare(tags, wrong)
	p.nest(f, forms)
	p.word(f, split(tags["words"]), wrong)
	p.declareSets(tags, p.Words, wrong)
	if f.IsExported() {
		p.field = f.Index
	}
	p.readDefault(wrong)
	return p
}

// tagsOf splits the tags of a field, as reflect.StructTag.Lookup does for one key.
func tagsOf(tag reflect.StructTag) map[string]string {
	all, rest := map[string]string{}, string(tag)
	for {
		key, behind, _ := strings.Cut(strings.TrimLeft(rest, " "), ":")
		quoted, err := strconv.QuotedPrefix(behind)
		if err != nil {
			return all
		}
		all[key], _ = strconv.Unquote(quoted) // a quoted prefix has an end
		rest = behind[len(quoted):]
	}
}

// declare sets the parameter by the tags of its field. Some tags add to the field's form and leave
// it as it is if they are missing.
func (p *Param) declare(tags map[string]string, wrong func(format string, args ...any)) {
	number := func(key string) int64 {
		n, err := strconv.ParseInt(cmp.Or(tags[key], "0"), 10, 64)
		if err != nil {
			wrong("%s is not a number", key)
		}
		return n
	}
	for _, text := range [...]struct {
		key string
		to  *string
	}{
		{"key", &p.Key}, {"def", &p.Default}, {"computed", &p.Computed}, {"high", &p.High}, {"none", &p.None},
		{"values", &p.Values}, {"old", &p.Old}, {"doc", &p.Doc}, {"source", &p.Source}, {"named", &p.Named}, {"short", &p.Short},
	} {
		*text.to = cmp.Or(tags[text.key], *text.to)
	}
	if low := tags["low"]; low != "" {
		p.Low, p.Above = strings.CutPrefix(low, "above ")
	}
	p.Required, p.Inherits = tags["need"] != "", tags["need"] == "inherited"
	p.Omit, p.Own = tags["omit"] != "", tags["own"] != ""
	p.With, p.Counts = condition(tags["with"]), condition(tags["counts"])
	p.Also, p.Parts = split(tags["also"]), pairs(tags["parts"])
	p.at, p.Least = number("at"), int(number("least"))
	key, texts, _ := strings.Cut(tags["by"], "=")
	p.by = by{key: key, texts: split(texts)}
	if means := tags["means"]; means != "" {
		p.Means = map[string]string{}
		for _, x := range pairs(means) {
			p.Means[x.Key] = x.Field
		}
	}
}

// word sets the words of a parameter by a tag or the type of the field.
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

// nest sets the parameters of a struct, or of the items of a slice or an array, unless a form has
// set them.
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

// kindOf returns the kind of a field by its type; Own if it needs a form.
func kindOf(f reflect.StructField) Kind {
	switch reflect.Zero(f.Type).Interface().(type) {
	case unit.Duration:
		return Duration
	case unit.Rate:
		return Rate
	case unit.Size:
		return Size
	case unit.Room:
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
func pairs(tag string) (all []Pair) {
	for _, pair := range split(tag) {
		a, b, _ := strings.Cut(pair, "=")
		all = append(all, Pair{a, b})
	}
	return all
}

// docs has the documentation of fields in the comments above them, because a program cannot read
// its own comments: a line for each field, with the path of its package and its type, its key, its
// meaning, and the source of its default, with tabs between. A test writes it.
//
//go:embed docs.txt
var docs string

// A description is the documentation of a field.
type description struct{ doc, source string }

// described are the descriptions, by place.
var described = func() map[string]description {
	all := map[string]description{}
	for line := range strings.Lines(docs) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all[part[0]+"\t"+part[1]] = description{part[2], part[3]}
	}
	return all
}()
