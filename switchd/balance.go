package switchd

import (
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Balance is how a switch divides frames among the equal outputs of a destination. The modes are
// those of SAI's adaptive routing and switching (saiars.h), and RoundRobin.
type Balance uint8

// The ways of dividing frames.
const (
	Hash            Balance = iota // by a hash of the flow: all its frames take one (SAI: FIXED)
	RandomPackets                  // any one for each frame (PER_PACKET_RANDOM)
	RoundRobin                     // one after the other, frame by frame
	RandomFlowlets                 // any one for each flowlet (FLOWLET_RANDOM)
	BestForPackets                 // for each frame one with the shortest queue (PER_PACKET_QUALITY)
	BestForFlowlets                // for each flowlet one with the shortest queue (FLOWLET_QUALITY)
)

func (Balance) Words() []string {
	return []string{"hash", "random", "round-robin", "flowlet", "adaptive", "adaptive-flowlet"}
}

func (b Balance) String() string { return unit.Word(b, b.Words()) }

// ByFlowlet reports whether the frames of a flowlet stay together.
func (b Balance) ByFlowlet() bool { return b == RandomFlowlets || b == BestForFlowlets }

// Adaptive reports whether the queues of outputs count.
func (b Balance) Adaptive() bool { return b == BestForPackets || b == BestForFlowlets }

// Balancing is a Balance with its parameters.
type Balancing struct {
	Balance
	Idle  unit.Duration // after a pause of this length the next frame of a flow begins a flowlet
	Flows int           // how many flows the switch knows the last frame of, at least 1; of flows that share an entry, each continues the flowlet of the other

	// Queues from Low to High are divided into Bands, at least 1, of equal width. Shorter ones are
	// in the first band, longer ones in the last. Outputs in one band are equally good.
	Bands     int
	Low, High unit.Size
}

// balancer is a Balancing at work.
type balancer struct {
	Balancing
	random   *unit.Random
	queue    func(output int) unit.Size // what waits for an output
	turns    []int32                    // by group of equal outputs: whose turn it is
	flowlets []flowlet
}

// flowlet is the last flowlet of a flow.
type flowlet struct {
	last   unit.Time // when its last frame came
	output port.ID   // which it takes; NoRoute: there has been none
}

// newBalancer returns nil for Hash.
func newBalancer(c Balancing, seed uint64, queue func(output int) unit.Size) *balancer {
	if c.Balance == Hash {
		return nil
	}
	b := &balancer{Balancing: c, random: unit.NewRandom(seed, 0), queue: queue}
	if c.ByFlowlet() {
		b.flowlets = make([]flowlet, max(c.Flows, 1))
		b.reset()
	}
	return b
}

// reset forgets all flowlets.
func (b *balancer) reset() {
	for i := range b.flowlets {
		b.flowlets[i].output = NoRoute
	}
}

// choose returns one of the outputs of a group that has a number. ports has all outputs: one whose
// link is down is taken only if that of all is.
func (b *balancer) choose(now unit.Time, f *wire.Frame, group int, equal []port.ID, ports []port.Port) port.ID {
	if !b.ByFlowlet() {
		return b.pick(group, equal, ports)
	}
	l := &b.flowlets[wire.Choose(0, f.Src, f.Dst, f.Entropy(), len(b.flowlets))]
	if l.output == NoRoute || now.Sub(l.last) > b.Idle || !slices.Contains(equal, l.output) || ports[l.output].Down() {
		l.output = b.pick(group, equal, ports)
	}
	l.last = now
	return l.output
}

// pick returns an output for a frame, or for a flowlet.
func (b *balancer) pick(group int, equal []port.ID, ports []port.Port) port.ID {
	if b.Balance == RoundRobin {
		for len(b.turns) <= group {
			b.turns = append(b.turns, 0)
		}
		for range equal {
			p := equal[int(b.turns[group])%len(equal)]
			b.turns[group] = int32((int(b.turns[group]) + 1) % len(equal))
			if !ports[p].Down() {
				return p
			}
		}
		return equal[0]
	}
	// One of the best that were seen so far is kept with the same probability for each of them, so
	// the outputs are read once, and no list of them is made.
	best, band, ties := equal[b.random.Below(uint64(len(equal)))], 0, uint64(0)
	if !b.Adaptive() && !ports[best].Down() {
		return best
	}
	for _, p := range equal {
		if ports[p].Down() {
			continue
		}
		at := 0
		if b.Adaptive() {
			at = b.band(b.queue(int(p)))
		}
		switch {
		case ties == 0 || at < band:
			best, band, ties = p, at, 1
		case at == band:
			if ties++; b.random.Below(ties) == 0 {
				best = p
			}
		}
	}
	return best
}

// band returns the band of a queue.
func (b *balancer) band(queue unit.Size) int {
	switch {
	case queue <= b.Low:
		return 0
	case queue >= b.High:
		return b.Bands - 1
	}
	return int(int64(queue-b.Low) * int64(b.Bands) / int64(b.High-b.Low))
}
