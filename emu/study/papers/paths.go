package papers

import (
	"fmt"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/result/plot"
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

// quantities lists what pictures of a leaf-spine need; f may be nil.
func (f *Fabrics) quantities() (all []*Quantity) {
	if f == nil {
		return nil
	}
	for i := range f.Panels {
		p := &f.Panels[i]
		for k := range p.Up {
			all = append(all, &p.Up[k], &p.Down[k])
		}
		for k := range p.Labels {
			all = append(all, &p.Labels[k].Value)
		}
		for k := range p.Notes {
			all = append(all, &p.Notes[k].Value)
		}
	}
	return all
}

// fabrics makes pictures of a leaf-spine of the results.
func (b *batch) fabrics(f *Fabrics) *plot.Fabrics {
	out := &plot.Fabrics{Most: f.Most, Columns: f.Columns}
	value := func(q *Quantity) float64 {
		v, _, _ := b.value(q)
		return v
	}
	notes := func(all []FabricNote) (texts []string) {
		for i := range all {
			texts = append(texts, fmt.Sprintf(all[i].Format, value(&all[i].Value)))
		}
		return texts
	}
	for i := range f.Panels {
		p := &f.Panels[i]
		panel := plot.Fabric{Name: p.Name}
		for k := range p.Up {
			panel.Up, panel.Down = append(panel.Up, value(&p.Up[k])), append(panel.Down, value(&p.Down[k]))
		}
		panel.Labels, panel.Notes = notes(p.Labels), notes(p.Notes)
		out.Panels = append(out.Panels, panel)
	}
	return out
}
