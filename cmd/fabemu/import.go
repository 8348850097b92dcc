package main

import (
	"bytes"
	"fmt"
	"os"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/watch/subnet"

	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Print the scenario for a topology of another program"}
	var out outFile
	from := func(use, short string, read func(file string, text []byte) (scenario []byte, left []string, err error)) {
		x := &cobra.Command{Use: use + " FILE", Short: short, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			scenario, left, err := read(args[0], text)
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
		}}
		add(x, &out)
		c.AddCommand(x)
	}
	from("clab", "Print the scenario for the links of a containerlab topology", func(file string, text []byte) ([]byte, []string, error) {
		return generate.FromClab(file, text, os.LookupEnv)
	})
	from("ibnetdiscover", "Print the scenario for an InfiniBand subnet, from the output of ibnetdiscover or a topology of ibsim",
		func(file string, text []byte) ([]byte, []string, error) {
			scenario, err := generate.FromNet(file, text)
			return scenario, nil, err
		})
	return c
}

// topologyCommand exports the topology of a scenario.
func topologyCommand() *cobra.Command {
	c := &cobra.Command{Use: "export", Short: "Print the topology of a scenario for another program"}
	var out outFile
	var f changes
	net := &cobra.Command{
		Use:               "ibnetdiscover SCENARIO",
		Short:             "Print the topology as ibnetdiscover does, for ibsim",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.open(args[0])
			if err != nil {
				return err
			}
			laidOut, err := fabric.Build(s)
			if err != nil {
				return err
			}
			n, err := subnet.New(laidOut)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			_ = n.WriteNet(&b)
			return out.write(c, b.Bytes())
		},
	}
	add(net, &f)
	add(net, &out)
	c.AddCommand(net)
	return c
}
