package cp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ECNParams are the parameters of marking by a line, as DCQCN has it: Y. Zhu et al., "Congestion
// Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), section 3.1, "CP algorithm".
type ECNParams struct {
	Min  unit.Size `key:"min" def:"5KB" low:"1B" also:"kmin" doc:"Kmin: no frame of a queue up to this is marked." source:"Zhu et al. 2015, for 40 Gb/s"`
	Max  unit.Size `key:"max" def:"200KB" low:"1B" also:"kmax" doc:"Kmax: each frame of a queue above this is marked; above min." source:"Zhu et al. 2015, for 40 Gb/s"`
	MaxP float64   `key:"max-p" def:"0.01" low:"above 0" high:"1" also:"pmax" doc:"Pmax: the probability with which a frame is marked at max; from min it rises in a line." source:"Zhu et al. 2015, for 40 Gb/s"`
}

// CheckRoom refuses thresholds that are in the wrong order, or that no queue reaches.
func (p ECNParams) CheckRoom(room, _ unit.Size) (wrong []Misfit) {
	switch {
	case p.Max <= p.Min:
		return []Misfit{{"max", fmt.Sprintf("max is %v, and must be above min, %v", p.Max, p.Min)}}
	case p.Min >= room:
		return []Misfit{{"min", fmt.Sprintf("min is %v, and no queue can be longer than %v: nothing would be marked", p.Min, room)}}
	}
	return nil
}

// Line is that of the queue.
func (p ECNParams) Line(unit.Size) (min, max unit.Size, most float64, ok bool) {
	return p.Min, p.Max, p.MaxP, true
}

func ecnPoints() Point {
	return Point{
		Name: "ecn", Also: []string{"wred", "dcqcn"}, Sees: Queues, Params: ECNParams{},
		Doc:    "marks frames as they leave, with a probability that goes by the length of the queue behind them in a line, on Ethernet",
		Marker: func(params any, s Site) (Marker, error) { return NewECN(params.(ECNParams), s) },
	}
}

// ECN marks frames at one switch by the length q of the queue, of their priority, that each
// leaves behind: with probability 0 up to Min, MaxP (q - Min)/(Max - Min) up to Max, and 1
// above. Because a frame is judged as it leaves, marks are not late by the time in the queue.
type ECN struct {
	c    ECNParams
	site Site
}

// NewECN returns the congestion points of a switch.
func NewECN(c ECNParams, s Site) (*ECN, error) {
	switch wrong := c.CheckRoom(unit.MaxRoom, 1); {
	case len(wrong) > 0:
		return nil, fmt.Errorf("marking: %s", wrong[0].Why)
	case c.Min < 0 || !(c.MaxP > 0 && c.MaxP <= 1):
		return nil, fmt.Errorf("marking: min is %v and max-p %v: a queue is not shorter than 0, and above 0 to 1 is possible", c.Min, c.MaxP)
	case s.Random == nil:
		return nil, fmt.Errorf("marking: ECN wants a generator of random numbers")
	}
	return &ECN{c, s}, nil
}

// Enqueue does nothing.
func (*ECN) Enqueue(unit.Time, *wire.Frame, Queue) {}

// Reset does nothing: there is no state.
func (*ECN) Reset() {}

// Dequeue marks f, or does not.
func (e *ECN) Dequeue(_ unit.Time, f *wire.Frame, q Queue) trace.Reason {
	if q.Bytes <= e.c.Min || !f.ECT() {
		return trace.NoReason
	}
	if q.Bytes <= e.c.Max {
		likely := e.c.MaxP * (float64(q.Bytes-e.c.Min) / float64(e.c.Max-e.c.Min))
		if float64(e.site.Random.Below(1<<32)) >= likely*(1<<32) {
			return trace.NoReason
		}
	}
	f.FECN = true
	return trace.EarlyMark
}
