package scenario

import "fabemu/wire/param"

// Given is a value, an object or a list that a file or a --set gives.
type Given struct {
	Key    string // in the object that has it
	Path   string // in the file, such as "links[3].buffer"
	BySet  bool   // a --set gives it
	List   bool
	Value  any     // of a single value; nil if it is wrong
	Fields []Given // of an object
}

// field returns a field of an object; nil: it is not given.
func (g *Given) field(key string) *Given {
	if g != nil {
		for i := range g.Fields {
			if g.Fields[i].Key == key {
				return &g.Fields[i]
			}
		}
	}
	return nil
}

// Mention is where a file or a --set gives a value of a scenario. A value under defaults, or of an
// item that stands for several objects, has one mention for all of them.
type Mention struct {
	Path  string // in the file, such as "links[3].buffer"; empty: the value is not given
	BySet bool   // a --set gives it
	Usual bool   // it is the built-in default, written out
}

// Given reports whether the file or a --set has the value.
func (m Mention) Given() bool { return m.Path != "" }

// Item is an object of a scenario as its file gives it, with the defaults of its kind. Two items
// are equal if they are the same part of the file.
type Item struct {
	of    *param.Struct
	at    string    // its path in the file; of an object in an item that of the item
	chain [2]*Given // the object, then the defaults behind it; nil where there is none
}

// NewItem returns an object with its fields, its path in the file, and the defaults of its kind
// behind it; nil where there are none.
func NewItem(of *param.Struct, path string, own, behind *Given) Item {
	return Item{of, path, [2]*Given{own, behind}}
}

// Path returns the path of the item in the file.
func (i Item) Path() string { return i.at }

// Fields returns the fields that the item can have.
func (i Item) Fields() *param.Struct { return i.of }

// given returns what gives a field, a value or a list; nil for the built-in default.
func (i Item) given(key string) *Given {
	for _, g := range i.chain {
		if f := g.field(key); f != nil && f.Value != nil {
			return f
		}
	}
	for _, g := range i.chain {
		if f := g.field(key); f != nil && f.List {
			return f
		}
	}
	return nil
}

// value returns the value of a field, or the built-in default, and whether it is given.
func (i Item) value(p *param.Param) (value any, given bool) {
	if g := i.given(p.Key); g != nil && g.Value != nil {
		return g.Value, true
	}
	return p.Usual(), false
}

// Mention returns the mention of a field.
func (i Item) Mention(key string) Mention {
	g := i.given(key)
	if g == nil {
		return Mention{}
	}
	usual := i.of.Find(key).Usual()
	return Mention{g.Path, g.BySet, usual != nil && usual == g.Value}
}

// Where returns the path of the first of some fields that is given, or else of the item.
func (i Item) Where(keys ...string) string {
	for _, key := range keys {
		if from := i.Mention(key); from.Given() {
			return from.Path
		}
	}
	return i.at
}

// has reports whether the item itself has a part, which may be an object.
func (i Item) has(key string) bool { return i.chain[0].field(key) != nil }

// At returns the path of a part of the item, which may be an object, if the item itself has it, or
// else of the item.
func (i Item) At(key string) string {
	if f := i.chain[0].field(key); f != nil {
		return f.Path
	}
	return i.at
}

// In returns an object in the item, such as the control of a flow.
func (i Item) In(key string) Item {
	in := Item{of: i.of.Find(key).Object, at: i.at}
	for n, g := range i.chain {
		in.chain[n] = g.field(key)
	}
	return in
}
