package main

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// tierFlags are values for each tier of a fabric, from the endpoints up.
type tierFlags struct {
	// Rate of the links of each tier from the endpoints up, such as 100Gb/s,400Gb/s (default:
	// 1GB/s).
	Rates []string `flag:"rate" group:"Links and traffic" arg:"RATE,..."`
	// Propagation delay of the links of each tier, such as 100ns,1us (default: cables of 5 m to
	// endpoints, 30 m and 100 m above, at 5 ns/m).
	Delays []string `flag:"delay" arg:"TIME,..."`
}

func generateCommand() *cobra.Command {
	var o generate.Options
	var tiers tierFlags
	var kinds []string
	for _, k := range generate.Kinds() {
		kinds = append(kinds, cobra.CompletionWithDesc(k.Name, k.What))
	}
	c := &cobra.Command{
		Use:               "generate KIND",
		Short:             "Print a scenario of a kind and a size",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if o.Rates, err = each("--rate", tiers.Rates, unit.ParseRate); err != nil {
				return err
			}
			if o.Delays, err = each("--delay", tiers.Delays, unit.ParseDuration); err != nil {
				return err
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
	add(c, &o)
	add(c, &tiers)
	return c
}

// kindsText lists the kinds, for the help.
func kindsText() (text string) {
	for _, k := range generate.Kinds() {
		text += fmt.Sprintf("  %-12s %s (%d endpoints or more, by default %d)\n", k.Name, k.What, k.Least, k.Endpoints)
	}
	return text
}

// each reads all values of a flag.
func each[T any](flag string, texts []string, read func(string) (T, error)) (all []T, err error) {
	for _, text := range texts {
		v, err := read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		all = append(all, v)
	}
	return all, nil
}
