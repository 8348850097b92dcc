package main

import (
	"errors"
	"fmt"
	"os"

	"fabemu/emu"
	"fabemu/emu/host"
	"fabemu/emu/host/fleet"
	"fabemu/emu/run/process"

	"github.com/spf13/cobra"
)

// fleetFlags describe how this host finds the others of a run.
type fleetFlags struct {
	fleet.Wanted
	// File with the token of the run, readable only by its user (default: the environment variable
	// FABEMU_TOKEN).
	TokenFile string `flag:"token-file" arg:"FILE" needs:"placement=hosts"`
	// The token itself; other users of this machine can read it in the list of processes.
	TokenText string `flag:"token" arg:"TOKEN" needs:"placement=hosts"`
	// Hosts of nodes, such as A=0,B=1,"local*=1"; endpoints follow their switch (default: few links
	// between hosts).
	Map []string `flag:"hosts-map" arg:"NODE=HOST,..." needs:"placement=hosts"`

	fleet *fleet.Fleet // once it is found
	of    []process.HostOf
}

// wanted returns the fleet that the flags describe.
func (f *fleetFlags) wanted() (w fleet.Wanted, err error) {
	w = f.Wanted
	w.Version = version()
	switch {
	case w.Wait <= 0:
		return w, fmt.Errorf("--wait %v: use a time such as 90s", w.Wait)
	case f.TokenText != "" && f.TokenFile != "":
		return w, errors.New("--token and --token-file exclude each other")
	case f.TokenFile != "":
		w.Token, err = fleet.ReadToken(f.TokenFile)
	case f.TokenText != "":
		fmt.Fprintf(os.Stderr, "fabemu: warning: other users of this machine can read --token in the list of processes; use %s or --token-file\n", fleet.TokenVariable)
		w.Token = fleet.Token(f.TokenText)
	}
	return w, err
}

// find finds the fleet of a run with placement hosts.
func (f *fleetFlags) find(placement emu.Placement, clock emu.Clock, scenarios int) error {
	switch {
	case placement != emu.InHosts:
		return nil
	case clock != emu.WallClock:
		return fmt.Errorf("--placement %s requires --clock wall", emu.InHosts)
	case scenarios > 1:
		return fmt.Errorf("--placement %s runs one scenario at a time", emu.InHosts)
	}
	if err := host.NeedsLinux("placement " + string(emu.InHosts)); err != nil {
		return err
	}
	for _, text := range f.Map {
		of, err := process.ParseHostOf(text)
		if err != nil {
			return fmt.Errorf("--hosts-map: %w", err)
		}
		f.of = append(f.of, of)
	}
	w, err := f.wanted()
	if err != nil {
		return err
	}
	f.fleet, err = w.Find(os.Getenv, fleet.Here())
	if err == nil {
		f.fleet.Notify = showHosts
	}
	return err
}

// showHosts shows messages for the user while hosts meet.
func showHosts(text string) { fmt.Fprintln(os.Stderr, "fabemu:", text) }

func agentCommand() *cobra.Command {
	var f fleetFlags
	c := &cobra.Command{
		Use:   "agent --join HOST:PORT",
		Short: "Run this machine's share of a run on several hosts",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := host.NeedsLinux("agent"); err != nil {
				return err
			}
			w, err := f.wanted()
			if err != nil {
				return err
			}
			fleet, err := w.Agent(os.Getenv)
			if err != nil {
				return err
			}
			fleet.Notify = showHosts
			ctx, stop := untilEnded(c)
			defer stop()
			return failed(process.Attend(ctx, fleet))
		},
	}
	add(c, &f, "join", "token-file", "token", "wait")
	return c
}
