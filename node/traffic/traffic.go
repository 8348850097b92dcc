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

// Backlog is a Generator that counts the arrivals which Next has not returned yet, without holding them.
type Backlog interface {
	Generator
	// Waiting returns how many of them there are up to an instant, which never decreases, and when the next one arrives;
	// unit.Never: none does.
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

// Words returns the words for the kinds.
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
