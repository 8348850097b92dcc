package emu

import (
	"cmp"
	"context"
	"io"

	"fabemu/emu/fabric"
	"fabemu/emu/host/fleet"
	"fabemu/emu/metrics"
	"fabemu/emu/record"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/carrier"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/pace"
	"fabemu/emu/run/process"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/perfetto"
	"fabemu/wire/trace"
)

// Clock is the clock of a run.
type Clock = report.Clock

// The clocks.
const (
	WallClock    = report.WallClock
	VirtualClock = report.VirtualClock
)

// TimeSource is the time of rate limiters and reaction points on the wall clock.
type TimeSource string

// The disciplines.
const (
	IdealTiming  TimeSource = "ideal"              // the instants of the model: the log equals the virtual clock's
	ActualTiming TimeSource = process.ActualTiming // the measured wall time over the dilation
)

// Carrier is the carrier of the datagrams of a wall run.
type Carrier = carrier.Carrier

// The carriers.
const (
	Trains = carrier.Trains
	UDP    = carrier.UDP
	Veth   = carrier.Veth
	Pipe   = carrier.Pipe
)

// Placement is the place of the machines in a wall run: processes, and hosts.
type Placement = process.Placement

// The placements.
const (
	InGoroutines = process.InGoroutines
	InProcesses  = process.InProcesses
	InDomains    = process.InDomains
	InHosts      = process.InHosts
)

// Holding is when the run clock may be held.
type Holding = process.Holding

// The kinds.
const (
	HoldAuto = process.HoldAuto
	HoldOn   = process.HoldOn
	HoldOff  = process.HoldOff
)

// Schemes are rate limiters, reaction points and packets of the calling program. Its functions
// receive each flow, and return nil where the flow keeps the scheme of the scenario. Their fields
// are at assemble.Schemes.
type Schemes = assemble.Schemes

// Flow is the argument of the functions of Schemes: a flow of the scenario, as it is laid out.
type Flow = fabric.Flow

// Capture selects the frames of a run that are captured, and their destination.
type Capture = capture.Request

// Trace selects the part of a run that is traced for Perfetto, and the destination.
type Trace = perfetto.Request

// Verify chooses the wall runs that are compared with the virtual clock afterwards.
type Verify = record.Verify

// When to verify.
const (
	VerifyShort = record.VerifyShort
	VerifyOn    = record.VerifyOn
	VerifyOff   = record.VerifyOff
)

