package switchd

import (
	"fmt"
	"math/bits"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Weights are the shares of a link that priorities get if all of them have frames to send: enhanced
// transmission selection, ETS (IEEE 802.1Q, clause 37, from 802.1Qaz). A priority of weight 0 is
// strict: it precedes all priorities that have a weight, and of several strict ones the higher goes
// first.
type Weights [port.Priorities]int

// leastQuantum is how much the priority with the least weight may send in a round: a frame of the
// usual length. For a longer frame it saves over several rounds.
const leastQuantum unit.Size = 1522

// scheduler orders the priorities of the outputs of a switch.
type scheduler struct {
	order   [port.Priorities]uint8 // strict priorities, the higher first, then the others
	strict  int                    // the number of strict priorities
	stricts uint8                  // the strict priorities, a bit each
	quantum [port.Priorities]unit.Size
}

func newScheduler(w Weights) (s scheduler, err error) {
	least := 0
	for lane, weight := range w {
		if weight < 0 {
			return s, fmt.Errorf("a weight of %d for priority %d: it cannot be negative", weight, lane)
		}
		if weight > 0 && (least == 0 || weight < least) {
			least = weight
		}
	}
	n := 0
	for _, weighted := range []bool{false, true} {
		for lane := port.Priorities - 1; lane >= 0; lane-- {
			if w[lane] > 0 == weighted {
				s.order[n] = uint8(lane)
				n++
				if !weighted {
					s.stricts |= 1 << lane
				}
			}
		}
		if !weighted {
			s.strict = n
		}
	}
	for lane, weight := range w {
		if weight > 0 {
			s.quantum[lane] = leastQuantum * unit.Size(weight) / unit.Size(least)
		}
	}
	return s, nil
}

// first returns the first of some priorities, a bit each, and whether it has a weight. There must
// be at least one.
func (s *scheduler) first(some uint8) (lane uint, weighted bool) {
	if strict := some & s.stricts; strict != 0 {
		return uint(bits.Len8(strict)-1) % port.Priorities, false
	}
	return uint(bits.Len8(some)-1) % port.Priorities, true
}

// rounds is deficit round robin at one output (Shreedhar and Varghese, "Efficient Fair Queueing
// Using Deficit Round Robin", 1996). In its turn a priority may send its quantum and what it has
// left from earlier rounds. A priority that has nothing to send loses what it has left. One that
// its peer has stopped keeps it, and gains nothing.
type rounds struct {
	turn int // index in scheduler.order
	left [port.Priorities]unit.Size
}

// next returns the priority that sends now. can has those that can send, a bit each, lengths the
// lengths of their first frames, and empty those that have no frame.
func (r *rounds) next(s *scheduler, can, empty uint8, lengths *[port.Priorities]unit.Size) uint8 {
	if bits.OnesCount8(can) == 0 {
		panic("switchd: nothing can be sent")
	}
	for {
		if r.turn >= s.strict {
			lane := s.order[r.turn]
			switch bit := uint8(1) << lane; {
			case can&bit != 0 && r.left[lane] >= lengths[lane]:
				r.left[lane] -= lengths[lane]
				return lane
			case empty&bit != 0:
				r.left[lane] = 0
			}
		}
		r.turn++
		if r.turn >= port.Priorities || r.turn < s.strict {
			r.turn = s.strict
		}
		if lane := s.order[r.turn]; can>>lane&1 == 1 {
			r.left[lane] += s.quantum[lane]
		}
	}
}
