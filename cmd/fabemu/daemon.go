package main

import (
	"fabemu/emu/host"
	"fabemu/emu/run/process"

	"github.com/spf13/cobra"
)

// daemonCommand is node or switchd: each runs one part of a run whose nodes
// have their own processes. They do the same; a list of processes shows the names.
func daemonCommand(name, short string) *cobra.Command {
	var f commonFlags
	c := &cobra.Command{
		Use:   name + " FILE",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := host.NeedsLinux(name); err != nil {
				return err
			}
			ctx, stop := untilEnded(c)
			defer stop()
			return failed(process.Serve(ctx, args[0], f.Control, version()))
		},
	}
	add(c, &f, "control-fd")
	c.Flags().MarkHidden("control-fd")
	return c
}
