package scenario

import (
	"fabemu/switchd"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// view is an object with the defaults behind it.
type view struct {
	of    *param.Struct
	chain [2]*node // the object, then defaults; nil where there is none
}

// at returns the value of a field and the node that gives it, nil for the
// built-in default. Without a default the value is nil too.
func (v view) at(key string) (any, *node) { return v.value(v.of.Find(key)) }

func (v view) value(p *param.Param) (any, *node) {
	for _, n := range v.chain {
		if f := n.get(p.Key); f != nil && f.value != nil {
			return f.value, f
		}
	}
	return p.Usual(), nil
}

// node returns the node that gives a field, a value or a list; nil for the built-in default.
func (v view) node(key string) *node {
	if _, n := v.at(key); n != nil {
		return n
	}
	return v.list(key)
}

// spot returns the spot of a field, or another one if it is not given.
func (v view) spot(key string, otherwise spot) spot {
	if n := v.node(key); n != nil {
		return n.spot
	}
	return otherwise
}

// list returns the list that a field has; nil if it is not given.
func (v view) list(key string) *node {
	for _, n := range v.chain {
		if f := n.get(key); f != nil && f.kind == list {
			return f
		}
	}
	return nil
}

// given reports whether a field is given.
func (v view) given(key string) bool { return v.node(key) != nil }

// present reports whether the file has the object, or defaults of it.
func (v view) present() bool { return v.chain != [2]*node{} }

// sub returns an object within an object.
func (v view) sub(key string) view {
	out := view{of: v.of.Find(key).Object}
	for i, n := range v.chain {
		out.chain[i] = n.get(key)
	}
	return out
}

// get returns the value of a field, or the zero value.
func get[T any](v view, key string) T {
	value, _ := v.at(key)
	t, _ := value.(T)
	return t
}

// buildAll returns a struct for each item of a list.
func buildAll[T any](v view, key string) (all []T) {
	if n := v.list(key); n != nil {
		of := v.of.Find(key).Item.Object
		for _, item := range n.items {
			all = append(all, build[T](view{of: of, chain: [2]*node{item}}))
		}
	}
	return all
}

// build returns a struct with the values of all fields that are single values.
func build[T any](v view) (t T) {
	var complete func(pointer any)
	if _, completes := any(&t).(param.Completer); completes {
		complete = param.Complete(v.given)
	}
	v.of.Fill(&t, func(p *param.Param) any { value, _ := v.value(p); return value }, complete)
	return t
}

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
