package metrics

import (
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// The counters of a flow.
const (
	flowBytes  = iota // data received whole, headers included
	flowFrames        // data frames received whole
	flowMarked        // of them, those that carried a mark
	flowLimit         // not a counter but a state: the rate of the source in bits per second
	flowStall         // picoseconds by port.Block, from here on
)

// What is rarer.
const (
	flowNotified = flowStall + port.Blocks + iota // notifications taken in by the source
	flowFb                                        // sum of their quantised feedback
	flowTarget                                    // the rate that its reaction point wants back, as flowLimit
	flowDrops                                     // data frames that were discarded on the way
	flowColumns
)

// flowState is what a flow is in.
type flowState struct {
	blocked    unit.Time  // flowStall is counted up to here
	block      port.Block // what has kept the flow since then
	acks       int64
	markedAcks int64
}

// life is what a flow has been through. It is rarely touched: not part of flowState.
type life struct {
	active []Interval
	begun  []Transfer // those that have not ended, in the order of their packets
	ended  []Transfer
}

// Interval is a span of model time: From <= t < To.
type Interval struct{ From, To unit.Time }
