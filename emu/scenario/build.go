package scenario

import "fabemu/wire/unit"

// New returns a scenario with a name and a duration and the built-in defaults,
// without machines and traffic: what a program begins with that builds one by
// itself. Run refuses what Load would have refused.
func New(name string, duration unit.Duration) *Scenario {
	top := view{of: Language().Object}
	s := &Scenario{
		Name:    name,
		Model:   build[Model](top.sub("model")),
		Wall:    build[Wall](top.sub("wall")),
		Routing: build[Routing](top.sub("routing")),
	}
	s.Model.Duration = duration
	s.Measure.Window = s.usualWindow()
	return s
}

// NewSwitch returns a switch with the built-in defaults.
func NewSwitch(name string) Switch {
	t := builtIn()
	return newSwitch(name, view{of: t.section("switches")}, t)
}

// NewEndpoints returns endpoints on InfiniBand, which have nothing but names.
func NewEndpoints(names ...string) []Endpoint {
	all := make([]Endpoint, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

// NewLink returns a link without a name of its own, with the built-in defaults.
func NewLink(a, b string, rate unit.Rate) Link {
	l := build[Link](view{of: builtIn().section("links")})
	l.Name, l.A, l.B, l.Rate = a+" - "+b, a, b, rate
	return l
}

// NewFlow returns a flow that is a group of its own, with the built-in defaults
// but without jitter: it starts at its Start, to the picosecond.
func NewFlow(name, from, to string) Flow {
	t := builtIn()
	f := newFlow(name, view{of: t.section("flows")}, t)
	f.From, f.To = from, to
	return f
}

func newSwitch(name string, v view, t tables) Switch {
	s := build[Switch](v)
	s.Name, s.Marking = name, t.marking(v)
	if s.Kind == InputBuffered {
		return s
	}
	if classes := v.list("lossless"); classes != nil {
		for _, n := range classes.items {
			if class, ok := n.value.(int64); ok {
				s.Lossless |= 1 << class
			}
		}
	}
	for _, w := range buildAll[weight](v, "ets") {
		s.ETS[w.Priority&7] = w.Weight
	}
	return s
}

// newFlow returns a flow without ends, start and jitter.
func newFlow(name string, v view, t tables) Flow {
	f := build[Flow](v)
	f.Name = name
	f.Control.Law, f.Control.Params = t.laws.chosen(v, "control", nil)
	f.Transport.Kind, f.Transport.Params = t.transports.chosen(v, "transport", nil)
	if f.Group == "" {
		f.Group = name
	}
	return f
}
