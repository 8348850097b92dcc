package metrics

import (
	"slices"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// copied are the counters of a port or of a flow as they were at some time, to be settled again
// at edges that have passed.
type copied struct {
	first  int // the first of them in a row
	now    []int64
	settle func(t unit.Time)
	port   *trace.Counts // nil: of a flow
}

// late counts an event whose bin is closed: it adds to the rows since then the difference that
// the event makes to the counters at each edge.
func (c *Collector) late(e *trace.Event) {
	if e.Kind == trace.Disorder {
		c.disordered(e)
		return
	}
	before := c.copies(e)
	c.add(e)
	after := c.copies(e)
	first, _ := slices.BinarySearch(c.edges[:c.cur+1], e.At+1) // the first edge after e
	for k := first; k <= c.cur; k++ {
		for n, with := range after {
			without := before[n]
			without.settle(c.edges[k])
			with.settle(c.edges[k])
			for i, v := range with.now {
				if with.port == nil || portDiffers>>i&1 == 1 {
					c.rows.change(k, with.first+i, v-without.now[i])
				}
			}
		}
	}
	// A node reports in order: a queue that e changes has had its new length since then.
	for n, with := range after {
		if with.port == nil || with.port.Queue == before[n].port.Queue {
			continue
		}
		length := with.port.Queue
		c.tallies[with.first/portColumns].Longest = length
		for k := first; k <= c.cur; k++ {
			if cell := c.rows.cell(k, with.first+outLongest); k == first {
				*cell = max(*cell, length)
			} else {
				*cell = length
			}
		}
	}
}

// portDiffers are the columns of a port in which a late event makes a difference to a sum.
const portDiffers = 1<<portColumns - 1 - 1<<outLongest

// copies returns copies of all counters that an event can change.
func (c *Collector) copies(e *trace.Event) []copied {
	in := c.first.number(e)
	all := []copied{c.copyPort(int(in))}
	if out, ok := c.joins(e.Node, e.Flow); ok && out != in {
		all = append(all, c.copyPort(int(out)))
	}
	i := int(e.Flow - firstQP)
	if i >= len(c.flows) {
		if n := len(c.works) * workColumns; n > 0 {
			now := slices.Clone(c.now[c.ofWorks : c.ofWorks+n])
			all = append(all, copied{c.ofWorks, now, func(unit.Time) {}, nil})
		}
		return all
	}
	f, x, first := c.flows[i], c.lives[i], c.ofFlows+i*flowColumns
	now := slices.Clone(c.now[first : first+flowColumns])
	all = append(all, copied{first, now, func(t unit.Time) { x.settle(&f, now, t) }, nil})
	if c.ofStreams > 0 {
		f, x, first := c.flows[i], c.lives[i], c.ofStreams+i*tcpColumns
		now := slices.Clone(c.now[first : first+tcpColumns])
		all = append(all, copied{first, now, func(t unit.Time) { x.settleStream(&f, now, t) }, nil})
	}
	return all
}

func (c *Collector) copyPort(i int) copied {
	p, y, now := c.ports[i], c.tallies[i], [portColumns]int64(c.now[i*portColumns:])
	if p.pausing != nil {
		s := *p.pausing
		s.until = slices.Clone(s.until)
		p.pausing = &s
	}
	return copied{i * portColumns, now[:], func(t unit.Time) { c.settlePort(c.capacities, i, &p, &y, &now, t) }, &y}
}
