package main

import (
	"fmt"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

func generateCommand() *cobra.Command {
	var o generate.Options
	var rates, delays []string
	var long strings.Builder
	long.WriteString("Print a scenario that runs, of a kind and a size:\n\n")
	var kinds []string
	for _, k := range generate.Kinds() {
		fmt.Fprintf(&long, "  %-12s %s (%d endpoints or more, by default %d)\n", k.Name, k.What, k.Least, k.Endpoints)
		kinds = append(kinds, cobra.CompletionWithDesc(k.Name, k.What))
	}
	fmt.Fprintf(&long, "\nSchemes: %s.\n", strings.Join(generate.Schemes(), ", "))
	long.WriteString("\nSave it, change it, run it: fabemu generate incast >mine.yaml && fabemu run mine.yaml")
	c := &cobra.Command{
		Use:               "generate KIND",
		Short:             "Print a scenario of some size that runs",
		Long:              long.String(),
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if o.Rates, err = each("--rate", rates, unit.ParseRate); err != nil {
				return err
			}
			if o.Delays, err = each("--delay", delays, unit.ParseDuration); err != nil {
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
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "name of the scenario (default: the kind and the size)")
	f.IntVar(&o.Endpoints, "endpoints", 0, "how many endpoints (default: as listed above)")
	f.IntVar(&o.Ports, "k", 0, "in place of --endpoints: how many ports a switch has, half of them downwards")
	f.IntVar(&o.Pods, "pods", 0,
		"in place of --endpoints: how many pods, or units of a rail-optimised fabric (default: k, or 2)")
	f.IntVar(&o.Leaves, "leaves", 0,
		"in place of --endpoints: how many leaves, in a fat tree of each pod (default: from k)")
	f.IntVar(&o.PerLeaf, "hosts-per-leaf", 0, "in place of --endpoints: how many hosts are at a leaf (default: k/2)")
	f.IntVar(&o.Rails, "rails", 0, "lines of a host (default 8)")
	f.Float64SliceVar(&o.Oversubscription, "oversubscription", nil,
		"capacity downwards over capacity upwards: of the leaves, and of the switches above (default 1,1)")
	f.StringSliceVar(&rates, "rate", nil,
		"rate of the links of each tier from the endpoints up, such as 100Gb/s,400Gb/s (default 1GB/s)")
	f.StringSliceVar(&delays, "delay", nil, "propagation on the links of each tier, such as 100ns,1us (default 1ns)")
	f.StringVar(&o.FlowControl, "flow-control", "",
		"credit (InfiniBand), or pause, pfc or none (Ethernet) (default: credit, pfc with a scheme of Ethernet)")
	f.StringVar(&o.Scheme, "scheme", "",
		"the scheme against congestion: a law such as dcqcn, with all that it needs (default none)")
	f.StringVar(&o.Traffic, "traffic", "",
		"in place of flows: transfers among all endpoints, of a size or of web-search, hadoop or storage")
	f.Float64Var(&o.Load, "load", 0, "the part of the rate of their lines that transfers take (default 0.5)")
	return c
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
