package scenario

import "fabemu/wire"

// SwitchKind is the place where frames wait in a switch.
type SwitchKind string

// The kinds of switches.
const (
	InputBuffered SwitchKind = "input-buffered" // at the port of their arrival
	OutputQueued  SwitchKind = "output-queued"  // in a memory that all ports share
)

// Crossbar is the number of outputs that an input buffer may feed at once.
type Crossbar string

// The crossbars.
const (
	MultiOutput  Crossbar = "multi-output"  // several, the model M1
	SingleOutput Crossbar = "single-output" // one, the model M2
)

// Forwarding is the condition for a frame to leave an output-queued switch.
type Forwarding string

// The ways of forwarding.
const (
	StoreAndForward Forwarding = "store-and-forward" // all of it has arrived
	CutThrough      Forwarding = "cut-through"       // its header has
)

// Sharing is the division of an output-queued switch's memory among its inputs.
type Sharing string

// The ways of sharing.
const (
	Partitioned Sharing = "partitioned" // in equal parts
	Pooled      Sharing = "pooled"      // all take from one pool
)

// Paths is the choice among the shortest paths.
type Paths string

// The choices of paths.
const (
	Shortest Paths = "shortest" // one for each destination
	ECMP     Paths = "ecmp"     // any of them, by a hash of the flow
)

// Spread is the way in which flows of a group share the traffic of an endpoint.
type Spread uint8

// The ways of spreading.
const (
	NoSpread Spread = iota
	Uniform         // each arrival goes to any one of the destinations
)

// Limiter is a rate limiter.
type Limiter string

// The rate limiters.
const (
	InterPacketDelay Limiter = "ipd"
	TokenBucket      Limiter = "token-bucket"
	Segments         Limiter = "segments"
)

// LinkState is the state that an event gives a link.
type LinkState string

// The states.
const (
	Down LinkState = "down"
	Up   LinkState = "up"
)

// Storm is the beginning or the end of a pause storm.
type Storm string

// The changes.
const (
	StormOn  Storm = "on"
	StormOff Storm = "off"
)

// Invalid is a form of frames that a port with PFC has to ignore.
type Invalid string

// The forms.
const (
	PauseForm Invalid = "pause"      // PAUSE frames
	NoClasses Invalid = "no-classes" // PFC frames that enable no priority
)

// Kind returns the kind of the frames; 0 of no form.
func (i Invalid) Kind() wire.Kind {
	return map[Invalid]wire.Kind{PauseForm: wire.Pause, NoClasses: wire.PriorityPause}[i]
}

// Obedience is the effect of PAUSE frames at a port.
type Obedience string

// The kinds.
const (
	Ignored Obedience = "ignored"
	Obeyed  Obedience = "obeyed"
)

// SinkState is the state that an event gives the receiving side of an endpoint.
type SinkState string

// The states.
const (
	SinkStopped SinkState = "stopped"
	SinkRunning SinkState = "running"
)

// Reporting is what the congestion points of a switch go by.
type Reporting string

// The kinds.
const (
	Reported Reporting = "reported" // there is congestion
	Measured Reporting = "measured" // what they see
)

// GuestKind is the way from a guest into the fabric.
type GuestKind string

// The kinds of guests.
const (
	Tun      GuestKind = "tun"      // a device of IP in a network namespace
	Tap      GuestKind = "tap"      // one of Ethernet
	Netstack GuestKind = "netstack" // no device: gVisor's stack in this program, on the clock of the model
)

// Real reports whether a guest of the kind is a real host, which lives in real time.
func (k GuestKind) Real() bool { return k == Tun || k == Tap }

// Adapter is the network adapter of a guest.
type Adapter string

// RoCE is the adapter that does the adapter's part of congestion control for RoCEv2.
const RoCE Adapter = "roce"

// Basis is the ground of a claim.
type Basis string

// The bases. The claim of a document is one of the first two; the expectation of a
// user is the last.
const (
	Quoted  Basis = "quoted"  // the claim has the document's words; "..." stands for omitted words
	Derived Basis = "derived" // it follows from the document; From has the reasoning
	Ours    Basis = "ours"    // an observation of the author of the scenario
)

// Expected is the expected outcome of a claim.
type Expected string

// The expectations of a claim.
const (
	Holds   Expected = "holds"
	Differs Expected = "differs"
)
