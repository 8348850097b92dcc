package rp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// NotificationPoint is the part of DCQCN at the destination of a flow (the paper's section 3.1,
// "NP algorithm"): it answers marked packets by CNPs, one in each interval at most.
type NotificationPoint struct {
	c     DCQCNParams
	begun bool
	begin unit.Time   // when the first packet came
	free  *unit.Time  // when the interval of the last CNP ends, the one of at included; cnp-per: port: of all flows
	at    unit.Time   // when a CNP is triggered; Never: none is
	made  []unit.Time // when those that were will leave, from next on
	next  int
}

// NewNotificationPoint returns the notification point of a flow.
func NewNotificationPoint(p DCQCNParams, s Site) (*NotificationPoint, error) {
	if p.CNPInterval < 0 || p.CNPDelay < 0 || p.CNPPriority > 7 {
		return nil, fmt.Errorf("notification point: an interval of %v, a delay of %v and priority %d: the first two must not be negative, and 7 is the highest",
			p.CNPInterval, p.CNPDelay, p.CNPPriority)
	}
	n := &NotificationPoint{c: p, free: new(unit.Time), at: unit.Never}
	if other, ok := s.Beside.(*NotificationPoint); ok && p.CNPPer == PerPort && other.c.CNPPer == PerPort {
		n.free = other.free
	}
	return n, nil
}

// Refuses returns that it takes in all frames.
func (*NotificationPoint) Refuses(unit.Time, wire.Frame) trace.Reason { return trace.NoReason }

// Receive takes in a packet of the flow.
func (n *NotificationPoint) Receive(now unit.Time, f wire.Frame) {
	if !n.begun {
		n.begun, n.begin = true, now
	}
	if !f.FECN || n.at != unit.Never {
		return
	}
	switch interval := n.c.CNPInterval; {
	case interval == 0 || *n.free <= now && n.c.CNPRule != AtClock:
		n.at = now
	case n.c.CNPRule == AtIntervalEnd:
		n.at = *n.free
	case n.c.CNPRule == AtClock:
		n.at = n.begin.Add((now.Sub(n.begin) + interval - 1) / interval * interval)
	default:
		return
	}
	*n.free = n.at.Add(n.c.CNPInterval)
}

// Deadline returns when a CNP is triggered, or leaves.
func (n *NotificationPoint) Deadline() unit.Time {
	if n.next < len(n.made) {
		return min(n.at, n.made[n.next])
	}
	return n.at
}

// Send returns a CNP to send now.
func (n *NotificationPoint) Send(now unit.Time) (wire.Frame, bool) {
	if n.at <= now {
		if n.next == len(n.made) || len(n.made) == cap(n.made) { // those that have left make room
			n.made, n.next = append(n.made[:0], n.made[n.next:]...), 0
		}
		n.made = append(n.made, n.at.Add(n.c.CNPDelay))
		n.at = unit.Never
	}
	if n.next == len(n.made) || n.made[n.next] > now {
		return wire.Frame{}, false
	}
	n.next++
	return wire.Frame{Kind: wire.CNP, Lane: n.c.CNPPriority}, true
}
