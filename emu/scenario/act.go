package scenario

import (
	"cmp"
	"slices"

	"fabemu/emu/scenario/yaml"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// A row is a change that an event, or a fault, can make.
type row struct {
	key   string   // of an event that makes the change
	on    target   // the key of the object that it changes
	with  []string // further keys of such an event
	every bool     // of a link: "*" stands for all links
	act
}

// target is the key of the object that an event changes.
type target string

const (
	onLink     target = "link"
	onEndpoint target = "endpoint"
	onSwitch   target = "switch"
)

// act is the behaviour of a row.
type act interface {
	// of reports whether an event makes the change.
	of(e *Event) bool
	// check refuses values that cannot be. The links are known.
	check(x *entered)
	// fit completes an event, and refuses one that does not fit the fabric. Events come by time.
	fit(x *entered)
	// course returns the words for the change, and when it ends.
	course(e *Event) course
	// touch returns what the event does to the links of its object.
	touch(e *Event) Touch
	// loses returns why frames may be lost by the event: "link trunk goes down at 2ms"; empty: none
	// are.
	loses(e *Event) string
	// begin makes the changes at the nodes of a fabric, up to the end of the run.
	begin(e *Event, n *Making)
}

// acts has all rows, in the order in which messages list them.
var acts = [...]row{
	{key: "rate", on: onLink, act: rateAct{}},
	{key: "state", on: onLink, act: stateAct{}},
	{key: "loss", on: onLink, with: hitKeys("burst", "within", "rise"), every: true, act: hitAct{word: "loss"}},
	{key: "corruption", on: onLink, with: hitKeys("burst", "within", "rise"), every: true, act: hitAct{word: "corruption"}},
	{key: "delay", on: onLink, with: hitKeys("jitter"), every: true, act: hitAct{word: "delay"}},
	{key: "flap", on: onLink, with: []string{"for", "period"}, every: true, act: flapAct{}},
	{key: "stuck", on: onLink, with: []string{"from"}, act: stuckAct{}},
	{key: "buffer", on: onLink, with: []string{"from", "for"}, act: bufferAct{}},
	{key: "service", on: onEndpoint, act: serviceAct{}},
	{key: "pause-storm", on: onEndpoint, with: []string{"for", "period", "gap", "priorities", "invalid"}, act: stormAct{}},
	{key: "pauses", on: onEndpoint, with: []string{"for"}, act: pausesAct{}},
	{key: "sink", on: onEndpoint, with: []string{"for"}, act: sinkAct{}},
	{key: "control", on: onEndpoint, act: controlAct{}},
	{key: "restart", on: onSwitch, act: restartAct{}},
	{key: "high", on: onSwitch, with: []string{"low"}, act: watermarksAct{}},
	{key: "watchdog", on: onSwitch, act: watchdogAct{}},
	{key: "marking", on: onSwitch, act: markingAct{}},
}

// targets returns the kinds of objects, in the order of the rows.
func targets() (all []target) {
	for i := range acts {
		if !slices.Contains(all, acts[i].on) {
			all = append(all, acts[i].on)
		}
	}
	return all
}

// keysOn returns the keys of the changes of a kind of object.
func keysOn(on target) (keys []string) {
	for i := range acts {
		if acts[i].on == on {
			keys = append(keys, acts[i].key)
		}
	}
	return keys
}

// keysWith returns the keys of the changes that a further key belongs to; none if it is no such
// key.
func keysWith(detail string) (keys []string) {
	for i := range acts {
		if slices.Contains(acts[i].with, detail) {
			keys = append(keys, acts[i].key)
		}
	}
	return keys
}

// details returns the further keys of all rows.
func details() (keys []string) {
	for i := range acts {
		for _, key := range acts[i].with {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// row returns the row of an event. An event that changes nothing has that of a link's state.
func (e *Event) row() row {
	for i := range acts {
		if acts[i].of(e) {
			return acts[i]
		}
	}
	return row{key: "state", on: onLink, act: stateAct{}}
}

// entered is an event of a file.
type entered struct {
	*resolver
	node  *yaml.Node
	event int // index in s.Events; -1: it is not entered yet
	*Event
}

// refuse refuses a key of the event, if it is given, or else the event.
func (x *entered) refuse(key, format string, args ...any) {
	at := x.node.Spot
	if n := x.node.Get(key); n != nil {
		at = n.Spot
	}
	x.Add(at, format, args...)
}

// fields returns the view of the event.
func (x *entered) fields() yaml.View {
	return yaml.View{Of: x.tables.section("events"), Chain: [2]*yaml.Node{x.node}}
}

// course is how a change goes. A change that has an end is a fault.
type course struct {
	begins, ends string        // in words
	last         unit.Duration // until it ends by itself; 0: it does not
	fault        string        // the fault that another event can end, the same text for both; empty: none can
	over         bool          // the fault ends
}

// Touch is what an event does to a link.
type Touch struct {
	Down  bool          // the link goes down
	Up    bool          // the link comes up
	Until unit.Duration // when a link that goes down comes up by itself; 0: it does not
	Rate  unit.Rate     // the new rate; 0: it stays
	Late  unit.Duration // by how much frames come late at most
	Loses bool          // frames may be lost
}

// Touches returns what an event does to a link; nothing if the link is none of its object's.
func (e *Event) Touches(l *Link) Touch {
	if e.Link == l.Name && e.Link != "" || e.Switch != "" && (e.Switch == l.A || e.Switch == l.B) ||
		e.Endpoint != "" && (e.Endpoint == l.A || e.Endpoint == l.B) {
		return e.row().touch(e)
	}
	return Touch{}
}

// Loses returns why frames may be lost by an event: "link trunk goes down at 2ms"; empty if none
// are.
func (e *Event) Loses() string { return e.row().loses(e) }

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
		if x := e.row().touch(e); !x.Down && !x.Up {
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
	return slices.ContainsFunc(s.Events, func(e Event) bool { return restartAct{}.of(&e) })
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
	// Points returns what makes the congestion points of a marking, and Reactions the reaction
	// points of a control, for the changes that carry them.
	Points(e *Event, node int) any
	Reactions(e *Event, node int) any
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
func (e *Event) Begin(m *Making) { e.row().begin(e, m) }

// node changes a node as a whole.
func (m *Making) node(at unit.Duration, name string, c port.Change) {
	m.within(at, port.End{Node: m.Node(name)}, c)
}

// within makes a change if it comes before the end of the run.
func (m *Making) within(at unit.Duration, where port.End, c port.Change) {
	if at < m.End {
		m.Change(at, where, c)
	}
}

// ends changes both ends of a link.
func (m *Making) ends(at unit.Duration, link string, c port.Change) {
	for _, end := range m.Ends(link) {
		m.Change(at, end, c)
	}
}

// over returns when an event ends: after its For, or with the run.
func (m *Making) over(e *Event) unit.Duration {
	if e.For == 0 {
		return m.End
	}
	return e.At + e.For
}

// always is an act that fits everywhere, and does nothing to links.
type always struct{}

func (always) check(*entered)      {}
func (always) fit(*entered)        {}
func (always) touch(*Event) Touch  { return Touch{} }
func (always) loses(*Event) string { return "" }
