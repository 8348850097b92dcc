package param

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Kind is the kind of the values of a parameter.
type Kind uint8

// The kinds.
const (
	Own      Kind = iota // any type: one value, written in Param.Form
	Duration             // unit.Duration
	Rate                 // unit.Rate
	Size                 // unit.Size
	Room                 // unit.Room
	Whole                // an integer type
	Decimal              // float64
	Flag                 // bool
	Word                 // one of Param.Words: a string type, or an unsigned one
	Text                 // a string: any text that Param.Form accepts
	Object               // a mapping with the keys of Param.Object
	Map                  // a mapping from names to values like Param.Item
	List                 // a list of values like Param.Item
)

// Single reports whether a parameter is one value.
func (k Kind) Single() bool { return k < Object }

// Param is one parameter, as the tags of its field declare it. The package comment explains the
// tags.
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
	Values    string
	Doc       string
	Source    string
	Also      []string
	Old       string // the key in earlier versions; files with it are still read
	Form      *Form

	Object *Struct // Object: its keys
	Item   *Param  // Map, List: each item
	Named  string
	Short  string
	Parts  []Pair
	Least  int
	Length int // List: the number of items; 0: any number

	// Grows is the quantity of a fabric with which the right value grows, LinkRate or RoundTrip; it
	// does not matter if the parameter Unless has a value, which scales it.
	Grows, Unless string

	// Search is where a search for better values may look, if not between the values of the sets.
	Search Search

	usual any   // Default, read
	by    by    // if the default depends on the word of another parameter
	at    int64 // the value of None
	field []int // empty: it sets nothing

	// Of sets of values, by their words in the order of sets. A parameter of sets has sources and
	// made; of is the key of that parameter, if the tags have it.
	sets, sources, rules, guesses []string
	of                            string
	made                          made
}

// by has the defaults of a parameter by the word of another one.
type by struct {
	key   string
	texts []string       // of the defaults, by the words of key in their order
	usual map[string]any // by word, read
}

// Form is a notation of values.
type Form struct {
	Wanted  string
	Pattern string // a regular expression of the whole text; it accepts all texts that Read accepts
	Units   []string
	Words   []string // allowed in addition to other values
	Listed  bool     // a value may have commas
	Read    func(text string) (any, error)
}

// Formed is a type whose values are written in its own form. Form.Read returns one. Its
// error may be a Misread.
type Formed interface{ Form() Form }

// Misread is an error at an offset in a text, in bytes.
type Misread struct {
	Err error
	At  int
}

func (m Misread) Error() string { return m.Err.Error() }
func (m Misread) Unwrap() error { return m.Err }

// Forms are parameters by the name of their form. The tags of a field add to them.
type Forms map[string]Param

// Pair is a key of a mapping that stands for a field in addition to that mapping.
type Pair struct{ Key, Field string }

// Condition holds if another field has one of some values, or with Not none of them.
type Condition struct {
	Key    string // empty: always
	Not    bool
	Values []string
}

// String prints a condition as in messages: "kind: a or b".
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
	Params []Param // in the order of the fields, with the fields of embedded structs
	zero   any
}

// Of returns the parameters of the type of v, a struct; for nil there are none. It panics
// if a tag or a type does not follow the package comment.
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
	sets := s.Sets()
	for i := range s.Params {
		s.Params[i].goesWith(sets)
	}
	return s
}

// goesBy reads the defaults that depend on the word of another parameter.
func (p *Param) goesBy(other *Param) {
	if other == nil || len(other.Words) != len(p.by.texts) {
		panic(fmt.Sprintf("param: %s needs a default for each word of %s", p.Key, p.by.key))
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
			texts[i] = strings.Join(words[text], ", ") + ": " + text
		}
	}
	p.Computed = strings.Join(texts, "; ")
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

// Current returns the present key of a parameter by its key in an earlier version, and any other
// key as it is.
func (s *Struct) Current(key string) string {
	for i := range s.Params {
		if p := &s.Params[i]; p.Old != "" && p.Old == key {
			return p.Key
		}
	}
	return key
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

func Path(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Usual returns the default as Read returns it, nil when there is none.
func (p *Param) Usual() any { return p.usual }

// Sets reports whether the parameter is a field of its struct.
func (p *Param) Sets() bool { return p.field != nil }

// Alike reports whether two parameters have the same kind, range and words.
func (p *Param) Alike(q *Param) bool {
	return p.Kind == q.Kind && p.Low == q.Low && p.High == q.High && p.Above == q.Above && p.None == q.None &&
		slices.Equal(p.Words, q.Words)
}
