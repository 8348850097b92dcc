package process

import (
	"fabemu/emu/run/lookahead"
	"fabemu/wire/unit"
)

// turns has a part take turns with the others of its processor, in a run whose order may be late. The part whose event
// is next waits for it without sleeping. The others sleep, and each that has done an event wakes the one that is then
// next. So no timer wakes anybody, which takes a virtual computer longer than 5 % of a packet time.
type turns struct {
	*lookahead.Turns
	bell            lookahead.Waker
	clock           func() int64
	epoch, dilation int64
	spin            int64    // for so many ns before its event a part does not sleep
	sent            []notice // of frames that leave before the next Await
}

// notice is a frame for a machine of another part.
type notice struct {
	machine int
	due     unit.Time
}

const (
	// spinMost is longer than a timer is late where the processor stays awake.
	spinMost = 100_000
	// patience is how late a part may be until the others do not wait for it, in ns.
	patience = 4_000_000
	// napMost is how long a part sleeps that nobody wakes, in ns: as long as a tick of the kernel, since a timer
	// that is the next of its processor costs a virtual computer 10 us.
	napMost = patience
	// absentLook is how long a part waits for a datagram that has left and has not come, in ns.
	absentLook = 1_000_000
)

// Sent notes a frame for a machine of another part.
func (x *turns) Sent(machine int, due unit.Time) { x.sent = append(x.sent, notice{machine, due}) }

// Await waits for the turn of this part, see lookahead.Turn. It returns after most sleeps: the run may be over by then.
func (x *turns) Await(t unit.Time, target int64, look func(ns int64) (came int64, err error)) (turn unit.Time, err error) {
	for _, n := range x.sent {
		if part, near := x.Turns.Sent(n.machine, n.due); !near {
			x.bell.Ring(part)
		}
	}
	x.sent = x.sent[:0]
	for came := int64(0); ; {
		if x.Any() {
			x.Take()
			came, err = look(0)
			if x.Read(came); came > 0 || err != nil {
				return -1, err
			}
		}
		x.Next(t)
		x.bell.Clear() // before First: who is done by then wakes this part
		now := x.clock()
		first := x.First(unit.Time((now-patience-x.epoch)/x.dilation*1000), x.bell.Ring)
		switch left := target - now; {
		case first != x.Me():
			x.bell.Ring(first)
			switch {
			case x.Missing():
				if came, err = look(absentLook); came == 0 && x.clock()-now >= absentLook {
					x.GiveUp()
				}
			case x.bell.Sleep(napMost):
				continue
			default: // somebody is stopped, or nothing happens
				came, err = look(0)
			}
		case left <= 0:
			return t, nil
		case left > x.spin:
			came, err = look(min(left-x.spin, napMost))
		default:
			for !x.Any() && x.clock() < target {
			}
			continue
		}
		x.Read(came)
		return -1, err
	}
}

// leave has the others not wait for this part, which has come to its end.
func (x *turns) leave() {
	x.Next(unit.Never)
	x.bell.Ring(x.First(0, x.bell.Ring))
}
