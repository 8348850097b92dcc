package emu

import (
	"cmp"

	"fabemu/emu/guests"
	"fabemu/emu/mistake"
	"fabemu/emu/proc"
	"fabemu/emu/scenario"
)

// Check returns a *Mistake where o asks for what there is not, or for what does not go
// together. Run begins with it.
func (o Options) Check() error { return o.withDefaults().check() }

func (o Options) check() error {
	virtual := o.Clock == VirtualClock
	err := cmp.Or(
		mistake.Unknown("clock", o.Clock, WallClock, VirtualClock),
		mistake.Unknown("timing", o.Timing, IdealTiming, ActualTiming),
		mistake.Unknown("link", o.Link, Trains, UDP, Veth, Pipe),
		mistake.Unknown("placement", o.Placement, InGoroutines, InProcesses, InDomains, InHosts),
		mistake.Unknown("verify", o.Verify, VerifyShort, VerifyOn, VerifyOff),
	)
	switch {
	case err != nil:
		return err
	case virtual && o.Timing == ActualTiming:
		return mistake.Errorf("timing actual goes with the wall clock: the virtual clock has no other time than the ideal one")
	case virtual && o.apart():
		return mistake.Errorf("placement %s goes with the wall clock", o.Placement)
	case o.Loops < 0:
		return mistake.Errorf("%d loops: a number is wanted, or 0 for as many as help", o.Loops)
	case !virtual && o.Loops > 1:
		return mistake.Errorf("loops go with the virtual clock: on the wall clock one loop does all")
	case o.apart() && o.Schemes.Warning() != "":
		return mistake.Errorf("schemes of the calling program go with placement %s: other processes know those of fabemu",
			InGoroutines)
	}
	plan, wanted := proc.Plan{Placement: o.Placement, Timing: string(o.Timing), Sync: o.Sync, Pin: o.Pin, Carrier: o.Link, ByHand: o.ByHand, Fleet: o.Fleet, HostsOf: o.HostsOf}, o.wanted()
	return cmp.Or(plan.Check(virtual), wanted.Check())
}

// checkScenario refuses a run of s where o does not go with what it has.
func (o Options) checkScenario(s *scenario.Scenario) error {
	if o.apart() && s.Schemes != nil {
		return mistake.Errorf("schemes that a scenario has beside those of fabemu go with placement %s: the processes of placement %s do not know them",
			InGoroutines, o.Placement)
	}
	return guests.Check(s, o.Clock == WallClock, o.apart())
}

// apart reports whether machines live in processes of their own.
func (o *Options) apart() bool { return o.Placement != InGoroutines }
