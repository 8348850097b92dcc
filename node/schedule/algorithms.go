package schedule

import (
	"math/bits"

	"fabemu/wire/unit"
)

// exchange is the part of a rank in a step: one message out, one in. No bytes: no message.
type exchange struct {
	to, from int
	out, in  unit.Size
}

// Chosen returns the algorithm, with Usual resolved.
func (c Collective) Chosen() Algorithm {
	if c.Algorithm == Usual {
		return c.Kind.Algorithms()[0]
	}
	return c.Algorithm
}

// power returns the largest power of two that is at most the number of ranks.
func (c Collective) power() int { return 1 << (bits.Len(uint(c.Ranks)) - 1) }

// Steps returns the number of steps of a round.
func (c Collective) Steps() int {
	n := c.Ranks
	switch c.Chosen() {
	case Binomial, Dissemination:
		return bits.Len(uint(n - 1))
	case HalvingDoubling:
		p := c.power()
		steps := 2 * bits.Len(uint(p-1))
		if p < n {
			steps += 2
		}
		return steps
	}
	if c.Kind == AllReduce {
		return 2 * (n - 1)
	}
	return n - 1
}

// exchange returns the part of a rank in a step, from 0.
func (c Collective) exchange(rank, step int) exchange {
	n := c.Ranks
	switch c.Chosen() {
	case Ring:
		return c.ring(rank, step)
	case HalvingDoubling:
		return c.halvingDoubling(rank, step)
	case Pairwise, Shift:
		to, from := (rank+step+1)%n, (rank-step-1+n)%n
		if n == c.power() && c.Chosen() == Pairwise {
			to = rank ^ (step + 1) // both messages of a step with the same rank
			from = to
		}
		return exchange{to, from, c.Chunk(to), c.Chunk(rank)}
	case Binomial:
		distance := 1 << step
		switch {
		case rank < distance && rank+distance < n:
			return exchange{to: rank + distance, out: c.Size}
		case rank >= distance && rank < 2*distance:
			return exchange{from: rank - distance, in: c.Size}
		}
		return exchange{}
	}
	distance, size := 1<<step, max(c.Size, 1)
	return exchange{(rank + distance) % n, (rank - distance + n) % n, size, size}
}

// ring passes chunks to the next rank. Reducing, rank r sends chunk r-1 first, then each time
// the chunk that has just come and that it has added to its own; chunk r comes last, complete.
// Gathering, it begins with chunk r. An all-reduce is the one and then the other.
func (c Collective) ring(rank, step int) exchange {
	n := c.Ranks
	chunk := rank - step - 1
	switch {
	case c.Kind == AllGather:
		chunk++
	case c.Kind == AllReduce && step >= n-1:
		chunk = rank - (step - (n - 1))
	}
	chunk = (chunk%n + n) % n
	return exchange{(rank + 1) % n, (rank - 1 + n) % n, c.Chunk(chunk), c.Chunk((chunk - 1 + n) % n)}
}

// halvingDoubling works on p ranks and p chunks, where p is the largest power of two that is
// at most n. In the first half of the steps, a rank halves the part of the vector that it
// holds, and exchanges halves with the rank that holds the same part; in the second half it
// goes the same path back. The n-p other ranks, p and above, send their whole vectors to ranks
// 0 and above before, and get the result after.
func (c Collective) halvingDoubling(rank, step int) exchange {
	p := c.power()
	if p < c.Ranks {
		step--
		before, after := step < 0, step == c.Steps()-2
		switch {
		case (before || after) && rank >= p:
			x := exchange{to: rank - p, from: rank - p}
			if before {
				x.out = c.Size
			} else {
				x.in = c.Size
			}
			return x
		case (before || after) && rank+p < c.Ranks:
			x := exchange{to: rank + p, from: rank + p}
			if before {
				x.in = c.Size
			} else {
				x.out = c.Size
			}
			return x
		case before || after || rank >= p:
			return exchange{}
		}
	}
	half := bits.Len(uint(p - 1))
	// The blocks of chunks that begin at mine and at its: of the rank and of its partner.
	block := func(d int) (partner int, mine, its unit.Size) {
		size := func(r int) unit.Size { r &^= d - 1; return c.span(r, r+d, p) }
		return rank ^ d, size(rank), size(rank ^ d)
	}
	if step < half {
		partner, mine, its := block(p >> (step + 1))
		return exchange{partner, partner, its, mine}
	}
	partner, mine, its := block(1 << (step - half))
	return exchange{partner, partner, mine, its}
}

// Program returns the program of a rank. c must pass Check and have the rank.
//
// A send waits for the receive of the step before, whose data it sends on. Where no data is
// sent on or a rank sends one message after another, Pairwise and Binomial, it also waits for
// the send before. The messages of Shift wait for nothing. Tags count the steps of all rounds.
func (c Collective) Program(rank int) Program {
	return &collective{Collective: c, rank: rank, rounds: max(c.Repeat, 1), steps: c.Steps()}
}

// collective is the program of one rank.
type collective struct {
	Collective
	rank, rounds, steps int

	round, step int    // of the next exchange, from 0
	names       uint64 // so many are given
	gate        uint64 // the calc before this round; 0 in the first one
	sent, got   uint64 // the last send and the last receive of the round; 0: there is none
	joins       uint64 // the next operation of the round that the gate requires
	next        [6]Op  // of the next exchange, last first
	n           int
}

// Reach returns how far back the dependencies of a step reach: to the step before, and in Shift
// to the beginning of the round.
func (p *collective) Reach() Reach {
	if p.Chosen() == Shift {
		return Reach{Ahead: max(2*p.steps, 1)}
	}
	return Reach{Ahead: 2}
}

// Next returns the next statement.
func (p *collective) Next() (Op, bool, error) {
	for {
		switch {
		case p.n > 0:
			p.n--
			return p.next[p.n], true, nil
		case p.joins+1 < p.gate:
			p.joins++
			return Op{Kind: Requires, Name: p.gate, On: p.joins}, true, nil
		case p.step < p.steps:
			p.fill()
			p.step++
		case p.round+1 < p.rounds:
			p.joins = max(p.gate, 1) - 1
			p.names++
			p.gate, p.sent, p.got = p.names, 0, 0
			p.round, p.step = p.round+1, 0
			return Op{Kind: Calc, Name: p.gate, Time: p.Compute}, true, nil
		default:
			return Op{}, false, nil
		}
	}
}

// fill makes the statements of an exchange.
func (p *collective) fill() {
	x := p.exchange(p.rank, p.step)
	op := Op{Tag: uint32(p.round*p.steps + p.step), Step: p.step + 1, Round: p.round + 1}
	sent, got := p.sent, p.got
	if p.Chosen() == Shift {
		sent, got = 0, 0
	}
	var made [6]Op
	n := 0
	add := func(o Op, on ...uint64) (name uint64) {
		p.names++
		o.Name = p.names
		made[n] = o
		n++
		for _, on := range on {
			if on != 0 {
				made[n] = Op{Kind: Requires, Name: o.Name, On: on}
				n++
			}
		}
		return o.Name
	}
	after := got
	if got == 0 {
		after = p.gate
	}
	if x.out > 0 {
		op.Kind, op.Peer, op.Size = Send, x.to, x.out
		before := uint64(0)
		if a := p.Chosen(); a == Pairwise || a == Binomial {
			before = sent
		}
		p.sent = add(op, after, before)
	}
	if x.in > 0 {
		op.Kind, op.Peer, op.Size = Receive, x.from, x.in
		p.got = add(op, after)
	}
	for n > 0 {
		n--
		p.next[p.n] = made[n]
		p.n++
	}
}
