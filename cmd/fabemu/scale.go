package main

import (
	"bytes"
	"fmt"

	"fabemu/emu/base/terminal"
	"fabemu/emu/study/scale"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

type scaleFlags struct {
	// New rate of the fastest link, such as 100Mb/s.
	Rate string `flag:"rate" group:"Output" arg:"RATE"`
	outFile
}

func scaleCommand() *cobra.Command {
	var f scaleFlags
	c := &cobra.Command{
		Use:               "scale SCENARIO --rate RATE",
		Short:             "Print a scenario slowed down, in proportion, for real time",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := unit.ParseRate(f.Rate)
			if err != nil {
				return fmt.Errorf("--rate: %w", err)
			}
			x, err := scale.Of(args[0], to)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			fmt.Fprintf(&text, "# %s by fabemu scale --rate %s: a rate of %d was one of %d, a time of %d one of %d.\n",
				args[0], f.Rate, x.Num, x.Den, x.Den, x.Num)
			for _, left := range x.Left {
				lines := terminal.Wrap("Not in proportion: "+left, 98)
				fmt.Fprintf(&text, "# %s\n", lines[0])
				for _, l := range lines[1:] {
					fmt.Fprintf(&text, "#   %s\n", l)
				}
				fmt.Fprintln(c.ErrOrStderr(), "not in proportion:", left)
			}
			text.Write(x.Text)
			return f.write(c, text.Bytes())
		},
	}
	add(c, &f)
	_ = c.MarkFlagRequired("rate") // it is there
	return c
}
