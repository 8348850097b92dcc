package schedule

import (
	"fmt"
	"strings"

	"fabemu/wire/unit"
)

// Operation is a collective operation.
type Operation uint8

// The collective operations, with the bytes that Size counts.
const (
	AllReduce     Operation = iota // each rank has a vector of Size, and gets the sum of all
	AllGather                      // each rank has its chunk of a vector of Size, and gets all chunks
	ReduceScatter                  // each rank has a vector of Size, and gets its chunk of the sum
	AllToAll                       // each rank has a vector of Size, and sends each other rank a chunk
	Broadcast                      // rank 0 has a vector of Size, and all ranks get it
	Barrier                        // messages of Size, 0 for 1 byte: each rank leaves when all have entered
)

func (Operation) Words() []string {
	return []string{"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "barrier"}
}

func (o Operation) String() string { return unit.Word(o, o.Words()) }

// Algorithm is a way to carry out a collective operation.
type Algorithm uint8

// The algorithms. The comments name the operations that have them.
const (
	Usual           Algorithm = iota // the first one that the operation has
	Ring                             // AllReduce, AllGather, ReduceScatter: to the next rank, from the one before
	HalvingDoubling                  // AllReduce: with partners at half the distance each time, and back
	Pairwise                         // AllToAll: with one other rank at a time
	Shift                            // AllToAll: with all other ranks at once, handed over in turns that differ by rank
	Binomial                         // Broadcast: ranks that have the vector send it on, twice as many each time
	Dissemination                    // Barrier: to ranks at twice the distance each time
)

func (Algorithm) Words() []string {
	return []string{"usual", "ring", "halving-doubling", "pairwise", "shift", "binomial", "dissemination"}
}

func (a Algorithm) String() string { return unit.Word(a, a.Words()) }

// Algorithms returns the algorithms of an operation, the usual one first.
func (o Operation) Algorithms() []Algorithm {
	switch o {
	case AllReduce:
		return []Algorithm{Ring, HalvingDoubling}
	case AllGather, ReduceScatter:
		return []Algorithm{Ring}
	case AllToAll:
		return []Algorithm{Pairwise, Shift}
	case Broadcast:
		return []Algorithm{Binomial}
	case Barrier:
		return []Algorithm{Dissemination}
	}
	return nil
}

// Collective is a collective operation that ranks 0 to Ranks-1 carry out one or more times.
// A rank begins the next round when its own part of the last one has ended and it has computed.
type Collective struct {
	Kind      Operation
	Algorithm Algorithm
	Ranks     int           // at least 1
	Size      unit.Size     // bytes, as Kind counts them; at least 1, of Barrier 0
	Repeat    int           // rounds; 0: one
	Compute   unit.Duration // of each rank between two rounds
}

// MaxRanks is the largest number of ranks of a Collective.
const MaxRanks = 1 << 20

// MaxSize is the largest Size of a Collective, and of a message of a GOAL file.
const MaxSize = 1 << 50

// Check returns an error that describes the first fault of c.
func (c Collective) Check() error {
	algorithms := c.Kind.Algorithms()
	names := make([]string, len(algorithms))
	found := c.Algorithm == Usual
	for i, a := range algorithms {
		names[i], found = a.String(), found || a == c.Algorithm
	}
	switch {
	case len(algorithms) == 0:
		return fmt.Errorf("there is no collective operation %d", c.Kind)
	case !found:
		return fmt.Errorf("%v has no algorithm %v: it has %s", c.Kind, c.Algorithm, strings.Join(names, ", "))
	case c.Ranks < 1 || c.Ranks > MaxRanks:
		return fmt.Errorf("%v of %d ranks: give 1 to %d", c.Kind, c.Ranks, MaxRanks)
	case c.Size < 0 || c.Size > MaxSize || c.Size == 0 && c.Kind != Barrier:
		return fmt.Errorf("%v of %d bytes: give 1 to %d", c.Kind, c.Size, unit.Size(MaxSize))
	case c.Repeat < 0:
		return fmt.Errorf("%v repeated %d times: give 1 or more", c.Kind, c.Repeat)
	case c.Compute < 0:
		return fmt.Errorf("%v with a computation of %v between rounds: give 0 or more", c.Kind, c.Compute)
	}
	return nil
}

// Chunk returns the bytes of chunk i of the vector. The chunks differ by one byte at most,
// the first ones are the larger ones, and their sum is Size.
func (c Collective) Chunk(i int) unit.Size { return c.span(i, i+1, c.Ranks) }

// span returns the bytes of chunks from to to-1, where the vector has n chunks.
func (c Collective) span(from, to, n int) unit.Size {
	each, more := c.Size/unit.Size(n), int(c.Size%unit.Size(n))
	return unit.Size(to-from)*each + unit.Size(min(to, more)-min(from, more))
}

// BusFactor returns bus bandwidth over algorithm bandwidth, as nccl-tests define it: 2(n-1)/n
// for AllReduce, (n-1)/n for AllGather, ReduceScatter and AllToAll, 1 for Broadcast.
func (c Collective) BusFactor() float64 {
	n := float64(c.Ranks)
	switch c.Kind {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll:
		return (n - 1) / n
	case Broadcast:
		return 1
	}
	return 0
}

// LeastTime returns a lower bound of the time of a round on an idle fabric: the bytes that this
// algorithm must serialise one after another, on a link that carries this many bits of payload a
// second. It leaves out latencies: at least Steps times the latency of a message come on top,
// but for Shift, where it is once.
func (c Collective) LeastTime(line unit.Rate) unit.Duration {
	if b := c.serial(); b > 0 {
		return line.Serialise(b)
	}
	return 0
}

// serial returns the bytes behind LeastTime. In a ring the largest chunk passes through each
// step. In the others a rank sends all but the chunk that it keeps.
func (c Collective) serial() unit.Size {
	steps := unit.Size(c.Steps())
	switch c.Chosen() {
	case Ring:
		return steps * c.Chunk(0)
	case HalvingDoubling:
		p := c.power()
		b := 2 * (c.Size - c.span(0, 1, p))
		if p < c.Ranks {
			b += 2 * c.Size
		}
		return b
	case Pairwise, Shift:
		return c.Size - c.Chunk(c.Ranks-1)
	case Binomial:
		return steps * c.Size
	}
	return steps * max(c.Size, 1)
}
