package emu

import (
	"cmp"
	"io"
	"runtime"

	"fabemu/emu/capture"
	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/links"
	"fabemu/emu/machines"
	"fabemu/emu/mistake"
	"fabemu/emu/perfetto"
	"fabemu/emu/proc"
	"fabemu/emu/report"
	"fabemu/wire/trace"
)

// Clock says which clock a run keeps to.
type Clock = report.Clock

// The clocks.
const (
	WallClock    = report.WallClock
	VirtualClock = report.VirtualClock
)

// Timing says which time machines are told on the wall clock.
type Timing string

// The disciplines.
const (
	IdealTiming  Timing = "ideal"           // the instants of the model: its log is that of the virtual clock
	ActualTiming Timing = proc.ActualTiming // the measured wall time over the dilation
)

// Carrier says what carries the datagrams of a wall run.
type Carrier = links.Carrier

// The carriers.
const (
	UDP  = links.UDP
	Veth = links.Veth
	Pipe = links.Pipe
)

// Placement says where machines live in a wall run.
type Placement = proc.Placement

// The placements.
const (
	InGoroutines = proc.InGoroutines
	InProcesses  = proc.InProcesses
	InDomains    = proc.InDomains
)

// Schemes are rate limiters, reaction points and packets of the calling program, in place of
// those of the scenario: functions that are handed each flow, and return nil where it keeps
// what it has. Their fields are at machines.Schemes.
type Schemes = machines.Schemes

// Flow is what the functions of Schemes are handed: a flow of the scenario, as it is laid out.
type Flow = fabric.Flow

// Capture selects the frames of a run that are captured, and says where they go.
type Capture = capture.Request

// Trace says what of a run is traced for Perfetto, and where to.
type Trace = perfetto.Request

// Verify says whether a wall run is compared with the virtual clock afterwards: by the
// event log in one process with ideal timing, by sums over flows otherwise.
type Verify string

// When to verify.
const (
	VerifyShort Verify = "short" // if that takes a few seconds at most
	VerifyOn    Verify = "on"
	VerifyOff   Verify = "off"
)

// Options say how a scenario is run. The zero value runs it on the wall clock,
// over UDP.
type Options struct {
	Clock  Clock   // default: WallClock
	Timing Timing  // wall clock; default: IdealTiming
	Link   Carrier // wall clock; default: UDP
	Verify Verify  // wall clock; default: VerifyShort

	// Placement says where machines live in a wall run; default: InGoroutines. With
	// processes, frames can be overtaken: see package drive, Part.
	Placement Placement
	// Directory is where the files of processes are kept, in proc.PartsDir; empty means a
	// temporary one, which is removed.
	Directory string
	// ByHand names parts that somebody else starts, and Waiting is told their files
	// when the run waits for them.
	ByHand  []string
	Waiting func(parts []*proc.File)

	// Schemes replace parts of the scenario's flows by the program's own.
	Schemes Schemes
	// Codec has frames go through their bytes on the virtual clock, as on a socket. By
	// default they are handed over as values there, which is faster and gives the same log,
	// unless there is a Capture: it shows what was read back.
	Codec bool
	// Digest has Result.Digest computed on the virtual clock; on the wall clock it always is.
	Digest bool
	// AllPoints has series.csv hold every point that was measured. By default it holds those
	// that a picture shows.
	AllPoints bool
	// Priority raises the priority of this process while a wall run goes on, as far as
	// the system allows: a loop that others push aside is late.
	Priority bool
	// Events, if not nil, takes the event log, a JSON object a line.
	Events io.Writer
	// Told takes what the sources of flows are told, by the name of the flow: recordings
	// (package told).
	Told map[string]io.Writer
	// Sink, if not nil, is told of each event, of those of a machine in their order. On the
	// virtual clock it hears of many at a time.
	Sink trace.Sink
	// Capture, if not nil, is where the frames go for Wireshark to show.
	Capture *Capture
	// Trace, if not nil, is where the trace for Perfetto goes.
	Trace *Trace
	// Progress, if not nil, is called from time to time while the run goes on, from
	// another goroutine.
	Progress func(Status)
	// Version is written into results; empty means "devel".
	Version string

	test proc.Hooks
}

// Status is how far a run is.
type Status = drive.Status

// codec reports whether frames go through their bytes.
func (o *Options) codec() bool { return o.Codec || o.Capture != nil || o.Clock == WallClock }

