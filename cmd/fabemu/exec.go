package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"fabemu/emu/host"
	"fabemu/emu/host/netns"

	"github.com/spf13/cobra"
)

func execCommand() *cobra.Command {
	return guestCommand(&cobra.Command{
		Use:   "exec GUEST -- COMMAND...",
		Short: "Run a command in a guest of an active run",
		Args:  cobra.MinimumNArgs(2),
	}, func(args []string) []string { return args })
}

func shellCommand() *cobra.Command {
	return guestCommand(&cobra.Command{
		Use:   "shell GUEST",
		Short: "Open a shell in a guest of an active run",
		Args:  cobra.ExactArgs(1),
	}, func([]string) []string { return []string{cmp.Or(os.Getenv("SHELL"), "/bin/sh")} })
}

// guestCommand makes a command run another one in a guest, whose name comes first.
func guestCommand(c *cobra.Command, command func(args []string) []string) *cobra.Command {
	var f commonFlags
	add(c, &f, "run")
	c.RunE = func(_ *cobra.Command, args []string) error { return inGuest(args[0], f.Run, command(args[1:])) }
	return c
}

// inGuest makes this process a command in a guest.
func inGuest(name, run string, command []string) error {
	if err := host.NeedsLinux("a guest"); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("%s: %w", host.NoCommand(command[0]), err)
	}
	all, err := netns.LiveGuests()
	if err != nil && len(all) == 0 {
		return failure{err}
	}
	g, err := oneGuest(all, name, run)
	if err != nil {
		return err
	}
	if host.Stopped(g.Run.PID) {
		showHarmless("fabemu: warning: the run is stopped (process %d): its links carry nothing before kill -CONT %d\n", g.Run.PID, g.Run.PID)
	}
	in, err := netns.Enter(g.Namespace, g.Hosts)
	if err != nil {
		return failure{err}
	}
	return failure{in.Exec(path, command)}
}

// oneGuest returns the guest of a name, of a run if that is given.
func oneGuest(all []netns.LiveGuest, name, run string) (netns.LiveGuest, error) {
	var names, runs []string
	var found netns.LiveGuest
	for _, g := range all {
		if run != "" && g.Run.String() != run {
			continue
		}
		if g.Name == name {
			found = g
			runs = append(runs, g.Run.String())
		}
		names = append(names, g.Name)
	}
	slices.Sort(names)
	switch {
	case len(runs) == 1:
		return found, nil
	case len(runs) > 1:
		return found, fmt.Errorf("several runs have a guest %s: choose one with --run, of %s", name, strings.Join(runs, ", "))
	case len(names) == 0:
		return found, errors.New("no run with guests is active on this machine, or none that this user may see")
	}
	return found, fmt.Errorf("no active run has a guest %s with a network namespace; there are %s", name, strings.Join(slices.Compact(names), ", "))
}
