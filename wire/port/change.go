package port

import (
	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/unit"
)

// Change is a change of a node, or of one of its ports, that comes from outside: from the scenario,
// or from a program. Its type says what changes.
type Change interface {
	// Kind returns the number of the change in event logs.
	Kind() ChangeKind
}

// ChangeKind is the number of a change in event logs. The zero value is invalid on purpose.
type ChangeKind uint8

func (k ChangeKind) String() string { return unit.Word(k, changeWords[:]) }

// PortChange is a change of one of the ports of a node.
type PortChange struct {
	Port ID
	Change
}

// RateChange has the link run at Rate from its next frame on.
type RateChange struct{ Rate unit.Rate }

// LinkDown has nothing cross the link any more. Frames in flight are lost.
type LinkDown struct{}

// LinkUp has the link come up. Flow control starts from its initial state.
type LinkUp struct{}

// ServiceRate has an endpoint take frames out of its ingress at Rate; 0: at once.
type ServiceRate struct{ Rate unit.Rate }

// StormStart begins a pause storm: the port keeps its peer stopped, whatever its buffer holds.
type StormStart struct {
	Classes uint8     // the priorities, a bit each; 0: all
	Invalid wire.Kind // the storm has frames of this kind that the peer must ignore; 0: valid frames
	XON     bool      // the storm has frames that let the peer continue
}

// StormStop ends a pause storm, or a part of it.
type StormStop struct {
	Classes uint8     // the priorities, a bit each; 0: all
	Invalid wire.Kind // of the storm
	XON     bool      // of the storm
}

// Restart loses the content of a switch. Its links are down until LinkUp.
type Restart struct{}

// Deadlock tells a port that the driver has found it in a cycle of waiting. The port reports it.
type Deadlock struct {
	Class uint8     // the lane or priority that waits
	Since unit.Time // since when it waits
}

// RoutesChange has a switch use other routes from now on.
type RoutesChange struct {
	Table  int // the index of the table of routes
	Routes any // a new table, a switchd.Routes, which gets that index; or nil
}

// Offer tells an endpoint that its flows may have packets from outside to send. Its driver makes
// this change.
type Offer struct{}

// FaultStart gives the link a fault in one direction. Both ends apply it.
type FaultStart struct {
	Fault *fault.Config // without its instants
	Out   bool          // in the outgoing direction; else in the incoming one
	Last  unit.Duration // how long it lasts
}

// Stuck has the port send nothing but flow control for a time.
type Stuck struct{ Last unit.Duration }

// PauseIgnored takes the effect from PAUSE frames. Both ends apply it.
type PauseIgnored struct {
	Peer bool // the peer ignores them; else the port itself
}

// PauseObeyed gives PAUSE frames their effect again. Both ends apply it.
type PauseObeyed struct {
	Peer bool // the peer obeys them; else the port itself
}

// SinkStopped has an endpoint stop taking frames out of its ingress.
type SinkStopped struct{}

// SinkStarted has it take them out again.
type SinkStarted struct{}

// BufferChange leaves a part of the receive buffer of a port of a switch; zero: all of it.
type BufferChange struct{ Left BufferConfig }

// WatermarksChange gives all inputs of a switch other watermarks.
type WatermarksChange struct{ High, Low unit.Size }

// WatchdogChange gives the PFC watchdog of a switch other parameters, a switchd.Watchdog.
type WatchdogChange struct{ Watchdog any }

// SLToVLChange gives frames that leave by the port other lanes. Those that wait for it keep theirs.
type SLToVLChange struct {
	Table SLToVL
	In    ID // of a switch: the input that the table is for; AnyPort: all
}

// ArbitrationChange has the lanes of the port arbitrated in another way.
type ArbitrationChange struct{ Arbitration Arbitration }

// MarkingChange gives a switch with input buffers the congestion points that a cp.Maker makes.
type MarkingChange struct{ Maker any }

// CongestionReported has a switch report congestion, whatever waits in it.
type CongestionReported struct{}

// CongestionMeasured has a switch report the congestion that it has.
type CongestionMeasured struct{}

