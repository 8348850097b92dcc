package process

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"fabemu/emu/run/pace"
)

// rounds is how often the clocks are compared at the start, and again at the end.
const rounds = 16

// reading is the result of a round: how far a clock is ahead, to within half of the round trip.
type reading struct{ offset, roundTrip int64 }

// readingOf returns the reading from the four timestamps of a round, in ns: one clock stamps the question and the arrival
// of its answer, the other clock the two instants in between.
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

// noteClocks keeps the readings from the start of the run. The epoch of each part follows from them.
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
