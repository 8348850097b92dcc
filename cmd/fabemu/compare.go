package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"fabemu/emu/result/compare"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"

	"github.com/spf13/cobra"
)

func compareCommand() *cobra.Command {
	var asJSON, whole bool
	var tolerance float64
	var picture outFile
	c := &cobra.Command{
		Use:   "compare DIR DIR...",
		Short: "Put the results of runs side by side",
		Long: `Put the results of runs side by side: their verdicts, the inputs that differ, each by its
path as in --set, the checks, the figures of workloads, the series by the root of the mean square of the difference,
and the first event at which their logs part (run with --events). Of more than two, each
is compared with the first, and has a column.

The text is a page: differences come first, and a group stands for the rates of its flows.
Where names are alike but for numbers, the series that is the furthest apart stands for
all. --all prints the others, too. --json always prints all of them, as a list where
there are more than two runs.

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
			if picture.name != "" {
				if err := drawSlowdowns(c, &picture, all); err != nil {
					return err
				}
			}
			if asJSON {
				var v any = all
				if len(all) == 1 {
					v = all[0]
				}
				_ = report.WriteJSON(c.OutOrStdout(), v)
			} else {
				_ = compare.WriteText(c.OutOrStdout(), all, whole)
			}
			for _, x := range all {
				if !x.Within(tolerance) {
					return exit(exitCheck)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&whole, "all", false, "print all differences, each member by itself")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Float64Var(&tolerance, "tolerance", 0, "how far checks and series may be apart, as a share of themselves")
	picture.add(c, "draw the slowdown of workloads over the size of transfers, a curve for each run, into this file: SVG, or PNG by its name")
	return c
}

// drawSlowdowns draws a curve of slowdown for each of the runs that were compared.
func drawSlowdowns(c *cobra.Command, to *outFile, all []*compare.Comparison) error {
	names, results := []string{all[0].A.Directory}, []*report.Result{all[0].A.Result}
	for _, x := range all {
		names, results = append(names, x.B.Directory), append(results, x.B.Result)
	}
	stack := summary.SlowdownsBeside(names, results)
	if stack == nil {
		return fmt.Errorf("--out %s: %s has no workload with transfers of several sizes", to.name, names[0])
	}
	var b bytes.Buffer
	if err := stack.Write(&b, strings.ToLower(strings.TrimPrefix(filepath.Ext(to.name), "."))); err != nil {
		return fmt.Errorf("--out %s: %w", to.name, err)
	}
	return to.write(c, b.Bytes())
}
