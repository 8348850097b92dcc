package scenario

import (
	"fmt"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// rateAct gives a link another rate.
type rateAct struct{ always }

func (rateAct) of(e *Event) bool { return e.Rate > 0 }

func (rateAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("link %s at %v", e.Link, e.Rate)}
}

func (rateAct) touch(e *Event) Touch { return Touch{Rate: e.Rate} }

func (rateAct) begin(e *Event, m *Making) { m.ends(e.At, e.Link, port.RateChange{Rate: e.Rate}) }

// stateAct has a link go down or come up.
type stateAct struct{ always }

func (stateAct) of(e *Event) bool { return e.State != "" }

func (stateAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("link %s %s", e.Link, e.State), fault: "link " + e.Link, over: e.State == Up}
}

func (stateAct) touch(e *Event) Touch {
	if e.State == Down {
		return Touch{Down: true, Loses: true}
	}
	return Touch{Up: e.State == Up}
}

func (stateAct) loses(e *Event) string {
	if e.State != Down {
		return ""
	}
	return fmt.Sprintf("link %s goes down at %v", e.Link, e.At)
}

func (stateAct) begin(e *Event, m *Making) {
	var c port.Change = port.LinkUp{}
	if e.State == Down {
		c = port.LinkDown{}
	}
	m.ends(e.At, e.Link, c)
}

// flapAct has a link go down and come up again and again. It stands for other events.
type flapAct struct{ always }

func (flapAct) of(e *Event) bool { return e.Flap > 0 }

func (flapAct) check(x *entered) { x.checkPeriod(x.Flap) }

// checkPeriod refuses a period without a time in it that recurs, or with one that is too long.
func (x *entered) checkPeriod(recurs unit.Duration) {
	switch {
	case (recurs > 0) != (x.Period > 0):
		x.Add(x.node.Spot, "flap and gap need a period, and a period needs one of them")
	case x.Period > 0 && recurs >= x.Period:
		x.refuse("period", "the period of %v must be longer than the %v in it", x.Period, recurs)
	}
}

func (flapAct) course(*Event) course  { return course{} }
func (flapAct) begin(*Event, *Making) {}

// mostFlaps is the most events that flaps stand for.
const mostFlaps = 10_000

// flaps returns the events that an event stands for; nil with a message if there are too many.
func (x *entered) flaps() (all []Event) {
	end := x.s.Model.Duration
	if x.For > 0 {
		end = min(end, x.At+x.For)
	}
	if (end-x.At)/x.Period >= mostFlaps {
		x.Add(x.node.Spot, "the link would flap more than %d times until %v: give a longer period, or an end with for",
			mostFlaps, end)
		return nil
	}
	for at := x.At; at < end; at += x.Period {
		all = append(all, Event{At: at, Link: x.Link, State: Down})
		if up := at + x.Flap; up < x.s.Model.Duration {
			all = append(all, Event{At: up, Link: x.Link, State: Up})
		}
	}
	return all
}

// stuckAct has one end of a link send nothing but flow control.
type stuckAct struct{ always }

func (stuckAct) of(e *Event) bool { return e.Stuck > 0 }

func (stuckAct) check(x *entered) {
	if x.From == "" {
		x.Add(x.node.Spot, "stuck needs from: the end of the link whose output is stuck")
	}
}

func (stuckAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("link %s: output of %s stuck", e.Link, e.From),
		ends: fmt.Sprintf("link %s: output of %s free", e.Link, e.From), last: e.Stuck}
}

func (stuckAct) begin(e *Event, m *Making) {
	for _, end := range m.Ends(e.Link) {
		if end.Node == m.Node(e.From) {
			m.Change(e.At, end, port.Stuck{Last: e.Stuck})
		}
	}
}
