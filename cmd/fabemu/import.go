package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fabemu/emu/base/files"
	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/watch/subnet"

	"github.com/spf13/cobra"
)

func importCommand() *cobra.Command {
	c := &cobra.Command{Use: "import", Short: "Print the scenario for a topology of another program"}
	var out outFile
	var goal goalFlag
	from := func(use, short string, args cobra.PositionalArgs, read func(files []string, texts [][]byte) (generate.Imported, error)) *cobra.Command {
		x := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
			var texts [][]byte
			for _, name := range args {
				text, err := readImported(name)
				if err != nil {
					return err
				}
				texts = append(texts, text)
			}
			got, err := read(args, texts)
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
			switch {
			case !goal.Goal:
				return out.write(c, got.Scenario)
			case got.Goal == nil:
				return fmt.Errorf("%s: no connection waits for a trigger: without --goal, the scenario has them all as flows", args[len(args)-1])
			}
			return out.write(c, got.Goal)
		}}
		add(x, &out)
		c.AddCommand(x)
		return x
	}
	one := cobra.ExactArgs(1)
	from("clab FILE", "Print the scenario for the links of a containerlab topology", one, func(files []string, texts [][]byte) (generate.Imported, error) {
		return generate.FromClab(files[0], texts[0], os.LookupEnv)
	})
	from("ibnetdiscover FILE", "Print the scenario for an InfiniBand subnet, from the output of ibnetdiscover or a topology of ibsim", one,
		func(files []string, texts [][]byte) (generate.Imported, error) {
			return generate.FromNet(files[0], texts[0])
		})
	from("hpcc TOPOLOGY [FLOWS]", "Print the scenario for a topology of HPCC's simulator, and for its flows", cobra.RangeArgs(1, 2),
		func(files []string, texts [][]byte) (generate.Imported, error) {
			files, texts = append(files, ""), append(texts, nil)
			return generate.FromHPCC(files[0], texts[0], files[1], texts[1])
		})
	htsim := from("htsim TOPOLOGY [CONNECTIONS]", "Print the scenario for a fat tree of htsim, and for its connections", cobra.RangeArgs(1, 2),
		func(files []string, texts [][]byte) (generate.Imported, error) {
			files, texts = append(files, ""), append(texts, nil)
			return generate.FromHTSim(files[0], texts[0], files[1], texts[1])
		})
	add(htsim, &goal)
	from("sonic FILE...", "Print the scenario for switches of SONiC, from their config_db.json", cobra.MinimumNArgs(1),
		func(names []string, texts [][]byte) (generate.Imported, error) {
			var all []generate.File
			for k, name := range names {
				all = append(all, generate.File{Name: name, Text: texts[k]})
			}
			return generate.FromSONiC(all)
		})
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

type goalFlag struct {
	// Print the connections as a GOAL file for a workload, with what they wait for.
	Goal bool `flag:"goal"`
}

type outFolder struct {
	// Write the files into this folder.
	Folder string `flag:"out,o" group:"Output" arg:"DIR"`
	// Overwrite files that exist.
	Force bool `flag:"force"`
}

type flowsFlag struct {
	// Print the flows instead of the topology.
	Flows bool `flag:"flows"`
}

// topologyCommand exports the topology of a scenario.
func topologyCommand() *cobra.Command {
	c := &cobra.Command{Use: "export", Short: "Print the topology of a scenario for another program"}
	var out outFile
	var f changes
	to := func(use, short string, write func(c *cobra.Command, s *scenario.Scenario) ([]byte, error)) *cobra.Command {
		x := &cobra.Command{
			Use: use + " SCENARIO", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: completeScenarios,
			RunE: func(c *cobra.Command, args []string) error {
				s, err := f.open(args[0])
				if err != nil {
					return err
				}
				text, err := write(c, s)
				if err != nil {
					return err
				}
				return out.write(c, text)
			},
		}
		add(x, &f)
		add(x, &out)
		c.AddCommand(x)
		return x
	}
	to("ibnetdiscover", "Print the topology as ibnetdiscover does, for ibsim", func(_ *cobra.Command, s *scenario.Scenario) ([]byte, error) {
		laidOut, err := fabric.Build(s)
		if err != nil {
			return nil, err
		}
		n, err := subnet.New(laidOut)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		_ = n.WriteNet(&b)
		return b.Bytes(), nil
	})
	withFlows := func(use, short string, topology func(*scenario.Scenario) ([]byte, error), flows func(*scenario.Scenario) ([]byte, []string, error)) {
		var h flowsFlag
		add(to(use, short, func(c *cobra.Command, s *scenario.Scenario) ([]byte, error) {
			if !h.Flows {
				return topology(s)
			}
			text, left, err := flows(s)
			for _, why := range left {
				fmt.Fprintln(c.ErrOrStderr(), terminal.Harmless("left out: "+why))
			}
			return text, err
		}), &h)
	}
	withFlows("hpcc", "Print the topology, or the flows, for HPCC's simulator",
		func(s *scenario.Scenario) ([]byte, error) { return generate.HPCC(s), nil },
		func(s *scenario.Scenario) ([]byte, []string, error) {
			text, left := generate.HPCCFlows(s)
			return text, left, nil
		})
	c.AddCommand(sonicCommand())
	withFlows("htsim", "Print the topology, or the flows, for htsim", generate.HTSim, generate.HTSimConnections)
	to("slurm", "Print the switches as a topology.conf of Slurm", func(_ *cobra.Command, s *scenario.Scenario) ([]byte, error) { return generate.Slurm(s) })
	return c
}

// sonicCommand exports the configurations of the switches of a scenario.
func sonicCommand() *cobra.Command {
	var f changes
	var out outFolder
	c := &cobra.Command{
		Use: "sonic SCENARIO", Short: "Write a config_db.json of SONiC for each switch", Args: cobra.ExactArgs(1), ValidArgsFunction: completeScenarios,
		RunE: func(c *cobra.Command, args []string) error {
			if out.Folder == "" {
				return errors.New("each switch has a file: pass --out DIR, the folder to write them into")
			}
			s, err := f.open(args[0])
			if err != nil {
				return err
			}
			all, left, err := generate.SONiC(s)
			if err != nil {
				return err
			}
			for _, why := range left {
				fmt.Fprintln(c.ErrOrStderr(), terminal.Harmless("left out: "+why))
			}
			if err := files.MakeAll(out.Folder); err != nil {
				return err
			}
			for _, file := range all {
				one := outFile{Name: filepath.Join(out.Folder, file.Name), Force: out.Force}
				if err := one.write(c, file.Text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	add(c, &f)
	add(c, &out)
	return c
}
