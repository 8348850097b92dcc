package bench

import (
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Answered returns a maker of congestion points for an algorithm whose destinations answer marks
// (rp.Marks). The points mark packets of a queue that is too long, and send the answers as
// notifications.
func Answered(algorithm rp.Algorithm) func(cp.Site) (cp.Notifier, error) {
	return func(cp.Site) (cp.Notifier, error) { return &answered{algorithm, map[uint32]rp.Answerer{}}, nil }
}

// answered are congestion points and destinations in one.
type answered struct {
	algorithm rp.Algorithm
	flows     map[uint32]rp.Answerer
}

func (a *answered) Enqueue(now unit.Time, f *wire.Frame, q cp.Queue) (wire.Frame, bool) {
	flow := a.flows[f.QP]
	if flow == nil {
		var err error
		if flow, err = a.algorithm.Answer(param.Defaults(a.algorithm.Params), rp.Site{Line: loopLine, Length: defaultSize}); err != nil {
			panic(err) // the defaults of an algorithm are valid
		}
		a.flows[f.QP] = flow
	}
	marked := *f
	marked.FECN = q.Bytes > loopThreshold
	flow.Receive(now, marked)
	return flow.Send(now)
}

func (*answered) Dequeue(unit.Time, *wire.Frame, cp.Queue) {}
func (*answered) Reset()                                   {}
