package traffic

import "fabemu/wire/unit"

// bursts: a source that is on and off in turn, both for times with a Pareto
// distribution; many of them together make self-similar traffic (W. Willinger, M. Taqqu,
// R. Sherman, D. Wilson, "Self-similarity through high-variability", SIGCOMM 1995). A
// burst goes to one destination. It has a whole number of packets: the part that a length has
// beyond that is left for the next one, so that the mean is kept; and one that is
// shorter than a packet may be no burst at all.
type bursts struct {
	now     span
	packet  span   // how long a packet takes while on
	on, off span   // least lengths: of a burst in packets, of a silence in time
	inverse uint64 // one over the shape, times 2^63
	carry   span   // packets that are left of a burst
	left    uint64 // packets of the burst
	dst     int
	draw
}

func newBursts(c Config, d draw) *bursts {
	g := &bursts{now: instantOf(c.Start), packet: spanOf(c.Length, c.Peak), draw: d}
	g.inverse = uint64(float64(1<<63) / c.Shape)
	// The mean of a Pareto distribution is its least value times shape/(shape-1).
	least := -(2 * g.inverse) // (shape-1)/shape, times 2^64
	g.on = ratio(uint64(c.Burst), uint64(c.Length)).times(span{0, least})
	// On average, burst and silence together last as long as the burst at the rate.
	g.off = spanOf(c.Burst, c.Rate)
	g.off.sub(spanOf(c.Burst, c.Peak))
	g.off = g.off.times(span{0, least})
	return g
}

func (g *bursts) Next() Arrival {
	for g.left == 0 {
		g.now.add(g.off.times(g.pareto(g.inverse)))
		if g.now.time() == unit.Never {
			return Arrival{At: unit.Never}
		}
		g.carry.add(g.on.times(g.pareto(g.inverse)))
		g.left, g.carry.whole = g.carry.whole, 0
		g.dst = g.to()
	}
	at := g.now.time()
	g.now.add(g.packet)
	g.left--
	return Arrival{At: at, To: g.dst}
}
