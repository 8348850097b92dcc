package main

import (
	"fmt"
	"os"

	"fabemu/emu/scenario/generate"

	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Print the scenario for a topology of another program"}
	var out outFile
	clab := &cobra.Command{
		Use:   "clab FILE",
		Short: "Print the scenario for the links of a containerlab topology",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			scenario, left, err := generate.FromClab(args[0], text, os.LookupEnv)
			for _, why := range left {
				fmt.Fprintln(c.ErrOrStderr(), "left out:", why)
			}
			if err != nil {
				return err
			}
			if _, err := fromText(args[0]+", as a scenario", scenario); err != nil {
				return err
			}
			return out.write(c, scenario)
		},
	}
	add(clab, &out)
	c.AddCommand(clab)
	return c
}
