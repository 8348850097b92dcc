package scenario

import (
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// New returns a scenario with a name, a duration and the built-in defaults, without nodes
// and traffic. A program adds these. Run refuses the same mistakes as Load.
func New(name string, duration unit.Duration) *Scenario {
	s := &Scenario{
		Name:    name,
		Model:   usual[Model]("model"),
		Wall:    usual[Wall]("wall"),
		Routing: usual[Routing]("routing"),
	}
	s.Model.Duration = duration
	s.Measure.Window = s.UsualWindow()
	return s
}

// NewSwitch returns a switch with the built-in defaults.
func NewSwitch(name string) Switch {
	s := usual[Switch]("switches")
	s.Name, s.Marking.Scheme = name, NoScheme
	return s
}

// NewEndpoints returns endpoints on InfiniBand, which have nothing but names.
func NewEndpoints(names ...string) []Endpoint {
	all := make([]Endpoint, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

// NewLink returns a link without its own name, with the built-in defaults.
func NewLink(a, b string, rate unit.Rate) Link {
	l := usual[Link]("links")
	l.Name, l.A, l.B, l.Rate = a+" - "+b, a, b, rate
	return l
}

// NewFlow returns a flow that is its own group, with the built-in defaults
// but without jitter: it starts at its Start, to the picosecond.
func NewFlow(name, from, to string) Flow {
	f := usual[Flow]("flows")
	f.Name, f.Group, f.From, f.To = name, name, from, to
	t := builtIn()
	f.Control.Algorithm, f.Control.Params = t.Algorithms.usually(t.Section("flows").Find("control").Object)
	return f
}

// usual returns an object of a section of the language with all defaults.
func usual[T any](section string) T {
	return defaultsOf(builtIn().Section(section)).(T)
}

// usually returns the choice that an object has by default, and its parameters.
func (t *Table) usually(object *param.Struct) (name string, made any) {
	name, _ = object.Find(t.By).Usual().(string)
	if of := t.Find(name); of != nil {
		made = defaultsOf(of)
	}
	return name, made
}

// defaultsOf returns a struct with the defaults of its parameters.
func defaultsOf(of *param.Struct) any {
	none := func(string) bool { return false }
	return of.Build(func(*param.Param) any { return nil }, param.Complete(none))
}
