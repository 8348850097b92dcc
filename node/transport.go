package node

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Transport is how both ends of a flow handle packets in flight and lost packets. A flow chooses one: Datagrams,
// Acknowledged, TCP or RoCE.
type Transport interface {
	// check refuses a family of fabric in which the transport cannot work.
	check(f wire.Family) error
	// sending returns the window at the source; nil: there is none, as nothing is acknowledged.
	sending() *window
	receiving() receiving
}

// receiving is the half of a transport at the destination.
type receiving struct {
	acks  bool // each packet is acknowledged
	again bool // packets that are missing are retransmitted: those behind them must wait
	loses bool // packets may be missing: the machine that dropped them has reported it

	roce *RoCEParams // RoCEv2: which packets are acknowledged, and how; else nil
}

// Datagrams is the transport of Ethernet: nothing is acknowledged, there is no window, and
// a lost packet is lost.
type Datagrams struct{}

func (Datagrams) check(wire.Family) error { return nil }
func (Datagrams) sending() *window        { return nil }
func (Datagrams) receiving() receiving    { return receiving{loses: true} }

// Acknowledged is the transport of InfiniBand: each packet is acknowledged, and there is a
// window.
type Acknowledged struct {
	Window  int           // packets that may await their ACK; at least 1
	Timeout unit.Duration // all of them are retransmitted when no ACK has arrived for so long; 0: never
	Loses   bool          // links may go down and lose packets: without a Timeout those stay missing
}

func (a Acknowledged) check(f wire.Family) error {
	switch {
	case f != wire.InfiniBand:
		return fmt.Errorf("a window of %d, and nothing is acknowledged on Ethernet", a.Window)
	case a.Window < 1:
		return fmt.Errorf("a window of at least 1 is wanted")
	case a.Timeout < 0:
		return fmt.Errorf("a timeout of %v: it must not be negative", a.Timeout)
	}
	return nil
}

func (a Acknowledged) sending() *window { return &window{Acknowledged: a, expires: unit.Never} }

func (a Acknowledged) receiving() receiving {
	return receiving{acks: true, again: a.Timeout > 0, loses: a.Loses}
}

// window is the state of Acknowledged at the source. If it is nil, any number of packets may be in flight.
type window struct {
	Acknowledged
	n       int       // packets that await their ACK
	before  int       // packets behind them that were sent before the source went back
	expires unit.Time // when the oldest of them is retransmitted, and all behind it

	underway unit.Size // RoCEv2: their length on the link
	most     unit.Size // and so much of it the reaction point lets be (rp.Acknowledged); 0: any
	news     unit.Size // RoCEv2: the length of those that the last ACK acknowledged

	hops []wire.Hop // RoCEv2: telemetry of that ACK
}

// open reports whether another packet of n bytes may be in flight.
func (w *window) open(n unit.Size) bool {
	return w == nil || w.n < w.Window && (w.n == 0 || w.most == 0 || w.underway+n <= w.most)
}

// limit returns the limit of the reaction point; 0: there is none.
func (w *window) limit() unit.Size {
	if w == nil {
		return 0
	}
	return w.most
}

// inFlight returns how many packets await their ACK.
func (w *window) inFlight() int {
	if w == nil {
		return 0
	}
	return w.n
}

// deadline returns when lost is to be called, unit.Never if not at all.
func (w *window) deadline() unit.Time {
	if w == nil {
		return unit.Never
	}
	return w.expires
}

// sent records that a packet has started.
func (w *window) sent(at unit.Time) {
	if w == nil {
		return
	}
	w.n++
	w.before = max(w.before-1, 0)
	if w.Timeout > 0 && w.expires == unit.Never {
		w.expires = at.Add(w.Timeout)
	}
}

// acked takes in the ACK of the packet that is ahead packets behind the oldest one which awaits
// its ACK. It reports whether that is news, and whether it is the one that should come. It also returns
// how many packets need not be retransmitted: the ACK is for a packet that was sent before the source went back.
//
// Where packets can be lost an ACK is for all up to its own, and one that comes again means
// nothing. Elsewhere it is the ACK of the oldest packet which awaits one: links are lossless and
// keep their order.
func (w *window) acked(now unit.Time, ahead uint32) (news, inTurn bool, spared int) {
	if w == nil {
		return true, false, 0
	}
	if w.Timeout == 0 && !w.Loses {
		inTurn = w.n > 0 && ahead == 0
		w.n = max(w.n-1, 0)
		return true, inTurn, 0
	}
	if ahead >= uint32(w.n+w.before) {
		return false, true, 0
	}
	spared = max(int(ahead)+1-w.n, 0)
	w.n -= int(ahead) + 1 - spared
	w.expires = unit.Never
	if w.n > 0 && w.Timeout > 0 {
		w.expires = now.Add(w.Timeout)
	}
	return true, true, spared
}

// spare gives up packets that are not to be retransmitted.
func (w *window) spare(n int) { w.before -= n }

// lost gives up all packets that await their ACK, and returns how many: they are retransmitted.
// That is go back N: a link that lost a packet has lost those behind it too.
func (w *window) lost() int {
	n := w.n
	w.n, w.before, w.underway, w.expires = 0, w.before+n, 0, unit.Never
	return n
}
