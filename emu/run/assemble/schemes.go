package assemble

import (
	"fmt"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/measured"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/sets"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Schemes are rate limiters, reaction points and traffic of the calling program, instead of
// the scenario's. Each function receives a flow of the scenario and its highest rate: the
// rate of its sender's line, or its rate-limit. If the function returns nil, the flow keeps the
// scheme of the scenario. The functions are called once for each flow whenever nodes are made.
// A run that is compared with the virtual clock makes them twice. The results hold state and must
// be new each time. Flows that share a limiter (control.shared) keep the reaction point that they
// share.
//
// A limiter receives the rate of the flow's reaction point at the beginning, and each
// change. With algorithm: fixed and no rate-limit in the scenario there is no reaction point: the
// limiter keeps its own rate. If it has a method Rate() unit.Rate, results show that rate as the
// flow's limit.
type Schemes struct {
	Limiter  func(f *fabric.Flow, line unit.Rate) node.RateLimiter
	Reaction func(f *fabric.Flow, line unit.Rate) rp.Reaction

	// BodySource makes the bodies of a flow, and BodySink takes them. Packets have the sizes
	// of the bodies, up to the size in the scenario, and leave when the source has a body; the
	// flow's traffic does not count. Either may be called alone: for a flow whose other end is
	// in another process.
	BodySource func(f *fabric.Flow) node.BodySource
	BodySink   func(f *fabric.Flow) node.BodySink

	// Listen returns a listener for the feedback to a flow, or nil. It is not called when a run
	// is repeated for comparison.
	Listen func(f *fabric.Flow) node.Listener

	// Management decides about the management packets of InfiniBand, and sends them. Nil: there are
	// none.
	Management Management

	// Measured is the time of limiters and reaction points under actual timing: emu.Run sets
	// it. Nil: they have the time of the model.
	Measured *measured.Time
}

// Management decides about management packets of InfiniBand, and sends them.
type Management interface {
	drive.Outside
	// Manage returns what decides about the packets that come to a node.
	Manage(node int) port.Manage
	// Begin is given the bodies of the frames of nodes that have been made. It returns the packets
	// that they send, in order.
	Begin(*wire.Bodies) []drive.Change
	// Repeat returns a Management that decides as this one has, and sends the same packets, or nil
	// if too much has been recorded.
	Repeat() Management
}

// Warning names the parts of a scenario that are replaced; empty: none.
func (s Schemes) Warning() string {
	var own []string
	if s.Limiter != nil {
		own = append(own, "rate limiters")
	}
	if s.Reaction != nil {
		own = append(own, "reaction points")
	}
	if s.BodySource != nil {
		own = append(own, "packets with bodies")
	}
	if own == nil {
		return ""
	}
	return strings.Join(own, " and ") + " are given by the calling program, not by the scenario"
}

// pacing returns the rate limiter of a flow and its reaction point: none if the limiter has its own
// rate.
func (b *builder) pacing(f *fabric.Flow, line unit.Rate) (node.RateLimiter, rp.Reaction, error) {
	if f.RateLimit > 0 {
		line = min(line, f.RateLimit)
	}
	limiter, own := b.limiter(f, line)
	if b.schemes.Reaction != nil {
		if r := b.schemes.Reaction(f, line); r.Controller != nil {
			return limiter, r, nil
		}
	}
	if own && b.scenario.Algorithm(f.Flow).Feedback == rp.Nothing && f.RateLimit == 0 {
		return limiter, rp.Reaction{}, nil
	}
	r, err := b.reactionPoint(f, line, reactionStream+uint64(f.QP))
	return limiter, r, err
}

// measured puts a limiter and its reaction point into measured time, under actual timing.
func (b *builder) measured(f *fabric.Flow, shared bool, line unit.Rate, l node.RateLimiter, r rp.Reaction) (*measured.Pacing, node.RateLimiter, rp.Reaction) {
	if b.schemes.Measured == nil {
		return nil, l, r
	}
	frame := b.fabric.Frame(f)
	p := b.schemes.Measured.Pacing(measured.Key{QP: f.QP, Shared: shared}, line.Serialise(b.framing.Length(&frame)))
	return p, p.Limiter(l), p.Reaction(r)
}

// limiter returns a rate limiter for a flow, and whether it is the caller's own.
func (b *builder) limiter(f *fabric.Flow, rate unit.Rate) (l node.RateLimiter, own bool) {
	if b.schemes.Limiter != nil {
		if l := b.schemes.Limiter(f, rate); l != nil {
			return l, true
		}
	}
	return Limiter(f, rate), false
}

// Limiter returns a rate limiter of the kind that a flow has.
func Limiter(f *fabric.Flow, rate unit.Rate) node.RateLimiter {
	switch f.Limiter {
	case scenario.TokenBucket:
		return node.NewTokenBucket(rate, f.Depth)
	case scenario.Segments:
		return node.NewSegments(rate, f.Depth)
	}
	return node.NewInterPacketDelay(rate)
}

// The streams of random numbers of schemes: for each switch, for each flow, for each
// endpoint whose flows share a limiter, and for each answerer of a flow.
const (
	congestionStream = 2 << 32
	reactionStream   = 3 << 32
	sharedStream     = 4 << 32
	answerStream     = 5 << 32
)

// reactionPoint returns the scenario's reaction point of a flow with a highest rate.
func (b *builder) reactionPoint(f *fabric.Flow, highest unit.Rate, stream uint64) (rp.Reaction, error) {
	algorithm := b.scenario.Algorithm(f.Flow)
	switch {
	case algorithm.Name == "":
		return rp.Reaction{}, fmt.Errorf("there is no algorithm %q", f.Control.Algorithm)
	case algorithm.New == nil: // nodes that are only looked at: a run has it in Schemes
		return rp.Reaction{Controller: rp.NewFixed(highest)}, nil
	}
	return algorithm.New(f.Control.Params, b.site(f, highest, stream))
}

// adapted reports whether a flow leaves the adapter of a guest.
func (b *builder) adapted(f *fabric.Flow) bool {
	e := b.fabric.Nodes[f.Src].Endpoint
	return e != nil && e.Guest.Adapter != ""
}

// answer returns the answerer of a flow at its destination; nil if its algorithm has none. The
// second map has the answerers at the same endpoint by their algorithm.
func (b *builder) answer(f *fabric.Flow, line unit.Rate, beside map[string]rp.Answerer) (rp.Answerer, error) {
	algorithm := b.scenario.Algorithm(f.Flow)
	if algorithm.Answer == nil || b.adapted(f) { // an adapter answers for itself
		return nil, nil
	}
	site := b.site(f, line, answerStream+uint64(f.QP))
	site.Beside = beside[algorithm.Name]
	a, err := algorithm.Answer(f.Control.Params, site)
	beside[algorithm.Name] = a
	return a, err
}

// site returns the site of an algorithm.
func (b *builder) site(f *fabric.Flow, line unit.Rate, stream uint64) rp.Site {
	frame := b.fabric.Frame(f)
	site := rp.Site{Line: line, Length: b.framing.Length(&frame), Payload: unit.Size(frame.Payload),
		Random: unit.NewRandom(b.scenario.Model.Seed, stream)}
	if t, ok := f.Control.Params.(rp.Tripped); ok && t.NeedsTrip() {
		if site.Trip, ok = b.trips[site.Length]; !ok {
			site.Trip = sets.Trip(b.scenario, site.Length, b.framing.Length(&wire.Frame{Kind: wire.Ack, Family: frame.Family}))
			b.trips[site.Length] = site.Trip
		}
	}
	if f.Path != nil && b.scenario.Algorithm(f.Flow).Feedback == rp.Delays { // the paths of a long chain are long together
		for range f.Path.Rest.All() {
			site.Hops++
		}
	}
	return site
}

// congestionPoints returns the maker of the congestion points of a switch; nil if it has none.
func (b *builder) congestionPoints(m *fabric.Node, node int) cp.Maker {
	return b.points(m.Switch.Marking.Scheme, m.Switch.Marking.Params, m, congestionStream+uint64(node))
}

// points returns the maker of the congestion points of a scheme at a switch; nil if there is no
// such scheme.
func (b *builder) points(scheme string, params any, m *fabric.Node, stream uint64) cp.Maker {
	p, ok := b.scenario.Point(&scenario.Switch{Marking: scenario.Marking{Scheme: scheme}})
	if !ok {
		return nil
	}
	site := cp.Site{Address: m.LID, Random: unit.NewRandom(b.scenario.Model.Seed, stream)}
	for _, p := range m.Ports {
		site.Hosts = append(site.Hosts, b.fabric.Nodes[b.fabric.Peer(p).Node].Switch == nil)
	}
	return p.Maker(params, site)
}

// reactions returns the reaction points that an event gives to flows of an endpoint with the
// service level of its parameters, by queue pair.
func (b *builder) reactions(endpoint int, params rp.CCAParams) map[uint32]rp.Reaction {
	all := map[uint32]rp.Reaction{}
	shared := map[int]*rp.CCA{} // of flows that share a limiter, by key
	for k := range b.fabric.Flows {
		f := &b.fabric.Flows[k]
		if f.Src != endpoint || int(f.SL) != params.SL {
			continue
		}
		line := b.port(b.fabric.Nodes[endpoint].Ports[0]).Rate
		traits := rp.TraitsOf(params)
		c := shared[traits.Key]
		if traits.By == "" {
			if c = nil; f.RateLimit > 0 {
				line = min(line, f.RateLimit)
			}
		}
		if c == nil {
			var err error
			if c, err = rp.NewCCA(params, b.site(f, line, reactionStream+uint64(f.QP))); err != nil {
				continue // the scenario has checked the parameters
			}
			shared[traits.Key] = c
		}
		if traits.By != "" {
			c.Join(f.QP, params)
		}
		all[f.QP] = c.Reaction()
	}
	return all
}

// pacer gives a flow the pacer of the flows of its endpoint that share a limiter. The first of them
// makes it. A flow that does not share stays as it is.
func (b *builder) pacer(pacers map[int]*node.Pacer, f *fabric.Flow, flow *node.Flow, line unit.Rate) error {
	traits := rp.TraitsOf(f.Control.Params)
	if traits.By == "" {
		return nil
	}
	p := pacers[traits.Key]
	if p == nil {
		r, err := b.reactionPoint(f, line, sharedStream+uint64(f.Src))
		if err != nil {
			return err
		}
		limiter, _ := b.limiter(f, line)
		_, limiter, r = b.measured(f, true, line, limiter, r)
		p = &node.Pacer{Limiter: limiter, Reaction: r}
		pacers[traits.Key] = p
	}
	if join := p.Reaction.Join; join != nil {
		join(f.QP, f.Control.Params)
	}
	flow.Pacer, flow.Reaction = p, rp.Reaction{Controller: rp.NewFixed(line)}
	return nil
}
