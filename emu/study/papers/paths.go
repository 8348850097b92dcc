package papers

import (
	"fabemu/emu"
	"fabemu/emu/metrics"
)

// above is how many quantities are above a level.
func above(level float64, list ...Quantity) Quantity {
	return Combine(func(v []float64) (n float64) {
		for _, x := range v {
			if x > level {
				n++
			}
		}
		return n
	}, list...)
}

// early is the share of a run's workloads' packets that arrive ahead of their turn.
func early(r Run) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		early, packets := 0.0, 0.0
		for i, w := range x.Workloads {
			early += float64(w.OutOfOrder)
			packets += float64(w.Bytes) / float64(x.Metrics.Fabric().Workloads()[i].Packet)
		}
		return early / packets, nil
	}).in(metrics.Share())
}

// farthest is by how many packets a packet of a run's workloads arrives ahead of its turn, at most.
func farthest(r Run) Quantity {
	return Take(r, func(x *emu.Result) (float64, error) {
		most := int64(0)
		for _, w := range x.Workloads {
			most = max(most, w.OutOfOrderDistance)
		}
		return float64(most), nil
	}).in(metrics.Unit{Word: "packets", Whole: true})
}
