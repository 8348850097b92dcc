package emu_test

import (
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// everyParams are the parameters of every.
type everyParams struct {
	Each int `key:"each" def:"100" low:"1" high:"1000000" doc:"The source of each so-manieth frame is told."`
}

// everyPoint is the row of every.
func everyPoint() cp.Point {
	return cp.Point{
		Name: "every", Sees: cp.Queues, Params: everyParams{},
		Doc: "tells the source of each hundredth frame how long the queue is",
		Notifier: func(params any, s cp.Site) (cp.Notifier, error) {
			return &every{everyParams: params.(everyParams), site: s}, nil
		},
	}
}

// every is a congestion point that answers each so-manieth frame of its switch.
type every struct {
	everyParams
	site cp.Site
	n    int
}

// Enqueue counts a frame.
func (e *every) Enqueue(_ unit.Time, f *wire.Frame, q cp.Queue) (wire.Frame, bool) {
	if e.n++; e.n < e.Each {
		return wire.Frame{}, false
	}
	e.n = 0
	return wire.Frame{Kind: wire.Message, Lane: f.Lane, Src: e.site.Address, Dst: f.Src, QP: f.QP, PSN: tooFast, Extension: wire.ExtensionOf(wire.MessageExtension{Value: uint64(q.Bytes)})}, true
}

// Dequeue does nothing.
func (*every) Dequeue(unit.Time, *wire.Frame, cp.Queue) {}

// Reset begins to count again.
func (e *every) Reset() { e.n = 0 }
