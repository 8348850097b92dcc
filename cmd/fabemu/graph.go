package main

import (
	"bytes"
	"io"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/report/graph"
	"fabemu/emu/scenario"

	"github.com/spf13/cobra"
)

func graphCommand() *cobra.Command {
	var x changes
	var format string
	var out outFile
	c := &cobra.Command{
		Use:               "graph SCENARIO",
		Short:             "Draw the fabric of a scenario and the ways of its flows",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := x.open(args[0])
			if err != nil {
				return err
			}
			showWarnings(s)
			laidOut, err := emu.Prepare(s)
			if err != nil {
				return err
			}
			draw := map[string]func(io.Writer, *scenario.Scenario,
				*fabric.Fabric) error{"svg": graph.SVG, "dot": graph.DOT, "mermaid": graph.Mermaid}[format]
			var picture bytes.Buffer
			if err := draw(&picture, s, laidOut); err != nil {
				return failure{err}
			}
			return out.write(c, picture.Bytes())
		},
	}
	formatFlag(c, &format, "svg", "dot", "mermaid")
	out.add(c)
	x.add(c)
	return c
}
