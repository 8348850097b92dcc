package traffic

import (
	"fmt"
	"math/bits"

	"fabemu/wire/unit"
)

// Arrival is something to send.
type Arrival struct {
	At   unit.Time // from when on; unit.Never: nothing more arrives
	To   int       // to which of the destinations, from 0
	Size unit.Size // of a transfer, in bytes of payload; 0: one packet of the flow's size
	Tag  uint32    // of a message of a parallel job
}

// Generator is a sequence of arrivals. Times never decrease.
type Generator interface {
	// Next returns the next arrival. After one at unit.Never there are no others.
	Next() Arrival
}

// Backlog is a Generator that counts the arrivals which Next has not returned yet, without holding
// them.
type Backlog interface {
	Generator
	// Waiting returns how many of them there are up to an instant, which never decreases, and when
	// the next one arrives; unit.Never: none does.
	Waiting(now unit.Time) (n int, next unit.Time)
}

// Kind is how arrivals follow each other.
type Kind uint8

// The kinds. Of the first two there is no Generator.
const (
	Greedy Kind = iota
	Paced
	Constant
	Bernoulli
	Poisson
	Bursts
	Transfers
)

func (Kind) Words() []string {
	return []string{"greedy", "paced", "constant", "bernoulli", "poisson", "bursts", "transfers"}
}

func (k Kind) String() string { return unit.Word(k, k.Words()) }

// Config describes a Generator. Which fields count depends on Kind.
type Config struct {
	Kind  Kind
	Start unit.Time // nothing arrives earlier
	Rate  unit.Rate // the mean of the offered traffic, of the link; of Transfers the bytes of payload, 0: all arrive at Start

	Length unit.Size // all but Transfers: of a packet on the link
	Peak   unit.Rate // Bernoulli: of the link, a slot is a packet of it; Bursts: of a burst; at least Rate

	Burst unit.Size // Bursts: mean length on the link, at least Length
	Shape float64   // Bursts: of both Pareto distributions, MinShape to MaxShape; the smaller, the longer the tail

	Sizes Sizes // Transfers: of payload
	Count int   // Transfers: how many there are; 0: one, or without end at a Rate

	Destinations int // uniform over so many; 0 counts as 1
	Seed, Stream uint64
}

// The range of the shape of a Pareto distribution. At 1 it has no mean.
const (
	MinShape = 1.05
	MaxShape = 100.
)

// New returns the Generator that c describes. It refuses traffic that could not be generated,
// with an error that describes it.
func New(c Config) (Generator, error) {
	if c.Destinations < 0 {
		return nil, fmt.Errorf("traffic: %d destinations", c.Destinations)
	}
	if c.Start < 0 {
		return nil, fmt.Errorf("traffic: starts at %v", c.Start)
	}
	d := draw{random: unit.NewRandom(c.Seed, c.Stream), destinations: uint64(max(c.Destinations, 1))}
	if c.Kind == Transfers {
		return newTransfers(c, d)
	}
	switch {
	case c.Rate <= 0:
		return nil, fmt.Errorf("traffic: %v at a rate of %v", c.Kind, c.Rate)
	case c.Length <= 0:
		return nil, fmt.Errorf("traffic: %v packets of %d bytes", c.Kind, c.Length)
	}
	switch c.Kind {
	case Constant:
		return newConstant(c, d), nil
	case Bernoulli:
		if c.Peak < c.Rate {
			return nil, fmt.Errorf("traffic: bernoulli at %v on a link of %v", c.Rate, c.Peak)
		}
		return newBernoulli(c, d), nil
	case Poisson:
		return &poisson{now: instantOf(c.Start), mean: spanOf(c.Length, c.Rate), draw: d}, nil
	case Bursts:
		switch {
		case c.Peak < c.Rate:
			return nil, fmt.Errorf("traffic: bursts of %v make no %v", c.Peak, c.Rate)
		case c.Burst < c.Length:
			return nil, fmt.Errorf("traffic: bursts of %d bytes in packets of %d", c.Burst, c.Length)
		case !(c.Shape >= MinShape && c.Shape <= MaxShape):
			return nil, fmt.Errorf("traffic: bursts of shape %v, not in %v to %v", c.Shape, MinShape, MaxShape)
		}
		return newBursts(c, d), nil
	default:
		return nil, fmt.Errorf("traffic: no arrivals of kind %v", c.Kind)
	}
}

// constant: packet i arrives when i packets have passed at the rate, the last of them whole.
type constant struct {
	at   unit.Time     // of the next packet, rounded up to whole picoseconds
	over uint64        // by so many parts, of which a picosecond has rate: rounding never adds up
	step unit.Duration // from packet to packet, rounded down,
	rest uint64        // by so many parts
	rate uint64
	draw
}

func newConstant(c Config, d draw) *constant {
	g := &constant{at: c.Start, step: unit.Duration(unit.Never), rate: uint64(c.Rate), draw: d}
	if hi, lo := bits.Mul64(uint64(c.Length), 8*uint64(unit.Second)); hi < g.rate {
		if step, rest := bits.Div64(hi, lo, g.rate); step < uint64(unit.Never) {
			g.step, g.rest = unit.Duration(step), rest
		}
	}
	return g
}

func (g *constant) Next() Arrival {
	a, step := Arrival{At: g.at, To: g.to()}, g.step
	if g.over < g.rest {
		step++
		g.over += g.rate
	}
	g.over -= g.rest
	g.at = g.at.Add(step)
	return a
}

// poisson: exponential distances.
type poisson struct {
	now  span
	mean span
	draw
}

func (g *poisson) Next() Arrival {
	g.now.add(g.mean.times(g.exponential()))
	return Arrival{At: g.now.time(), To: g.to()}
}

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
