package machines

import (
	"fmt"
	"strings"

	"fabemu/emu/actual"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/unit"
)

// Schemes are rate limiters, reaction points and traffic of the program that runs a
// scenario, in place of those that the scenario names. Each function is handed a flow, as
// the scenario has it, and its highest rate, that of its sender's line or its rate-limit;
// where it returns nil the flow keeps what it has. It is called once for each flow whenever
// machines are made, which a run that is compared with the virtual clock does twice: what it
// returns holds state, and must be new each time. Flows that share a limiter (control.shared) keep the reaction
// point that they share.
//
// A limiter is told the rate of the flow's reaction point in the beginning, and each
// change. With law: fixed and no rate-limit in the scenario there is none: the limiter
// keeps the rate that it was made with. What a flow's limit is then, in results, it tells
// by a method Rate() unit.Rate, if it has one.
type Schemes struct {
	Limiter    func(f *fabric.Flow, line unit.Rate) node.RateLimiter
	Controller func(f *fabric.Flow, line unit.Rate) rp.Controller

	// BodySource and BodySink are where the bodies of a flow come from and where they go:
	// its packets are of the sizes of these, up to that of the scenario, and leave as the
	// source has them in place of the flow's traffic. Either may be called alone: for a flow
	// whose other end is a machine in another process.
	BodySource func(f *fabric.Flow) node.BodySource
	BodySink   func(f *fabric.Flow) node.BodySink

	// Listen returns who hears what a flow is told, nil for nobody. It replaces nothing, and
	// is not called where a run is repeated to be compared.
	Listen func(f *fabric.Flow) node.Listener

	// Measured is where limiters and reaction points have their time from, under actual
	// timing: emu.Run sets it. Nil: they have that of the model.
	Measured *actual.Time
}

// listener returns who hears what a flow is told.
func (s Schemes) listener(f *fabric.Flow) node.Listener {
	if s.Listen == nil {
		return nil
	}
	return s.Listen(f)
}

// Warning says which part of a scenario is overridden; it is empty where none is.
func (s Schemes) Warning() string {
	var own []string
	if s.Limiter != nil {
		own = append(own, "rate limiters")
	}
	if s.Controller != nil {
		own = append(own, "reaction points")
	}
	if s.BodySource != nil {
		own = append(own, "packets with bodies")
	}
	if own == nil {
		return ""
	}
	return strings.Join(own, " and ") + " are those of the calling program, not those of the scenario"
}

// pacing returns the rate limiter of a flow and its reaction point, nil when the limiter
// has a rate of its own.
func (b *builder) pacing(f *fabric.Flow, line unit.Rate) (node.RateLimiter, rp.Controller, error) {
	if f.RateLimit > 0 {
		line = min(line, f.RateLimit)
	}
	limiter, own := b.limiter(f, line)
	if b.schemes.Controller != nil {
		if c := b.schemes.Controller(f, line); c != nil {
			return limiter, c, nil
		}
	}
	if own && b.scenario.Law(f.Flow).Hears == rp.Nothing && f.RateLimit == 0 {
		return limiter, nil, nil
	}
	c, err := b.reactionPoint(f, line, reactionStream+uint64(f.QP))
	return limiter, c, err
}

// measured puts a limiter and its reaction point into measured time, under actual timing.
func (b *builder) measured(f *fabric.Flow, shared bool, line unit.Rate, l node.RateLimiter, c rp.Controller) (*actual.Pacing, node.RateLimiter, rp.Controller) {
	if b.schemes.Measured == nil {
		return nil, l, c
	}
	frame := b.fabric.Frame(f)
	p := b.schemes.Measured.Pacing(actual.Key{QP: f.QP, Shared: shared}, line.Serialise(b.framing.Length(&frame)))
	return p, p.Limiter(l), p.Controller(c)
}

// limiter returns a rate limiter for a flow, and whether it is the caller's own.
func (b *builder) limiter(f *fabric.Flow, rate unit.Rate) (l node.RateLimiter, own bool) {
	if b.schemes.Limiter != nil {
		if l := b.schemes.Limiter(f, rate); l != nil {
			return l, true
		}
	}
	if f.Limiter == scenario.TokenBucket {
		return node.NewTokenBucket(rate, f.Depth), false
	}
	return node.NewInterPacketDelay(rate), false
}

// The streams of random numbers of schemes: for each switch, for each flow, for each
// endpoint whose flows share a limiter, and for what answers a flow.
const (
	congestionStream = 2 << 32
	reactionStream   = 3 << 32
	sharedStream     = 4 << 32
	answerStream     = 5 << 32
)

// reactionPoint returns what the scenario has for a flow whose highest rate is given.
func (b *builder) reactionPoint(f *fabric.Flow, highest unit.Rate, stream uint64) (rp.Controller, error) {
	law := b.scenario.Law(f.Flow)
	if law.New == nil {
		return nil, fmt.Errorf("there is no law %q", f.Control.Law)
	}
	return law.New(f.Control.Params, b.site(f, highest, stream))
}

// answer returns what answers a flow at its destination, nil when nothing does. Those that
// it has made for the same endpoint are in beside, by their law.
func (b *builder) answer(f *fabric.Flow, line unit.Rate, beside map[string]rp.Answerer) (rp.Answerer, error) {
	law := b.scenario.Law(f.Flow)
	if law.Answer == nil {
		return nil, nil
	}
	site := b.site(f, line, answerStream+uint64(f.QP))
	site.Beside = beside[law.Name]
	a, err := law.Answer(f.Control.Params, site)
	beside[law.Name] = a
	return a, err
}

// site returns where a law stands.
func (b *builder) site(f *fabric.Flow, line unit.Rate, stream uint64) rp.Site {
	frame := b.fabric.Frame(f)
	return rp.Site{Line: line, Length: b.framing.Length(&frame), Random: unit.NewRandom(b.scenario.Model.Seed, stream)}
}

// congestionPoints returns what makes the congestion points of a switch, nil when it has
// none.
func (b *builder) congestionPoints(m *fabric.Machine, machine int) cp.Maker {
	p, ok := b.scenario.Point(m.Switch)
	if !ok {
		return nil
	}
	site := cp.Site{Address: m.LID, Random: unit.NewRandom(b.scenario.Model.Seed, congestionStream+uint64(machine))}
	for _, p := range m.Ports {
		site.Hosts = append(site.Hosts, b.fabric.Machines[b.fabric.Peer(p).Machine].Switch == nil)
	}
	return p.Maker(m.Switch.Marking.Params, site)
}

// group puts a flow into the group of the flows of its endpoint that share a limiter; it
// is made with the first of them. A flow that does not share stays as it is.
func (b *builder) group(groups map[int]*node.Group, f *fabric.Flow, flow *node.Flow, line unit.Rate) error {
	traits := rp.TraitsOf(f.Control.Params)
	if traits.By == "" {
		return nil
	}
	g := groups[traits.Key]
	if g == nil {
		c, err := b.reactionPoint(f, line, sharedStream+uint64(f.Src))
		if err != nil {
			return err
		}
		limiter, _ := b.limiter(f, line)
		_, limiter, c = b.measured(f, true, line, limiter, c)
		g = &node.Group{Limiter: limiter, Controller: c}
		groups[traits.Key] = g
	}
	if j := rp.ExtrasOf(g.Controller).Joined; j != nil {
		j.Join(f.QP, f.Control.Params)
	}
	flow.Group, flow.Controller = g, rp.NewFixed(line)
	return nil
}
