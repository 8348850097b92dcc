package emu

import (
	"cmp"
	"context"
	"io"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/host/fleet"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture"
	"fabemu/emu/watch/observe"
	"fabemu/emu/watch/perfetto"
	"fabemu/wire/trace"
)

// Settings are the options that also are part of a result.
type Settings = mode.Settings

// The words of Options; package mode explains them.
type (
	// Clock is the clock that drives a run.
	Clock = mode.Clock
	// TimeSource is the time of rate limiters and reaction points.
	TimeSource = mode.TimeSource
	// Carrier is the kind of links that carry the datagrams of a wall run.
	Carrier = mode.Carrier
	// Packing is how frames that leave together are put into packets.
	Packing = mode.Packing
	// Placement is the place of the nodes of a wall run: processes, and hosts.
	Placement = mode.Placement
	// Verify chooses the wall runs that are compared with the virtual clock.
	Verify = mode.Verify
)

// The clocks, time sources, carriers, packings, placements, and when to verify.
const (
	WallClock    = mode.WallClock
	VirtualClock = mode.VirtualClock
	IdealTiming  = mode.IdealTiming
	ActualTiming = mode.ActualTiming
	UDP          = mode.UDP
	Unix         = mode.Unix
	Veth         = mode.Veth
	Pipe         = mode.Pipe
	Trains       = mode.Trains
	Single       = mode.Single
	InGoroutines = mode.InGoroutines
	InProcesses  = mode.InProcesses
	InDomains    = mode.InDomains
	InHosts      = mode.InHosts
	VerifyShort  = mode.VerifyShort
	VerifyOn     = mode.VerifyOn
	VerifyOff    = mode.VerifyOff
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

// Options are the options of a run. The zero value runs a scenario on the wall clock, over UDP. The
// tags and the comments of fields are those of the flags of fabemu run, too.
type Options struct {
	// Settings are the clock, the time source, what carries frames, and where nodes are.
	Settings
	// Compare a wall run with the virtual clock afterwards: always, never, or if that takes only
	// seconds.
	Verify Verify `flag:"verify" group:"Clock" idle:"clock=virtual" def:"short" words:"short|on|off"`

	// Write a digest of the event log into the results: 32 hexadecimal digits that two runs share
	// only if all nodes did the same. Wall runs always have it.
	Digest bool `flag:"digest" group:"Results"`
	// Write every measured point to series.csv, up to 20 in each measure.window, instead of those
	// that a picture shows.
	AllPoints bool `flag:"all-points"`

	// Who assigns the loops of processes to CPUs: fabemu (on) or the operating system (off).
	Pin mode.Pin `flag:"pin" group:"Processes" def:"on" words:"on|off"`
	// Parts that you start yourself with fabemu node or fabemu switchd; needs --placement process
	// or domain.
	//
	// Waiting receives their files when the run waits for them.
	ByHand  []string `flag:"by-hand" arg:"NAME,..."`
	Waiting func(parts []*process.File)
	// Directory is where the files of processes are kept, in process.PartsDir; empty means a
	// temporary one, which is removed.
	Directory string

	// Fleet and HostsOf are of a run on several hosts: see process.Plan.
	Fleet   *fleet.Fleet
	HostsOf []process.HostOf

	// Let a guest take the interface with the default route of this machine, which is cut off
	// during the run.
	YesThisOne bool `flag:"yes-this-one" group:"Guests"`
	// NewStack makes guests of kind netstack, such as netstack.New of emu/run/guest/netstack. Nil:
	// a scenario with such a guest is a *Mistake.
	NewStack guest.NewStack

	// Schemes replace parts of the scenario's flows by the program's own.
	Schemes Schemes
	// Events, if not nil, takes the event log, in this form; the default is report.JSONLog.
	Events    io.Writer
	EventForm report.LogForm
	// Choice selects the events of that log; the zero value selects all.
	Choice report.Choice
	// Recordings takes recordings of the input of sources, by the names of their flows (package
	// feedback).
	Recordings map[string]io.Writer
	// Sink, if not nil, records each event; events of one node come in their order. On the
	// virtual clock it receives many at a time.
	Sink trace.Sink
	// Capture, if not nil, is where the frames go for Wireshark to show.
	Capture *Capture
	// Trace, if not nil, is where the trace for Perfetto goes.
	Trace *Trace
	// Observe lists the observers of the run while it runs: of figures, states, events, at the
	// rate that each asks for. A slow observer misses some and does not slow the run.
	Observe []observe.Request
	// Changes, if not nil, changes the run while it runs, by events of the language. A run on
	// the virtual clock, or in processes, refuses them.
	Changes *observe.Changes
	// Course, if not nil, receives the course of the figures so far in a long run: each half
	// minute of wall time or more rarely, from another goroutine. The context ends with the run,
	// which waits until Course has returned.
	Course func(context.Context, *metrics.Course)

	// Figures are further rows of the table of figures in this run: they appear where the rows say.
	// A scenario whose checks name them is read with metrics.Checker.
	Figures []*metrics.Figure
	// Progress, if not nil, is called from time to time while the run runs, from
	// another goroutine.
	Progress func(Status)
	// Version is written into results; empty means "devel".
	Version string

	// Domains is the number of domains of nodes on the virtual clock, each of which has its own
	// agenda. The result does not depend on it. 0 means as many as help.
	Domains int

	test process.Hooks
}

// Status is how far a run is.
type Status = pace.Status

// codec reports whether frames go through their bytes.
func (o *Options) codec() bool { return o.Codec || o.Wall() }

// plan returns the options for the processes of a wall run.
func (o *Options) plan() *process.Plan {
	return &process.Plan{
		Settings: o.Settings, Pin: o.Pin, Directory: o.Directory, Version: o.Version,
		ByHand: o.ByHand, Waiting: o.Waiting, Fleet: o.Fleet, HostsOf: o.HostsOf, Hooks: o.test,
	}
}

func (o Options) withDefaults() Options {
	o.Clock = cmp.Or(o.Clock, WallClock)
	o.Timing = cmp.Or(o.Timing, IdealTiming)
	o.Hold = cmp.Or(o.Hold, mode.HoldAuto)
	o.Placement = cmp.Or(o.Placement, InGoroutines)
	o.Link = cmp.Or(o.Link, UDP)
	if o.Packing == "" {
		o.Packing = Trains
		if o.Apart() || o.Clock == VirtualClock || o.Link == Pipe || o.test.Wrap != nil || o.test.Buffer > 0 {
			o.Packing = Single
		}
	}
	o.Verify = cmp.Or(o.Verify, VerifyShort)
	o.Version = cmp.Or(o.Version, "devel")
	return o
}

// Check returns a *Mistake if o has unknown words, or options that exclude each
// other. Run calls it first.
func (o Options) Check() error { return o.withDefaults().check() }

func (o Options) check() error {
	virtual := o.Clock == VirtualClock
	err := cmp.Or(
		errs.Unknown("clock", o.Clock, WallClock, VirtualClock),
		errs.Unknown("timing", o.Timing, IdealTiming, ActualTiming),
		errs.Unknown("link", o.Link, UDP, Unix, Veth, Pipe),
		errs.Unknown("packing", o.Packing, Trains, Single),
		errs.Unknown("placement", o.Placement, InGoroutines, InProcesses, InDomains, InHosts),
		errs.Unknown("hold", o.Hold, mode.HoldAuto, mode.HoldOn, mode.HoldOff),
		errs.Unknown("verify", o.Verify, VerifyShort, VerifyOn, VerifyOff),
	)
	switch {
	case err != nil:
		return err
	case virtual && o.Timing == ActualTiming:
		return errs.Errorf("timing actual requires the wall clock: the virtual clock has only ideal time")
	case virtual && o.Apart():
		return errs.Errorf("placement %s requires the wall clock", o.Placement)
	case o.Dilation < 0:
		return errs.Errorf("a dilation of %d: use a number above 0, or 0 for that of the scenario", o.Dilation)
	case o.Loops < 0:
		return errs.Errorf("%d loops: use a number above 0, or 0 for as many as help", o.Loops)
	case !virtual && o.Loops > 1:
		return errs.Errorf("several loops require the virtual clock: the wall clock has one")
	case o.Schemes.Management != nil && (virtual || o.Apart()):
		return errs.Errorf("management packets of the calling program require the wall clock and placement %s", InGoroutines)
	case o.Apart() && o.Schemes.Warning() != "":
		return errs.Errorf("schemes of the calling program require placement %s: other processes have only the schemes of fabemu",
			InGoroutines)
	}
	return cmp.Or(o.plan().Check(virtual), o.checkRecords())
}

// checkRecords refuses records that the run cannot have.
func (o *Options) checkRecords() error {
	switch c := o.Capture; {
	case o.Apart() && (o.Schemes.Listen != nil || len(o.Recordings) > 0):
		return errs.Errorf("a recording of feedback requires placement %s: elsewhere the sources are in other processes", InGoroutines)
	case c != nil && c.Time == capture.WallTime && !o.Wall():
		return errs.Errorf("a capture in wall time requires the wall clock")
	case c != nil && c.Snap < 0:
		return errs.Errorf("a snap length of %d bytes: use 0 for whole frames, or a positive number", c.Snap)
	}
	return nil
}

// checkScenario refuses a run of s where s and o do not go together.
func (o Options) checkScenario(s *scenario.Scenario) error {
	if o.Apart() && s.Schemes != nil {
		return errs.Errorf("schemes that a scenario adds to fabemu's require placement %s: the processes of placement %s do not have them",
			InGoroutines, o.Placement)
	}
	if o.Apart() && s.Executes() {
		return errs.Errorf("algorithm exec requires placement %s: the processes of placement %s do not start its program",
			InGoroutines, o.Placement)
	}
	return guest.Check(s, o.Wall(), o.Apart())
}
