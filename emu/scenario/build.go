package scenario

import "fabemu/wire/unit"

// New returns a scenario with a name and a duration and the built-in defaults,
// without machines and traffic: what a program begins with that builds one by
// itself. Run refuses what Load would have refused.
func New(name string, duration unit.Duration) *Scenario {
	top := view{shape: language(BuiltIn().tables())}
	s := &Scenario{
		Name:    name,
		Model:   newModel(top.sub("model")),
		Wall:    newWall(top.sub("wall")),
		Routing: newRouting(top.sub("routing")),
		Measure: Measure{Window: min(get[unit.Duration](top.sub("measure"), "window"), duration)},
	}
	s.Model.Duration = duration
	return s
}

// NewSwitch returns a switch with the built-in defaults.
func NewSwitch(name string) Switch {
	return newSwitch(name, view{shape: language(BuiltIn().tables()).field("switches").shape.item}, BuiltIn().tables())
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
	l := newLink(view{shape: language(BuiltIn().tables()).field("links").shape.item})
	l.Name, l.A, l.B, l.Rate = a+" - "+b, a, b, rate
	return l
}

// NewFlow returns a flow that is a group of its own, with the built-in defaults
// but without jitter: it starts at its Start, to the picosecond.
func NewFlow(name, from, to string) Flow {
	f := newFlow(name, view{shape: language(BuiltIn().tables()).field("flows").shape.item}, BuiltIn().tables())
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
		Lateness: get[unit.Duration](v, "lateness"),
		Buffer:   get[unit.Size](v, "socket-buffer"),
	}
}

func newRouting(v view) Routing {
	return Routing{Paths: get[string](v, "paths"), Recompute: get[unit.Duration](v, "recompute")}
}

func newSwitch(name string, v view, t tables) Switch {
	s := Switch{
		Name:            name,
		Kind:            get[string](v, "kind"),
		ForwardingDelay: get[unit.Duration](v, "forwarding-delay"),
		Marking:         marking(v, t),
	}
	if s.Kind == "input-buffered" {
		s.Crossbar = get[string](v, "crossbar")
		s.Bypass = int(get[int64](v, "bypass"))
		return s
	}
	s.Forwarding = "store-and-forward"
	if given, n := v.at("forwarding"); n != nil {
		s.Forwarding = given.(string)
	}
	s.Memory = get[Memory](v, "memory")
	s.Sharing = get[string](v, "sharing")
	s.OutputLimit = get[unit.Size](v, "output-limit")
	s.High, s.Low = get[unit.Size](v, "high"), get[unit.Size](v, "low")
	s.Headroom = get[float64](v, "headroom")
	s.Lossless = 0xFF
	if classes := v.list("lossless"); classes != nil {
		s.Lossless = 0
		for _, n := range classes.items {
			if class, ok := n.value.(int64); ok {
				s.Lossless |= 1 << class
			}
		}
	}
	if weights := v.list("ets"); weights != nil {
		item := v.shape.field("ets").shape.item
		for _, n := range weights.items {
			w := view{shape: item, chain: []*node{n}}
			s.ETS[get[int64](w, "priority")&7] = int(get[int64](w, "weight"))
		}
	}
	return s
}

// newLink returns a link that joins nothing yet.
func newLink(v view) Link {
	l := Link{
		Rate:        get[unit.Rate](v, "rate"),
		Propagation: get[unit.Duration](v, "propagation"),
		FlowControl: get[string](v, "flow-control"),
	}
	switch l.FlowControl {
	case "credit":
		l.Buffer = get[unit.Room](v, "buffer")
		l.Resend = get[unit.Duration](v, "resend")
	case "pause", "pfc":
		l.Quanta = uint16(get[int64](v, "quanta"))
	}
	return l
}

// newEndpoint returns an endpoint without what depends on its link.
func newEndpoint(name string, v view) Endpoint {
	return Endpoint{
		Name:    name,
		Egress:  get[unit.Size](v, "egress"),
		Ingress: get[unit.Size](v, "ingress"),
		High:    get[unit.Size](v, "high"),
		Low:     get[unit.Size](v, "low"),
		Service: get[unit.Rate](v, "service"),
	}
}

// newFlow returns a flow without ends, start and jitter.
func newFlow(name string, v view, t tables) Flow {
	f := Flow{
		Name:     name,
		Group:    name,
		Stop:     get[unit.Duration](v, "stop"),
		Priority: uint8(get[int64](v, "priority")),
		Traffic:  get[string](v, "traffic"),
		Packet:   get[unit.Size](v, "packet"),
		Window:   1,
		Limiter:  get[string](v, "limiter"),
		Control:  control(v, t),
	}
	f.Timeout = get[unit.Duration](v, "timeout")
	if given, n := v.at("window"); n != nil {
		f.Window = int(given.(int64))
	}
	if spread := get[string](v, "spread"); spread != "none" {
		f.Spread = spread
	}
	switch f.Traffic {
	case "bursts":
		f.Burst = get[unit.Size](v, "burst")
		f.Shape = get[float64](v, "shape")
	case "transfers":
		f.Size = get[unit.Size](v, "size")
		f.Count = int(get[int64](v, "count"))
	}
	if limit := get[unit.Rate](v, "rate-limit"); limit != Unlimited {
		f.RateLimit = limit
	}
	if f.Limiter == "token-bucket" {
		f.Depth = get[unit.Size](v, "depth")
	}
	return f
}
