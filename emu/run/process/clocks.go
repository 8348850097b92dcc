package process

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
)

// rounds is how often the clocks are compared at the start, and again at the end.
const rounds = 16

// reading is the result of a round: how far a clock is ahead, to within half of the round trip.
type reading struct{ offset, roundTrip int64 }

// readingOf returns the reading from the four timestamps of a round, in ns: one clock stamps the
// question and the arrival of its answer, the other clock the two instants in between.
func readingOf(asked, heard, answered, back int64) (reading, error) {
	x := reading{((heard - asked) + (answered - back)) / 2, (back - asked) - (answered - heard)}
	if answered < heard || x.roundTrip < 0 {
		return x, fmt.Errorf("a clock that ran backwards: a question of %d arrived at %d, its answer of %d at %d",
			asked, heard, answered, back)
	}
	return x, nil
}

// answerSize is the length of an answer in bytes.
const answerSize = 24

// answer sends the reading of the clock to the conductor.
func (p *Part) answer(question []byte, heard int64) error {
	b := binary.BigEndian.AppendUint64(slices.Clone(question), uint64(heard))
	return write(p.conn, answer, binary.BigEndian.AppendUint64(b, uint64(p.clock())))
}

// answered receives the answer of a part about its clock.
func (s *participant) answered(payload []byte, back int64) error {
	if len(payload) != answerSize {
		return fmt.Errorf("an answer of %d bytes about its clock", len(payload))
	}
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(payload[i:])) }
	x, err := readingOf(at(0), at(8), at(16), back)
	if err != nil {
		return err
	}
	s.asked = false
	if x.roundTrip < s.reading.roundTrip {
		s.reading = x
	}
	return nil
}

// readClocks compares the clocks of the parts on other hosts with the conductor's clock.
func (r *conductor) readClocks(ctx context.Context) error {
	for _, s := range r.participants {
		s.reading, s.asked = reading{roundTrip: math.MaxInt64}, false // not read yet
	}
	limit := time.NewTimer(endTimeout)
	defer limit.Stop()
	for range rounds {
		for _, s := range r.participants {
			if s.away == nil || s.gone {
				continue
			}
			s.asked = true
			if err := write(s.conn, ask, binary.BigEndian.AppendUint64(nil, uint64(r.clock()))); err != nil {
				return r.death(s, err)
			}
		}
		for slices.ContainsFunc(r.participants, func(s *participant) bool { return s.asked && !s.gone }) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-limit.C:
				return fmt.Errorf("the clocks of the hosts were not read within %v", endTimeout)
			case n := <-r.news:
				if err := r.receive(n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noteClocks keeps the readings from the start of the run. The epoch of each part follows from
// them.
func (r *conductor) noteClocks() {
	for _, s := range r.participants {
		if s.away != nil {
			trip := time.Duration(s.reading.roundTrip)
			s.known = &pace.HostClock{Part: s.Part, Offset: time.Duration(s.reading.offset), RoundTrip: trip, Error: (trip + 1) / 2}
		}
	}
}

// clocks describes the clocks. It reads them once more if the run
// has reached its end.
func (r *conductor) clocks(read bool) (list []pace.HostClock) {
	for _, s := range r.participants {
		c := s.known
		if c == nil {
			continue
		}
		if end := s.reading; read && end.roundTrip != math.MaxInt64 {
			c.Measured, c.Drift = true, time.Duration(end.offset)-c.Offset
			c.Error = max(c.Error, time.Duration(end.roundTrip+1)/2+c.Drift.Abs())
		}
		list = append(list, *c)
	}
	return list
}

// fixed reports whether the clock of a run is never held.
func fixed(h mode.Hold, guests bool) bool { return h == mode.HoldOff || h != mode.HoldOn && guests }

// The parts of a run share how long its clock has been held. On one machine that is a word of their
// board. Parts without a board send it to the conductor, which passes it on. A part then learns of
// a hold one message delay late, and uses its old clock until then.

// holding is how long the run clock has been held, for a part or a conductor without a board. It is
// a drive.Hold.
type holding struct {
	ns   atomic.Int64
	send func(ns int64) // passes on a value that was raised
}

// Held returns how long the clock has been held, in ns.
func (h *holding) Held() int64 { return h.ns.Load() }

// Raise extends the hold of the clock, and passes that on.
func (h *holding) Raise(from, to int64) bool {
	ok := h.ns.CompareAndSwap(from, to)
	if ok {
		h.send(to)
	}
	return ok
}

// learn records how long another part has held the clock. It reports whether that is longer than
// known before.
func (h *holding) learn(b []byte) (longer bool, err error) {
	ns := int64(0)
	if len(b) == 8 {
		ns = int64(binary.BigEndian.Uint64(b))
	}
	if ns <= 0 {
		return false, fmt.Errorf("the clock is held for %x: eight bytes of nanoseconds are expected", b)
	}
	for {
		known := h.ns.Load()
		if ns <= known {
			return false, nil
		}
		if h.ns.CompareAndSwap(known, ns) {
			return true, nil
		}
	}
}

// clockSlack is how much the clocks of hosts may differ in the check whether a hold is possible.
const clockSlack = time.Second

// holdBytes is the content of a hold message.
func holdBytes(ns int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(ns)) }

// clockHold returns what holds the clock of the run, as the conductor sees it.
func (r *conductor) clockHold() drive.Hold {
	if r.board != nil {
		return r.board
	}
	return &r.holding
}

// hold records that a part has held the clock, and passes that on to the others.
func (r *conductor) hold(s *participant, b []byte) error {
	r.passing <- struct{}{}
	defer func() { <-r.passing }()
	longer, err := r.learn(b)
	if err != nil || !longer {
		return err
	}
	if held, ran := time.Duration(r.Held()), time.Duration(r.clock()-r.epoch); held > ran+clockSlack {
		return fmt.Errorf("the clock is held for %v, in a run of %v", held, ran)
	}
	for _, to := range r.participants {
		if to != s && to.hold != nil {
			to.hold(b)
		}
	}
	return nil
}
