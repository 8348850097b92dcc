package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"fabemu/emu"
	"fabemu/emu/graph"
	"fabemu/emu/scenario"
	"fabemu/emu/topo"

	"github.com/spf13/cobra"
)

func graphCommand() *cobra.Command {
	var x changes
	var format, out string
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
			fabric, err := emu.Prepare(s)
			if err != nil {
				return err
			}
			draw := map[string]func(io.Writer, *scenario.Scenario, *topo.Fabric) error{"svg": graph.SVG, "dot": graph.DOT, "mermaid": graph.Mermaid}[format]
			var picture bytes.Buffer
			if err := draw(&picture, s, fabric); err != nil {
				return failure{err}
			}
			if out == "" {
				_, err := c.OutOrStdout().Write(picture.Bytes())
				return writing(err)
			}
			if err := os.WriteFile(out, picture.Bytes(), 0o666); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			return nil
		},
	}
	formatFlag(c, &format, "svg", "dot", "mermaid")
	c.Flags().StringVar(&out, "out", "", "file to write to (default: standard output)")
	x.add(c)
	return c
}
