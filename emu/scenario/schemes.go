package scenario

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
)

// Schemes are the tables that a scenario chooses from by name: algorithms of reaction points,
// congestion points, and what events do.
type Schemes struct {
	Algorithms []rp.Algorithm
	Points     []cp.Point
	Acts       []Act // without parameters
}

// BuiltIn returns the tables of the program.
func BuiltIn() Schemes {
	return Schemes{Algorithms: append(rp.Algorithms(), rp.ExecAlgorithm()), Points: cp.Points(), Acts: Acts()}
}

// Algorithm returns the row of a flow's algorithm. It is empty if the scenario was built in Go and
// is not right.
func (s *Scenario) Algorithm(f *Flow) rp.Algorithm {
	l, _ := rowOf(s.choices().Algorithms, func(l *rp.Algorithm) bool { return l.Name == f.Control.Algorithm })
	return l.With(f.Control.Params)
}

// Point returns the row of a switch's scheme; ok is false for NoScheme.
func (s *Scenario) Point(w *Switch) (p cp.Point, ok bool) {
	return rowOf(s.choices().Points, func(p *cp.Point) bool { return p.Name == w.Marking.Scheme })
}

// SharedBy returns the parameter by which a flow shares its rate limiter; empty: it has its own.
func SharedBy(f *Flow) string {
	return rp.TraitsOf(f.Control.Params).By
}

// TransportOf returns the row of a flow's transport, given the family of its frames.
func TransportOf(kind string, family wire.Family) nodes.TransportRow {
	row, _ := rowOf(transports(), func(t *nodes.TransportRow) bool {
		return t.Name == kind || kind == "" && t.Usual && t.Family == family
	})
	return row
}

// rowOf returns the first row of a table that matches.
func rowOf[R any](rows []R, matches func(*R) bool) (row R, ok bool) {
	for i := range rows {
		if matches(&rows[i]) {
			return rows[i], true
		}
	}
	return row, false
}

// NewTransport returns the transport of a flow, given the family of its frames and
// [Scenario.Loses].
func NewTransport(f *Flow, family wire.Family, loses bool) nodes.Transport {
	return TransportOf(f.Transport.Kind, family).New(f.Transport.Params,
		nodes.Acknowledged{Window: f.Window, Timeout: f.Timeout, Loses: loses,
			AckSL: uint8(max(f.AckSL, 0)), AcksAsData: f.AckSL != AcksApart})
}

// choices returns the tables that the scenario chooses from.
func (s *Scenario) choices() Schemes {
	if s.Schemes == nil {
		return ownRows()
	}
	return *s.Schemes
}

// The tables of the program, made once. They must not be changed.
var (
	ownRows    = sync.OnceValue(BuiltIn)
	transports = sync.OnceValue(nodes.Transports)
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

// Tables has the choices of a scenario, and the language that follows from them.
type Tables struct {
	Algorithms, Points, Transports *Table
	acts                           *Table // by the keys of their rows
	rows                           []Act  // of acts
	language                       *param.Struct
	chosen                         map[*param.Struct]*Table // by the parameters of an object, the table that it chooses from
}

// builtIn returns the tables of BuiltIn, which are made once.
var builtIn = sync.OnceValue(func() Tables { return ownRows().Tables() })

// Tables returns the tables that s chooses from.
func (s *Scenario) Tables() Tables {
	if s.Schemes == nil {
		return builtIn()
	}
	return s.Schemes.Tables()
}

// Section returns the parameters of a section of a scenario, or of each of its items.
func (t Tables) Section(key string) *param.Struct {
	p := t.language.Find(key)
	if p.Item != nil {
		p = p.Item
	}
	return p.Object
}

func (s Schemes) Tables() Tables {
	t := Tables{Algorithms: newTable("algorithm", "defaults", "flow", "control"),
		Points: newTable("scheme", "defaults", "switch", "marking"), Transports: newTable("kind", "defaults", "flow", "transport"),
		acts: newTable(""), rows: s.Acts}
	for _, l := range s.Algorithms {
		t.Algorithms.add(l.Name, l.Also, l.Doc, l.Params)
	}
	t.Algorithms.old = "law"
	t.Points.add(NoScheme, []string{"off"}, "marks nothing", nil)
	for _, p := range s.Points {
		t.Points.add(p.Name, p.Also, p.Doc, p.Params)
	}
	for _, x := range transports() {
		t.Transports.add(x.Name, x.Also, x.Doc, x.Params)
	}
	t.chosen = map[*param.Struct]*Table{}
	t.language = param.Of(Scenario{}, t.forms())
	return t
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