// SendMAD has the port send a packet on VL15. Its body is in the Outbox.
type SendMAD struct{ Frame *wire.Frame }

// ControlChange gives the flows of an endpoint other reaction points: a map[uint32]rp.Reaction,
// by queue pair.
type ControlChange struct{ Reactions any }

// The numbers of the changes in event logs.
const (
	_ ChangeKind = iota
	rateChange
	linkDown
	linkUp
	serviceRate
	stormStart
	stormStop
	restart
	deadlock
	routesChange
	offer
	faultStart
	stuck
	pauseIgnored
	pauseObeyed
	sinkStopped
	sinkStarted
	bufferChange
	watermarksChange
	watchdogChange
	slToVLChange
	arbitrationChange
	markingChange
	sendMAD
	controlChange
	congestionReported
	congestionMeasured
)

var changeWords = [...]string{
	0: "unknown", rateChange: "rate-change", linkDown: "link-down", linkUp: "link-up", serviceRate: "service-rate",
	stormStart: "storm-start", stormStop: "storm-stop", restart: "restart", deadlock: "deadlock",
	routesChange: "routes-change", offer: "offer",
	faultStart: "fault-start", stuck: "stuck", pauseIgnored: "pause-ignored", pauseObeyed: "pause-obeyed",
	sinkStopped: "sink-stopped", sinkStarted: "sink-started", bufferChange: "buffer-change",
	watermarksChange: "watermarks-change", watchdogChange: "watchdog-change",
	slToVLChange: "sl2vl-change", arbitrationChange: "vlarb-change", markingChange: "marking-change", sendMAD: "send-mad",
	controlChange: "control-change", congestionReported: "congestion-reported", congestionMeasured: "congestion-measured",
}

// Kind implements Change.
func (RateChange) Kind() ChangeKind { return rateChange }

// Kind implements Change.
func (LinkDown) Kind() ChangeKind { return linkDown }

// Kind implements Change.
func (LinkUp) Kind() ChangeKind { return linkUp }

// Kind implements Change.
func (ServiceRate) Kind() ChangeKind { return serviceRate }

// Kind implements Change.
func (StormStart) Kind() ChangeKind { return stormStart }

// Kind implements Change.
func (StormStop) Kind() ChangeKind { return stormStop }

// Kind implements Change.
func (Restart) Kind() ChangeKind { return restart }

// Kind implements Change.
func (Deadlock) Kind() ChangeKind { return deadlock }

// Kind implements Change.
func (RoutesChange) Kind() ChangeKind { return routesChange }

// Kind implements Change.
func (Offer) Kind() ChangeKind { return offer }

// Kind implements Change.
func (FaultStart) Kind() ChangeKind { return faultStart }

// Kind implements Change.
func (Stuck) Kind() ChangeKind { return stuck }

// Kind implements Change.
func (PauseIgnored) Kind() ChangeKind { return pauseIgnored }

// Kind implements Change.
func (PauseObeyed) Kind() ChangeKind { return pauseObeyed }

// Kind implements Change.
func (SinkStopped) Kind() ChangeKind { return sinkStopped }

// Kind implements Change.
func (SinkStarted) Kind() ChangeKind { return sinkStarted }

// Kind implements Change.
func (BufferChange) Kind() ChangeKind { return bufferChange }

// Kind implements Change.
func (WatermarksChange) Kind() ChangeKind { return watermarksChange }

// Kind implements Change.
func (WatchdogChange) Kind() ChangeKind { return watchdogChange }

// Kind implements Change.
func (SLToVLChange) Kind() ChangeKind { return slToVLChange }

// Kind implements Change.
func (ArbitrationChange) Kind() ChangeKind { return arbitrationChange }

// Kind implements Change.
func (MarkingChange) Kind() ChangeKind { return markingChange }

// Kind implements Change.
func (SendMAD) Kind() ChangeKind { return sendMAD }

// Kind implements Change.
func (ControlChange) Kind() ChangeKind { return controlChange }

// Kind implements Change.
func (CongestionReported) Kind() ChangeKind { return congestionReported }

// Kind implements Change.
func (CongestionMeasured) Kind() ChangeKind { return congestionMeasured }
