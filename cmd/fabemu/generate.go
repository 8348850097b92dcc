package main

import (
	"fmt"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/study/generate"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

func generateCommand() *cobra.Command {
	var o generate.Options
	var rate string
	var long strings.Builder
	long.WriteString("Print a scenario that runs, of a kind and a size:\n\n")
	var kinds []string
	for _, k := range generate.Kinds() {
		fmt.Fprintf(&long, "  %-12s %s (%d endpoints or more, by default %d)\n", k.Name, k.What, k.Least, k.Endpoints)
		kinds = append(kinds, cobra.CompletionWithDesc(k.Name, k.What))
	}
	long.WriteString("\nSave it, change it, run it: fabemu generate incast >mine.yaml && fabemu run mine.yaml")
	c := &cobra.Command{
		Use:               "generate KIND",
		Short:             "Print a scenario of some size that runs",
		Long:              long.String(),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if rate != "" {
				if o.Rate, err = unit.ParseRate(rate); err != nil {
					return fmt.Errorf("--rate: %w", err)
				}
			}
			text, err := generate.Write(args[0], o)
			if err != nil {
				return err
			}
			if err := scenario.CheckName(o.Name); o.Name != "" && err != nil {
				return fmt.Errorf("--name: %w", err)
			}
			c.OutOrStdout().Write(text)
			return nil
		},
	}
	c.Flags().IntVar(&o.Endpoints, "endpoints", 0, "how many endpoints (default: as listed above)")
	c.Flags().StringVar(&rate, "rate", "", "rate of every link, such as 10Gb/s (default 1GB/s)")
	c.Flags().StringVar(&o.Name, "name", "", "name of the scenario (default: the kind and the size)")
	return c
}
