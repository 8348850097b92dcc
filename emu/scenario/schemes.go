package scenario

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Schemes are the tables that a scenario chooses from by name: laws of reaction points,
// and congestion points.
type Schemes struct {
	Laws   []rp.Law
	Points []cp.Point
}

// BuiltIn returns the tables of the program.
func BuiltIn() Schemes { return Schemes{Laws: rp.Laws(), Points: cp.Points()} }

// WithSchemes has Load choose from other tables than those of the program.
func WithSchemes(s Schemes) Option { return func(o *options) { o.schemes = &s } }

// Law returns the row of a flow's law; it has none if a Scenario was built in Go and is
// not right.
func (s *Scenario) Law(f *Flow) rp.Law { return s.choices().law(f) }

// Point returns the row of a switch's scheme; ok is false for NoScheme.
func (s *Scenario) Point(w *Switch) (p cp.Point, ok bool) { return s.choices().point(w) }

// SharedBy returns the parameter by which a flow shares its rate limiter; empty: it has its own.
func SharedBy(f *Flow) string {
	return rp.TraitsOf(f.Control.Params).By
}

func (s Schemes) law(f *Flow) rp.Law {
	l, _ := rowOf(s.Laws, func(l *rp.Law) bool { return l.Name == f.Control.Law })
	return l
}

func (s Schemes) point(w *Switch) (p cp.Point, ok bool) {
	return rowOf(s.Points, func(p *cp.Point) bool { return p.Name == w.Marking.Scheme })
}

// transport returns the row of a flow's transport, given the family of its frames.
func transport(kind string, family wire.Family) nodes.TransportRow {
	row, _ := rowOf(transports(), func(t *nodes.TransportRow) bool {
		return t.Name == kind || kind == "" && t.Usual && t.Family == family
	})
	return row
}

// rowOf returns the first row of a table that is meant.
func rowOf[R any](rows []R, meant func(*R) bool) (row R, ok bool) {
	for i := range rows {
		if meant(&rows[i]) {
			return rows[i], true
		}
	}
	return row, false
}

// NewTransport returns the transport of a flow, given the family of its frames.
func (s *Scenario) NewTransport(f *Flow, family wire.Family) nodes.Transport {
	return transport(f.Transport.Kind, family).New(f.Transport.Params,
		nodes.Way{Window: f.Window, Timeout: f.Timeout, Loses: s.Loses()})
}

// choices returns what the scenario chooses from.
func (s *Scenario) choices() Schemes {
	if s.Schemes == nil {
		return ownRows()
	}
	return *s.Schemes
}

// The tables of the program, made once: nothing may be added to these.
var (
	ownRows    = sync.OnceValue(BuiltIn)
	transports = sync.OnceValue(nodes.Transports)
)

// A choice is a row of a table, as far as the language goes.
type choice struct {
	name   string
	also   []string
	doc    string
	params *param.Struct
}

// A table is what a scenario chooses from in one place.
type table struct {
	by      string // the key that names the choice
	choices []choice
	keys    []string            // the parameters of all choices, in their order
	having  map[string][]string // by key, the choices that have it
}

// add adds a choice.
func (t *table) add(name string, also []string, doc string, params any) {
	c := choice{name, also, doc, param.Of(params)}
	t.choices = append(t.choices, c)
	for _, key := range c.params.Keys() {
		if t.having[key] == nil {
			t.keys = append(t.keys, key)
		}
		t.having[key] = append(t.having[key], name)
	}
}

// find returns the parameters of a choice; nil when there is none of the name.
func (t *table) find(name string) *param.Struct {
	c, _ := rowOf(t.choices, func(c *choice) bool { return c.name == name })
	return c.params
}

// tables are what a scenario chooses from, as the language has it, and the language that
// follows.
type tables struct {
	laws, points, transports *table
	language                 *param.Struct
}

// builtIn returns those of BuiltIn, which are read once.
var builtIn = sync.OnceValue(func() tables { return ownRows().tables() })

// tables returns what s chooses from.
func (s *Scenario) tables() tables {
	if s.Schemes == nil {
		return builtIn()
	}
	return s.Schemes.tables()
}

// section returns what a section of a scenario holds, or each of its items.
func (t tables) section(key string) *param.Struct {
	p := t.language.Find(key)
	if p.Item != nil {
		p = p.Item
	}
	return p.Object
}

func (s Schemes) tables() tables {
	table := func(by string) *table { return &table{by: by, having: map[string][]string{}} }
	t := tables{laws: table("law"), points: table("scheme"), transports: table("kind")}
	for _, l := range s.Laws {
		t.laws.add(l.Name, l.Also, l.Doc, l.Params)
	}
	t.points.add(NoScheme, []string{"off"}, "marks nothing", nil)
	for _, p := range s.Points {
		t.points.add(p.Name, p.Also, p.Doc, p.Params)
	}
	for _, x := range transports() {
		t.transports.add(x.Name, x.Also, x.Doc, x.Params)
	}
	t.language = param.Of(Scenario{}, t.forms())
	return t
}

