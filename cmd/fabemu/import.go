package main

import (
	"fmt"
	"os"

	"fabemu/emu/scenario/generate"

	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Print the scenario of a topology of another program"}
	var out outFile
	clab := &cobra.Command{
		Use:   "clab FILE",
		Short: "Print the scenario with the links of a containerlab topology",
		Long: `Print the scenario whose links are the links of a containerlab topology. Each end is a guest in
the container of its node, with a device of the interface's name. Deploy the topology without
its section links, then run the scenario. The parts that are left out are listed on standard
error, and in the head of the file. See docs/guide/guests.md.`,
		Args: cobra.ExactArgs(1),
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
	out.add(clab, toFile)
	c.AddCommand(clab)
	return c
}
