package main

import (
	"errors"
	"fmt"
	"io"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/study/propose"

	"github.com/spf13/cobra"
)

// checked is the outcome of the check of a scenario, as JSON has it.
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

	Starts *propose.Starts `json:"starts,omitempty"` // of this computer, with --computer: under actual timing
}

func checkCommand() *cobra.Command {
	var x changes
	var asJSON, computer bool
	c := &cobra.Command{
		Use:               "check SCENARIO...",
		Short:             "Report mistakes and warnings of scenarios, and run nothing",
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
				var starts *propose.Starts
				if err == nil && computer {
					starts, err = checkDilation(c, s)
				}
				if err != nil {
					status = max(status, exitOf(err))
				}
				v := outcomeOf(name, s, err)
				v.Starts = starts
				all = append(all, v)
				switch {
				case asJSON:
				case err != nil:
					showHarmless("fabemu: %v\n", err)
				default:
					showWarnings(s)
					v.print(c.OutOrStdout(), s)
				}
			}
			if asJSON {
				_ = report.WriteJSON(c.OutOrStdout(), all)
			}
			return exit(status)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	c.Flags().BoolVar(&computer, "computer", false,
		"measure this computer too, some seconds: warn of a dilation that is too low for it, and print how late packets start with actual timing")
	x.add(c)
	return c
}

// print prints the outcome for a scenario without mistakes.
func (v *checked) print(w io.Writer, s *scenario.Scenario) {
	fmt.Fprintf(w, "%s: ok: %s, %s, %s, %s, %s; %v of model time, %s of wall time\n", v.Scenario,
		terminal.Count(v.Switches, "switch"), terminal.Count(v.Endpoints, "endpoint"), terminal.Count(v.Links, "link"),
		terminal.Count(v.Flows, "flow"), terminal.Count(v.Checks, "check"), s.Model.Duration,
		durationText(wallTime(s.Model.Duration, s.Wall.Dilation)))
	if v.Starts != nil {
		fmt.Fprintf(w, "%s: %v\n", v.Scenario, v.Starts)
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
	v.DurationPs, v.WallSeconds = int64(s.Model.Duration), wallTime(s.Model.Duration, s.Wall.Dilation).Seconds()
	return v
}

// checkDilation adds a warning to a scenario whose dilation is too low for this computer.
// It returns how late its packets start with actual timing; nil where that is unknown.
func checkDilation(c *cobra.Command, s *scenario.Scenario) (*propose.Starts, error) {
	ctx, stop := untilEnded(c)
	defer stop()
	d, err := diagnose(ctx, s)
	if err != nil {
		return nil, failure{err}
	}
	if s.Wall.Dilation < d.Proposal.Dilation {
		s.Warnings = append(s.Warnings, scenario.Warning{
			File: s.Name, Path: "wall.dilation",
			Message: fmt.Sprintf("wall.dilation is %d, and this computer wants %d for timing that can be trusted (fabemu doctor gives the reason); the order of events is kept all the same",
				s.Wall.Dilation, d.Proposal.Dilation),
		})
	}
	for i := range d.Proposal.Starts {
		if at := &d.Proposal.Starts[i]; at.Dilation == s.Wall.Dilation {
			return at, nil
		}
	}
	return nil, nil
}
