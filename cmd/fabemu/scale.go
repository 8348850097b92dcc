package main

import (
	"bytes"
	"fmt"

	"fabemu/emu/base/terminal"
	"fabemu/emu/study/scale"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

func scaleCommand() *cobra.Command {
	var rate string
	var out outFile
	c := &cobra.Command{
		Use:   "scale SCENARIO --rate RATE",
		Short: "Print a scenario slowed down, in proportion, for real time",
		Long: `Print a scenario whose fastest link has another rate, and in which everything else keeps
its proportion: rates are divided by the same factor, times multiplied by it; sizes and
numbers stay. So packets on a link, buffers and thresholds as parts of them, and timers in
round trips are as they were. Model time is real time then (dilation 1): for real hosts, or
for a limiter that is to be tried in real time. Every field is written out, as in
resolved.yaml; comments are not kept.

Values that are not in proportion are listed on standard error, and in the head of the file.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			to, err := unit.ParseRate(rate)
			if err != nil {
				return fmt.Errorf("--rate: %w", err)
			}
			x, err := scale.Of(args[0], to)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			fmt.Fprintf(&text, "# %s by fabemu scale --rate %s: a rate of %d was one of %d, a time of %d one of %d.\n",
				args[0], rate, x.Num, x.Den, x.Den, x.Num)
			for _, left := range x.Left {
				lines := terminal.Wrap("Not in proportion: "+left, 98)
				fmt.Fprintf(&text, "# %s\n", lines[0])
				for _, l := range lines[1:] {
					fmt.Fprintf(&text, "#   %s\n", l)
				}
				fmt.Fprintln(c.ErrOrStderr(), "not in proportion:", left)
			}
			text.Write(x.Text)
			return out.write(c, text.Bytes())
		},
	}
	c.Flags().StringVar(&rate, "rate", "", "the new rate of the fastest link, such as 100Mb/s")
	out.add(c, toFile)
	if err := c.MarkFlagRequired("rate"); err != nil {
		panic("fabemu: " + err.Error())
	}
	return c
}