// fields are the one that names the choice, then the parameters of all of them.
func (t *table) fields(def, doc string) []param.Param {
	choice := param.Param{Key: t.by, Kind: param.Word, Default: def, Means: map[string]string{}}
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

// have returns the names of the choices that have a parameter, and those parameters.
func (t *table) have(key string) (names []string, params []*param.Param) {
	for _, c := range t.choices {
		if p := c.params.Find(key); p != nil {
			names, params = append(names, c.name), append(params, p)
		}
	}
	return names, params
}

// parameter is a parameter that one choice has, or several.
func (t *table) parameter(key string) param.Param {
	names, params := t.have(key)
	f := *params[0]
	told := map[string][]string{} // by meaning, the choices that have it
	var docs, defaults []string
	for i, p := range params {
		if _, met := told[p.Doc]; !met {
			docs = append(docs, p.Doc)
		}
		told[p.Doc] = append(told[p.Doc], names[i])
		if d := p.Default + p.Computed; !slices.Contains(defaults, d) {
			defaults = append(defaults, d)
		}
		if i > 0 && !params[0].Alike(p) {
			f = param.Either(f, *p)
		}
	}
	for i, doc := range docs {
		docs[i] = strings.Join(told[doc], ", ") + ": " + doc
	}
	f.Doc = strings.Join(docs, " ")
	if len(defaults) > 1 {
		f.Default, f.Computed, f.Source = "", strings.Join(defaults, " or ")+", by what has it", ""
	}
	return f.Stated()
}

// params returns the parameters of what was chosen. A value that it cannot have is left
// out here, and told by checkParams.
func params(v view, of *param.Struct, finish func(pointer any)) any {
	return of.Build(func(p *param.Param) any {
		if n := v.node(p.Key); n != nil {
			if value, err := p.Read(n.text); err == nil {
				return value
			}
		}
		return nil
	}, func(pointer any) {
		param.Complete(v.given)(pointer)
		if finish != nil {
			finish(pointer)
		}
	})
}

// chosen returns the choice that an object within another names, and its parameters; nil where it
// has none.
func (t *table) chosen(v view, key string, finish func(pointer any)) (name string, made any) {
	v = v.sub(key)
	name = get[string](v, t.by)
	if of := t.find(name); of != nil {
		made = params(v, of, finish)
	}
	return name, made
}

// marking returns whom a switch with these fields marks.
func (t tables) marking(v view) (m Marking) {
	m.Scheme, m.Params = t.points.chosen(v, "marking", func(pointer any) {
		if c, ok := pointer.(cp.SwitchFitter); ok {
			c.FitSwitch(Crossbar(get[string](v, "crossbar")) == SingleOutput,
				get[unit.Size](v, "output-limit"), v.sub("marking").given)
		}
	})
	return m
}

// lookParams warns of the parameters that what was chosen does not have.
func (u *uses) lookParams(v view, t *table, chosen string) {
	for _, key := range t.keys {
		if !v.given(key) {
			continue
		}
		with := param.Condition{Key: t.by, Values: t.having[key]}
		u.look(v, key, t.by, slices.Contains(with.Values, chosen), with.String())
	}
}

// A saying is what was said of a node: of a key of it, or by a check.
type saying struct {
	node *node
	what string
}

// first reports whether something is said of a node, or of no node, for the first time: once for each
// item, however many machines, links or flows that stands for.
func (r *resolver) first(n *node, what string) bool {
	s := saying{n, what}
	if n != nil && r.told[s] {
		return false
	}
	r.told[s] = true
	return true
}

// checkParams refuses a value that another choice may have, and the one that was made
// may not.
func (r *resolver) checkParams(v view, of *param.Struct) {
	for i := range of.Params {
		p := &of.Params[i]
		if n := v.node(p.Key); n != nil {
			if _, err := p.Read(n.text); err != nil && r.first(n, p.Key) {
				r.add(n.spot, "%v", err)
			}
		}
	}
}

// toldAt says what is wrong with a value once, at the node of a key, of the choice
// itself, or of what has it.
func (r *resolver) toldAt(v view, key, by string, of spot, format string, args ...any) {
	if at, first := r.toTell(v, key, by, of); first {
		r.add(at, format, args...)
	}
}

// warnedAt is toldAt of what is right but probably not meant.
func (r *resolver) warnedAt(v view, key, by string, of spot, format string, args ...any) {
	if at, first := r.toTell(v, key, by, of); first {
		r.warn(at, format, args...)
	}
}

// toTell returns where to say something of a value, and false if something was said
// already.
func (r *resolver) toTell(v view, key, by string, of spot) (spot, bool) {
	n := cmp.Or(v.node(key), v.node(by))
	if n == nil {
		return of, true
	}
	return n.spot, r.first(n, key)
}
