package scenario

import (
	"reflect"
	"slices"
	"strings"

	"fabemu/wire/param"
)

// A choice is the part of a row that the language needs.
type choice struct {
	name   string
	also   []string
	doc    string
	params *param.Struct
	typ    reflect.Type // of the parameters
}

// A Table has the choices of one place of a scenario.
type Table struct {
	By, old string   // the key that names the choice, and its name in earlier versions
	Usual   []string // the path of the object where all others have their choice from
	choices []choice
	keys    []string            // the parameters of all choices, in their order
	having  map[string][]string // by key, the choices with that parameter
}

// newTable returns a table without choices.
func newTable(by string, usual ...string) *Table {
	return &Table{By: by, Usual: usual, having: map[string][]string{}}
}

// add adds a choice.
func (t *Table) add(name string, also []string, doc string, params any, forms ...param.Forms) {
	c := choice{name, also, doc, param.Of(params, forms...), reflect.TypeOf(params)}
	t.choices = append(t.choices, c)
	for _, key := range c.params.Keys() {
		if t.having[key] == nil {
			t.keys = append(t.keys, key)
		}
		t.having[key] = append(t.having[key], name)
	}
}

// Find returns the parameters of a choice; nil if it does not exist.
func (t *Table) Find(name string) *param.Struct {
	c, _ := rowOf(t.choices, func(c *choice) bool { return c.name == name })
	return c.params
}

// chosen returns the parameters of the choice that a word names; nil if there is none.
func (t *Table) chosen(word string) *param.Struct {
	c, _ := rowOf(t.choices, func(c *choice) bool { return c.name == word || slices.Contains(c.also, word) })
	return c.params
}

// fields returns the parameter that names the choice, then the parameters of all choices.
func (t *Table) fields(def, doc string) []param.Param {
	choice := param.Param{Key: t.By, Old: t.old, Kind: param.Word, Default: def, Means: map[string]string{}}
	var docs []string
	for _, c := range t.choices {
		choice.Words = append(choice.Words, c.name)
		docs = append(docs, c.name+" "+c.doc)
		for _, w := range c.also {
			choice.Means[w] = c.name
		}
	}
	choice.Doc = doc + ": " + strings.Join(docs, "; ") + "."
	fields := []param.Param{choice.Stated()}
	for _, key := range t.keys {
		fields = append(fields, t.parameter(key))
	}
	return fields
}

// parameter returns a parameter that one or several choices have.
func (t *Table) parameter(key string) param.Param {
	first := t.Find(t.having[key][0]).Find(key)
	f := *first
	names := map[string][]string{} // of choices, by the meaning that the parameter has there
	var docs, defaults []string
	for _, name := range t.having[key] {
		p := t.Find(name).Find(key)
		if names[p.Doc] == nil {
			docs = append(docs, p.Doc)
		}
		names[p.Doc] = append(names[p.Doc], name)
		if d := p.Default + p.Computed; !slices.Contains(defaults, d) {
			defaults = append(defaults, d)
		}
		if !first.Alike(p) {
			f = param.Either(f, *p)
		}
	}
	for i, doc := range docs {
		if of := strings.Join(names[doc], ", "); of != key {
			docs[i] = of + ": " + doc
		}
	}
	f.Doc = strings.Join(docs, " ")
	if len(defaults) > 1 {
		f.Default, f.Computed, f.Source = "", strings.Join(defaults, " or ")+", depending on the scheme", ""
	}
	return f.Stated()
}

// Tables has the choices of a scenario, and the language that follows from them.
type Tables struct {
	Algorithms, Points, Transports *Table
	acts                           *Table // by the keys of their rows
	rows                           []Act  // of acts
	language                       *param.Struct
	chosen                         map[*param.Struct]*Table // by the parameters of an object, the table that it chooses from
}

// Section returns the parameters of a section of a scenario, or of each of its items.
func (t Tables) Section(key string) *param.Struct {
	p := t.language.Find(key)
	if p.Item != nil {
		p = p.Item
	}
	return p.Object
}

// Language returns the language as one parameter.
func (t Tables) Language() *param.Param { return &param.Param{Kind: param.Object, Object: t.language} }
