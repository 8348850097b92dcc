package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"fabemu/emu/host"
	"fabemu/emu/host/netns"
	"fabemu/emu/watch/subnet"

	"github.com/spf13/cobra"
)

func cleanupCommand() *cobra.Command {
	var f commonFlags
	c := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove namespaces and folders sys-PID that killed runs and programs have left, and restore interfaces",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := host.NeedsLinux("cleanup"); err != nil {
				return err
			}
			removed, err := removeClients(c.OutOrStdout(), f.List)
			if err != nil {
				return failed(err)
			}
			runs, err := netns.Find()
			if errors.Is(err, netns.ErrPrivilege) && removed > 0 {
				return nil // there was something to do without it
			}
			if errors.Is(err, netns.ErrPrivilege) {
				return fmt.Errorf("cleanup: %w", err)
			}
			w := c.OutOrStdout()
			dead := listRuns(w, runs)
			if err != nil || f.List {
				return failed(err)
			}
			var wrong []error
			for _, r := range dead {
				wrong = append(wrong, r.Remove(c.Context()))
			}
			if err = errors.Join(wrong...); err == nil && len(dead) > 0 {
				fmt.Fprintln(w, "All of it is removed.")
			}
			return failed(err)
		},
	}
	add(c, &f, "list")
	return c
}

// removeClients removes the folders that killed programs of InfiniBand have left in this folder, or
// only lists them, and returns how many there are.
func removeClients(w io.Writer, list bool) (n int, err error) {
	for _, path := range subnet.DeadClients(".") {
		fmt.Fprintf(w, "a program of InfiniBand is dead, and has left:\n  folder %s\n", path)
		if !list {
			err = errors.Join(err, os.RemoveAll(path))
		}
		n++
	}
	return n, err
}

// listRuns lists the namespaces of runs, and returns the runs that are dead.
func listRuns(w io.Writer, runs []*netns.Run) (dead []*netns.Run) {
	for _, r := range runs {
		if r.Lives {
			fmt.Fprintf(w, "run %v is running as process %d and was not touched\n", r, r.PID)
			continue
		}
		dead = append(dead, r)
		fmt.Fprintf(w, "run %v is dead, and has left:\n", r)
		for _, name := range r.Namespaces {
			fmt.Fprintf(w, "  namespace %s\n", name)
		}
		for _, name := range r.Interfaces() {
			fmt.Fprintf(w, "  interface %s, changed or made by it\n", name)
		}
		if len(r.Namespaces) == 0 && len(r.Interfaces()) == 0 {
			fmt.Fprintf(w, "  its lock, %s\n", r.Lock())
		}
	}
	if len(dead) == 0 {
		fmt.Fprintln(w, "No run has left anything.")
	}
	return dead
}
