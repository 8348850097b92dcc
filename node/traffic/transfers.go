package traffic

import (
	"fmt"

	"fabemu/wire/unit"
)

// transfers: sizes of a distribution, all at the start or as a Poisson process.
type transfers struct {
	sizes Sizes
	left  int  // how many there are; -1: no end
	now   span // of the last one
	mean  span // between two; 0: all at once
	draw
}

func newTransfers(c Config, d draw) (Generator, error) {
	switch {
	case c.Sizes.mean == span{}:
		return nil, fmt.Errorf("traffic: flows without sizes")
	case c.Count < 0 || c.Rate < 0:
		return nil, fmt.Errorf("traffic: %d flows at %v", c.Count, c.Rate)
	}
	g := &transfers{sizes: c.Sizes, left: c.Count, now: instantOf(c.Start), draw: d}
	switch {
	case c.Rate > 0:
		g.mean = spanOf(1, c.Rate).times(c.Sizes.mean)
		if len(c.Sizes.points) == 1 {
			g.mean = spanOf(c.Sizes.points[0].size, c.Rate) // to the last bit
		}
		if c.Count == 0 {
			g.left = -1
		}
	case c.Count == 0:
		g.left = 1
	}
	return g, nil
}

// MostBytes keeps the time that a transfer takes at any rate within the range of a span.
const MostBytes = 1 << 50

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
	return Arrival{At: g.now.time(), To: g.to(), Size: g.sizes.draw(g.random)}
}
