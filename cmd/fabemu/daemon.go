package main

import (
	"fabemu/emu/host"
	"fabemu/emu/run/process"

	"github.com/spf13/cobra"
)

// daemonCommand is node or switchd: each runs one part of a run whose machines
// have processes of their own. They do the same; a list of processes shows the names.
func daemonCommand(name, short string) *cobra.Command {
	var control int
	c := &cobra.Command{
		Use:   name + " FILE",
		Short: short,
		Long: short + `.

A run starts these by itself. To start one by hand, under a debugger or strace, type

	fabemu run SCENARIO --placement process --by-hand NAME --out DIR
	fabemu ` + name + ` DIR/` + process.PartsDir + `/NAME.json

in two terminals, in any order. fabemu run --dry-run writes the files and runs
nothing. While it runs, it reports its state in JSON on each connection to
DIR/` + process.PartsDir + `/NAME.sock.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := host.NeedsLinux(name); err != nil {
				return err
			}
			ctx, stop := untilEnded(c)
			defer stop()
			return failed(process.Serve(ctx, args[0], control, version()))
		},
	}
	c.Flags().IntVar(&control, "control-fd", 0, "file descriptor of the socket of the run that has started this")
	c.Flags().MarkHidden("control-fd")
	return c
}
