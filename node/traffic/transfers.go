package traffic

import (
	"fmt"

	"fabemu/wire/unit"
)

// transfers: sizes in turn, all at the start or as a Poisson process.
type transfers struct {
	sizes []unit.Size
	next  int  // which of them
	left  int  // how many there are; -1: no end
	now   span // of the last one
	mean  span // between two; 0: all at once
	draw
}

func newTransfers(c Config, d draw) (Generator, error) {
	sum := unit.Size(0)
	for _, s := range c.Sizes {
		if s <= 0 || s > maxTransfers {
			return nil, fmt.Errorf("traffic: a transfer of %d bytes", s)
		}
		if sum += s; sum > maxTransfers {
			return nil, fmt.Errorf("traffic: transfers of more than %d bytes", int64(maxTransfers))
		}
	}
	n := len(c.Sizes)
	switch {
	case n == 0:
		return nil, fmt.Errorf("traffic: transfers without sizes")
	case c.Count < 0 || c.Rate < 0:
		return nil, fmt.Errorf("traffic: %d transfers at %v", c.Count, c.Rate)
	}
	g := &transfers{sizes: c.Sizes, left: c.Count, now: instantOf(c.Start), draw: d}
	switch {
	case c.Rate > 0:
		g.mean = spanOf(sum, c.Rate).times(ratio(1, uint64(n)))
		if c.Count == 0 {
			g.left = -1
		}
	case c.Count == 0:
		g.left = n
	}
	return g, nil
}

// maxTransfers keeps the time that all sizes take at any rate within the range of a span.
const maxTransfers = 1 << 50

func (g *transfers) Next() Arrival {
	if g.left == 0 {
		return Arrival{At: unit.Never}
	}
	if g.left > 0 {
		g.left--
	}
	if g.mean != (span{}) {
		g.now.add(g.mean.times(g.exponential()))
	}
	a := Arrival{At: g.now.time(), To: g.to(), Size: g.sizes[g.next]}
	g.next = (g.next + 1) % len(g.sizes)
	return a
}
