package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"fabemu/emu/result/compare"
	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
	"fabemu/emu/result/summary"

	"github.com/spf13/cobra"
)

type compareFlags struct {
	// How much checks and series may differ, as a share of their size.
	Tolerance float64 `flag:"tolerance" group:"Comparison" arg:"SHARE" low:"0"`
	// Print all differences, each series separately.
	All bool `flag:"all"`
	outFile
}

func compareCommand() *cobra.Command {
	var f compareFlags
	var more commonFlags
	var style plot.Style
	c := &cobra.Command{
		Use:   "compare DIR DIR...",
		Short: "Compare the results of runs",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, dirs []string) error {
			all, err := compare.Several(dirs[0], dirs[1:]...)
			if err != nil {
				return err
			}
			if f.Name != "" {
				if err := drawSlowdowns(c, &f.outFile, &style, all); err != nil {
					return err
				}
			}
			if more.JSON {
				var v any = all
				if len(all) == 1 {
					v = all[0]
				}
				_ = report.WriteJSON(c.OutOrStdout(), v)
			} else {
				_ = compare.WriteText(c.OutOrStdout(), all, f.All)
			}
			for _, x := range all {
				if !x.Within(f.Tolerance) {
					return exit(exitCheck)
				}
			}
			return nil
		},
	}
	add(c, &f)
	add(c, &more, "json")
	add(c, &style, "width", "font-size", "no-title")
	c.Flags().Lookup("out").Usage = "Draw the slowdown of workloads over the size of messages, a curve for each run, into this file: SVG, PNG, PDF or CSV by its name"
	return c
}

// drawSlowdowns draws a curve of slowdown for each of the runs that were compared.
func drawSlowdowns(c *cobra.Command, to *outFile, style *plot.Style, all []*compare.Comparison) error {
	names, results := []string{all[0].A.Directory}, []*report.Result{all[0].A.Result}
	for _, x := range all {
		names, results = append(names, x.B.Directory), append(results, x.B.Result)
	}
	stack := summary.SlowdownsBeside(names, results)
	if stack == nil {
		return fmt.Errorf("--out %s: %s has no workload with flows of several sizes", to.Name, names[0])
	}
	var b bytes.Buffer
	if err := style.Write(&b, stack, strings.ToLower(strings.TrimPrefix(filepath.Ext(to.Name), "."))); err != nil {
		return fmt.Errorf("--out %s: %w", to.Name, err)
	}
	return to.write(c, b.Bytes())
}
