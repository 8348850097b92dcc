package scenario

import (
	"cmp"
	"slices"

	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Act is what an event, or a fault, does: a struct of parameters. Its tags declare the keys that an
// event has for it (package param), and reading, printing, --set, the schema and the reference
// follow from them. An act embeds Plain, and two acts can be compared with ==.
type Act interface {
	// Row returns the row of the act in the table of acts, whatever its parameters are.
	Row() Row
	// Course returns the words for the change, and when it ends.
	Course(e *Event) Course
	// Touch returns what the change does to the object of the event and to its links.
	Touch(e *Event) Touch
	// Seen returns at which ends of its link, A first, a capture notes the change: those where
	// frames fare in another way, without an event of the port that says so.
	Seen(e *Event, l *Link) [2]bool
	// Begin makes the changes at the nodes of a fabric, up to the end of the run.
	Begin(e *Event, m *Making)

	// Altered returns what the act, which was made for a fabric, would do otherwise if now, of the
	// same event, had been made for it: "leave less of the buffer"; empty: nothing.
	Altered(now Act) string

	// check refuses values that cannot be. The links are known.
	check(x *entered)
	// instead returns what to write in place of a key that belongs to other acts; empty: nothing.
	instead(key, value string) string
	// split returns the events that the event stands for; nil: it stands for itself.
	split(x *entered) []Event
	// fit refuses an event that does not fit the fabric, and returns the act with what follows from
	// the fabric; nil: it stays as it is. Events come by time.
	fit(x *entered) Act
}

// Row is a row of the table of acts.
type Row struct {
	Key   string // of the parameter that an event has if it does this
	On    Target // what the event names
	Every bool   // of a link: "*" stands for all links
}

// Target is the key of the object that an event changes.
type Target string

// The targets.
const (
	OnLink     Target = "link"
	OnEndpoint Target = "endpoint"
	OnSwitch   Target = "switch"
)

// Plain is embedded by acts. It has no parameters, fits everywhere, and does nothing to links.
type Plain struct{}

// Touch implements Act.
func (Plain) Touch(*Event) Touch { return Touch{} }

// Seen implements Act.
func (Plain) Seen(*Event, *Link) [2]bool { return [2]bool{} }

// Altered implements Act.
func (Plain) Altered(Act) string { return "" }

func (Plain) check(*entered)                {}
func (Plain) instead(string, string) string { return "" }
func (Plain) split(*entered) []Event        { return nil }
func (Plain) fit(*entered) Act              { return nil }

// Lasting is a part of acts that end by themselves.
type Lasting struct {
	// How long it lasts; by default to the end of the run.
	For unit.Duration `key:"for" low:"above 0s" omit:"usual" also:"duration"`
}

// over returns when an event ends: after its For, or with the run.
func (l Lasting) over(e *Event, m *Making) unit.Duration {
	if l.For == 0 {
		return m.End
	}
	return e.At + l.For
}

// nothing is the act of an event without one.
type nothing struct{ Plain }

// Row implements Act.
func (nothing) Row() Row { return Row{On: OnLink} }

// Course implements Act.
func (nothing) Course(*Event) Course { return Course{} }

// Begin implements Act.
func (nothing) Begin(*Event, *Making) {}

// act returns what the event does.
func (e *Event) act() Act {
	if e.Act == nil {
		return nothing{}
	}
	return e.Act
}

// Instead returns what to write in place of a key that belongs to other acts than a; empty:
// nothing.
func Instead(a Act, key, value string) string { return a.instead(key, value) }

// entered is an event of a file.
type entered struct {
	*Entering
	item  Item
	event int       // index in s.Events; -1: it is not entered yet
	found *Problems // what is wrong with it
	*Event
}

// refuse refuses a key of the event, if it is given, or else the event.
func (x *entered) refuse(key, format string, args ...any) {
	x.found.Add(x.item.At(key), format, args...)
}

// refuseWhole refuses the event.
func (x *entered) refuseWhole(format string, args ...any) {
	x.found.Add(x.item.Path(), format, args...)
}

// checkEnds refuses a duration of an event that ends a fault.
func (x *entered) checkEnds(ends bool) (wrong bool) {
	if wrong = ends && x.item.has("for"); wrong {
		x.refuse("for", "for is how long a fault lasts, but this event ends one: leave for out")
	}
	return wrong
}

// Course is how a change goes. A change that has an end is a fault.
type Course struct {
	Begins, Ends string        // in words
	Last         unit.Duration // until it ends by itself; 0: it does not
	Fault        string        // the fault that another event can end, the same text for both; empty: none can
	Over         bool          // the fault ends
	Loses        string        // why frames may be lost: "link trunk goes down at 2ms"; empty: none are
}

// Touch is what an event does to its object.
type Touch struct {
	// To a link, or to all links of a node.
	Down     bool          // the link goes down
	Up       bool          // the link comes up
	Until    unit.Duration // when a link that goes down comes up by itself; 0: it does not
	Rate     unit.Rate     // the new rate; 0: it stays
	Late     unit.Duration // by how much frames come late at most
	Loses    bool          // frames may be lost (Course.Loses)
	Drops    trace.Reason  // the reason with which a fault of the link has frames dropped; 0: it drops none
	Reorders bool          // frames may arrive twice, or in another order
	From     string        // the end of the link that sends the frames; empty: both

	// To an endpoint.
	Service unit.Rate // the new rate of service; 0: it stays
	Stops   bool      // the endpoint takes no frames in

	// To a switch.
	Empties bool      // the switch loses the frames in it
	High    unit.Size // the new high watermark; 0: it stays
	Marks   any       // the new parameters of its marking (cp.Point); nil: they stay
}

// Touch returns what an event does to its object.
func (e *Event) Touch() Touch { return e.act().Touch(e) }

// Touches returns what an event does to a link; nothing if the link is none of its object's.
func (e *Event) Touches(l *Link) Touch {
	if e.Link == l.Name && e.Link != "" || e.Switch != "" && (e.Switch == l.A || e.Switch == l.B) ||
		e.Endpoint != "" && (e.Endpoint == l.A || e.Endpoint == l.B) {
		return e.Touch()
	}
	return Touch{}
}

// Seen returns at which ends of a link, A first, a capture notes the change.
func (e *Event) Seen(l *Link) [2]bool {
	if e.Link != l.Name || e.Link == "" {
		return [2]bool{}
	}
	return e.act().Seen(e, l)
}

// Loses returns why frames may be lost by an event: "link trunk goes down at 2ms"; empty if none
// are.
func (e *Event) Loses() string { return e.act().Course(e).Loses }

// Outage is a link that goes down or comes up.
type Outage struct {
	At   unit.Duration
	Link int // index in Scenario.Links
	Down bool
}

// Outages returns the outages of links by events, by time.
func (s *Scenario) Outages() (all []Outage) {
	for i := range s.Events {
		e := &s.Events[i]
		if x := e.Touch(); !x.Down && !x.Up {
			continue
		}
		for l := range s.Links {
			x := e.Touches(&s.Links[l])
			if x.Down || x.Up {
				all = append(all, Outage{e.At, l, x.Down})
			}
			if x.Until > 0 {
				all = append(all, Outage{x.Until, l, false})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Outage) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Restarts reports whether an event has a switch lose what is in it.
func (s *Scenario) Restarts() bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return e.Touch().Empties })
}

// Nodes makes the changes of an event at the nodes of a fabric. Package emu/run/assemble has one.
type Nodes interface {
	// Ends returns the ports at the two ends of a link, its A first; none if there is no such link.
	Ends(link string) []port.End
	// Node returns the number of a node, and PortsOf its ports.
	Node(name string) int
	PortsOf(node int) int
	// Peer returns the port at the other end of a link.
	Peer(of port.End) port.End
	// Points returns what makes the congestion points of a switch, and Reactions the reaction
	// points of an endpoint, for the changes that carry them.
	Points(params cp.CCAParams, node int) any
	Reactions(params rp.CCAParams, node int) any
	// Stream returns the number of a stream of random numbers for a direction of a link: the
	// number of the event counts too.
	Stream(side int) uint64
	// Change makes a change at an instant.
	Change(at unit.Duration, where port.End, c port.Change)
}

// Making is an event on its way to the nodes.
type Making struct {
	Nodes
	Seed uint64
	End  unit.Duration // of the run
}

// Begin makes the changes of an event at the nodes of a fabric.
func (e *Event) Begin(m *Making) { e.act().Begin(e, m) }

// AtNode changes a node as a whole, if that comes before the end of the run.
func (m *Making) AtNode(at unit.Duration, name string, c port.Change) {
	m.Within(at, port.End{Node: m.Node(name)}, c)
}

// Within makes a change if it comes before the end of the run.
func (m *Making) Within(at unit.Duration, where port.End, c port.Change) {
	if at < m.End {
		m.Change(at, where, c)
	}
}

// AtEnds changes both ends of a link.
func (m *Making) AtEnds(at unit.Duration, link string, c port.Change) {
	for _, end := range m.Ends(link) {
		m.Change(at, end, c)
	}
}
