package main

import (
	"fmt"
	"text/tabwriter"

	"fabemu/emu"
	"fabemu/emu/scenarios"

	"github.com/spf13/cobra"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the scenarios that come with the program",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tSOURCE\tWHAT IT SHOWS")
			for _, e := range scenarios.List() {
				name := e.Name
				if name == scenarios.Default {
					name += " (default)"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", name, e.Source, e.Description)
			}
			return w.Flush()
		},
	}
}

func checkCommand() *cobra.Command {
	var sets []string
	c := &cobra.Command{
		Use:   "check SCENARIO...",
		Short: "Say what is wrong with a scenario, and run nothing",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			for _, name := range names {
				s, err := open(name, sets)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.OutOrStdout(), "%s: ok: %d switches, %d endpoints, %d links, %d flows, %d checks, %v of model time\n",
					name, len(s.Switches), len(s.Endpoints), len(s.Links), len(s.Flows), len(s.Expect), s.Model.Duration)
				if _, err := emu.Prepare(s); err != nil {
					return err
				}
			}
			return nil
		},
	}
	setFlag(c, &sets)
	return c
}
