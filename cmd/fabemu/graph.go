package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"fabemu/emu"
	"fabemu/emu/fabric"
	"fabemu/emu/report/graph"
	"fabemu/emu/scenario"

	"github.com/spf13/cobra"
)

func graphCommand() *cobra.Command {
	var x changes
	var format, out string
	var force bool
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
			return writeOut(c, out, force, picture.Bytes())
		},
	}
	formatFlag(c, &format, "svg", "dot", "mermaid")
	c.Flags().StringVar(&out, "out", "", "file to write to (default: standard output)")
	c.Flags().BoolVar(&force, "force", false, "write over --out if it is there")
	x.add(c)
	return c
}

// writeOut writes what a command makes to a file, or where that has no name to standard output.
func writeOut(c *cobra.Command, out string, force bool, text []byte) error {
	if out == "" {
		_, err := c.OutOrStdout().Write(text)
		return writing(err)
	}
	flags := os.O_WRONLY | os.O_CREATE
	if force {
		flags |= os.O_TRUNC
	} else {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(out, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; --force writes over it", out)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	_, err = file.Write(text)
	return writing(errors.Join(err, file.Close()))
}
