package emu

import (
	"fabemu/emu/topo"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire/unit"
)

// Schemes are rate limiters and reaction points of the program that runs a scenario, in
// place of those that the scenario names. Each function is handed a flow, as the
// scenario has it, and the rate of its sender's line; where it returns nil the flow keeps
// what it has. It is called once for each flow whenever machines are made, which a run
// that is compared with the virtual clock does twice: what it returns holds state, and
// must be new each time. Flows that share a limiter (control.shared) keep the reaction
// point that they share.
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

// limiter returns the rate limiter of a flow.
func (b *builder) limiter(f *topo.Flow, line unit.Rate) node.RateLimiter {
	if b.schemes.Limiter != nil {
		if own := b.schemes.Limiter(f, line); own != nil {
			return own
		}
	}
	if f.Limiter == "token-bucket" {
		return node.NewTokenBucket(line, f.Depth)
	}
	return node.NewInterPacketDelay(line)
}

// controller returns the reaction point of a flow.
func (b *builder) controller(f *topo.Flow, line unit.Rate) (rp.Controller, error) {
	if b.schemes.Controller != nil {
		if own := b.schemes.Controller(f, line); own != nil {
			return own, nil
		}
	}
	if f.Control.Law == "qcn" {
		return b.reactionPoint(f, line, reactionStream+uint64(f.QP))
	}
	frame := b.frame(f)
	return rp.New(rp.Config{
		Law: f.Control.Law, Max: line, Ratio: f.Control.RmaxOverRmin,
		Length: b.framing.Length(&frame), Factor: f.Control.Factor,
	})
}
