package scenario

import "fabemu/wire"

// SwitchKind is the place where frames wait in a switch.
type SwitchKind string

// The kinds of switches.
const (
	InputBuffered SwitchKind = "input-buffered" // at the port of their arrival
	OutputQueued  SwitchKind = "output-queued"  // in a memory that all ports share
)

// Words returns the kinds.
func (SwitchKind) Words() []string { return words(InputBuffered, OutputQueued) }

// Crossbar is the number of outputs that an input buffer may feed at once.
type Crossbar string

// The crossbars.
const (
	MultiOutput  Crossbar = "multi-output"  // several, the model M1
	SingleOutput Crossbar = "single-output" // one, the model M2
)

// Words returns the crossbars.
func (Crossbar) Words() []string { return words(MultiOutput, SingleOutput) }

// Forwarding is the condition for a frame to leave an output-queued switch.
type Forwarding string

// The ways of forwarding.
const (
	StoreAndForward Forwarding = "store-and-forward" // all of it has arrived
	CutThrough      Forwarding = "cut-through"       // its header has
)

// Words returns the ways of forwarding.
func (Forwarding) Words() []string { return words(StoreAndForward, CutThrough) }

// Sharing is the division of an output-queued switch's memory among its inputs.
type Sharing string

// The ways of sharing.
const (
	Partitioned Sharing = "partitioned" // in equal parts
	Pooled      Sharing = "pooled"      // all take from one pool
)

// Words returns the ways of sharing.
func (Sharing) Words() []string { return words(Partitioned, Pooled) }

// Paths is the choice among the shortest paths.
type Paths string

// The choices of paths.
const (
	Shortest Paths = "shortest" // one for each destination
	ECMP     Paths = "ecmp"     // any of them, by a hash of the flow
)

// Words returns the choices of paths.
func (Paths) Words() []string { return words(Shortest, ECMP) }

// Spread is the way in which flows of a group share the traffic of an endpoint.
type Spread uint8

// The ways of spreading.
const (
	NoSpread Spread = iota
	Uniform         // each arrival goes to any one of the destinations
)

// Words returns the words for the ways of spreading.
func (Spread) Words() []string { return []string{"none", "uniform"} }

// Limiter is a rate limiter.
type Limiter string

// The rate limiters.
const (
	InterPacketDelay Limiter = "ipd"
	TokenBucket      Limiter = "token-bucket"
	Segments         Limiter = "segments"
)

// Words returns the rate limiters.
func (Limiter) Words() []string { return words(InterPacketDelay, TokenBucket, Segments) }

// LinkState is the state that an event gives a link.
type LinkState string

// The states.
const (
	Down LinkState = "down"
	Up   LinkState = "up"
)

// Words returns the states.
func (LinkState) Words() []string { return words(Down, Up) }

// Storm is the beginning or the end of a pause storm.
type Storm string

// The changes.
const (
	StormOn  Storm = "on"
	StormOff Storm = "off"
)

// Words returns the changes.
func (Storm) Words() []string { return words(StormOn, StormOff) }

// Invalid is a form of frames that a port with PFC has to ignore.
type Invalid string

// The forms.
const (
	PauseForm Invalid = "pause"      // PAUSE frames
	NoClasses Invalid = "no-classes" // PFC frames that enable no priority
)

// Words returns the forms.
func (Invalid) Words() []string { return words(PauseForm, NoClasses) }

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

// Words returns the kinds.
func (Obedience) Words() []string { return words(Ignored, Obeyed) }

// SinkState is the state that an event gives the receiving side of an endpoint.
type SinkState string

// The states.
const (
	SinkStopped SinkState = "stopped"
	SinkRunning SinkState = "running"
)

// Words returns the states.
func (SinkState) Words() []string { return words(SinkStopped, SinkRunning) }

// GuestKind is the way from a guest into the fabric.
type GuestKind string

// The kinds of guests.
const (
	Tun      GuestKind = "tun"      // a device of IP in a network namespace
	Tap      GuestKind = "tap"      // one of Ethernet
	Netstack GuestKind = "netstack" // no device: gVisor's stack in this program, on the clock of the model
)

// Words returns the kinds.
func (GuestKind) Words() []string { return words(Tun, Tap, Netstack) }

// Real reports whether a guest of the kind is a real host, which lives in real time.
func (k GuestKind) Real() bool { return k == Tun || k == Tap }

// Adapter is the network adapter of a guest.
type Adapter string

// RoCE is the adapter that does the adapter's part of congestion control for RoCEv2.
const RoCE Adapter = "roce"

// Words returns the adapters.
func (Adapter) Words() []string { return words(RoCE) }

// Basis is the ground of a claim.
type Basis string

// The bases. The claim of a document is one of the first two; the expectation of a
// user is the last.
const (
	Quoted  Basis = "quoted"  // the claim has the document's words; "..." stands for omitted words
	Derived Basis = "derived" // it follows from the document; From has the reasoning
	Ours    Basis = "ours"    // an observation of the author of the scenario
)

// Words returns the bases.
func (Basis) Words() []string { return words(Quoted, Derived, Ours) }

// Expected is the expected outcome of a claim.
type Expected string

// The expectations of a claim.
const (
	Holds   Expected = "holds"
	Differs Expected = "differs"
)

// Words returns the expectations.
func (Expected) Words() []string { return words(Holds, Differs) }

// words returns the texts of words.
func words[W ~string](all ...W) (texts []string) {
	for _, w := range all {
		texts = append(texts, string(w))
	}
	return texts
}
