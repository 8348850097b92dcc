package scenario

import (
	"fmt"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// RateChange gives a link another rate.
type RateChange struct {
	Plain
	// New rate in both directions, from the next frame on.
	Rate unit.Rate `key:"rate" also:"bandwidth|speed|capacity"`
}

// Row implements Act.
func (RateChange) Row() Row { return Row{Key: "rate", On: OnLink} }

// Course implements Act.
func (a RateChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("link %s at %v", e.Link, a.Rate)}
}

// Touch implements Act.
func (a RateChange) Touch(*Event) Touch { return Touch{Rate: a.Rate} }

// Begin implements Act.
func (a RateChange) Begin(e *Event, m *Making) {
	m.AtEnds(e.At, e.Link, port.RateChange{Rate: a.Rate})
}

// StateChange has a link go down or come up.
type StateChange struct {
	Plain
	// down: frames on the link or sent to it are lost. up: flow control starts afresh; on Ethernet,
	// frames are lost if memory is full before the sender is stopped again.
	State LinkState `key:"state" words:"down|up"`
}

// Row implements Act.
func (StateChange) Row() Row { return Row{Key: "state", On: OnLink} }

// instead says what to write for a state that lasts for a time.
func (StateChange) instead(key, value string) string {
	if key != "for" {
		return ""
	}
	return fmt.Sprintf(": a link that is down for a time is two events, state: down and state: up, or flap: %s with a longer period, and for: that period", value)
}

// Course implements Act.
func (a StateChange) Course(e *Event) Course {
	c := Course{Begins: fmt.Sprintf("link %s %s", e.Link, a.State), Fault: "link " + e.Link, Over: a.State == Up}
	if a.State == Down {
		c.Loses = fmt.Sprintf("link %s goes down at %v", e.Link, e.At)
	}
	return c
}

// Touch implements Act.
func (a StateChange) Touch(*Event) Touch {
	if a.State == Down {
		return Touch{Down: true, Loses: true}
	}
	return Touch{Up: a.State == Up}
}

// Begin implements Act.
func (a StateChange) Begin(e *Event, m *Making) {
	var c port.Change = port.LinkUp{}
	if a.State == Down {
		c = port.LinkDown{}
	}
	m.AtEnds(e.At, e.Link, c)
}

// Flap has a link go down and come up again and again. It stands for other events.
type Flap struct {
	Plain
	Lasting
	Periodic
	// The link is down for this long at the start of each period.
	Flap unit.Duration `key:"flap" low:"above 0s"`
}

// Periodic is a part of acts that recur.
type Periodic struct {
	// Time from one start to the next.
	Period unit.Duration `key:"period" low:"above 0s" omit:"usual" also:"interval"`
}

// check refuses a period without a time in it that recurs, or with one that is too long.
func (p Periodic) check(x *entered, recurs unit.Duration) {
	switch {
	case (recurs > 0) != (p.Period > 0):
		x.refuseWhole("flap and gap need a period, and a period needs one of them")
	case p.Period > 0 && recurs >= p.Period:
		x.refuse("period", "the period of %v must be longer than the %v in it", p.Period, recurs)
	}
}

// Row implements Act.
func (Flap) Row() Row { return Row{Key: "flap", On: OnLink, Every: true} }

func (a Flap) check(x *entered) { a.Periodic.check(x, a.Flap) }

// Course implements Act.
func (Flap) Course(*Event) Course { return Course{} }

// Begin implements Act.
func (Flap) Begin(*Event, *Making) {}

// mostFlaps is the most events that flaps stand for.
const mostFlaps = 10_000

// split returns the events that an event stands for, or a message if there are too many.
func (a Flap) split(x *entered) (all []Event) {
	if a.Period == 0 {
		return nil
	}
	end := x.Model.Duration
	if a.For > 0 {
		end = min(end, x.At+a.For)
	}
	if (end-x.At)/a.Period >= mostFlaps {
		x.refuseWhole("the link would flap more than %d times until %v: give a longer period, or an end with for",
			mostFlaps, end)
		return nil
	}
	for at := x.At; at < end; at += a.Period {
		all = append(all, Event{At: at, Link: x.Link, Act: StateChange{State: Down}})
		if up := at + a.Flap; up < x.Model.Duration {
			all = append(all, Event{At: up, Link: x.Link, Act: StateChange{State: Up}})
		}
	}
	return all
}

// Stuck has one end of a link send nothing but flow control.
type Stuck struct {
	Plain
	// The end of the link whose output is stuck; required.
	From string `key:"from" form:"node" omit:"usual" also:"direction"`
	// For this long, the end in from sends only flow control.
	Stuck unit.Duration `key:"stuck" low:"above 0s"`
}

// Row implements Act.
func (Stuck) Row() Row { return Row{Key: "stuck", On: OnLink} }

func (a Stuck) check(x *entered) {
	if a.From == "" {
		x.refuseWhole("stuck needs from: the end of the link whose output is stuck")
	}
}

// Course implements Act.
func (a Stuck) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("link %s: output of %s stuck", e.Link, a.From),
		Ends: fmt.Sprintf("link %s: output of %s free", e.Link, a.From), Last: a.Stuck}
}

// Seen implements Act.
func (a Stuck) Seen(_ *Event, l *Link) [2]bool { return [2]bool{a.From == l.A, a.From == l.B} }

// Begin implements Act.
func (a Stuck) Begin(e *Event, m *Making) {
	for _, end := range m.Ends(e.Link) {
		if end.Node == m.Node(a.From) {
			m.Change(e.At, end, port.Stuck{Last: a.Stuck})
		}
	}
}
