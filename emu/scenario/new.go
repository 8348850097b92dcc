package scenario

import (
	"fabemu/switchd"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// New returns a scenario with a name, a duration and the built-in defaults, without nodes
// and traffic. A program adds these. Run refuses the same mistakes as Load.
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

// NewLink returns a link without its own name, with the built-in defaults.
func NewLink(a, b string, rate unit.Rate) Link {
	l := newLink(view{of: builtIn().section("links")})
	l.Name, l.A, l.B, l.Rate = a+" - "+b, a, b, rate
	return l
}

// NewFlow returns a flow that is its own group, with the built-in defaults
// but without jitter: it starts at its Start, to the picosecond.
func NewFlow(name, from, to string) Flow {
	t := builtIn()
	f := newFlow(name, view{of: t.section("flows")}, t)
	f.From, f.To = from, to
	return f
}

// newLink returns a link without ends.
func newLink(v view) Link {
	l, sub := build[Link](v), v.sub("cbfc")
	l.Lanes = lanesOf(v, &l)
	if l.FlowControl != port.ChannelCredits {
		return l
	}
	l.CBFC = build[CBFC](sub)
	l.CBFC.Carry = prioritiesOf(sub, "lossless", AllPriorities)
	l.CBFC.Lossless = uint8(l.CBFC.Carry)
	for class := range l.CBFC.Channels {
		l.CBFC.Channels[class] = l.CBFC.First + uint8(class)
	}
	return l
}

// prioritiesOf returns the priorities in a list, and others without it.
func prioritiesOf(v view, key string, others Priorities) (p Priorities) {
	classes := v.list(key)
	if classes == nil {
		return others
	}
	for _, n := range classes.items {
		if class, ok := n.value.(int64); ok {
			p |= 1 << class
		}
	}
	return p
}

func newSwitch(name string, v view, t tables) Switch {
	s := build[Switch](v)
	s.Name, s.Marking = name, t.marking(v)
	if s.Kind == InputBuffered {
		return s
	}
	s.Lossless = prioritiesOf(v, "lossless", s.Lossless)
	if sub := v.sub("watchdog"); sub.present() {
		s.Watchdog = build[switchd.Watchdog](sub)
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
	f.Control.Algorithm, f.Control.Params = t.algorithms.chosen(v, "control", nil)
	f.Transport.Kind, f.Transport.Params = t.transports.chosen(v, "transport", nil)
	if f.Group == "" {
		f.Group = name
	}
	return f
}
