package scenario

import (
	"fmt"
	"slices"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Scenario is a fabric and what is to happen in it, with every default filled
// in and every name expanded: what Load returns and what emu.Run takes.
type Scenario struct {
	Name        string
	Source      string // where it comes from: document and figure
	Description string // one line for lists
	Model       Model
	Wall        Wall
	Switches    []Switch
	Endpoints   []Endpoint
	Links       []Link
	Flows       []Flow // in the order of the file, one for each sender of a range
	Routing     Routing
	Routes      []Route // where frames do not take the shortest path
	Events      []Event
	Measure     Measure
	Expect      []Check

	// HasShort says that the file has a short run of the scenario, which Load returns with
	// Short. It is no part of the scenario either.
	HasShort bool

	// Schemes is what it chooses from; nil: BuiltIn. It is no part of the scenario.
	Schemes *Schemes

	// Warnings is what Load noticed that is right, but probably not meant, by
	// position. They are no part of the scenario: it is the same without them.
	Warnings []Warning

	loaded *loaded // what Load has found out, for as long as it is so
}

// loaded is a scenario as it was loaded.
type loaded struct {
	scenario Scenario // of which nobody else has the lists
	ways     *Ways
}

// newLoaded keeps what was found out of a scenario.
func newLoaded(s *Scenario, w *Ways) *loaded {
	l := &loaded{*s, w}
	c := &l.scenario
	c.Switches, c.Endpoints, c.Links, c.Flows = slices.Clone(s.Switches), slices.Clone(s.Endpoints), slices.Clone(s.Links), slices.Clone(s.Flows)
	c.Routes, c.Events, c.Expect = slices.Clone(s.Routes), slices.Clone(s.Events), slices.Clone(s.Expect)
	return l
}

// is reports whether s is still the scenario that was loaded.
func (l *loaded) is(s *Scenario) bool { return l != nil && differs(&l.scenario, s) == "" }

// waysOf returns the ways of s, if they are still those of the scenario that was loaded.
func (l *loaded) waysOf(s *Scenario) (*Ways, bool) {
	if l == nil || l.ways == nil {
		return nil, false
	}
	c := &l.scenario
	return l.ways, c.Model == s.Model && c.Routing == s.Routing && slices.Equal(c.Routes, s.Routes) && slices.Equal(c.Events, s.Events) &&
		slices.Equal(c.Links, s.Links) && slices.Equal(c.Switches, s.Switches) && slices.Equal(c.Endpoints, s.Endpoints)
}

// Model says how long the fabric runs, in model time, and from which seed.
type Model struct {
	Duration unit.Duration
	Seed     uint64
	Framing  string // "paper" or "wire": which length of a frame paces the line (wire.Framing)
}

// Wall says how model time follows the wall clock.
type Wall struct {
	Dilation int64         // wall time per model time: a whole factor, 1 or more
	UDPPort  int           // first UDP port of the fabric; 0 lets the kernel choose
	Lateness unit.Duration // by how much a frame of Ethernet may be overtaken: headroom has room for it
	Buffer   unit.Size     // receive buffer to ask for, for each socket
}

// Switch is a switch: where frames wait in it, and how it marks. What the other kind
// has is zero.
type Switch struct {
	Name            string
	Kind            string        // "input-buffered" or "output-queued"
	ForwardingDelay unit.Duration // first bit in to first bit out, at the least; store-and-forward: last bit in

	// input-buffered
	Crossbar string // "multi-output" (model M1) or "single-output" (model M2)
	Bypass   int    // single-output: how often a frame may be overtaken; 4 in the paper

	// output-queued
	Forwarding  string // "store-and-forward" or "cut-through"
	Memory      Memory
	Sharing     string    // "partitioned" or "pooled"
	OutputLimit unit.Size // what may wait for one output; zero: no limit
	High, Low   unit.Size // an input that takes High stops its peer, at Low it lets go; with PFC each priority by itself
	Headroom    float64   // how much of the computed headroom must be above High
	Lossless    uint8     // with PFC: the priorities that are stopped, a bit each
	ETS         [8]int    // weights of priorities; 0: strict, ahead of those that have one

	Marking Marking
}

// Memory is the room of an output-queued switch.
type Memory struct {
	Bytes   unit.Size
	PerPort bool // for each port; else of the whole switch
}

// Total returns the room of a switch with so many ports.
func (m Memory) Total(ports int) unit.Size {
	if m.PerPort {
		return m.Bytes * unit.Size(ports)
	}
	return m.Bytes
}

// Endpoint is an endpoint and its adapter. On InfiniBand all but its name and a service that is limited is zero.
type Endpoint struct {
	Name      string
	Egress    unit.Size // room for packets that have not left yet; zero: without limit
	Ingress   unit.Size // room for frames that were not yet taken in; zero: without limit
	High, Low unit.Size // at High it stops its peer, at Low it lets go
	Service   unit.Rate // how fast frames are taken in, or Unlimited
}

// Marking says whom a switch marks or notifies, and when.
type Marking struct {
	Scheme string // NoScheme, or the name of a row of cp.Points
	Params any    // of the type of that row's; nil without a scheme
}

// NoScheme is the marking of a switch that marks nothing.
const NoScheme = "none"

// Link is a link between two machines. Both directions are alike.
type Link struct {
	Name        string // as given, or "A - B"
	A, B        string // names of switches or endpoints
	Rate        unit.Rate
	Propagation unit.Duration
	FlowControl string        // "credit" on InfiniBand; "pause", "pfc" or "none" on Ethernet
	Buffer      unit.Room     // credit: of each receiver, for data; ACKs have a lane and a room of their own
	Resend      unit.Duration // credit: flow control packets are repeated at this interval at the latest
	Quanta      uint16        // pause, pfc: for how long a frame stops the peer, in units of 512 bit times
}

// Family returns the family of the link's frames.
func (l *Link) Family() wire.Family {
	if l.FlowControl == "credit" {
		return wire.InfiniBand
	}
	return wire.Ethernet
}

// Flow is traffic from one endpoint to another.
type Flow struct {
	Name     string // "local.B1"; for a flow that is not one of a range, its group's name
	Group    string // "local"
	From     string
	To       string
	Start    unit.Duration
	Stop     unit.Duration // zero: at the end of the run
	Jitter   unit.Duration // the start is delayed by a random part of it, drawn from the seed
	Priority uint8         // Ethernet: of its frames, 0 to 7
	Traffic  string        // "greedy", "paced", "constant", "bernoulli", "poisson", "bursts", "transfers"
	Rate     unit.Rate     // what it offers in the mean, paced: at the most, on the line; zero: greedy, or transfers that begin at once
	Burst    unit.Size     // bursts: mean length on the line
	Shape    float64       // bursts: of both Pareto distributions
	Size     unit.Size     // transfers: payload of each
	Count    int           // transfers: how many; zero: without end
	Spread   string        // "uniform": the flows of its group from the same endpoint share their traffic
	Packet   unit.Size     // payload
	Window   int           // packets that may await their ACK; zero: any number
	Timeout  unit.Duration // packets are sent again when no ACK has come for so long; zero: never
	Limiter  string        // "ipd" or "token-bucket"
	Depth    unit.Size     // token-bucket: on the line
	Control  Control

	RateLimit unit.Rate // the highest rate of the limiter; 0: that of the sender's link
}

// Control is the law by which a source changes its rate.
type Control struct {
	Law    string // the name of a row of rp.Laws
	Params any    // of the type of that row's
}

// Routing says which of the shortest paths frames take, and what becomes of them when a
// link goes down.
type Routing struct {
	Paths     string        // "shortest" or "ecmp"
	Recompute unit.Duration // from when a link goes down or up to when the routes are made anew; zero: they never are
}

// Route is a way that is not the shortest path: at a switch, towards an endpoint,
// over a link.
type Route struct{ At, To, Over string }

// Event is a change of the fabric at a time: one of the last four fields.
type Event struct {
	At         unit.Duration
	Link       string        // that changes its rate or its state
	Endpoint   string        // that changes its service, or pauses
	Rate       unit.Rate     // the link runs at this rate from its next frame on
	State      string        // "down" or "up"
	Service    unit.Rate     // the endpoint takes frames in at this rate, or Unlimited
	PauseStorm string        // "on" or "off"
	Switch     string        // that is restarted
	Restart    unit.Duration // for how long it is away
}

// Measure says how results are taken.
type Measure struct {
	Window unit.Duration // rates are means over a sliding window of this length
}

// Check is a claim and the range in which it holds.
type Check struct {
	ID       string
	Source   string // sentence or figure of the document
	Claim    string
	Metric   string // an expression of package emu/metrics
	During   [2]unit.Duration
	Low      float64
	High     float64
	Basis    Basis  // empty: Ours
	From     string // derived: how it follows from the source
	Expected string // "holds" or "differs"
	Reason   string // why it differs
	Why      string // why low and high are what they are
}

// Basis is what a claim rests on.
type Basis string

// The bases. The claim of a document is one of the first two; what a user expects of a
// scenario is the last.
const (
	Quoted  Basis = "quoted"  // the claim has the document's words; "..." stands for what is left out
	Derived Basis = "derived" // it follows from what the document says; From tells how
	Ours    Basis = "ours"    // an observation of whoever wrote the scenario
)

// Statement prints a claim of that basis with what it rests on.
func (b Basis) Statement(claim, source, from string) string {
	switch {
	case b == Quoted:
		return fmt.Sprintf("\"%s\" (%s)", claim, source)
	case b == Derived:
		return fmt.Sprintf("%s (derived from %s: %s)", claim, source, from)
	case source != "":
		return fmt.Sprintf("%s (%s)", claim, source)
	}
	return claim
}

// Loses reports whether frames may be lost although flow control keeps all links from it:
// a link goes down, or a switch is restarted.
func (s *Scenario) Loses() bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return e.State == "down" || e.Switch != "" })
}

// IsSwitch reports whether s has a switch of that name.
func (s *Scenario) IsSwitch(name string) bool {
	for i := range s.Switches {
		if s.Switches[i].Name == name {
			return true
		}
	}
	return false
}
