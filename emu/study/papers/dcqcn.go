package papers

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/study/papers/fluid"
	"fabemu/node/rp"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// DCQCN: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, and
// Y. Zhu, M. Ghobadi, V. Misra, J. Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN
// and TIMELY", CoNEXT 2016, with measurements by the simulators of both.

// presetTable has the parameters of an algorithm that are not the same in all of its presets;
// empty: it has none.
func presetTable(algorithm string) string {
	all, algorithms := map[string]any{}, rp.Algorithms()
	i := slices.IndexFunc(algorithms, func(l rp.Algorithm) bool { return l.Name == algorithm })
	if i < 0 || param.Of(algorithms[i].Params).Find("preset") == nil {
		return ""
	}
	of := param.Of(algorithms[i].Params)
	presets := of.Find("preset").Words
	for _, name := range presets {
		all[name] = paramsOf(algorithms[i].Params, name)
	}
	var b strings.Builder
	for i := range of.Params {
		p := &of.Params[i]
		cells, differ := "", false
		for _, name := range presets {
			text := p.Text(all[name])
			differ = differ || text != p.Text(all[presets[0]])
			cells += " " + text + " |"
		}
		if differ && p.Key != "preset" {
			fmt.Fprintf(&b, "| `%s` |%s\n", p.Key, cells)
		}
	}
	return b.String()
}

// paramsOf returns the parameters of a preset of an algorithm.
func paramsOf(algorithm any, preset string) any {
	return param.Of(algorithm).Build(func(p *param.Param) any {
		if p.Key == "preset" {
			return preset
		}
		return nil
	}, nil)
}

// restOf is the loop of dcqcn/fixed-point with this many flows.
func restOf(flows int) fluid.DCQCN {
	return fluid.DCQCN{
		Flows: flows, Capacity: 40e9, Packet: 1000, Algorithm: paramsOf(rp.DCQCNParams{}, "paper").(rp.DCQCNParams),
		Min: 5 * unit.KB, Max: 200 * unit.KB, MaxP: 0.01,
	}
}

// alone takes seconds.
var alone = memo(func(flows int) float64 { return must(restOf(flows).Alone(2_000_000)) })

// restingQueue is where the queue comes to rest with a share of marked packets.
func restingQueue(flows int, share func(fluid.DCQCN) (float64, error)) Quantity {
	c := restOf(flows)
	return constant(c.Queue(must(share(c)))).in(metrics.Sizes())
}
