package emu

import (
	"cmp"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/capture"
)

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
	case virtual && o.apart():
		return errs.Errorf("placement %s requires the wall clock", o.Placement)
	case o.Loops < 0:
		return errs.Errorf("%d loops: use a number above 0, or 0 for as many as help", o.Loops)
	case !virtual && o.Loops > 1:
		return errs.Errorf("several loops require the virtual clock: the wall clock has one")
	case o.apart() && o.Schemes.Warning() != "":
		return errs.Errorf("schemes of the calling program require placement %s: other processes have only the schemes of fabemu",
			InGoroutines)
	}
	return cmp.Or(o.plan().Check(virtual), o.checkRecords())
}

// checkRecords refuses records that the run cannot have.
func (o *Options) checkRecords() error {
	switch c := o.Capture; {
	case o.apart() && (o.Schemes.Listen != nil || len(o.Recordings) > 0):
		return errs.Errorf("a recording of feedback requires placement %s: elsewhere the sources are in other processes", InGoroutines)
	case c != nil && c.Time == capture.WallTime && !o.wall():
		return errs.Errorf("a capture in wall time requires the wall clock")
	case c != nil && c.Snap < 0:
		return errs.Errorf("a snap length of %d bytes: use 0 for whole frames, or a positive number", c.Snap)
	}
	return nil
}

// checkScenario refuses a run of s where s and o do not go together.
func (o Options) checkScenario(s *scenario.Scenario) error {
	if o.apart() && s.Schemes != nil {
		return errs.Errorf("schemes that a scenario adds to fabemu's require placement %s: the processes of placement %s do not have them",
			InGoroutines, o.Placement)
	}
	return guest.Check(s, o.wall(), o.apart())
}

// apart reports whether nodes live in their own processes.
func (o *Options) apart() bool { return o.Placement != InGoroutines }
