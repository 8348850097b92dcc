package scenario

import (
	"fabemu/emu/scenario/yaml"
	"fabemu/switchd"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// New returns a scenario with a name, a duration and the built-in defaults, without nodes
// and traffic. A program adds these. Run refuses the same mistakes as Load.
func New(name string, duration unit.Duration) *Scenario {
	top := yaml.View{Of: Language().Object}
	s := &Scenario{
		Name:    name,
		Model:   yaml.Build[Model](top.Sub("model")),
		Wall:    yaml.Build[Wall](top.Sub("wall")),
		Routing: yaml.Build[Routing](top.Sub("routing")),
	}
	s.Model.Duration = duration
	s.Measure.Window = s.UsualWindow()
	return s
}

// NewSwitch returns a switch with the built-in defaults.
func NewSwitch(name string) Switch {
	t := builtIn()
	return SwitchOf(name, yaml.View{Of: t.Section("switches")}, t)
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
	l := LinkOf(yaml.View{Of: builtIn().Section("links")})
	l.Name, l.A, l.B, l.Rate = a+" - "+b, a, b, rate
	return l
}

// NewFlow returns a flow that is its own group, with the built-in defaults
// but without jitter: it starts at its Start, to the picosecond.
func NewFlow(name, from, to string) Flow {
	t := builtIn()
	f := FlowOf(name, yaml.View{Of: t.Section("flows")}, t)
	f.From, f.To = from, to
	return f
}

// LinkOf returns a link without ends.
func LinkOf(v yaml.View) Link {
	l, sub := yaml.Build[Link](v), v.Sub("cbfc")
	l.Lanes = lanesOf(v, &l)
	if l.FlowControl != port.ChannelCredits {
		return l
	}
	l.CBFC = yaml.Build[CBFC](sub)
	l.CBFC.Carry = PrioritiesOf(sub, "lossless", AllPriorities)
	l.CBFC.Lossless = uint8(l.CBFC.Carry)
	for class := range l.CBFC.Channels {
		l.CBFC.Channels[class] = l.CBFC.First + uint8(class)
	}
	return l
}

// PrioritiesOf returns the priorities in a list, and others without it.
func PrioritiesOf(v yaml.View, key string, others Priorities) (p Priorities) {
	classes := v.List(key)
	if classes == nil {
		return others
	}
	for _, n := range classes.Items {
		if class, ok := n.Value.(int64); ok {
			p |= 1 << class
		}
	}
	return p
}

func SwitchOf(name string, v yaml.View, t Tables) Switch {
	s := yaml.Build[Switch](v)
	s.Name, s.Marking = name, t.marking(v)
	if s.Kind == InputBuffered {
		return s
	}
	s.Lossless = PrioritiesOf(v, "lossless", s.Lossless)
	if sub := v.Sub("watchdog"); sub.Present() {
		s.Watchdog = yaml.Build[switchd.Watchdog](sub)
	}
	for _, w := range yaml.BuildAll[weight](v, "ets") {
		s.ETS[w.Priority&7] = w.Weight
	}
	return s
}

// FlowOf returns a flow without ends, start and jitter.
func FlowOf(name string, v yaml.View, t Tables) Flow {
	f := yaml.Build[Flow](v)
	f.Name = name
	f.Control.Algorithm, f.Control.Params = t.Algorithms.Chosen(v, "control", nil)
	f.Transport.Kind, f.Transport.Params = t.Transports.Chosen(v, "transport", nil)
	if f.Group == "" {
		f.Group = name
	}
	return f
}

// RetryOf returns the retry of a link; the fitted values are not computed yet.
func RetryOf(v yaml.View) (r Retry) {
	sub := v.Sub("retry")
	if sub.Present() {
		r = yaml.Build[Retry](sub)
		r.Unprotected = PrioritiesOf(sub, "unprotected", 0)
		r.Eligible = uint8(^r.Unprotected)
	}
	return r
}

// GuestOf returns the guest that an endpoint is, if it is one. The guest has the address of the
// first member of a range.
func GuestOf(v yaml.View) (g Guest) {
	sub := v.Sub("guest")
	if sub.Present() {
		g = yaml.Build[Guest](sub)
		g.DSCP = DSCPOf(sub)
		if g.Card() && !g.Address.IsValid() {
			g.Address = NoAddress()
		}
		if g.Card() && sub.Node("kind") == nil {
			g.Kind = Tap
		}
	}
	return g
}

// DSCPOf returns the table of priorities in a mapping.
func DSCPOf(v yaml.View) (all DSCP) {
	for _, d := range yaml.BuildAll[DSCPItem](v, "dscp") {
		all[d.DSCP&63] = d.Priority + 1
	}
	return all
}
