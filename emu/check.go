package emu

import (
	"cmp"

	"fabemu/emu/base/errs"
	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
)

// Check returns a *Mistake where o has unknown words, or options that do not go
// together. Run begins with it.
func (o Options) Check() error { return o.withDefaults().check() }

func (o Options) check() error {
	virtual := o.Clock == VirtualClock
	err := cmp.Or(
		errs.Unknown("clock", o.Clock, WallClock, VirtualClock),
		errs.Unknown("timing", o.Timing, IdealTiming, ActualTiming),
		errs.Unknown("link", o.Link, Trains, UDP, Veth, Pipe),
		errs.Unknown("placement", o.Placement, InGoroutines, InProcesses, InDomains, InHosts),
		errs.Unknown("hold", o.Hold, HoldAuto, HoldOn, HoldOff),
		errs.Unknown("verify", o.Verify, VerifyShort, VerifyOn, VerifyOff),
	)
	switch {
	case err != nil:
		return err
	case virtual && o.Timing == ActualTiming:
		return errs.Errorf("timing actual goes with the wall clock: the virtual clock has no other time than the ideal one")
	case virtual && o.apart():
		return errs.Errorf("placement %s goes with the wall clock", o.Placement)
	case o.Loops < 0:
		return errs.Errorf("%d loops: a number is wanted, or 0 for as many as help", o.Loops)
	case !virtual && o.Loops > 1:
		return errs.Errorf("loops go with the virtual clock: on the wall clock one loop does all")
	case o.apart() && o.Schemes.Warning() != "":
		return errs.Errorf("schemes of the calling program go with placement %s: other processes have only the schemes of fabemu",
			InGoroutines)
	}
	plan, wanted := o.plan(), o.wanted()
	return cmp.Or(plan.Check(virtual), wanted.Check())
}

// checkScenario refuses a run of s where s and o do not go together.
func (o Options) checkScenario(s *scenario.Scenario) error {
	if o.apart() && s.Schemes != nil {
		return errs.Errorf("schemes that a scenario adds to fabemu's go with placement %s: the processes of placement %s do not have them",
			InGoroutines, o.Placement)
	}
	return guest.Check(s, o.Clock == WallClock, o.apart())
}

// apart reports whether machines live in processes of their own.
func (o *Options) apart() bool { return o.Placement != InGoroutines }
