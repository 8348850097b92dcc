package scenario

import "fabemu/wire/unit"

// New returns a scenario with a name and a duration and the built-in defaults,
// without machines and traffic: what a program begins with that builds one by
// itself. Run refuses what Load would have refused.
func New(name string, duration unit.Duration) *Scenario {
	top := view{shape: language()}
	s := &Scenario{
		Name:    name,
		Model:   newModel(top.sub("model")),
		Wall:    newWall(top.sub("wall")),
		Measure: Measure{Window: min(get[unit.Duration](top.sub("measure"), "window"), duration)},
	}
	s.Model.Duration = duration
	return s
}

// NewSwitch returns a switch with the built-in defaults.
func NewSwitch(name string) Switch {
	return newSwitch(name, view{shape: language().field("switches").shape.item})
}

// NewLink returns a link without a name of its own, with the built-in defaults.
func NewLink(a, b string, rate unit.Rate) Link {
	l := newLink(view{shape: language().field("links").shape.item})
	l.Name, l.A, l.B, l.Rate = a+" - "+b, a, b, rate
	return l
}

// NewFlow returns a flow that is a group of its own, with the built-in defaults
// but without jitter: it starts at its Start, to the picosecond.
func NewFlow(name, from, to string) Flow {
	f := newFlow(name, view{shape: language().field("flows").shape.item})
	f.From, f.To = from, to
	return f
}

func newModel(v view) Model {
	return Model{
		Duration: get[unit.Duration](v, "duration"),
		Seed:     get[uint64](v, "seed"),
		Framing:  get[string](v, "framing"),
	}
}

func newWall(v view) Wall {
	return Wall{
		Dilation: get[int64](v, "dilation"),
		UDPPort:  int(get[int64](v, "udp-port")),
		Buffer:   get[unit.Size](v, "socket-buffer"),
	}
}

func newSwitch(name string, v view) Switch {
	return Switch{
		Name:            name,
		Kind:            get[string](v, "kind"),
		ForwardingDelay: get[unit.Duration](v, "forwarding-delay"),
		Crossbar:        get[string](v, "crossbar"),
		Bypass:          int(get[int64](v, "bypass")),
		Marking:         marking(v),
	}
}

// marking returns how a switch marks.
func marking(v view) Marking {
	m := v.sub("marking")
	out := Marking{
		Scheme:      get[string](m, "scheme"),
		Threshold:   int(get[int64](m, "threshold")),
		Exceeds:     get[string](m, "exceeds"),
		Counts:      get[string](m, "counts"),
		Selection:   get[string](m, "selection"),
		FullAt:      get[Buffer](m, "full-at"),
		SkipBlocked: get[bool](m, "skip-blocked"),
		IdleExempt:  get[string](v, "crossbar") == "single-output",
	}
	if given, n := m.at("idle-exempt"); n != nil {
		out.IdleExempt = given.(bool)
	}
	if out.Threshold == int(noThreshold) && out.Scheme == "input-output" {
		out.Scheme = "input"
	}
	return out
}

// newLink returns a link that joins nothing yet.
func newLink(v view) Link {
	return Link{
		Rate:        get[unit.Rate](v, "rate"),
		Propagation: get[unit.Duration](v, "propagation"),
		FlowControl: get[string](v, "flow-control"),
		Buffer:      get[Buffer](v, "buffer"),
		Resend:      get[unit.Duration](v, "resend"),
	}
}

// newFlow returns a flow without ends, start and jitter.
func newFlow(name string, v view) Flow {
	control := v.sub("control")
	return Flow{
		Name:    name,
		Group:   name,
		Stop:    get[unit.Duration](v, "stop"),
		Traffic: get[string](v, "traffic"),
		Packet:  get[unit.Size](v, "packet"),
		Window:  int(get[int64](v, "window")),
		Limiter: get[string](v, "limiter"),
		Control: Control{
			Law:          get[string](control, "law"),
			RmaxOverRmin: get[int64](control, "rmax-over-rmin"),
			Factor:       get[float64](control, "factor"),
		},
	}
}
