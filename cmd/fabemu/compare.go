package main

import (
	"fmt"

	"fabemu/emu/report/compare"

	"github.com/spf13/cobra"
)

func compareCommand() *cobra.Command {
	var asJSON, whole bool
	var tolerance float64
	c := &cobra.Command{
		Use:   "compare DIR DIR...",
		Short: "Put the results of runs side by side",
		Long: `Put the results of runs side by side: their verdicts, the inputs that differ, each by its
path as in --set, the checks, the series by the root of the mean square of the difference,
and the first event at which their logs part (run with --events). Of more than two, each
is compared with the first, and has a column.

It is a page: what differs comes first, a group stands for the rates of its flows, and of
members whose names are alike but for numbers the one that is the furthest apart stands
for all. --all prints the rest, --json all in any case, as a list where there are more
than two runs.

The exit status is 0 when they agree, and 1 when a check or a series is further apart
than --tolerance, a share of its own size. Without a tolerance they must be equal,
event for event where both have a log.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, dirs []string) error {
			if !(tolerance >= 0) {
				return fmt.Errorf("--tolerance %v: a share of 0 or more is wanted, such as 0.01", tolerance)
			}
			all, err := compare.Several(dirs[0], dirs[1:]...)
			if err != nil {
				return err
			}
			if asJSON {
				var v any = all
				if len(all) == 1 {
					v = all[0]
				}
				err = printJSON(c.OutOrStdout(), v)
			} else {
				err = compare.WriteText(c.OutOrStdout(), all, whole)
			}
			if err := writing(err); err != nil {
				return err
			}
			for _, x := range all {
				if !x.Within(tolerance) {
					return exit(exitCheck)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&whole, "all", false, "print all that differs, each member by itself")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Float64Var(&tolerance, "tolerance", 0, "how far checks and series may be apart, as a share of themselves")
	return c
}
