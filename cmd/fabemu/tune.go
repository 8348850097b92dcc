package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/study/campaign"
	"fabemu/emu/study/tune"

	"github.com/spf13/cobra"
)

type tuneFlags struct {
	axisFlags
	campaignFlags
	changes changes
	plan    tune.Plan
	how     tune.Options
}

func tuneCommand() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:               "tune SCENARIO",
		Short:             "Search the parameters of a scheme",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.register(c)
	c.AddCommand(exportCommand("SCENARIO", completeScenarios, &tuneFlags{}))
	return c
}

func (f *tuneFlags) register(c *cobra.Command) {
	add(c, &f.plan)
	add(c, &f.changes, "set", "short")
	add(c, &f.plan.Base, "large")
	add(c, &f.axisFlags, "during")
	add(c, &f.how.Options)
	add(c, &f.how.Style)
	f.campaignFlags.register(c)
	add(c, &f.how, "round")
}

// job is the search as engines take it.
func (f *tuneFlags) job(c *cobra.Command, scenario string, e *exportFlags) (*campaign.Job, error) {
	p, err := f.planOf(scenario)
	if err != nil {
		return nil, err
	}
	cells, err := tune.Cells(p)
	if err != nil {
		return nil, err
	}
	j := &campaign.Job{Kind: tune.Kind, Workers: "--jobs", Table: tune.ResultFile, Cells: cells, Rounds: tune.Rounds(p.Trials) + 1,
		Wall: f.options.Clock == emu.WallClock}
	return j, e.fillScenario(c, j, scenario, f.Out)
}

// planOf turns the flags into a plan, and sets the directory for its results.
func (f *tuneFlags) planOf(scenario string) (tune.Plan, error) {
	p := f.plan
	if scenario == "-" {
		return p, errors.New("a search reads its scenario more than once, so it cannot come from standard input")
	}
	b := &p.Base
	b.Fabemu, b.Scenario, b.Short, b.Clock, b.Codec = version(), scenario, f.changes.Short, string(f.options.Clock), f.options.Codec
	f.Sets = f.changes.Sets
	if err := f.fillPlan(b, f.options.Clock, f.options.Link); err != nil {
		return p, err
	}
	if f.Out == "" {
		f.Out = filepath.Join("results", "tune-"+fileName(scenario))
	}
	return p, nil
}

func (f *tuneFlags) run(c *cobra.Command, scenario string) error {
	share, err := f.share()
	if err := cmp.Or(err, f.how.Style.Check()); err != nil {
		return err
	}
	p, err := f.planOf(scenario)
	if err != nil {
		return err
	}
	switch {
	case f.Plan:
		cells, err := tune.Next(p, f.Out)
		if err != nil {
			return err
		}
		f.print(c, commandOf(c, tune.Kind, scenario, f.Out), cells)
		return nil
	case f.Table:
		r, missing, err := tune.Draw(p, f.Out, f.how)
		if err != nil {
			return failure{err}
		}
		if r == nil {
			return exit(showMissing(tune.Kind, missing))
		}
		return f.show(c, r)
	}
	ctx, stop := untilEnded(c)
	defer stop()
	o := f.how
	o.Share, o.Force, o.Progress = share, f.Force, cellsDone(tune.Kind)
	o.Warn = func(text string) { fmt.Fprintln(os.Stderr, "fabemu: warning:", text) }
	o.Say = func(text string) { fmt.Fprintln(os.Stderr, "tune:", text) }
	r, n, err := tune.Run(ctx, p, f.Out, o)
	switch {
	case err != nil:
		return f.endedEarly(tune.Kind, err)
	case r == nil:
		f.showShare(tune.Kind, share, n)
		return nil
	}
	return f.show(c, r)
}

// show prints a result.
func (f *tuneFlags) show(c *cobra.Command, r *tune.Result) error {
	if err := r.WriteText(c.OutOrStdout(), terminal.LookOf(os.Stdout)); err != nil {
		return failure{err}
	}
	fmt.Fprintf(os.Stderr, "tune: the trials, the figure and %s are in %s\n", tune.BestFile(f.plan.Scheme), f.Out)
	return nil
}
