package emu_test

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// What a message of the toy says, in its PSN.
const (
	tooFast = iota // from a congestion point: the length of its queue is the Value
	probe          // from the source: when it was sent is the Value
	echo           // of a probe, from the destination
)

// halveParams are the parameters of halve.
type halveParams struct {
	Lowest unit.Rate     `key:"lowest" def:"10Mb/s" doc:"The lowest rate."`
	Probe  unit.Duration `key:"probe" def:"100us" low:"above 0s" doc:"Between two probes; the echo of each makes the rate a quarter higher."`
	Reply  unit.Duration `key:"reply" def:"10us" low:"above 0s" doc:"From a probe to its echo."`
}

// halveAlgorithm is the row of halve.
func halveAlgorithm() rp.Algorithm {
	return rp.Algorithm{
		Name: "halve", Feedback: rp.Notifications, Params: halveParams{},
		Trials: []rp.Trial{{Point: "every", Marking: []string{"each=50"}}},
		Doc:    "halves the rate with each message, and probes for more",
		New: func(params any, s rp.Site) (rp.Reaction, error) {
			p := params.(halveParams)
			h := &halve{halveParams: p, line: s.Line, rate: s.Line, next: unit.Time(p.Probe)}
			return rp.Reaction{Controller: h, Send: h.Send}, nil
		},
		Answer: func(params any, s rp.Site) (rp.Answerer, error) {
			return &reflector{delay: params.(halveParams).Reply, at: unit.Never}, nil
		},
	}
}

// halve is the reaction point.
type halve struct {
	halveParams
	line, rate unit.Rate
	next       unit.Time // when the next probe leaves
	due        bool
}

// Feedback halves the rate, or raises it.
func (h *halve) Feedback(_ unit.Time, f wire.Frame) {
	switch f.PSN {
	case tooFast:
		h.rate = max(h.rate/2, h.Lowest)
	case echo:
		h.rate = min(h.rate+h.rate/4, h.line)
	}
}

func (*halve) Sent(unit.Time, unit.Size) {}
func (h *halve) Rate() unit.Rate         { return h.rate }
func (h *halve) Deadline() unit.Time     { return h.next }

// Advance makes a probe due.
func (h *halve) Advance(now unit.Time) {
	if now >= h.next {
		h.next, h.due = h.next.Add(h.Probe), true
	}
}

// Send returns the probe that is due.
func (h *halve) Send(now unit.Time) (wire.Frame, bool) {
	if !h.due {
		return wire.Frame{}, false
	}
	h.due = false
	return wire.Frame{Kind: wire.Message, PSN: probe, Extension: wire.ExtensionOf(wire.MessageExtension{Value: uint64(now)})}, true
}

// reflector answers probes after a delay.
type reflector struct {
	delay unit.Duration
	at    unit.Time // when it answers the last probe
	value uint64    // of that
}

// Refuses returns that it takes in all frames.
func (*reflector) Refuses(unit.Time, wire.Frame) trace.Reason { return trace.NoReason }

// Receive takes in data, which says nothing, and probes.
func (r *reflector) Receive(now unit.Time, f wire.Frame) {
	if f.Kind == wire.Message && f.PSN == probe {
		r.at, r.value = now.Add(r.delay), f.Message().Value
	}
}

func (r *reflector) Deadline() unit.Time { return r.at }

// Send returns the echo, once.
func (r *reflector) Send(now unit.Time) (wire.Frame, bool) {
	if now < r.at {
		return wire.Frame{}, false
	}
	r.at = unit.Never
	return wire.Frame{Kind: wire.Message, PSN: echo, Extension: wire.ExtensionOf(wire.MessageExtension{Value: r.value})}, true
}
