package traffic

import (
	"cmp"
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// Pattern is which member of a mesh sends to which.
type Pattern uint8

// The patterns.
const (
	Uniform     Pattern = iota // each transfer goes to any other member, all equally likely
	Permutation                // each member sends to one other, drawn once: each receives from one
	Ring                       // each member sends to the next
	AllToAll                   // each member sends to each other, from the next one on
	Incast                     // now and then some members, drawn at random, send to another one at the same instant
)

func (Pattern) Words() []string {
	return []string{"uniform", "permutation", "ring", "all-to-all", "incast"}
}

func (p Pattern) String() string { return unit.Word(p, p.Words()) }

// Mesh describes the transfers of one member of a group of endpoints, each of which sends to
// others.
type Mesh struct {
	Pattern       Pattern
	Members, Self int   // how many there are, at least 2, and which of them sends
	Sizes         Sizes // of transfers
	// Rate is the mean rate of the payload that a member sends, as a Poisson process; of Incast the
	// rate that all members send together. 0: each destination gets Count transfers at Start.
	Rate         unit.Rate
	Count        int // how many transfers a member sends, of AllToAll to each other, of Incast how many events there are; 0: without end, or at a Rate of 0 one
	Senders      int // Incast: how many send at each event
	Start, Stop  unit.Time
	Seed, Stream uint64 // random numbers: each member has its own stream behind Stream, which all share
}

// mesh is the generator of all patterns.
type mesh struct {
	Mesh
	own     draw
	shared  draw // Incast: all members draw the same events
	now     span
	mean    span // between two arrivals, or events; 0: all at once
	left    int  // arrivals, or events; -1: without end
	turn    int  // AllToAll: how many destinations have had their turn
	partner int  // Permutation
	drawn   []int
	ahead   *mesh     // draws the same transfers as soon as they have arrived, to count them; nil: all arrive at once
	coming  unit.Time // ahead: when its next transfer arrives
	waiting int       // ahead: how many transfers it is ahead by
}

// NewMesh returns the transfers of a member. The destinations are numbered as the members are.
func NewMesh(m Mesh) (Backlog, error) {
	switch {
	case m.Members < 2 || m.Self < 0 || m.Self >= m.Members:
		return nil, fmt.Errorf("traffic: member %d of %d: a mesh has at least 2 members", m.Self, m.Members)
	case m.Sizes.mean == span{}:
		return nil, fmt.Errorf("traffic: flows without sizes")
	case m.Rate < 0 || m.Count < 0 || m.Start < 0:
		return nil, fmt.Errorf("traffic: %d flows at %v from %v on", m.Count, m.Rate, m.Start)
	case m.Pattern == Incast && (m.Senders < 1 || m.Senders >= m.Members):
		return nil, fmt.Errorf("traffic: %d senders of %d members: at least 1 sends, and one receives", m.Senders, m.Members)
	}
	g := &mesh{Mesh: m, now: instantOf(m.Start), left: m.Count, own: draw{unit.NewRandom(m.Seed, m.Stream+1+uint64(m.Self)), 1},
		shared: draw{unit.NewRandom(m.Seed, m.Stream), 1}}
	switch {
	case m.Rate > 0:
		event := m.Sizes.mean
		if m.Pattern == Incast {
			event = event.times(span{whole: uint64(m.Senders)})
		}
		g.mean = spanOf(1, m.Rate).times(event)
		if m.Count == 0 {
			g.left = -1
		}
	default:
		g.left = max(m.Count, 1)
	}
	if m.Pattern == AllToAll && g.left > 0 {
		g.left *= m.Members - 1
	}
	if m.Pattern == Permutation {
		g.partner = g.permute()
	}
	if m.Rate > 0 || m.Pattern == Incast {
		ahead, own, shared := *g, *g.own.random, *g.shared.random
		ahead.own.random, ahead.shared.random = &own, &shared
		g.ahead, g.coming = &ahead, ahead.Next().At
	}
	return g, nil
}

func (g *mesh) Waiting(now unit.Time) (n int, next unit.Time) {
	start := g.now.time()
	switch {
	case g.ahead != nil:
		for ; g.coming <= now && g.coming < unit.Never; g.coming = g.ahead.Next().At {
			g.waiting++
		}
		return g.waiting, g.coming
	case g.left == 0 || start >= g.Stop:
		return 0, unit.Never
	case start > now:
		return 0, start
	}
	return g.left, unit.Never
}

// permute draws a permutation that is one cycle, and returns the partner of the member (S. Sattolo,
// "An algorithm to generate a random cyclic permutation", 1986).
func (g *mesh) permute() int {
	to := make([]int, g.Members)
	for i := range to {
		to[i] = i
	}
	for i := g.Members - 1; i > 0; i-- {
		k := g.shared.random.Below(uint64(i))
		to[i], to[k] = to[k], to[i]
	}
	return to[g.Self]
}

func (g *mesh) Next() Arrival {
	for g.left != 0 {
		if g.left > 0 {
			g.left--
		}
		random := &g.own
		if g.Pattern == Incast {
			random = &g.shared
		}
		if g.mean != (span{}) {
			g.now.add(g.mean.times(random.exponential()))
		}
		at := g.now.time()
		if at >= g.Stop {
			break
		}
		if to, sends := g.destination(); sends {
			g.waiting-- // of Next, which Waiting has counted
			return Arrival{At: at, To: to, Size: g.Sizes.draw(g.own.random)}
		}
	}
	g.left = 0
	return Arrival{At: unit.Never}
}

// destination returns the destination of the next transfer, and whether the member sends one.
func (g *mesh) destination() (to int, sends bool) {
	after := func(n int) int { return (g.Self + n) % g.Members }
	switch g.Pattern {
	case Permutation:
		return g.partner, true
	case Ring:
		return after(1), true
	case AllToAll:
		g.turn = g.turn%(g.Members-1) + 1
		return after(g.turn), true
	case Incast:
		return g.event()
	}
	return after(1 + int(g.own.random.Below(uint64(g.Members-1)))), true
}

// event draws the receiver and the senders of an event, which are different members (R. Floyd, "A
// sample of brilliance", 1987).
func (g *mesh) event() (receiver int, sends bool) {
	receiver = int(g.shared.random.Below(uint64(g.Members)))
	g.drawn = g.drawn[:0]
	others := g.Members - 1
	for n := others - g.Senders; n < others; n++ {
		k := int(g.shared.random.Below(uint64(n + 1)))
		for _, before := range g.drawn {
			if before == k {
				k = n
				break
			}
		}
		g.drawn = append(g.drawn, k)
	}
	for _, k := range g.drawn {
		if k >= receiver {
			k++
		}
		if k == g.Self {
			return receiver, true
		}
	}
	return receiver, false
}

// List is transfers that are known in advance, in the order of their instants.
type List []Arrival

// NewList returns the transfers of a list.
func NewList(all []Arrival) Backlog {
	l := List(all)
	return &l
}

// Waiting returns how many transfers of the list have arrived, and when the next one arrives.
func (l *List) Waiting(now unit.Time) (n int, next unit.Time) {
	n, _ = slices.BinarySearchFunc(*l, now.Add(1), func(a Arrival, t unit.Time) int { return cmp.Compare(a.At, t) })
	if n == len(*l) {
		return n, unit.Never
	}
	return n, (*l)[n].At
}

// Next returns the next transfer.
func (l *List) Next() Arrival {
	if len(*l) == 0 {
		return Arrival{At: unit.Never}
	}
	a := (*l)[0]
	*l = (*l)[1:]
	return a
}
