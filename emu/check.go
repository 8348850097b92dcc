package emu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/host"
	"fabemu/emu/mistake"
	"fabemu/emu/scenario"
)

// Check returns a *Mistake where o asks for what there is not, or for what does not go
// together. Run begins with it.
func (o Options) Check() error { return o.withDefaults().check() }

func (o Options) check() error {
	virtual, apart := o.Clock == VirtualClock, o.Placement != InGoroutines
	var foreign error // what another system lacks
	switch {
	case virtual:
	case apart:
		foreign = host.NeedsLinux("placement " + string(o.Placement))
	case o.Link != Pipe:
		foreign = host.NeedsLinux("a wall run over links of kind " + string(o.Link))
	}
	if err := cmp.Or(
		foreign,
		known("clock", o.Clock, WallClock, VirtualClock),
		known("timing", o.Timing, IdealTiming, ActualTiming),
		known("link", o.Link, UDP, Veth, Pipe),
		known("placement", o.Placement, InGoroutines, InProcesses, InDomains),
		known("verify", o.Verify, VerifyShort, VerifyOn, VerifyOff),
	); err != nil {
		return err
	}
	here := fmt.Sprintf("with placement %s: with %s", InGoroutines, o.Placement)
	switch c := o.Capture; {
	case virtual && o.Timing == ActualTiming:
		return mistake.Errorf("timing actual goes with the wall clock: the virtual clock has no other time than the ideal one")
	case virtual && apart:
		return mistake.Errorf("placement %s goes with the wall clock", o.Placement)
	case apart && o.Link == Pipe:
		return mistake.Errorf("placement %s needs links between processes: udp or veth", o.Placement)
	case apart && o.Schemes.Warning() != "":
		return mistake.Errorf("schemes of the calling program go %s other processes know those of fabemu", here)
	case apart && (o.Schemes.Listen != nil || len(o.Told) > 0):
		return mistake.Errorf("what flows are told is heard %s it is told in other processes", here)
	case apart && c != nil:
		return mistake.Errorf("a capture of the whole fabric goes %s capture the links themselves, with tcpdump", here)
	case apart && o.Trace != nil:
		return mistake.Errorf("a trace goes %s processes report when they have ended", here)
	case !apart && len(o.ByHand) > 0:
		return mistake.Errorf("a part can be started by hand with placement %s or %s", InProcesses, InDomains)
	case len(o.ByHand) > 0 && o.Link != UDP:
		return mistake.Errorf("a part that is started by hand has links of kind udp, not %s", o.Link)
	case c != nil && c.WallTime && virtual:
		return mistake.Errorf("a capture in wall time goes with the wall clock: the virtual clock has none")
	case c != nil && c.Snap < 0:
		return mistake.Errorf("a snap length of %d bytes: it is how many bytes of a data frame are kept, 0 for all", c.Snap)
	}
	return nil
}

// checkScenario refuses a run of s where o does not go with what it has.
func (o Options) checkScenario(s *scenario.Scenario) error {
	all, real := s.Guests()
	switch apart := o.Placement != InGoroutines; {
	case apart && s.Schemes != nil:
		return mistake.Errorf("schemes that a scenario has beside those of fabemu go with placement %s: the processes of placement %s do not know them",
			InGoroutines, o.Placement)
	case apart && all > 0:
		return mistake.Errorf("scenario %s has guests: it runs with placement %s", s.Name, InGoroutines)
	case real == 0:
		return nil
	case o.Clock == VirtualClock:
		return mistake.Errorf("scenario %s has guests that are real hosts and live in real time: it runs with --clock wall only; those of kind %s run on both clocks",
			s.Name, scenario.Netstack)
	}
	return host.NeedsLinux("a scenario with guests that are real hosts")
}

// known returns a *Mistake where word is none of those that there are.
func known[W ~string](what string, word W, words ...W) error {
	if slices.Contains(words, word) {
		return nil
	}
	last := len(words) - 1
	var list strings.Builder
	for _, w := range words[:last] {
		fmt.Fprintf(&list, ", %s", w)
	}
	return mistake.Errorf("there is no %s %q; there are %s and %s", what, word, list.String()[2:], words[last])
}
