package main

import (
	"errors"
	"fmt"
	"io"

	"fabemu/emu/host"
	"fabemu/emu/host/netns"

	"github.com/spf13/cobra"
)

func cleanupCommand() *cobra.Command {
	var only bool
	c := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove the namespaces that killed runs have left",
		Long: `Remove the network namespaces that runs with --link veth, or with guests, have left
because they were killed. It lists them first. What belongs to a run that still lives, or
has no label of ours, is left alone. Every run on the wall clock does the same before it begins.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := host.NeedsLinux("cleanup"); err != nil {
				return err
			}
			runs, err := netns.Find()
			if errors.Is(err, netns.ErrPrivilege) {
				return fmt.Errorf("cleanup: %w", err)
			}
			w := c.OutOrStdout()
			dead, listErr := listRuns(w, runs)
			if err := errors.Join(err, listErr); err != nil || only {
				return failed(err)
			}
			var wrong []error
			for _, r := range dead {
				wrong = append(wrong, r.Remove(c.Context()))
			}
			if err = errors.Join(wrong...); err == nil && len(dead) > 0 {
				_, err = fmt.Fprintln(w, "All of it is removed.")
			}
			return failed(err)
		},
	}
	c.Flags().BoolVar(&only, "list", false, "only list what there is")
	return c
}

// listRuns says what there is of runs, and returns those that are dead.
func listRuns(w io.Writer, runs []*netns.Run) (dead []*netns.Run, err error) {
	say := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	for _, r := range runs {
		if r.Lives {
			say("run %v lives, in process %d: it is left alone", r, r.PID)
			continue
		}
		dead = append(dead, r)
		say("run %v is dead, and has left:", r)
		for _, name := range r.Namespaces {
			say("  namespace %s", name)
		}
		if len(r.Namespaces) == 0 {
			say("  its lock, %s", r.Lock())
		}
	}
	if len(dead) == 0 {
		say("No run has left anything.")
	}
	return dead, err
}
