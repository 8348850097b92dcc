package main

import (
	"errors"
	"fmt"
	"io"
	"math"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/guest/netstack"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/lint"
	"fabemu/emu/study/propose"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// checked is the outcome of the check of a scenario, as in JSON.
type checked struct {
	Scenario    string             `json:"scenario"` // as it was named in the call
	OK          bool               `json:"ok"`
	Mistakes    []scenario.Error   `json:"mistakes"`
	Warnings    []scenario.Warning `json:"warnings"`
	Switches    int                `json:"switches"`
	Endpoints   int                `json:"endpoints"`
	Links       int                `json:"links"`
	Flows       int                `json:"flows"`
	Checks      int                `json:"checks"`
	DurationPs  int64              `json:"duration_ps"`
	WallSeconds float64            `json:"wall_seconds"`

	Derived []scenario.Threshold `json:"derived,omitempty"` // thresholds that the scenario does not give

	Trial *propose.Trial `json:"trial,omitempty"` // on this machine, with --computer
}

func checkCommand() *cobra.Command {
	var x changes
	var f commonFlags
	c := &cobra.Command{
		Use:               "check SCENARIO...",
		Short:             "Report mistakes and warnings of scenarios without running them",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, names []string) error {
			if err := onceFromInput(names); err != nil {
				return err
			}
			all, status := []checked{}, exitOK
			for _, name := range names {
				s, err := x.open(name)
				if err == nil {
					_, err = emu.Prepare(s)
				}
				if err == nil && f.Strict {
					err = refuseDeadlock(s)
				}
				if err == nil {
					warnOfLacking(s)
				}
				var trial *propose.Trial
				if err == nil && f.Computer {
					trial, err = tryDilation(c, s)
				}
				if err != nil {
					status = max(status, exitOf(err))
				}
				v := outcomeOf(name, s, err)
				v.Trial = trial
				all = append(all, v)
				switch {
				case f.JSON:
				case err != nil:
					showHarmless("fabemu: %v\n", err)
				default:
					showWarnings(s)
					v.print(c.OutOrStdout(), s)
				}
			}
			if f.JSON {
				_ = report.WriteJSON(c.OutOrStdout(), all)
			}
			return exit(status)
		},
	}
	add(c, &x)
	add(c, &f, "json", "computer", "strict")
	return c
}

// refuseDeadlock refuses a scenario whose paths make a cycle of buffers.
func refuseDeadlock(s *scenario.Scenario) error {
	if d := lint.FindDeadlock(s, scenario.PathTableOf(s)); d != nil {
		return errs.Errorf("%s: %w (--strict)", s.Name, d)
	}
	return nil
}

// print prints the outcome for a scenario without mistakes.
func (v *checked) print(w io.Writer, s *scenario.Scenario) {
	fmt.Fprintf(w, "%s: ok: %s, %s, %s, %s, %s; %v of model time, %s of wall time\n", v.Scenario,
		terminal.Count(v.Switches, "switch"), terminal.Count(v.Endpoints, "endpoint"), terminal.Count(v.Links, "link"),
		terminal.Count(v.Flows, "flow"), terminal.Count(v.Checks, "check"), s.Model.Duration,
		durationText(wallTime(s.Model.Duration, s.Wall.Dilation)))
	for _, d := range v.Derived {
		if !d.IsField() {
			fmt.Fprintf(w, "%s: %s: %v at %s\n", v.Scenario, d.Key, unit.Size(d.Bytes), d.Where())
		}
	}
	if v.Trial != nil {
		fmt.Fprintf(w, "%s: %v\n", v.Scenario, v.Trial)
	}
}

// outcomeOf returns the findings about a scenario. With an error it has a mistake.
func outcomeOf(name string, s *scenario.Scenario, err error) checked {
	v := checked{Scenario: name, OK: err == nil, Mistakes: []scenario.Error{}, Warnings: []scenario.Warning{}}
	if list, ok := errors.AsType[*scenario.Errors](err); ok {
		v.Mistakes = list.List
	} else if err != nil {
		v.Mistakes = append(v.Mistakes, scenario.Error{Message: err.Error()})
	}
	if s == nil {
		return v
	}
	v.Warnings = append(v.Warnings, s.Warnings...)
	v.Switches, v.Endpoints, v.Links, v.Flows, v.Checks = len(s.Switches), len(s.Endpoints), len(s.Links), len(s.Flows),
		len(s.Expect)
	v.Derived = s.Derived()
	v.DurationPs, v.WallSeconds = int64(s.Model.Duration), wallTime(s.Model.Duration, s.Wall.Dilation).Seconds()
	return v
}

// lacking returns what a scenario needs and this machine does not have; managed: with a subnet
// manager.
func lacking(s *scenario.Scenario, managed bool) []guest.Lack {
	all := guest.Lacking(s)
	use := host.UseOf(host.SubnetManagers)
	for _, name := range use.Missing() {
		if managed || s.Subnet.InBand {
			all = append(all, guest.Lack{Program: name, Error: scenario.Error{File: s.Name, Path: "subnet", Message: use.Name + ": " + host.NoCommand(name)}})
		}
	}
	return all
}

// warnOfLacking adds warnings to a scenario that needs what this machine does not have.
func warnOfLacking(s *scenario.Scenario) {
	for _, l := range lacking(s, false) {
		s.Warnings = append(s.Warnings, scenario.Warning(l.Error))
	}
}

// refuseLacking warns of what a run of a scenario may need and this machine does not have, and
// refuses it where nothing runs without that.
func (f *runFlags) refuseLacking(s *scenario.Scenario) error {
	if f.Clock != emu.WallClock && f.Subnet == "" || f.Dry {
		return nil
	}
	if err := guest.CheckLacking(s); err != nil {
		return err
	}
	for _, l := range lacking(s, f.Subnet != "") {
		showHarmless("fabemu: warning: %v\n", l.Error)
	}
	return nil
}

// tryDilation adds a warning to a scenario whose dilation this machine does not sustain in a trial.
func tryDilation(c *cobra.Command, s *scenario.Scenario) (*propose.Trial, error) {
	if err := host.NeedsLinux("check --computer"); err != nil {
		return nil, err
	}
	ctx, stop := untilEnded(c)
	defer stop()
	n := newNotice(s.Name)
	defer n.end()
	n.show("trying its dilation", math.NaN())
	t, err := propose.Sustains(ctx, s, emu.Options{NewStack: netstack.New})
	if err != nil {
		return nil, failed(err)
	}
	if !t.Sustained {
		s.Warnings = append(s.Warnings, scenario.Warning{
			File: s.Name, Path: "wall.dilation",
			Message: fmt.Sprintf("this machine does not sustain wall.dilation %d; the order of events is still correct (fabemu doctor %s finds a dilation)",
				t.Dilation, s.Name),
		})
	}
	return t, nil
}
