package traffic

import (
	"math/bits"

	"fabemu/wire/unit"
)

// bernoulli: time is divided into slots that a packet takes on the link; each has one
// with the same probability, whatever the others have.
type bernoulli struct {
	start  unit.Time
	peak   unit.Rate
	length unit.Size
	always bool   // a packet in every slot
	below  uint64 // the probability, times 2^64
	slot   unit.Size
	draw
}

func newBernoulli(c Config, d draw) *bernoulli {
	g := &bernoulli{start: c.Start, peak: c.Peak, length: c.Length, always: c.Rate == c.Peak, draw: d}
	if !g.always {
		g.below, _ = bits.Div64(uint64(c.Rate), 0, uint64(c.Peak))
	}
	return g
}

// lastSlot keeps the start of a slot within the range of a number of bytes.
const lastSlot = 1 << 40

func (g *bernoulli) Next() Arrival {
	for !g.always && g.random.Uint64() >= g.below {
		if g.slot++; g.slot > lastSlot {
			return Arrival{At: unit.Never}
		}
	}
	at := g.start.Add(g.peak.Serialise(g.slot * g.length))
	g.slot++
	return Arrival{At: at, To: g.to()}
}