// digest reports whether the event log is condensed. That of a wall run is compared.
func (o *Options) digest() bool { return o.Digest || o.Clock == WallClock }

func (o Options) withDefaults() Options {
	o.Clock = cmp.Or(o.Clock, WallClock)
	o.Timing = cmp.Or(o.Timing, IdealTiming)
	o.Link = cmp.Or(o.Link, UDP)
	o.Placement = cmp.Or(o.Placement, InGoroutines)
	o.Verify = cmp.Or(o.Verify, VerifyShort)
	o.Version = cmp.Or(o.Version, "devel")
	return o
}

// NeedsLinux returns a *Mistake where this is another system, with what there is instead.
func NeedsLinux(what string) error { return needsLinux(what, runtime.GOOS) }

func needsLinux(what, system string) error {
	if system == "linux" {
		return nil
	}
	return mistake.Errorf("%s needs Linux; on %s scenarios run with --clock virtual, and on the wall clock with --link pipe",
		what, system)
}

// Check returns a *Mistake where o asks for what there is not, or for what does not go
// together. Run begins with it.
func (o Options) Check() error { return o.withDefaults().check() }

func (o Options) check() error {
	switch {
	case o.Clock == VirtualClock:
	case o.Placement != InGoroutines:
		if err := NeedsLinux("placement " + string(o.Placement)); err != nil {
			return err
		}
	case o.Link != Pipe:
		if err := NeedsLinux("a wall run over links of kind " + string(o.Link)); err != nil {
			return err
		}
	}
	switch o.Clock {
	case WallClock, VirtualClock:
	default:
		return mistake.Errorf("there is no clock %q; there are wall and virtual", o.Clock)
	}
	switch o.Timing {
	case IdealTiming:
	case ActualTiming:
		if o.Clock == VirtualClock {
			return mistake.Errorf("timing actual goes with the wall clock: the virtual clock has no other time than the ideal one")
		}
	default:
		return mistake.Errorf("there is no timing %q; there are ideal and actual", o.Timing)
	}
	switch o.Link {
	case UDP, Veth, Pipe:
	default:
		return mistake.Errorf("there is no link %q; there are udp, veth and pipe", o.Link)
	}
	switch o.Placement {
	case InGoroutines:
	case InProcesses, InDomains:
		switch {
		case o.Clock == VirtualClock:
			return mistake.Errorf("placement %s goes with the wall clock", o.Placement)
		case o.Link == Pipe:
			return mistake.Errorf("placement %s needs links between processes: udp or veth", o.Placement)
		}
	default:
		return mistake.Errorf("there is no placement %q; there are %s, %s and %s",
			o.Placement, InGoroutines, InProcesses, InDomains)
	}
	if o.Schemes.Warning() != "" && o.Placement != InGoroutines {
		return mistake.Errorf("schemes of the calling program go with placement %s: the processes of placement %s know those of fabemu",
			InGoroutines, o.Placement)
	}
	switch {
	case len(o.ByHand) > 0 && o.Placement == InGoroutines:
		return mistake.Errorf("a part can be started by hand with placement %s or %s", InProcesses, InDomains)
	case len(o.ByHand) > 0 && o.Link != UDP:
		return mistake.Errorf("a part that is started by hand has links of kind udp, not %s", o.Link)
	}
	if (o.Schemes.Listen != nil || len(o.Told) > 0) && o.Placement != InGoroutines {
		return mistake.Errorf("what flows are told is heard with placement %s: with %s it is told in other processes",
			InGoroutines, o.Placement)
	}
	if c := o.Capture; c != nil {
		switch {
		case o.Placement != InGoroutines:
			return mistake.Errorf("a capture of the whole fabric goes with placement %s: with %s capture the links themselves, with tcpdump",
				InGoroutines, o.Placement)
		case c.WallTime && o.Clock == VirtualClock:
			return mistake.Errorf("a capture in wall time goes with the wall clock: the virtual clock has none")
		case c.Snap < 0:
			return mistake.Errorf("a snap length of %d bytes: it is how many bytes of a data frame are kept, 0 for all",
				c.Snap)
		}
	}
	if o.Trace != nil && o.Placement != InGoroutines {
		return mistake.Errorf("a trace goes with placement %s: the processes of placement %s report when they have ended", InGoroutines, o.Placement)
	}
	switch o.Verify {
	case VerifyShort, VerifyOn, VerifyOff:
	default:
		return mistake.Errorf("verify is %q; it can be short, on or off", o.Verify)
	}
	return nil
}