// Options are the options of a run. The zero value runs a scenario on the wall clock,
// over UDP.
type Options struct {
	Clock  Clock      // default: WallClock
	Timing TimeSource // wall clock; default: IdealTiming
	Link   Carrier    // wall clock; default: Trains, and UDP between processes
	Verify Verify     // wall clock; default: VerifyShort

	// Hold is when the run clock may be held while this machine is late; empty: HoldAuto.
	Hold Holding
	// Placement is the place of the machines in a wall run; default: InGoroutines.
	Placement Placement
	// Pin chooses who puts their loops on processors; empty: process.PinOn.
	Pin process.Pin
	// Directory is where the files of processes are kept, in process.PartsDir; empty means a
	// temporary one, which is removed.
	Directory string
	// ByHand names parts that somebody else starts. Waiting receives their files
	// when the run waits for them.
	ByHand  []string
	Waiting func(parts []*process.File)

	YesThisOne bool // an interface may be a guest that carries the default route of this computer
	// Fleet and HostsOf are of a run on several hosts: see process.Plan.
	Fleet   *fleet.Fleet
	HostsOf []process.HostOf
	// Loops is how many loops share the machines, each on a processor of its own: they keep the
	// one order, so the log is the same with any number. 0: as many as help, at most one less than
	// there are processors. On the wall clock there is one.
	Loops int

	// NewStack makes guests of kind netstack, such as netstack.New of emu/run/guest/netstack. Nil: a
	// scenario with such a guest is a *Mistake.
	NewStack guest.NewStack

	// Schemes replace parts of the scenario's flows by the program's own.
	Schemes Schemes
	// Codec has frames go through their bytes on the virtual clock, as on a socket. By
	// default they are handed over as values there, which is faster and gives the same log,
	// unless there is a Capture: it shows the frames as they were read back.
	Codec bool
	// Digest has Result.Digest computed on the virtual clock; on the wall clock it always is.
	Digest bool
	// AllPoints has series.csv hold every point that was measured. By default it holds those
	// that a picture shows.
	AllPoints bool
	// Events, if not nil, takes the event log, a JSON object a line.
	Events io.Writer
	// Choice selects the events of that log; the zero value selects all.
	Choice report.Choice
	// Told takes recordings of the input of sources, by the names of their flows (package told).
	Told map[string]io.Writer
	// Sink, if not nil, records each event; events of one machine come in their order. On the
	// virtual clock it receives many at a time.
	Sink trace.Sink
	// Capture, if not nil, is where the frames go for Wireshark to show.
	Capture *Capture
	// Trace, if not nil, is where the trace for Perfetto goes.
	Trace *Trace
	// Observe lists the observers of the run while it goes on: of figures, states, events, at the
	// rate that each asks for. A slow observer misses some and does not slow the run.
	Observe []observe.Request
	// Changes, if not nil, changes the run while it goes on, by events of the language. A run on
	// the virtual clock, or in processes, refuses them.
	Changes *observe.Changes
	// Course, if not nil, receives the course of the figures so far in a long run: each half
	// minute of wall time or more rarely, from another goroutine. The context ends with the run,
	// which waits until Course has returned.
	Course func(context.Context, *metrics.Course)
	// Progress, if not nil, is called from time to time while the run goes on, from
	// another goroutine.
	Progress func(Status)
	// Version is written into results; empty means "devel".
	Version string

	test process.Hooks
}

// Status is how far a run is.
type Status = pace.Status

// codec reports whether frames go through their bytes.
func (o *Options) codec() bool { return o.Codec || o.Capture != nil || o.Clock == WallClock }

// plan returns the options for the processes of a wall run.
func (o *Options) plan() *process.Plan {
	return &process.Plan{
		Placement: o.Placement, Carrier: o.Link, Timing: string(o.Timing), Pin: o.Pin,
		Directory: o.Directory, Version: o.Version, ByHand: o.ByHand, Waiting: o.Waiting,
		Fleet: o.Fleet, HostsOf: o.HostsOf, Holding: o.Hold, Hooks: o.test,
	}
}

// wanted returns the recordings of a run. The digest of a wall run is compared.
func (o *Options) wanted() record.Wanted {
	wall := o.Clock == WallClock
	return record.Wanted{
		Events: o.Events, Choice: o.Choice, Capture: o.Capture, Trace: o.Trace, Link: o.Link, Told: o.Told, Sink: o.Sink,
		Bodies: o.Schemes.BodySource != nil, Listen: o.Schemes.Listen != nil, Digest: o.Digest || wall,
		Observe: o.Observe, Changes: o.Changes, Wall: wall, Actual: o.Timing == ActualTiming, Parts: o.apart(),
		Course: o.Course, NewStack: o.NewStack,
	}
}

func (o Options) withDefaults() Options {
	o.Clock = cmp.Or(o.Clock, WallClock)
	o.Timing = cmp.Or(o.Timing, IdealTiming)
	o.Hold = cmp.Or(o.Hold, HoldAuto)
	o.Placement = cmp.Or(o.Placement, InGoroutines)
	if o.Link == "" {
		o.Link = Trains
		if o.apart() || o.Clock == VirtualClock || o.test.Wrap != nil || o.test.Buffer > 0 {
			o.Link = UDP
		}
	}
	o.Verify = cmp.Or(o.Verify, VerifyShort)
	o.Version = cmp.Or(o.Version, "devel")
	return o
}
