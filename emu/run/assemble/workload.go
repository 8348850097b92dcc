package assemble

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/node/uet"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// workloadStream is the stream of random numbers of the first workload; the others follow.
const workloadStream = 6 << 32

// workloads returns the workloads in which an endpoint takes part.
func (b *builder) workloads(node int, line unit.Rate) (all []node.Workload, err error) {
	for k, p := range b.work {
		self := slices.Index(p.Members, node)
		if self < 0 {
			continue
		}
		out, err := b.workload(k, self, line)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", p.Name, err)
		}
		all = append(all, out)
	}
	return all, nil
}

// workload returns a workload as one of its members has it.
func (b *builder) workload(workload, self int, line unit.Rate) (out node.Workload, err error) {
	p := b.work[workload]
	var lines []unit.Rate
	for _, m := range p.Members {
		out.Members = append(out.Members, b.fabric.Nodes[m].LID)
		lines = append(lines, b.fabric.Wires[b.fabric.Nodes[m].Ports[0].Wire].Link.Rate)
	}
	f := p.Flow
	f.Src = p.Members[self]
	if out.Flow, err = b.flow(&f, line); err != nil {
		return out, err
	}
	out.Self, out.Range, out.Open, out.Linger = self, p.Range, p.Open, b.linger(p.Plain)
	out.Pacing = func(qp uint32) (node.RateLimiter, rp.Reaction) {
		f.QP = qp
		limiter, reaction, _ := b.pacing(&f, line) // it was made once above
		return limiter, reaction
	}
	if b.scenario.Algorithm(f.Flow).Answer != nil {
		beside := map[string]rp.Answerer{}
		out.Answer = func(qp uint32) rp.Answerer {
			f.QP = qp
			a, _ := b.answer(&f, line, beside)
			return a
		}
		if _, err := b.answer(&f, line, beside); err != nil {
			return out, err
		}
	}
	stop := scenario.Until(p.Stop, p.Drain, b.scenario.Model.Duration)
	switch {
	case p.Ranked():
		out.Flow.Start = unit.Time(p.Start)
		out.End, out.Patient = unit.Time(b.scenario.Model.Duration)-1, b.scenario.Model.Duration/patience
		err = b.program(&out, workload)
	case p.Transfers != "":
		out.Traffic, err = b.listed(workload, self, stop)
	default:
		out.Traffic, err = traffic.NewMesh(traffic.Mesh{
			Pattern: p.Pattern, Members: len(out.Members), Self: self, Sizes: p.Size.Distribution(), Rate: p.Offered(lines, self),
			Count: p.Count, Senders: p.Senders, Start: unit.Time(p.Start), Stop: stop,
			Seed: b.scenario.Model.Seed, Stream: workloadStream + uint64(workload)<<16,
		})
	}
	return out, err
}

// patience is the part of a run for which a rank waits until that is worth a report.
const patience = 10

// program gives a member the program of its rank.
func (b *builder) program(out *node.Workload, workload int) (err error) {
	w := b.work[workload]
	if w.Goal == "" {
		out.Program = w.Operation().Program(out.Self)
		return nil
	}
	g := b.goals[workload]
	if g == nil {
		if g, err = w.Schedule(); err != nil {
			return err
		}
		b.goals[workload] = g
	}
	out.Program, out.Tagged = g.Program(out.Self), g.Tagged()
	return nil
}

// listed returns the transfers of a member that are in a file, as far as they arrive before an
// instant. The file is read once.
func (b *builder) listed(workload, self int, stop unit.Time) (traffic.Backlog, error) {
	all := b.lists[workload]
	if all == nil {
		var err error
		if all, err = b.work[workload].Listed(); err != nil {
			return nil, err
		}
		b.lists[workload] = all
	}
	of := all[self]
	n, _ := slices.BinarySearchFunc(of, stop, func(a traffic.Arrival, t unit.Time) int { return cmp.Compare(a.At, t) })
	return traffic.NewList(of[:n]), nil
}

// lingers is how many timeouts the source may need until one of its packets is received again.
const lingers = 8

// linger returns how long the destination of a transfer acknowledges packets that come again. Where
// frames are lost an ACK may be, and the source retransmits after its timeout. Where frames
// overtake one another it may retransmit a packet that is only late.
func (b *builder) linger(f scenario.Flow) unit.Duration {
	loses := b.loses || b.scenario.Reroutes() || b.scenario.Disorders() ||
		slices.ContainsFunc(b.scenario.Links, func(l scenario.Link) bool { return l.FlowControl == port.NoFlowControl }) ||
		slices.ContainsFunc(b.scenario.Switches, func(s scenario.Switch) bool {
			return s.Kind == scenario.OutputQueued && s.Lossless != scenario.AllPriorities
		})
	switch p := f.Transport.Params.(type) {
	case node.RoCEParams:
		if loses {
			return lingers * p.Timeout
		}
	case uet.Params:
		if loses {
			return lingers * p.Timeout * unit.Duration(p.Backoff)
		}
	}
	return 0
}
