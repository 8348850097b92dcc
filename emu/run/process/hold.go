package process

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
)

// fixed reports whether the clock of a run is never held.
func fixed(h mode.Hold, guests bool) bool { return h == mode.HoldOff || h != mode.HoldOn && guests }

// The parts of a run share how long its clock has been held. On one machine that is a word of their board. Parts
// without a board send it to the conductor, which passes it on. A part then learns of a hold one message delay late, and
// uses its old clock until then.

// holding is how long the run clock has been held, for a part or a conductor without a board. It is a drive.Hold.
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

// learn records how long another part has held the clock. It reports whether that is longer than known before.
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
