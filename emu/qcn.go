package emu

import (
	"fabemu/emu/topo"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/unit"
)

// The streams of random numbers of QCN: for each switch, for each flow, and for each
// endpoint whose flows share a limiter.
const (
	congestionStream = 2 << 32
	reactionStream   = 3 << 32
	sharedStream     = 4 << 32
)

// congestionPoint returns the congestion points of a switch that queues at its outputs,
// nil when it has none.
func (b *builder) congestionPoint(m *topo.Machine, machine int) (cp.Point, error) {
	if m.Switch.Marking.Scheme != "qcn" {
		return nil, nil
	}
	q := m.Switch.Marking.QCN
	return cp.NewQCN(cp.QCNConfig{
		Qeq: q.Qeq, Weight: q.Weight, SampleBase: q.SampleBase, Jitter: q.Jitter, Octets: q.Octets, Priority: q.Priority, Lost: q.Lost,
		Talk: q.Sampling == "linear", Address: m.LID, Random: unit.NewRandom(b.scenario.Model.Seed, congestionStream+uint64(machine)),
	}, len(m.Ports))
}

// reactionPoint returns a reaction point of QCN for a flow, on a line.
func (b *builder) reactionPoint(f *topo.Flow, line unit.Rate, stream uint64) (*rp.QCN, error) {
	q := f.Control.QCN
	return rp.NewQCN(rp.QCNConfig{
		Line: line, MinRate: q.MinRate, ByteReset: q.ByteReset, TimeReset: q.Timer, Threshold: q.Threshold,
		ActiveIncrease: q.ActiveIncrease, HyperIncrease: q.HyperIncrease, Gd: q.Gd, MinDecrease: q.MinDecrease, Jitter: q.Jitter,
		Talk: q.Version == "talk", Random: unit.NewRandom(b.scenario.Model.Seed, stream),
	})
}

// share puts a flow under the limiter that flows of its endpoint share; it is made with
// the first of them.
func (b *builder) share(shared **node.Shared, f *topo.Flow, flow *node.Flow, line unit.Rate) error {
	if *shared == nil {
		q, err := b.reactionPoint(f, line, sharedStream+uint64(f.Src))
		if err != nil {
			return err
		}
		limiter, _ := b.limiter(f, line)
		*shared = node.NewShared(q, limiter)
	}
	(*shared).Join(flow, flow.Limiter, line)
	return nil
}
