package cp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// ECNParams are the parameters of marking by RED's line. A preset is one of:
//
//   - paper: Y. Zhu and others, "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM
//     2015), section 3.
//   - ns3-rdma: the simulator of its authors (github.com/bobzhuyb/ns3-rdma), mix/config.txt: 40 and
//     1000 packets of 1030 bytes.
//   - hpcc: the simulator of HPCC (github.com/alibaba-edu/High-Precision-Congestion-Control), as
//     its run.py configures it for DCQCN.
//   - dctcp: the same for DCTCP.
//   - uet-htsim: the reference model of Ultra Ethernet (github.com/ultraethernet/uet-htsim,
//     main_uec.cpp): a fifth and four fifths of what the links carry in a round trip, which it
//     rounds up to whole packets. The values are those of its reference network.
type ECNParams struct {
	// Source of the defaults.
	Preset string `key:"preset" def:"paper" words:"paper|ns3-rdma|hpcc|dctcp|uet-htsim" omit:"usual" from:"Zhu et al. 2015|ns3-rdma, mix/config.txt|HPCC's simulator, run.py|HPCC's simulator, run.py|uet-htsim, main_uec.cpp" rates:"40Gb/s|40Gb/s|25Gb/s-400Gb/s||100Gb/s" trips:"||||12us"`
	// Kmin: queue length up to which nothing is marked.
	Min unit.Size `key:"min" by:"preset=5KB|41200B|100KB|30KB|30KB" rule:"preset=||||0.2 * rate * rtt" grows:"rate/per" low:"0B" also:"kmin"`
	// Kmax: queue length above which everything is marked; at least min.
	Max unit.Size `key:"max" by:"preset=200KB|1030KB|400KB|30KB|120KB" rule:"preset=||||0.8 * rate * rtt" grows:"rate/per" low:"0B" also:"kmax"`
	// Pmax: marking probability at max, rising linearly from min.
	MaxP float64 `key:"max-p" by:"preset=0.01|1|0.2|1|1" low:"above 0" high:"1" also:"pmax"`
	// Rate of an output for which min and max are given; they scale with the rate of each output.
	// none: they do not.
	Per unit.Rate `key:"per" by:"preset=none|none|25Gb/s|10Gb/s|none" none:"none" omit:"usual"`
	// When a packet is marked. enqueue: on arrival, by the queue ahead of it; dequeue: on
	// departure, by the queue behind it, so that the mark is newer.
	At string `key:"at" def:"dequeue" words:"enqueue|dequeue"`
	// Cell in which the queue is counted, as in switch memories; a frame occupies whole cells.
	// none: bytes.
	Cell unit.Size `key:"cell" def:"none" none:"none" low:"1B" high:"64KB"`
}

// AtEnqueue and AtDequeue are the words of At: when a packet is judged.
const (
	AtEnqueue = "enqueue"
	AtDequeue = "dequeue"
)

// CheckRoom refuses thresholds in the wrong order, or that no queue reaches.
func (p ECNParams) CheckRoom(room, _ unit.Size) (wrong []Misfit) {
	switch {
	case p.Max < p.Min:
		wrong = append(wrong, Misfit{"max", fmt.Sprintf("max is %v, and must be at least min, %v", p.Max, p.Min)})
	case p.Min >= room && p.Per == 0:
		wrong = append(wrong,
			Misfit{"min", fmt.Sprintf("min is %v, and no queue can be longer than %v: nothing would be marked", p.Min, room)})
	}
	return wrong
}

// Traits returns the line of the queue, and the cells in which it is counted.
func (p ECNParams) Traits() Traits {
	return Traits{Line: &Line{unit.Room{Bytes: p.Min}, unit.Room{Bytes: p.Max}, p.MaxP}, Cell: p.Cell}
}

// line returns min and max at an output of a rate.
func (p *ECNParams) line(rate unit.Rate) (least, most unit.Size) {
	if p.Per == 0 {
		return p.Min, p.Max
	}
	by := float64(rate) / float64(p.Per)
	return unit.Size(float64(p.Min) * by), unit.Size(float64(p.Max) * by)
}

// AtRate returns the parameters with min and max as they are at an output of a rate.
func (p ECNParams) AtRate(rate unit.Rate) any {
	p.Min, p.Max = p.line(rate)
	p.Per = 0
	return p
}

// Least returns min. In cells, a queue of short frames counts as a longer one.
func (p ECNParams) Least(*wire.Frame, unit.Size) (string, unit.Size) {
	if p.Cell > 0 {
		return "min", p.Min * wire.MinFrame / (wire.MinFrame + p.Cell - 1)
	}
	return "min", p.Min
}

func ecnPoints() Point {
	return Point{
		Name: "ecn", Also: []string{"wred", "dcqcn", "dctcp"}, Sees: Queues, Params: ECNParams{},
		Doc: "marks packets by the instantaneous queue, with a probability that rises linearly and then is 1, on Ethernet",
		Marker: func(params any, s Site) (Marking, error) {
			m, err := NewECN(params.(ECNParams), s)
			return Marking{Marker: m}, err
		},
	}
}

// ECN marks by RED's line over the queue as it is, for each priority of each output by itself:
// a packet has the probability
//
//	0                              where q <= Min
//	MaxP (q - Min)/(Max - Min)   where Min < q <= Max
//	1                              where q > Max
//
// The queue q is without the packet itself. Only packets that may be marked are: those with ECT,
// and frames that are no IP packets. Others pass as they are; RED drops them (with q-weight: 1 and
// gaps: geometric its line is this one).
type ECN struct {
	c    ECNParams
	site Site
}

// NewECN returns the congestion points of a switch.
func NewECN(c ECNParams, s Site) (*ECN, error) {
	if err := s.check(c); err != nil {
		return nil, err
	}
	return &ECN{c, s}, nil
}

// Enqueue marks f as it joins its queue.
func (e *ECN) Enqueue(_ unit.Time, f *wire.Frame, q Queue) {
	if e.c.At == AtEnqueue {
		own := q.Length
		if e.c.Cell > 0 {
			own = unit.Size(CellsOf(q.Length, e.c.Cell)) * e.c.Cell
		}
		e.mark(f, e.length(&q)-own, q.Rate)
	}
}

// Dequeue marks f as it leaves.
func (e *ECN) Dequeue(_ unit.Time, f *wire.Frame, q Queue) trace.Reason {
	if e.c.At == AtDequeue && e.mark(f, e.length(&q), q.Rate) {
		return trace.EarlyMark
	}
	return trace.NoReason
}

// Quiet returns min. A frame is not marked by its own length.
func (e *ECN) Quiet(rate unit.Rate) unit.Size {
	least, _ := e.c.line(rate)
	return least
}

// Reset does nothing: there is no state.
func (*ECN) Reset() {}

func (e *ECN) length(q *Queue) unit.Size {
	if e.c.Cell > 0 {
		return unit.Size(q.Cells) * e.c.Cell
	}
	return q.Bytes
}

// mark marks f, or not, and reports whether it does.
func (e *ECN) mark(f *wire.Frame, q unit.Size, rate unit.Rate) bool {
	least, most := e.c.line(rate)
	switch {
	case q <= least || f.FECN || !f.ECT():
		return false
	case q <= most:
		likely := e.c.MaxP * (float64(q-least) / float64(most-least))
		if !e.site.happens(likely) {
			return false
		}
	}
	f.FECN = true
	return true
}

// CellsOf returns how many cells a frame takes.
func CellsOf(n, cell unit.Size) int { return int((n + cell - 1) / cell) }
