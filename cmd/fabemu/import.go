package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/watch/subnet"

	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Print the scenario for a topology of another program"}
	var out outFile
	from := func(use, short string, read func(file string, text []byte) (generate.Imported, error)) {
		x := &cobra.Command{Use: use + " FILE", Short: short, Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			text, err := readImported(args[0])
			if err != nil {
				return err
			}
			got, err := read(args[0], text)
			for _, why := range got.Left {
				fmt.Fprintln(c.ErrOrStderr(), terminal.Harmless("left out: "+why))
			}
			for _, why := range got.Warnings {
				fmt.Fprintln(c.ErrOrStderr(), terminal.Harmless("warning: "+why))
			}
			if err != nil {
				return err
			}
			if _, err := fromText(args[0]+", as a scenario", got.Scenario); err != nil {
				return err
			}
			return out.write(c, got.Scenario)
		}}
		add(x, &out)
		c.AddCommand(x)
	}
	from("clab", "Print the scenario for the links of a containerlab topology", func(file string, text []byte) (generate.Imported, error) {
		return generate.FromClab(file, text, os.LookupEnv)
	})
	from("ibnetdiscover", "Print the scenario for an InfiniBand subnet, from the output of ibnetdiscover or a topology of ibsim", generate.FromNet)
	return c
}

// readImported reads at most a byte more than an importer takes, so that it refuses a longer file.
func readImported(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, generate.MostBytes+1))
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
