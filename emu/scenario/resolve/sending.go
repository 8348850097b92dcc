package resolve

import (
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/spray"
	"fabemu/node/tcp"
	"fabemu/node/traffic"
	"fabemu/node/uet"
	"fabemu/wire"
)

// sending is how flows and workloads of a fabric send.
type sending struct {
	*source
	*scenario.Site // the fabric
}

// adaptSending fills in how a flow sends as it depends on the sender's link, and refuses values
// that the family of the link does not have.
func (r *sending) adaptSending(f *scenario.Flow, of origin) {
	v := of.View
	family := r.FamilyOf(f.From)
	r.adaptTransport(f, v, family)
	r.adaptServiceLevels(f, of)
	refuse := func(key, format string, args ...any) {
		if n := v.Node(key); n != nil {
			r.Add(n.Spot, format, args...)
		}
	}
	if family == wire.InfiniBand {
		f.Priority = 0
	}
	if err := scenario.CheckPayload(f.Packet, r.Frame(f, family).Family); err != nil {
		refuse("packet", "%v", err)
	}
	switch given := v.Given("window"); {
	case family == wire.InfiniBand && f.Window == 0:
		refuse("window", "on InfiniBand every packet is acknowledged: a window is a number of packets")
	case family == wire.InfiniBand:
	case f.Window == 0 || !given:
		f.Window = 0
	case f.Transport.Ultra():
		refuse("window",
			"a window here is for InfiniBand: give the window of UET as transport: {kind: uet, window: %d}", f.Window)
	case f.Transport.Acks():
		refuse("window",
			"a window here is for InfiniBand: give the window of RoCEv2 as transport: {kind: rocev2, window: %d}", f.Window)
	case f.Transport.Streams():
		refuse("window",
			"a window in packets is for InfiniBand: give TCP's, in bytes, as transport: {kind: tcp, receive-window: 64KB}")
	default:
		refuse("window", "on Ethernet nothing is acknowledged, and there is no window: leave it out, or write none")
	}
	switch {
	case f.Timeout == 0:
	case f.Transport.Ultra():
		refuse("timeout",
			"this timeout is for InfiniBand: give the timeout of UET as transport: {kind: uet, rto: %v}", f.Timeout)
	case f.Transport.Acks():
		refuse("timeout",
			"this timeout is for InfiniBand: give the timeout of RoCEv2 as transport: {kind: rocev2, ack-timeout: %v}", f.Timeout)
	case f.Transport.Streams():
		refuse("timeout",
			"this timeout is for InfiniBand: TCP computes its own from transport: {kind: tcp, initial-rto: 1s, min-rto: 1s}")
	case family == wire.Ethernet:
		refuse("timeout", "on Ethernet nothing is acknowledged, and nothing can be missed: leave the timeout out, or write never")
	case f.Traffic == traffic.Transfers:
		refuse("timeout", "messages of this transport are not retransmitted: a timeout is for other traffic")
	}
}

// adaptTransport refuses a transport that the family of a flow does not have, and parameters
// that do not fit. It clears the family's usual transport.
func (r *sending) adaptTransport(f *scenario.Flow, v yaml.View, family wire.Family) {
	t := scheme{View: v.Sub("transport"), By: r.language.Transports.By}
	kind := t.Node(t.By)
	if kind == nil {
		f.Transport = scenario.Transport{}
		return
	}
	row := scenario.TransportOf(f.Transport.Kind, family)
	switch checker, ok := f.Transport.Params.(interface{ Check() (string, error) }); {
	case row.Family != family:
		r.Add(t.spotOf(t.By), "flow %s is on %v, and %s is a transport of %v: there is %s",
			f.Name, family, row.Name, row.Family, transportsOf(family))
		f.Transport = scenario.Transport{}
	case row.Usual:
		f.Transport = scenario.Transport{}
	case f.Transport.Ultra():
		r.adaptUET(f, v, t, kind.Spot)
	case f.Transport.Acks():
		r.adaptRoCE(f, v, t, kind.Spot)
	case f.Packet < tcp.MinPacket:
		r.Add(v.Spot("packet", kind.Spot),
			"flow %s has packets of %v, and an IPv4 packet of TCP has %d bytes of headers: give at least %dB",
			f.Name, f.Packet, wire.TCPOverhead, tcp.MinPacket)
	case ok:
		if key, err := checker.Check(); err != nil {
			r.Add(t.spotOf(key), "flow %s: %v", f.Name, err)
		}
	}
}

