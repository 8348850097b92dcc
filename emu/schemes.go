package emu

import (
	"fabemu/emu/topo"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// Schemes are rate limiters and reaction points of the program that runs a scenario, in
// place of those that the scenario names. Each function is handed a flow, as the
// scenario has it, and its highest rate, that of its sender's line or its rate-limit; where it returns nil the flow keeps
// what it has. It is called once for each flow whenever machines are made, which a run
// that is compared with the virtual clock does twice: what it returns holds state, and
// must be new each time. Flows that share a limiter (control.shared) keep the reaction
// point that they share.
//
// A limiter is told the rate of the flow's reaction point in the beginning, and each
// change. With law: fixed and no rate-limit in the scenario there is none: the limiter
// keeps the rate that it was made with. What a flow's limit is then, in results, it tells
// by a method Rate() unit.Rate, if it has one.
type Schemes struct {
	Limiter    func(f *topo.Flow, line unit.Rate) node.RateLimiter
	Controller func(f *topo.Flow, line unit.Rate) rp.Controller
}

// warning says what of a scenario does not count, or nothing.
func (s Schemes) warning() string {
	switch {
	case s.Limiter != nil && s.Controller != nil:
		return "rate limiters and reaction points are those of the calling program, not those of the scenario"
	case s.Limiter != nil:
		return "rate limiters are those of the calling program, not those of the scenario"
	case s.Controller != nil:
		return "reaction points are those of the calling program, not those of the scenario"
	default:
		return ""
	}
}

// pacing returns the rate limiter of a flow and its reaction point, nil when the limiter
// has a rate of its own.
func (b *builder) pacing(f *topo.Flow, line unit.Rate) (node.RateLimiter, rp.Controller, error) {
	if f.RateLimit > 0 {
		line = min(line, f.RateLimit)
	}
	limiter, own := b.limiter(f, line)
	if b.schemes.Controller != nil {
		if c := b.schemes.Controller(f, line); c != nil {
			return limiter, c, nil
		}
	}
	if own && f.Control.Law == "fixed" && f.RateLimit == 0 {
		return limiter, nil, nil
	}
	c, err := b.controller(f, line)
	return limiter, c, err
}

// limiter returns a rate limiter for a flow, and whether it is the caller's own.
func (b *builder) limiter(f *topo.Flow, rate unit.Rate) (l node.RateLimiter, own bool) {
	if b.schemes.Limiter != nil {
		if l := b.schemes.Limiter(f, rate); l != nil {
			return l, true
		}
	}
	if f.Limiter == "token-bucket" {
		return node.NewTokenBucket(rate, f.Depth), false
	}
	return node.NewInterPacketDelay(rate), false
}

// controller returns the reaction point of a flow whose highest rate is given.
func (b *builder) controller(f *topo.Flow, highest unit.Rate) (rp.Controller, error) {
	if f.Control.Law == "qcn" {
		return b.reactionPoint(f, highest, reactionStream+uint64(f.QP))
	}
	frame := b.frame(f)
	return rp.New(rp.Config{
		Law: f.Control.Law, Max: highest, Ratio: f.Control.RmaxOverRmin,
		Length: b.framing.Length(&frame), Factor: f.Control.Factor,
	})
}
