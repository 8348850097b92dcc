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
	BestForPackets                 // for each frame one of the best quality (PER_PACKET_QUALITY)
	BestForFlowlets                // for each flowlet one of the best quality (FLOWLET_QUALITY)
)

func (Balance) Words() []string {
	return []string{"hash", "random", "round-robin", "flowlet", "adaptive", "adaptive-flowlet"}
}

func (b Balance) String() string { return unit.Word(b, b.Words()) }

// ByFlowlet reports whether the frames of a flowlet stay together.
func (b Balance) ByFlowlet() bool { return b == RandomFlowlets || b == BestForFlowlets }

// Adaptive reports whether the quality of outputs counts.
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

	// LoadWeight is the part of the load in the quality of an output, in percent; the queue has the
	// rest. The load is in as many bands, from an idle link to a full one. It is an average of what
	// the output sends, sampled when the first frame after each Sample needs a choice; a sample
	// counts for one part in Average.
	LoadWeight int
	Sample     unit.Duration
	Average    int
}

// weighsLoad reports whether the load of outputs counts.
func (b *Balancing) weighsLoad() bool { return b.Adaptive() && b.LoadWeight > 0 }

// balancer is a Balancing at work.
type balancer struct {
	Balancing
	random   *unit.Random
	queue    func(now unit.Time, output int) unit.Size // what waits for an output
	sent     func(now unit.Time, output int) unit.Size // all that it has sent; nil: counted
	counted  []unit.Size                               // by output: all that it has sent, which the switch counts here
	turns    []int32                                   // by group of equal outputs: whose turn it is
	flowlets []flowlet
	sampled  unit.Time // when the loads were last sampled
	loads    []load    // by output; none: they do not count
}

// load is the load of an output.
type load struct {
	sent    unit.Size // all that it had sent when it was last sampled
	average float64   // a part of its link's rate
}

// flowlet is the last flowlet of a flow.
type flowlet struct {
	last   unit.Time // when its last frame came
	output port.ID   // which it takes; NoRoute: there has been none
}

// newBalancer returns nil for Hash. A switch that does not know what its outputs have sent counts
// it for the balancer, if that counts.
func newBalancer(c Balancing, seed uint64, outputs int, queue, sent func(now unit.Time, output int) unit.Size) *balancer {
	if c.Balance == Hash {
		return nil
	}
	b := &balancer{Balancing: c, random: unit.NewRandom(seed, 0), queue: queue, sent: sent}
	if c.ByFlowlet() {
		b.flowlets = make([]flowlet, max(c.Flows, 1))
		b.reset()
	}
	if c.weighsLoad() {
		b.loads = make([]load, outputs)
		if sent == nil {
			b.counted = make([]unit.Size, outputs)
			b.sent = func(_ unit.Time, output int) unit.Size { return b.counted[output] }
		}
	}
	return b
}

// counts reports whether the switch has to count what leaves.
func (b *balancer) counts() bool { return b != nil && len(b.counted) > 0 }

// reset forgets all flowlets, and the loads.
func (b *balancer) reset() {
	for i := range b.flowlets {
		b.flowlets[i].output = NoRoute
	}
	for i := range b.loads {
		b.loads[i].average = 0
	}
}

// measure samples the loads if it is time. A sample that comes late counts as often as samples were
// due.
func (b *balancer) measure(now unit.Time, ports []port.Port) {
	since := now.Sub(b.sampled)
	if since < b.Sample {
		return
	}
	b.sampled = now
	keep := 1.0 // of the average
	for n := since / b.Sample; n > 0 && keep > 1e-9; n-- {
		keep *= 1 - 1/float64(b.Average)
	}
	for p := range b.loads {
		l, sent := &b.loads[p], b.sent(now, p)
		could := float64(since) / float64(ports[p].Transmitter().Serialise(1)) // bytes at the link's rate
		l.average = keep*l.average + (1-keep)*float64(sent-l.sent)/could
		l.sent = sent
	}
}

// choose returns one of the outputs of a group that has a number. ports has all outputs: one whose
// link is down is taken only if that of all is.
func (b *balancer) choose(now unit.Time, f *wire.Frame, group int, equal []port.ID, ports []port.Port) port.ID {
	if len(b.loads) > 0 {
		b.measure(now, ports)
	}
	if !b.ByFlowlet() {
		return b.pick(now, group, equal, ports)
	}
	l := &b.flowlets[wire.Choose(0, f.Src, f.Dst, f.Entropy(), len(b.flowlets))]
	if l.output == NoRoute || now.Sub(l.last) > b.Idle || !slices.Contains(equal, l.output) || ports[l.output].Down() {
		l.output = b.pick(now, group, equal, ports)
	}
	l.last = now
	return l.output
}

// pick returns an output for a frame, or for a flowlet.
func (b *balancer) pick(now unit.Time, group int, equal []port.ID, ports []port.Port) port.ID {
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
			at = b.quality(now, int(p))
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

// quality returns how good an output is: the less, the better.
func (b *balancer) quality(now unit.Time, output int) int {
	at := b.queueBand(b.queue(now, output))
	if len(b.loads) == 0 {
		return at
	}
	loaded := min(int(b.loads[output].average*float64(b.Bands)), b.Bands-1)
	return (100-b.LoadWeight)*at + b.LoadWeight*loaded
}

// queueBand returns the band of a queue.
func (b *balancer) queueBand(queue unit.Size) int {
	switch {
	case queue <= b.Low:
		return 0
	case queue >= b.High:
		return b.Bands - 1
	}
	return int(int64(queue-b.Low) * int64(b.Bands) / int64(b.High-b.Low))
}