// adaptRoCE fills in the code points of a flow with RoCEv2 and the priority that follows from
// them. It refuses code points that disagree with a given priority.
func (r *sending) adaptRoCE(f *scenario.Flow, v yaml.View, t scheme, kind place.Spot) {
	p := f.Transport.Params.(nodes.RoCEParams)
	if f.Packet > p.MTU.Size() {
		r.Add(t.spotOf("mtu"), "flow %s has packets of %v, and the path MTU is %v: a packet must not be longer",
			f.Name, f.Packet, p.MTU.Size())
	}
	p.Echo = p.Echo || p.Spray.Learns() && !t.Given("echo")
	if key, err := p.Check(); err != nil {
		r.Add(t.spotOf(key), "flow %s: %v", f.Name, err)
	}
	if guest := r.EndpointOf(f.From).Guest.Kind != ""; guest && p.Selective() {
		r.Add(t.spotOf("order"), "flow %s begins at guest %s, whose packets go-back-n alone retransmits: leave out order", f.Name, f.From)
	} else if guest && p.Spray != spray.None {
		r.Add(t.spotOf("spray"), "flow %s begins at guest %s, which chooses source ports itself: leave out spray", f.Name, f.From)
	}
	p.AckPriority = r.codePoints(f, v, t, kind, &p.DSCP, &p.AckDSCP)
	p.Stamped = r.Algorithm(f).Feedback == rp.Delays
	p.Telemetry = rp.TraitsOf(f.Control.Params).Telemetry
	if lane, ok := r.CNPPriority(f); ok {
		if p.CNPDSCP, ok = r.Model.DSCP.Lowest(lane); !ok {
			r.Add(kind, "the CNPs of flow %s have priority %d, and model.dscp has no DSCP for it",
				f.Name, lane)
		}
	}
	f.Transport.Params = p
}

// codePoints fills in the code points of a flow, those that are not given, and the priority that
// follows from them. It returns the priority of its ACKs. It refuses code points that disagree with
// a given priority.
func (r *sending) codePoints(f *scenario.Flow, v yaml.View, t scheme, kind place.Spot, data, acks *uint8) (priority uint8) {
	table := &r.Model.DSCP
	switch n := t.Node("dscp"); {
	case n == nil:
		dscp, ok := table.Lowest(f.Priority)
		if !ok {
			r.Add(scheme{View: v, By: "priority", Of: kind}.spotOf("priority"), "flow %s has priority %d, and model.dscp has no DSCP for it",
				f.Name, f.Priority)
		}
		*data = dscp
	case v.Given("priority") && table.Class(*data) != f.Priority:
		r.Add(n.Spot,
			"flow %s has priority %d, and the DSCP %d has priority %d (model.dscp): leave one of them out",
			f.Name, f.Priority, *data, table.Class(*data))
	default:
		f.Priority = table.Class(*data)
	}
	if !t.Given("ack-dscp") {
		*acks = *data
	}
	return table.Class(*acks)
}

// adaptUET fills in the code points of a flow with UET, and the priority that follows from them.
func (r *sending) adaptUET(f *scenario.Flow, v yaml.View, t scheme, kind place.Spot) {
	p := f.Transport.Params.(uet.Params)
	if key, err := p.Check(); err != nil {
		r.Add(t.spotOf(key), "flow %s: %v", f.Name, err)
	}
	if r.EndpointOf(f.From).Guest.Kind != "" {
		r.Add(kind, "flow %s begins at guest %s, whose packets are not those of uet: leave out its transport", f.Name, f.From)
	}
	if rp.TraitsOf(f.Control.Params).Telemetry != wire.NoTelemetry {
		r.Add(kind, "flow %s has algorithm: %s, whose packets collect telemetry, for which those of uet have no place: give transport: rocev2", f.Name, f.Control.Algorithm)
	}
	p.AckPriority = r.codePoints(f, v, t, kind, &p.DSCP, &p.AckDSCP)
	f.Transport.Params = p
}

// transportsOf lists the transports of a family.
func transportsOf(family wire.Family) string {
	var all []string
	for _, t := range nodes.Transports() {
		if t.Family == family {
			all = append(all, t.Name)
		}
	}
	return strings.Join(all, ", ")
}

// adaptServiceLevels refuses service levels on Ethernet. On InfiniBand the CCTI of a flow is of its
// service level, unless its control has another one.
func (r *sending) adaptServiceLevels(f *scenario.Flow, of origin) {
	if r.FamilyOf(f.From) == wire.InfiniBand {
		if _, ok := f.Control.Params.(rp.CCAParams); ok && !of.View.Sub("control").Given("sl") {
			f.SetCCTILevel(f.SL)
		}
		return
	}
	for _, key := range []string{"sl", "ack-sl"} {
		if n := of.View.Node(key); n != nil {
			r.Add(n.Spot, "%s is for InfiniBand: on Ethernet a flow has a priority", key)
		}
	}
	f.SL, f.AckSL = 0, scenario.AcksApart
}
